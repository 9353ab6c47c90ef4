#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "sentencode/text/string_table.h"

namespace sentencode {

/// Ids of words. Words of at most 16 bytes are in the slots of a hash table, so that a lookup reads memory
/// once.
class WordTable {
 public:
  struct Key {
    std::uint64_t first, second, hash;
    std::size_t size;
  };
  static Key key_of(std::string_view word);

  explicit WordTable(std::int64_t words) : slots_(std::bit_ceil(2 * static_cast<std::size_t>(words) + 1)) {}

  /// Adds a new word, which must not be empty.
  void add(std::string_view word, std::int32_t id);
  void prefetch(const Key& key) const { __builtin_prefetch(&slots_[home(key)]); }
  /// -1 if there is none.
  std::int32_t id(std::string_view word, const Key& key) const;
  std::int32_t id(std::string_view word) const { return id(word, key_of(word)); }
  std::size_t longest() const { return longest_; }  // bytes

 private:
  static constexpr std::size_t kMaxBytes = 16;

  struct Slot {
    std::uint64_t first = 0, second = 0;
    std::uint32_t size = 0;  // 0: empty
    std::int32_t id = -1;
  };
  /// Eight bytes, perhaps beyond the end of the word: this is safe within a page.
#if defined(__GNUC__)
  __attribute__((no_sanitize("address", "thread")))
#endif
  static std::uint64_t
  load(const char* at) {
    std::uint64_t bytes;
#if defined(__GNUC__)
    asm("" : "+r"(at));  // hides the length of literals from the compiler's warnings
#endif
    std::memcpy(&bytes, at, sizeof bytes);
    return bytes;
  }
  std::size_t home(const Key& key) const { return key.hash & (slots_.size() - 1); }

  std::vector<Slot> slots_;
  StringTable long_words_;
  std::vector<std::int32_t> long_ids_;
  std::size_t longest_ = 0;
};

inline WordTable::Key WordTable::key_of(std::string_view word) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr auto kAll = ~std::uint64_t{0};
  const std::size_t size = word.size();
  Key key{0, 0, 0, size};
  if (reinterpret_cast<std::uintptr_t>(word.data()) % kPage <= kPage - kMaxBytes) [[likely]] {
    key.first = load(word.data());
    key.second = load(word.data() + 8);
  } else {
    std::memcpy(&key.first, word.data(), std::min<std::size_t>(size, 8));
    if (size > 8) std::memcpy(&key.second, word.data() + 8, std::min<std::size_t>(size - 8, 8));
  }
  key.first &= size < 8 ? ~(kAll << 8 * size) : kAll;
  key.second &= size <= 8 ? 0 : size < kMaxBytes ? kAll >> 8 * (kMaxBytes - size) : kAll;
  key.hash = (key.first ^ (key.second * 0xD6E8FEB86659FD93)) * 0x9E3779B97F4A7C15;
  key.hash ^= key.hash >> 32;
  return key;
}

inline void WordTable::add(std::string_view word, std::int32_t id) {
  longest_ = std::max(longest_, word.size());
  if (word.size() > kMaxBytes) {
    long_words_.insert(word);
    long_ids_.push_back(id);
    return;
  }
  const Key key = key_of(word);
  std::size_t i = home(key);
  while (slots_[i].size != 0) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {key.first, key.second, static_cast<std::uint32_t>(key.size), id};
}

inline std::int32_t WordTable::id(std::string_view word, const Key& key) const {
  if (key.size > kMaxBytes) [[unlikely]] {
    const std::int32_t index = long_words_.find(word);
    return index < 0 ? -1 : long_ids_[static_cast<std::size_t>(index)];
  }
  for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[i];
    if (slot.size == 0) return -1;
    if (slot.first == key.first && slot.second == key.second && slot.size == key.size) return slot.id;
  }
}

}  // namespace sentencode
