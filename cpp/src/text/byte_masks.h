#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sentencode {

/// Classes of the bytes of a text as bit masks, 64 bytes at a time: the end of a word or of a gap is found by
/// counting zeros.
class ByteMasks {
 public:
  explicit ByteMasks(std::string_view text) : text_(text) {}

  /// The first position from i on that is no ASCII letter, digit or underscore; the end of the text if there
  /// is none.
  std::size_t word_end(std::size_t i) { return first_other(i, word_); }
  /// The same for bytes that are neither ASCII white space nor control characters.
  std::size_t space_end(std::size_t i) { return first_other(i, space_); }

 private:
  static constexpr std::size_t kBlock = 64;

  std::size_t first_other(std::size_t i, const std::uint64_t& mask) {
    while (i < text_.size()) {
      if (i / kBlock != block_) load(i / kBlock);
      const std::uint64_t others = ~mask >> i % kBlock;
      if (others != 0) return std::min(i + static_cast<std::size_t>(std::countr_zero(others)), text_.size());
      i = (i / kBlock + 1) * kBlock;
    }
    return text_.size();
  }

  void load(std::size_t block) {
    block_ = block;
    const std::string_view rest = text_.substr(block * kBlock);
    if (rest.size() >= kBlock) return classify(rest.data());
    char bytes[kBlock] = {};
    std::memcpy(bytes, rest.data(), rest.size());
    classify(bytes);
  }

  using Bytes __attribute__((vector_size(16))) = unsigned char;  // of GCC and clang, for any processor

  void classify(const char* bytes) {
    word_ = space_ = 0;
    for (std::size_t i = 0; i < kBlock; i += sizeof(Bytes)) {
      Bytes c;
      std::memcpy(&c, bytes + i, sizeof c);
      const auto word = ((c | 0x20) - 'a' < 26) | (c - '0' < 10) | (c == '_');
      const auto space = (c <= ' ') | (c == 0x7F);
      word_ |= bits(reinterpret_cast<Bytes>(word)) << i;
      space_ |= bits(reinterpret_cast<Bytes>(space)) << i;
    }
  }

  /// The first bit of each byte.
  static std::uint64_t bits(Bytes mask) {
#if defined(__SSE2__)
    return static_cast<std::uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(mask)));
#else
    constexpr Bytes kBits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const Bytes chosen = mask & kBits;
#if defined(__aarch64__)
    const auto halves = reinterpret_cast<uint8x16_t>(chosen);
    return vaddv_u8(vget_low_u8(halves)) | vaddv_u8(vget_high_u8(halves)) << 8U;
#else
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < sizeof chosen; ++i) result |= std::uint64_t{chosen[i]} << i / 8 * 8;
    return result;
#endif
#endif
  }

  std::string_view text_;
  std::size_t block_ = static_cast<std::size_t>(-1);
  std::uint64_t word_ = 0, space_ = 0;
};

}  // namespace sentencode
