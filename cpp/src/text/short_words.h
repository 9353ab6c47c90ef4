#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "sentencode/text/string_table.h"

namespace sentencode {

/// A cache of the first words of a table that have at most seven bytes. If tables begin with frequent words,
/// these are most of any text. A lookup reads memory once, which fits a core's cache, and has no branch that
/// depends on the word.
class ShortWords {
 public:
  explicit ShortWords(const StringTable& words);

  /// The word's id; StringTable::kMissing means that the word may still be in the table.
  std::int32_t find(std::string_view text) const {
    const std::uint64_t word = pack(text);
    const Bucket& bucket = buckets_[home(word)];
    std::int32_t id = StringTable::kMissing;
    for (std::size_t i = 0; i < kSlots; ++i) id = bucket.words[i] == word ? bucket.ids[i] : id;
    return id;
  }

 private:
  static constexpr std::size_t kMaxBytes = 7, kBuckets = 4096, kSlots = 2;
  static constexpr std::uint64_t kNone = 0;

  struct Bucket {
    std::uint64_t words[kSlots] = {kNone, kNone};
    std::int32_t ids[kSlots] = {StringTable::kMissing, StringTable::kMissing};
  };

  /// A word's bytes, and their number in the topmost byte; kNone if the word is empty or too long.
  static std::uint64_t pack(std::string_view text) {
    const std::size_t size = text.size();
    const std::uint64_t bytes = load(text) & ((std::uint64_t{1} << 8 * (size & 7)) - 1);
    return size - 1 < kMaxBytes ? bytes | static_cast<std::uint64_t>(size) << 56 : kNone;
  }

  /// The first eight bytes, perhaps beyond the end of the text: this is safe within a page, so that only
  /// texts at the end of a page are copied.
#if defined(__GNUC__)
  __attribute__((no_sanitize("address", "thread")))
#endif
  static std::uint64_t
  load(std::string_view text) {
    constexpr std::uintptr_t kPage = 4096;
    std::uint64_t bytes = 0;
    if (text.empty()) return bytes;
    if (reinterpret_cast<std::uintptr_t>(text.data()) % kPage <= kPage - sizeof bytes) {
      const char* at = text.data();
#if defined(__GNUC__)
      asm("" : "+r"(at));  // hides the length of literals from the compiler's warnings
#endif
      std::memcpy(&bytes, at, sizeof bytes);
    } else {
      std::memcpy(&bytes, text.data(), std::min(text.size(), sizeof bytes));
    }
    return bytes;
  }

  static std::size_t home(std::uint64_t word) {
    return static_cast<std::size_t>((word * 0x9E3779B97F4A7C15) >> 52);
  }

  std::vector<Bucket> buckets_;
};

}  // namespace sentencode
