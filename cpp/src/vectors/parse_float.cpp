#include "vectors/parse_float.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace sentencode {
namespace {

constexpr float kFloatPowers[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F,
                                  1e6F, 1e7F, 1e8F, 1e9F, 1e10F};  // all exact
constexpr double kDoublePowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t kIntegerPowers[] = {1,       10,        100,        1000,       10'000,
                                            100'000, 1'000'000, 10'000'000, 100'000'000};

std::uint64_t load8(const char* p) {
  std::uint64_t text;
  std::memcpy(&text, p, 8);
  return text;
}

/// Number of digits at the beginning of eight characters.
int leading_digits(std::uint64_t text) {
  // The lowest byte with its top bit set is the first non-digit; bytes above it may be wrong.
  const std::uint64_t others =
      ((text + 0x4646464646464646) | (text - 0x3030303030303030)) & 0x8080808080808080;
  return std::countr_zero(others) / 8;
}

/// The value of the first 1 to 8 characters, all digits.
std::uint64_t number_of(std::uint64_t text, int digits) {
  text = (text & 0x0f0f0f0f0f0f0f0f) << (8 *
                                         (8 - digits));  // the last digit on top, zeros in front of the first
  text = (text * 10) + (text >> 8);                      // pairs of digits
  return (((text & 0x000000ff000000ff) * (100 + (std::uint64_t{1'000'000} << 32))) +
          (((text >> 16) & 0x000000ff000000ff) * (1 + (std::uint64_t{10'000} << 32)))) >>
         32;
}

/// Appends the digits at p to `number` and returns how many there are.
int take_digits(const char*& p, std::uint64_t& number) {
  for (int count = 0;;) {
    const std::uint64_t text = load8(p);
    const int digits = leading_digits(text);
    if (digits == 0) return count;
    number = number * kIntegerPowers[digits] + number_of(text, digits);
    p += digits;
    count += digits;
    if (digits < 8) return count;
  }
}

/// std::from_chars, for numbers of many digits or of extreme size.
float parse_slowly(const char* begin, const char* end, bool large) {
  float value = 0.0F;
  const auto result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::result_out_of_range)
    return large ? std::numeric_limits<float>::infinity() : 0.0F;
  return value;
}

/// The fast path for nearly all numbers in files of vectors: one digit, a point, a few digits, white space.
/// No branch depends on the number, so that the processor can overlap numbers.
const char* parse_usual(const char* begin, float& value) {
  std::uint64_t text = load8(begin);
  const unsigned negative = (text & 0xff) == '-';
  text >>= 8 * negative;
  const auto first = static_cast<unsigned>(text & 0xff) - '0';
  if (first > 9 || (text >> 8 & 0xff) != '.') return begin;
  const char* fraction = begin + negative + 2;
  text = load8(fraction);
  const int digits = leading_digits(text);
  if (digits == 0 || digits == 8 || (text >> (8 * digits) & 0xff) > ' ') return begin;
  const std::uint64_t number = first * kIntegerPowers[digits] + number_of(text, digits);
  if (number > 1 << 24) return begin;
  const float magnitude = static_cast<float>(number) / kFloatPowers[digits];
  value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | negative << 31);
  return fraction + digits;
}

}  // namespace

const char* parse_float(const char* begin, const char* end, float& value) {
  if (const char* usual = parse_usual(begin, value); usual != begin && usual <= end) return usual;
  const char* p = begin;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* const unsigned_begin = p;
  std::uint64_t number = 0;
  int digits = take_digits(p, number), exponent = 0;
  if (p < end && *p == '.') {
    ++p;
    exponent = -take_digits(p, number);
    digits -= exponent;
  }
  if (digits == 0 || p > end) return begin;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* q = p + 1;
    const bool down = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+')) ++q;
    std::uint64_t written = 0;
    const int length = take_digits(q, written);
    if (length > 0 && q <= end) {
      const int size = length > 6 ? 999'999 : static_cast<int>(written);
      exponent += down ? -size : size;
      p = q;
    }
  }

  float magnitude;
  constexpr int kMaxDigits = 19;  // `number` does not overflow
  if (digits <= kMaxDigits && number <= (1 << 24) && std::abs(exponent) <= 10) {
    // Both are exact floats, so that one operation rounds once (Clinger 1990).
    const auto whole = static_cast<float>(number);
    magnitude = exponent < 0 ? whole / kFloatPowers[-exponent] : whole * kFloatPowers[exponent];
  } else if (digits <= kMaxDigits && number <= (std::uint64_t{1} << 53) && std::abs(exponent) <= 22) {
    // The same in double. Rounding it to float is right, too, except next to the middle between two floats,
    // and for subnormal floats.
    const auto whole = static_cast<double>(number);
    const double wide = exponent < 0 ? whole / kDoublePowers[-exponent] : whole * kDoublePowers[exponent];
    const std::uint64_t below = std::bit_cast<std::uint64_t>(wide) & 0x1fffffff;
    const bool risky =
        below - 0x0fffffff <= 2 || wide < static_cast<double>(std::numeric_limits<float>::min());
    magnitude = risky ? parse_slowly(unsigned_begin, p, wide > 1.0) : static_cast<float>(wide);
  } else {
    const char* first = unsigned_begin;
    for (; first < p && (*first == '0' || *first == '.'); ++first) digits -= *first == '0';
    magnitude = parse_slowly(unsigned_begin, p, digits + exponent > 0);
  }
  value = negative ? -magnitude : magnitude;
  return p;
}

}  // namespace sentencode
