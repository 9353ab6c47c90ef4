#include <algorithm>
#include <bit>
#include <cstring>

#include "sentencode/io/sha256.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sentencode {
namespace {

// FIPS 180-4, section 4.2.2.
alignas(64) constexpr std::uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void absorb_portable(State& state, const std::byte* data, std::size_t blocks) {
  for (; blocks > 0; --blocks, data += 64) {
    std::uint32_t w[64];
    std::memcpy(w, data, 64);
    for (int i = 0; i < 16; ++i) w[i] = __builtin_bswap32(w[i]);
    for (int i = 16; i < 64; ++i) {
      const auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (int i = 0; i < 64; ++i) {
      const auto s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const auto t1 = h + s1 + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
      const auto s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const auto t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const State add{a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += add[i];
  }
}

#if defined(__x86_64__)
// Two rounds per instruction, with the state as {a, b, e, f} and {c, d, g, h}: faster than reading a file.
__attribute__((target("sha,sse4.1,ssse3"))) void absorb_sha_ni(State& state, const std::byte* data,
                                                               std::size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[0]));
  const __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&state[4]));
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data + 16 * i)), swap);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& now = w[i & 3];
      if (i >= 4) {  // message schedule: w[t] from w[t-16], w[t-15], w[t-7], w[t-2], four at a time
        const __m128i& last = w[(i + 3) & 3];
        now = _mm_sha256msg1_epu32(now, w[(i + 1) & 3]);
        now = _mm_add_epi32(now, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
        now = _mm_sha256msg2_epu32(now, last);
      }
      const __m128i sum =
          _mm_add_epi32(now, _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), _mm_alignr_epi8(dchg, feba, 8));
}

bool has_sha_ni() {
  // GCC 12 has no name for it in __builtin_cpu_supports.
  unsigned a = 0, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  return (b >> 29 & 1) != 0 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}
#endif

void absorb(State& state, const std::byte* data, std::size_t blocks) {
#if defined(__x86_64__)
  static const bool fast = has_sha_ni();
  if (fast) return absorb_sha_ni(state, data, blocks);
#endif
  absorb_portable(state, data, blocks);
}

}  // namespace

void Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t held = bytes_ % 64;
  bytes_ += bytes.size();
  if (held > 0) {
    const std::size_t take = std::min(bytes.size(), 64 - held);
    std::memcpy(block_.data() + held, bytes.data(), take);
    bytes = bytes.subspan(take);
    if (held + take < 64) return;
    absorb(state_, block_.data(), 1);
  }
  absorb(state_, bytes.data(), bytes.size() / 64);
  bytes = bytes.subspan(bytes.size() / 64 * 64);
  if (!bytes.empty()) std::memcpy(block_.data(), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  const std::uint64_t bits = __builtin_bswap64(bytes_ * 8);
  std::array<std::byte, 64> padding{std::byte{0x80}};
  update(std::span(padding).first(1 + (119 - bytes_ % 64) % 64));  // up to eight bytes before a block's end
  update(std::as_bytes(std::span(&bits, 1)));
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  }
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace sentencode
