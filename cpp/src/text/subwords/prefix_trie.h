#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sentencode {

/// A double-array trie of byte strings (Aoe 1989): finds all strings that a text begins with.
class PrefixTrie {
 public:
  PrefixTrie() = default;
  /// The value of a string is its index; of equal strings it is the last one. Empty strings are ignored.
  explicit PrefixTrie(std::span<const std::string_view> strings);

  /// Calls visit(length, value) for each string that `text` begins with, the shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::uint32_t child = nodes_[node].base ^ static_cast<unsigned char>(text[i]);
      if (nodes_[child].parent != node) return;
      node = child;
      if (nodes_[node].value >= 0) visit(i + 1, nodes_[node].value);
    }
  }

 private:
  static constexpr std::uint32_t kBlock = 256;  // the children of a node are in one block
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  struct Node {
    std::uint32_t base = 0;  // the child for byte c is nodes_[base ^ c], if its parent is this node
    std::uint32_t parent = kFree;
    std::int32_t value = -1;
  };
  class Builder;

  std::vector<Node> nodes_ = std::vector<Node>(kBlock);
};

}  // namespace sentencode
