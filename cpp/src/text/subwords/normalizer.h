#pragma once

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// Appends the normalised text, which is valid UTF-8 like the text itself.
using SubwordNormalizer = std::function<void(std::string_view text, std::string& out)>;

/// The options of a BertNormalizer.
struct BertOptions {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
};
void append_bert(const BertOptions& options, std::string_view text, std::string& out);

/// The field "normalizer" of tokenizer.json: steps that are applied one after the other.
class SubwordNormalizers {
 public:
  explicit SubwordNormalizers(const nlohmann::json& normalizer);  // null: none

  bool empty() const { return steps_.empty(); }
  /// The options, if a BertNormalizer is the only step.
  const std::optional<BertOptions>& bert() const { return bert_; }
  /// How many times as long the steps can make a text.
  double growth() const { return growth_; }
  /// The normalised text: `text` itself, or a view of `buffer`.
  std::string_view operator()(std::string_view text, std::string& buffer, std::string& other) const;

 private:
  using Replacements = std::array<std::optional<std::string>, 128>;  // of ASCII characters

  void add(const nlohmann::json& normalizer, const std::string& name, int depth);
  /// Replacements of single characters are one step where no later one changes what an earlier one wrote:
  /// model2vec writes 32 of them, one for each punctuation mark.
  void add_replaced(char character, const std::string& content);

  std::vector<SubwordNormalizer> steps_;
  std::optional<BertOptions> bert_;
  double growth_ = 1;
  std::shared_ptr<Replacements> replaced_;  // the last step, if it is one of these
  double replaced_growth_ = 1;              // before it
};

}  // namespace sentencode
