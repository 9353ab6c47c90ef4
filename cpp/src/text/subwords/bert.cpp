#include "text/subwords/bert.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "sentencode/text/utf8.h"
#include "text/subwords/unicode.h"

namespace sentencode {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t), kBlock = 64;
constexpr std::size_t kCached = 1024;  // characters, a power of two
constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x80 * kOnes;

std::uint64_t load_word(const char* at) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  std::uint64_t bytes;
  std::memcpy(&bytes, at, kWord);
  return bytes;
}

/// Sets the high bit of each byte from `low` to `high`; all must be ASCII.
constexpr std::uint64_t in_range(std::uint64_t bytes, unsigned low, unsigned high) {
  return (bytes + kOnes * (0x80 - low)) & ~(bytes + kOnes * (0x7F - high)) & kHigh;
}

/// The high bits of eight bytes, as the bits of one.
constexpr std::uint64_t gathered(std::uint64_t high_bits) {
  return (high_bits >> 7) * 0x0102040810204080 >> 56;
}

struct Masks {
  std::uint64_t words = 0, punctuation = 0;  // bit i: byte i
};

/// Kinds of 64 bytes. Those that are not ASCII belong to words.
Masks masks_of(const char* block) {
  Masks masks;
  for (std::size_t i = 0; i < kBlock; i += kWord) {
    const std::uint64_t bytes = load_word(block + i), ascii = bytes & ~kHigh, high = bytes & kHigh;
    const std::uint64_t letters = in_range(ascii | kOnes * 0x20, 'a', 'z') | in_range(ascii, '0', '9');
    const std::uint64_t punctuation = in_range(ascii, '!', '~') & ~letters & ~high;
    const std::uint64_t spaces = (in_range(ascii, '\t', '\r') | in_range(ascii, ' ', ' ')) & ~high;
    masks.punctuation |= gathered(punctuation) << i;
    masks.words |= gathered(kHigh & ~punctuation & ~spaces) << i;
  }
  return masks;
}

}  // namespace

BertSplitter::BertSplitter(const BertOptions& options) : options_(options) {
  for (char32_t code = 0; code < removed_.size(); ++code) {
    removed_[code] = options.clean_text && unicode::is(code, unicode::kControl);
  }
}

std::optional<std::span<const std::string_view>> BertSplitter::operator()(std::string_view text,
                                                                          Memory& memory) const {
  const std::size_t blocks = normalise(text, memory);
  if (blocks == 0) return {};
  const char* const begin = memory.normal.data();
  if (memory.words.size() < blocks * kBlock) memory.words.resize(blocks * kBlock);
  std::string_view* begins = memory.words.data();  // words whose end is known, and those whose begin is
  std::string_view* ends = begins;
  std::uint64_t word_before = 0, punctuation_before = 0;  // the last bit of the previous block
  for (std::size_t block = 0; block < blocks; ++block) {
    const char* const at = begin + block * kBlock;
    const auto [words, punctuation] = masks_of(at);
    const std::uint64_t after_word = words << 1 | word_before;
    std::uint64_t first = (words & ~after_word) | punctuation;
    std::uint64_t last = (after_word & ~words) | (punctuation << 1 | punctuation_before);
    word_before = words >> 63;
    punctuation_before = punctuation >> 63;
    for (; first != 0; first &= first - 1) *begins++ = {at + std::countr_zero(first), 0};
    for (; last != 0; last &= last - 1, ++ends) {
      const char* const word = ends->data();
      *ends = {word, static_cast<std::size_t>(at + std::countr_zero(last) - word)};
    }
  }
  return std::span(memory.words).first(static_cast<std::size_t>(ends - memory.words.data()));
}

std::size_t BertSplitter::normalise(std::string_view text, Memory& memory) const {
  constexpr std::size_t kRoom = 2 * kWord;  // for a character or eight bytes
  std::string& out = memory.normal;
  if (out.size() < text.size() + kBlock) out.resize(text.size() + kBlock);
  char* to = out.data();
  const char* from = text.data();
  const char* const end = from + text.size();
  while (from != end) {
    if (static_cast<std::size_t>(out.data() + out.size() - to) <
        kRoom + static_cast<std::size_t>(end - from)) {
      const auto size = static_cast<std::size_t>(to - out.data());
      out.resize(2 * out.size() + kRoom);
      to = out.data() + size;
    }
    if (end - from >= static_cast<std::ptrdiff_t>(kWord)) {
      std::uint64_t bytes = load_word(from);
      const std::uint64_t high = bytes & kHigh;
      const std::uint64_t odd =
          in_range(bytes & ~kHigh, 0, 0x1F) | in_range(bytes & ~kHigh, 0x7F, 0x7F) | high;
      if (options_.lowercase) bytes |= (in_range(bytes & ~kHigh, 'A', 'Z') & ~high) >> 2;
      std::memcpy(to, &bytes, kWord);
      const std::size_t plain = odd == 0 ? kWord : static_cast<std::size_t>(std::countr_zero(odd)) / 8;
      from += plain;
      to += plain;
      if (odd == 0) continue;
    }
    const auto byte = static_cast<unsigned char>(*from);
    if (byte < 0x80) {
      *to = static_cast<char>(options_.lowercase && byte >= 'A' && byte <= 'Z' ? byte + 'a' - 'A' : byte);
      to += !removed_[byte];
      ++from;
      continue;
    }
    const CodePoint point = decode_utf8({from, static_cast<std::size_t>(end - from)});
    const Memory::Character* const character = normal_form(point.code, memory);
    if (character == nullptr) return 0;
    std::memcpy(to, character->bytes.data(), character->bytes.size());
    to += character->size;
    from += point.length;
  }
  // Spaces up to a whole block end the last word.
  const auto size = static_cast<std::size_t>(to - out.data());
  const std::size_t blocks = size / kBlock + 1;
  if (out.size() < blocks * kBlock) out.resize(blocks * kBlock);
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(size),
            out.begin() + static_cast<std::ptrdiff_t>(blocks * kBlock), ' ');
  return blocks;
}

const BertSplitter::Memory::Character* BertSplitter::normal_form(char32_t code, Memory& memory) const {
  const auto options = static_cast<std::uint32_t>(options_.clean_text | options_.handle_chinese_chars << 1 |
                                                  options_.strip_accents << 2 | options_.lowercase << 3);
  const std::uint32_t key = options << 21 | code;
  if (memory.characters.empty()) memory.characters.resize(kCached);
  Memory::Character& cached = memory.characters[(code ^ code >> 10) % kCached];
  if (cached.key == key) return &cached;

  std::string utf8, normal, out;
  unicode::append(code, utf8);
  append_bert(options_, utf8, normal);
  for (std::string_view rest = normal; !rest.empty();) {
    const CodePoint point = decode_utf8(rest);
    const bool space = unicode::is(point.code, unicode::kSpace);
    const bool apart = point.code >= 0x80 && unicode::is(point.code, unicode::kPunctuation);
    if (options_.strip_accents && unicode::is_ordered(point.code)) return nullptr;
    if (apart) out += ' ';
    if (space) {
      out += ' ';
    } else {
      out += rest.substr(0, point.length);
    }
    if (apart) out += ' ';
    rest.remove_prefix(point.length);
  }
  if (out.size() > cached.bytes.size()) return nullptr;
  cached.key = key;
  cached.size = static_cast<std::uint8_t>(out.size());
  std::ranges::copy(out, cached.bytes.begin());
  return &cached;
}

}  // namespace sentencode
