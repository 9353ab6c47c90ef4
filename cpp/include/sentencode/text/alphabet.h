#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sentencode {

/// The characters (code points) that a network knows, by ids.
class Alphabet {
 public:
  static constexpr std::int64_t kNone = 0, kUnknown = 1, kFirst = 2;  // behind a word's end; another one

  /// The first character of this UTF-8 has the id kFirst. InvalidInput where it is none, or one comes twice.
  explicit Alphabet(std::string_view characters = {});

  std::int64_t size() const { return kFirst + static_cast<std::int64_t>(ids_.size()); }  // ids that there are
  /// The ids of a word's first ids.size() characters, then kNone.
  void operator()(std::string_view word, std::span<std::int64_t> ids) const;

 private:
  std::unordered_map<char32_t, std::int64_t> ids_;
};

}  // namespace sentencode
