#include "text/byte_masks.h"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <string>

namespace sentencode {
namespace {

std::size_t first(const std::string& text, std::size_t i, bool (*other)(unsigned char)) {
  while (i < text.size() && !other(static_cast<unsigned char>(text[i]))) ++i;
  return i;
}

bool no_word(unsigned char c) { return c >= 0x80 || (std::isalnum(c) == 0 && c != '_'); }
bool no_space(unsigned char c) { return c > ' ' && c != 0x7F; }

TEST(ByteMasks, FindsTheSameEndsAsByteByByte) {
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    while (text.size() < below(300)) {  // runs of one class of any length, and any byte
      const std::string_view some = below(2) == 0 ? "aZ09_" : " \t\x7F";
      for (std::size_t n = below(150); n > 0; --n) text += some[below(some.size())];
      text += static_cast<char>(below(256));
    }
    ByteMasks masks(text);
    for (std::size_t i = 0; i <= text.size(); i += 1 + below(20)) {
      ASSERT_EQ(masks.word_end(i), first(text, i, no_word)) << "position " << i << " of " << text;
      ASSERT_EQ(masks.space_end(i), first(text, i, no_space)) << "position " << i << " of " << text;
    }
  }
}

TEST(ByteMasks, ClassifiesEachByte) {
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(ByteMasks(text).word_end(0) == 0, no_word(static_cast<unsigned char>(c))) << c;
    EXPECT_EQ(ByteMasks(text).space_end(0) == 0, no_space(static_cast<unsigned char>(c))) << c;
  }
}

}  // namespace
}  // namespace sentencode
