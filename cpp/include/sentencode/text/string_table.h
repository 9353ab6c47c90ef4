#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// Distinct strings, numbered in the order in which they were first inserted, found by open addressing.
/// Either it owns its arrays and can grow, or it looks at arrays that somebody else holds (a mapped file) and
/// is frozen: that is why it is ours, and no library's, a table of millions of words is there without being
/// built.
class StringTable {
 public:
  static constexpr std::int32_t kMissing = -1;

  StringTable() = default;
  /// A frozen look at saved arrays. All sizes and offsets are checked; slots are checked as they are used, so
  /// that a damaged file gives missing words, never a crash. Throws FormatError.
  static StringTable view(std::span<const char> bytes, std::span<const std::uint64_t> offsets,
                          std::span<const std::uint64_t> slots);

  std::int64_t size() const { return static_cast<std::int64_t>(offsets().size()) - 1; }
  std::string_view operator[](std::int64_t id) const {
    const std::uint64_t* offset = offsets().data() + id;
    return {bytes().data() + offset[0], static_cast<std::size_t>(offset[1] - offset[0])};
  }

  static std::uint64_t hash(std::string_view text);
  std::int32_t find(std::string_view text) const { return find(text, hash(text)); }
  std::int32_t find(std::string_view text, std::uint64_t hash) const;
  /// Many at once, which waits for memory only once: the hashes and ids, kMissing where there is none, of
  /// texts[which[0]], texts[which[1]], ..., put at the same places.
  void find(std::span<const std::string_view> texts, std::span<const std::uint8_t> which,
            std::span<std::uint64_t> hashes, std::span<std::int32_t> ids) const;

  std::int32_t insert(std::string_view text);  // its id, new or old
  void reserve(std::int64_t strings, std::int64_t bytes);
  bool frozen() const { return frozen_; }

  // What a file holds.
  std::span<const char> bytes() const {  // all strings, one after the other
    return frozen_ ? seen_bytes_ : own_bytes_;
  }
  std::span<const std::uint64_t> offsets() const {  // [size + 1]
    return frozen_ ? seen_offsets_ : own_offsets_;
  }
  std::span<const std::uint64_t> slots() const {  // power of two; 32 bits of hash, 32 of id + 1; 0 is empty
    return frozen_ ? seen_slots_ : own_slots_;
  }

 private:
  static std::size_t home(std::uint64_t hash, std::size_t slots) {
    return static_cast<std::size_t>((hash >> 32) * slots >> 32);
  }
  void grow(std::size_t slots);
  void place(std::uint64_t slot);

  std::vector<char> own_bytes_;
  std::vector<std::uint64_t> own_offsets_{0};
  std::vector<std::uint64_t> own_slots_;
  std::span<const char> seen_bytes_;
  std::span<const std::uint64_t> seen_offsets_, seen_slots_;
  bool frozen_ = false;
};

}  // namespace sentencode
