#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/text/string_table.h"

namespace sentencode {

/// Which ids of a SubwordTokenizer are kept, in the order in which model2vec applies it.
struct SubwordOptions {
  std::int64_t max_characters = 0;  // of the text that is read; 0: no limit
  std::int64_t max_tokens = 0;      // of a text, unknown ones included; 0: no limit
  bool keep_unknown = true;         // whether unknown tokens are kept

  bool operator==(const SubwordOptions&) const = default;
};

/// A tokenizer.json of Hugging Face's package tokenizers: splits text into tokens of a fixed vocabulary, as
/// its encode(text, add_special_tokens=False) does without truncation. Thread-safe.
///   const auto tokenizer = SubwordTokenizer::from_json(json);
///   SubwordTokenizer::Scratch scratch;
///   std::vector<std::int32_t> ids;
///   tokenizer->encode("A man plays a guitar.", scratch, ids);
class SubwordTokenizer : public std::enable_shared_from_this<SubwordTokenizer> {
 public:
  /// Memory of encode, for one thread; kept from text to text.
  class Scratch {
   public:
    std::vector<std::int32_t> ids;  // for callers

   private:
    friend class SubwordTokenizer;
    struct Memory;
    std::shared_ptr<Memory> memory_;
  };

  /// FormatError names the invalid field, Unsupported the part that cannot be reproduced exactly.
  static std::shared_ptr<const SubwordTokenizer> from_json(std::string json,
                                                           const SubwordOptions& options = {});
  /// The same with other options; shares the vocabulary.
  std::shared_ptr<const SubwordTokenizer> with_options(const SubwordOptions& options) const;

  /// Appends the ids of a text, which must be valid UTF-8.
  void encode(std::string_view text, Scratch& scratch, std::vector<std::int32_t>& ids) const;

  std::int32_t size() const;                      // largest id + 1
  std::int32_t id(std::string_view token) const;  // -1 if there is none
  std::string_view token(std::int32_t id) const;  // empty if there is none
  /// All tokens, in the order of their ids from 0 on. FormatError if an id has none. May be a view of the
  /// tokenizer's memory.
  StringTable tokens() const;
  std::int32_t missing_id() const;         // the first id without a token; -1 if there is none
  std::int64_t median_characters() const;  // of tokens; rounded down
  const std::string& truncation() const;   // as JSON, which encode ignores
  std::int32_t unknown_id() const;         // -1 if there is none
  const SubwordOptions& options() const { return options_; }
  const std::string& json() const;
  bool operator==(const SubwordTokenizer& other) const;

 private:
  struct Parts;
  SubwordTokenizer(std::shared_ptr<const Parts> parts, const SubwordOptions& options);

  // Append ids until there are `most`.
  void encode_part(std::string_view text, bool at_begin, std::size_t most, Scratch::Memory& memory,
                   std::vector<std::int32_t>& ids) const;
  void encode_words(std::span<const std::string_view> words, std::size_t most,
                    std::vector<std::int32_t>& ids) const;

  std::shared_ptr<const Parts> parts_;
  SubwordOptions options_;
};

}  // namespace sentencode
