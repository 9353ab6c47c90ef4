#include "text/subwords/prefix_trie.h"

#include <algorithm>
#include <array>
#include <bit>

#include "sentencode/error.h"

namespace sentencode {

/// Gives each node a base such that the cells of all its children are free.
class PrefixTrie::Builder {
 public:
  explicit Builder(std::vector<Node>& nodes) : nodes_(nodes) { add_block(); }

  void add(std::span<const std::string_view> strings) {
    struct Key {
      std::array<std::uint64_t, 2> first_bytes;  // big-endian: compare as the bytes do
      std::int32_t index;
      std::uint32_t size;
    };
    std::vector<Key> keys;
    keys.reserve(strings.size());
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].empty()) continue;
      keys.push_back({{}, static_cast<std::int32_t>(i), static_cast<std::uint32_t>(strings[i].size())});
      for (std::size_t k = 0; k < std::min<std::size_t>(16, strings[i].size()); ++k) {
        const std::uint64_t byte = static_cast<unsigned char>(strings[i][k]);
        keys.back().first_bytes[k / 8] |= byte << (56 - k % 8 * 8);
      }
    }
    const auto byte_at = [&](const Key& key, std::size_t depth) {
      return static_cast<unsigned char>(depth < 16 ? key.first_bytes[depth / 8] >> (56 - depth % 8 * 8)
                                                   : strings[static_cast<std::size_t>(key.index)][depth]);
    };
    std::ranges::sort(keys, [&](const Key& a, const Key& b) {
      if (a.first_bytes != b.first_bytes) return a.first_bytes < b.first_bytes;
      const int order =
          strings[static_cast<std::size_t>(a.index)].compare(strings[static_cast<std::size_t>(b.index)]);
      return order != 0 ? order < 0 : a.index < b.index;
    });

    struct Subtree {
      std::size_t begin, end, depth;  // the keys that begin with the bytes on the path to the node
      std::uint32_t node;
    };
    std::vector<Subtree> open{{0, keys.size(), 0, 0}};
    std::vector<std::size_t> begins;
    std::vector<unsigned char> bytes;
    while (!open.empty()) {
      auto [begin, end, depth, node] = open.back();
      open.pop_back();
      // Keys that end here are the first ones; the last of them is valid.
      for (; begin < end && keys[begin].size == depth; ++begin) nodes_[node].value = keys[begin].index;
      if (begin == end) continue;
      begins.clear();
      bytes.clear();
      for (std::size_t i = begin; i < end; ++i) {
        const unsigned char byte = byte_at(keys[i], depth);
        if (!bytes.empty() && bytes.back() == byte) continue;
        bytes.push_back(byte);
        begins.push_back(i);
      }
      begins.push_back(end);
      const std::uint32_t base = nodes_[node].base = find_base(bytes);
      for (std::size_t i = bytes.size(); i-- > 0;) {
        take(base ^ bytes[i], node);
        open.push_back({begins[i], begins[i + 1], depth + 1, base ^ bytes[i]});
      }
    }
  }

 private:
  static constexpr std::size_t kOpen = 16;  // blocks that are searched for free cells
  using Used = std::array<std::uint64_t, kBlock / 64>;

  bool is_free(std::uint32_t cell) const {
    return (used_[cell / kBlock][cell % kBlock / 64] >> cell % 64 & 1) == 0;
  }
  void take(std::uint32_t cell, std::uint32_t parent) {
    used_[cell / kBlock][cell % kBlock / 64] |= std::uint64_t{1} << cell % 64;
    nodes_[cell].parent = parent;
  }

  std::uint32_t add_block() {
    ST_CHECK(used_.size() < kFree / kBlock, FormatError, "a vocabulary of more than 4 GB");
    const auto block = static_cast<std::uint32_t>(used_.size());
    used_.emplace_back();
    nodes_.resize((std::size_t{block} + 1) * kBlock);
    if (block == 0) take(0, kFree - 1);  // the root is nobody's child
    open_.push_back(block);
    if (open_.size() > kOpen) open_.erase(open_.begin());
    return block * kBlock;
  }

  std::uint32_t find_base(std::span<const unsigned char> bytes) {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const std::uint32_t block = open_[i];
      bool full = true;
      for (std::uint32_t word = 0; word < kBlock / 64; ++word) {
        for (std::uint64_t free = ~used_[block][word]; free != 0; free &= free - 1) {
          full = false;
          const std::uint32_t cell =
              block * kBlock + word * 64 + static_cast<std::uint32_t>(std::countr_zero(free));
          const std::uint32_t base = cell ^ bytes[0];
          if (std::ranges::all_of(bytes, [&](unsigned char byte) { return is_free(base ^ byte); }))
            return base;
        }
      }
      if (full) open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    return add_block();
  }

  std::vector<Node>& nodes_;
  std::vector<Used> used_;           // a bit for each cell
  std::vector<std::uint32_t> open_;  // blocks with free cells, oldest first
};

PrefixTrie::PrefixTrie(std::span<const std::string_view> strings) { Builder(nodes_).add(strings); }

}  // namespace sentencode
