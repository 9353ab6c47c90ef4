#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sentencode {

/// Maps characters (code points) to ids.
class Alphabet {
 public:
  static constexpr std::int64_t kNone = 0, kUnknown = 1, kFirst = 2;  // padding; unknown character

  /// Characters in UTF-8; the first gets the id kFirst. InvalidInput if it is not UTF-8, or repeats one.
  explicit Alphabet(std::string_view characters = {});

  std::int64_t size() const { return kFirst + static_cast<std::int64_t>(ids_.size()); }  // number of ids
  /// The ids of a word's first ids.size() characters, padded with kNone.
  void operator()(std::string_view word, std::span<std::int64_t> ids) const;

 private:
  std::unordered_map<char32_t, std::int64_t> ids_;
};

}  // namespace sentencode
