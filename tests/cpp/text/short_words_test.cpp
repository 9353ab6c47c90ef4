#include "text/short_words.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sentencode {
namespace {

TEST(ShortWords, EqualTheTableOrMiss) {
  std::mt19937 random(1);
  const auto word = [&] {
    std::string text(random() % 11, ' ');
    for (char& c : text) c = static_cast<char>(random() % 4);  // including NUL: "a" differs from "a\0"
    return text;
  };
  StringTable table;
  for (int i = 0; i < 20000; ++i) table.insert(word());
  const ShortWords words(table);
  int hits = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string text = word();
    const std::int32_t id = words.find(text);
    if (id == StringTable::kMissing) continue;
    EXPECT_EQ(id, table.find(text));
    ++hits;
  }
  EXPECT_GT(hits, 30000);
}

TEST(ShortWords, HoldTheFirstWords) {
  StringTable table;
  for (int i = 0; i < 50000; ++i) table.insert(std::to_string(i));
  const ShortWords words(table);
  int hits = 0;
  for (int i = 0; i < 1000; ++i) hits += words.find(std::to_string(i)) == i;
  EXPECT_GT(hits, 980);
}

TEST(ShortWords, DistinguishLengths) {
  StringTable table;
  for (const char* text : {"a", "ab", "abb", "abcd", "abcdefg"}) table.insert(text);
  const ShortWords words(table);
  for (std::int64_t id = 0; id < table.size(); ++id) EXPECT_EQ(words.find(table[id]), id);
  using namespace std::string_view_literals;
  for (const auto text : {"a\0"sv, "abc"sv, "abcd\0"sv, "abcdefgh"sv, "aa"sv, "\0"sv, ""sv}) {
    EXPECT_EQ(words.find(text), StringTable::kMissing);
  }
}

TEST(ShortWords, OfAnEmptyTable) { EXPECT_EQ(ShortWords(StringTable()).find("a"), StringTable::kMissing); }

}  // namespace
}  // namespace sentencode
