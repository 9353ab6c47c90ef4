#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sentencode {

/// The number that the package `tokenizers` reads: digits * 10^exponent. Rust's serde_json divides all digits
/// by a power of ten, which may round twice; the last bit decides ties. Nothing if the exponent is too large.
std::optional<double> serde_number(std::uint64_t digits, int exponent, bool negative);

/// The large lists of a tokenizer.json as arrays, which are read 20 times as fast as a tree. Strings are
/// views of the text, or of `unescaped`.
struct ModelLists {
  using Ids = std::vector<std::pair<std::int32_t, std::string_view>>;
  using Merge = std::pair<std::string_view, std::string_view>;

  std::optional<Ids> ids;                                                  // model.vocab: {token: id}
  std::optional<std::vector<std::pair<double, std::string_view>>> scores;  // model.vocab: [[token, score]]
  std::optional<std::vector<Merge>> merges;                                // model.merges
  std::deque<std::string> unescaped;
};

/// The content of a tokenizer.json, in which those lists are empty that `lists` gets. Lists of another form
/// than usual remain. Nothing if the text is not valid, or has a field twice.
std::optional<nlohmann::json> without_lists(std::string_view text, ModelLists& lists);

}  // namespace sentencode
