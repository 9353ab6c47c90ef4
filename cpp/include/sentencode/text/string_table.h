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

  std::int64_t size() const;
  std::string_view operator[](std::int64_t id) const;

  static std::uint64_t hash(std::string_view text);
  std::int32_t find(std::string_view text) const { return find(text, hash(text)); }
  std::int32_t find(std::string_view text, std::uint64_t hash) const;
  void prefetch(std::uint64_t hash) const;  // the slot, ahead of find

  std::int32_t insert(std::string_view text);  // its id, new or old
  void reserve(std::int64_t strings, std::int64_t bytes);
  bool frozen() const;

  // What a file holds.
  std::span<const char> bytes() const;             // all strings, one after the other
  std::span<const std::uint64_t> offsets() const;  // [size + 1]
  std::span<const std::uint64_t> slots()
      const;  // power of two; 32 bits of hash, 32 bits of id + 1; 0 is empty

 private:
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
