#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "sentencode/text/string_table.h"

namespace sentencode {

/// The first words of a table, of those with at most seven bytes: most of any text, where a table begins with
/// its most frequent words. They are found by one look at memory that fits into a processor's own cache, and
/// without a branch that depends on the word.
class ShortWords {
 public:
  explicit ShortWords(const StringTable& words);

  /// The word's id; StringTable::kMissing says nothing: the table itself has to be asked.
  std::int32_t find(std::string_view text) const {
    const std::uint64_t word = pack(text);
    const Bucket& bucket = buckets_[home(word)];
    std::int32_t id = StringTable::kMissing;
    for (std::size_t i = 0; i < kPlaces; ++i) id = bucket.words[i] == word ? bucket.ids[i] : id;
    return id;
  }

 private:
  static constexpr std::size_t kMaxBytes = 7, kBuckets = 4096, kPlaces = 2;
  static constexpr std::uint64_t kNone = 0;

  struct Bucket {
    std::uint64_t words[kPlaces] = {kNone, kNone};
    std::int32_t ids[kPlaces] = {StringTable::kMissing, StringTable::kMissing};
  };

  /// A word's bytes and, as the topmost, their number; kNone where it is empty or too long.
  static std::uint64_t pack(std::string_view text) {
    const std::size_t size = text.size();
    const std::uint64_t bytes = load(text) & ((std::uint64_t{1} << 8 * (size & 7)) - 1);
    return size - 1 < kMaxBytes ? bytes | static_cast<std::uint64_t>(size) << 56 : kNone;
  }

  /// The first eight bytes, if need be with others behind the text's end. Whoever can read one byte of a page
  /// can read them all, so that only a text at a page's end is read byte by byte.
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
      asm("" : "+r"(at));  // a compiler that sees a shorter text here would warn
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
