#include "sentencode/text/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sentencode {
namespace {

constexpr char32_t kLast = 0x10FFFF;
bool is_surrogate(char32_t code) { return code >= 0xD800 && code < 0xE000; }

std::string encode(char32_t code) {
  char bytes[4];
  return {bytes, encode_utf8(code, bytes)};
}

TEST(Utf8, RoundTripsEveryCodePoint) {
  for (char32_t code = 0; code <= kLast; ++code) {
    const std::string bytes = encode(code);
    const CodePoint point = decode_utf8(bytes);
    if (is_surrogate(code)) {
      ASSERT_FALSE(point.valid()) << static_cast<int>(code);
      continue;
    }
    ASSERT_EQ(point.code, code);
    ASSERT_EQ(point.length, bytes.size());
    for (std::size_t length = 1; length < bytes.size(); ++length) {
      const CodePoint part = decode_utf8(std::string_view(bytes).substr(0, length));
      ASSERT_FALSE(part.valid());
      ASSERT_EQ(part.length, length);
    }
  }
}

// The examples of the Unicode standard, chapter 3, tables 3-8 to 3-11.
TEST(Utf8, InvalidSequencesAreMaximalSubparts) {
  const std::string bad = "\xEF\xBF\xBD";
  const auto times = [&](int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += bad;
    return all;
  };
  EXPECT_EQ(repair_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), times(8) + "A");
  EXPECT_EQ(repair_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), times(8) + "A");
  EXPECT_EQ(repair_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), times(5) + "A" + times(2) + "B");
  EXPECT_EQ(repair_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), times(4) + "A");
  EXPECT_EQ(repair_utf8("fine"), "fine");
  EXPECT_EQ(repair_utf8(""), "");
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  EXPECT_EQ(find_invalid_utf8("grün und blau, 日本語 \U0001F600"), std::string_view::npos);
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'x');
    text[at] = '\xFF';
    EXPECT_EQ(find_invalid_utf8(text), at);
    EXPECT_FALSE(is_ascii(text));
  }
  EXPECT_TRUE(is_ascii(std::string(40, '\x7F')));
}

// Validation by vectors has other code than decode_utf8. Bytes at the borders of all rules, at the beginning,
// inside and at the end of a text.
TEST(Utf8, FindsWhatCannotBeDecoded) {
  const std::string bytes =
      "A\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC1\xC2\xDF\xE0\xE1\xED\xEE\xEF\xF0\xF1\xF3\xF4\xF5\xFF";
  const auto decoded = [](std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      const CodePoint point = decode_utf8(text.substr(i));
      if (!point.valid()) return i;
      i += point.length;
    }
    return std::string_view::npos;
  };
  std::size_t valid = 0;
  for (const std::string around : {"", "grün", "Москва, 20 градусов мороза, 東京"}) {
    for (const char a : bytes) {
      for (const char b : bytes) {
        for (const char c : bytes) {
          for (const char d : bytes) {
            const std::string text = around + a + b + c + d + around;
            ASSERT_EQ(find_invalid_utf8(text), decoded(text)) << testing::PrintToString(text);
            valid += decoded(text) == std::string_view::npos;
          }
        }
      }
    }
  }
  EXPECT_GT(valid, 1000U);
}

TEST(Utf8, LowerCaseIsThatOfEachCharacter) {
  std::mt19937 random(1);
  const std::u32string_view letters =
      U"aZ 9ßÄéŽǅσΣЖж҆ꭰᎠẞȺⱥİK\U00010400中、";  // some change their length
  for (int i = 0; i < 20000; ++i) {
    std::string text, expected;
    for (std::uint32_t n = random() % 200; n > 0; --n) {
      const std::string letter = encode(letters[random() % (i % 2 == 0 ? 10 : letters.size())]);
      std::string lower(lowercase_bound(letter.size()) + 1, ' ');
      lower.resize(lowercase_utf8(letter, lower.data()));
      text += letter;
      expected += lower;
    }
    std::string lower(lowercase_bound(text.size()), ' ');
    lower.resize(lowercase_utf8(text, lower.data()));
    ASSERT_EQ(lower, expected) << text;
  }
}

TEST(Utf8, LowerCaseFitsItsBoundAndIsIdempotent) {
  for (char32_t code = 0; code <= kLast; ++code) {
    if (is_surrogate(code)) continue;
    const std::string bytes = encode(code);
    std::string lower(4, ' '), twice(6, ' ');
    lower.resize(lowercase_utf8(bytes, lower.data()));
    ASSERT_LE(lower.size(), lowercase_bound(bytes.size())) << static_cast<int>(code);
    twice.resize(lowercase_utf8(lower, twice.data()));
    ASSERT_EQ(lower, twice) << static_cast<int>(code);
  }
}

TEST(Utf8, LowerCaseOfMixedText) {
  const std::string text = "DIES IST EIN LANGER SATZ IN ASCII, DANN ÄÖÜ, ΣΊΣΥΦΟΣ, ЖУК, İ, ẞ \U00010400";
  std::string lower(lowercase_bound(text.size()), ' ');
  lower.resize(lowercase_utf8(text, lower.data()));
  EXPECT_EQ(lower, "dies ist ein langer satz in ascii, dann äöü, σίσυφοσ, жук, i, ß \U00010428");
}

TEST(Utf8, WhiteSpaceIsPythons) {
  const std::vector<char32_t> expected = {0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,   0x1D,   0x1E,
                                          0x1F,   0x20,   0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002,
                                          0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A,
                                          0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  std::vector<char32_t> codes;
  for (char32_t code = 0; code <= kLast; ++code) {
    if (is_surrogate(code)) continue;
    const std::string bytes = encode(code);
    const std::size_t length = whitespace_length(bytes);
    if (length == 0) continue;
    EXPECT_EQ(length, bytes.size());
    codes.push_back(code);
  }
  EXPECT_EQ(codes, expected);
  EXPECT_EQ(whitespace_length(""), 0U);
}

}  // namespace
}  // namespace sentencode
