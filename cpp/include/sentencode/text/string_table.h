#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {

/// A hash table of distinct strings with open addressing. Ids are the order of insertion. It either owns its
/// arrays and can grow, or is a frozen view of arrays in a mapped file, so that a table of millions of words
/// opens without being built: this is why it is not a library's.
class StringTable {
 public:
  static constexpr std::int32_t kMissing = -1;

  StringTable() = default;
  /// A frozen view of saved arrays. Sizes and offsets are checked here (FormatError), slots when they are
  /// used: words of a damaged file are missing, but nothing crashes.
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
  /// The hashes and ids (or kMissing) of texts[i] for all i of `which`, at index i. Faster than one by one,
  /// because memory is prefetched.
  void find(std::span<const std::string_view> texts, std::span<const std::uint8_t> which,
            std::span<std::uint64_t> hashes, std::span<std::int32_t> ids) const;

  std::int32_t insert(std::string_view text);  // its id, new or old
  void reserve(std::int64_t strings, std::int64_t bytes);
  bool frozen() const { return frozen_; }

  // The arrays, as in a file.
  std::span<const char> bytes() const {  // all strings, concatenated
    return frozen_ ? view_bytes_ : bytes_;
  }
  std::span<const std::uint64_t> offsets() const {  // [size + 1]
    return frozen_ ? view_offsets_ : offsets_;
  }
  std::span<const std::uint64_t> slots() const {  // power of two; 32 bits of hash, 32 of id + 1; 0 is empty
    return frozen_ ? view_slots_ : slots_;
  }

 private:
  static std::size_t home(std::uint64_t hash, std::size_t slots) {
    return static_cast<std::size_t>((hash >> 32) * slots >> 32);
  }
  void grow(std::size_t slots);
  void put(std::uint64_t slot);

  std::vector<char> bytes_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<std::uint64_t> slots_;
  std::span<const char> view_bytes_;
  std::span<const std::uint64_t> view_offsets_, view_slots_;
  bool frozen_ = false;
};

}  // namespace sentencode
