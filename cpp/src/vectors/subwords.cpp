#include "vectors/subwords.h"

#include <string>

namespace sentencode {
namespace {

/// FNV-1a with signed bytes, as in fastText: those above 127 also change the upper bits.
constexpr std::uint32_t kEmptyHash = 2166136261;
std::uint32_t hash_with(std::uint32_t hash, char c) {
  return (hash ^ static_cast<std::uint32_t>(static_cast<std::int8_t>(c))) * 16777619;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }  // UTF-8 continuation byte

}  // namespace

void subwords_of(std::string_view word, std::array<std::int32_t, 2> lengths, std::int64_t buckets,
                 std::vector<std::int64_t>& out) {
  out.clear();
  if (buckets == 0) return;
  std::string text;
  text.reserve(word.size() + 2);
  text += '<';
  text += word;
  text += '>';
  const std::string_view all = text;
  for (std::size_t begin = 0; begin < all.size(); ++begin) {
    if (continues(all[begin])) continue;
    std::size_t end = begin;
    std::uint32_t hash = kEmptyHash;
    for (std::int32_t characters = 1; end < all.size() && characters <= lengths[1]; ++characters) {
      do hash = hash_with(hash, all[end++]);
      while (end < all.size() && continues(all[end]));
      const bool border = characters == 1 && (begin == 0 || end == all.size());
      if (characters < lengths[0] || border) continue;
      out.push_back(static_cast<std::int64_t>(hash % buckets));
    }
  }
}

}  // namespace sentencode
