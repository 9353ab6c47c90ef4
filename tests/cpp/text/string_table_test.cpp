#include "sentencode/text/string_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "sentencode/error.h"

namespace sentencode {
namespace {

StringTable numbers(int n) {
  StringTable table;
  for (int i = 0; i < n; ++i) table.insert(std::to_string(i));
  return table;
}

TEST(StringTable, AgreesWithAMapOnRandomStrings) {
  std::mt19937 random(1);
  StringTable table;
  std::unordered_map<std::string, std::int32_t> oracle;
  for (int i = 0; i < 50000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text)
      c = static_cast<char>(random() % 3);  // few letters, with NUL: many strings are repeated
    const auto [entry, is_new] = oracle.emplace(text, static_cast<std::int32_t>(oracle.size()));
    EXPECT_EQ(table.find(text), is_new ? StringTable::kMissing : entry->second);
    EXPECT_EQ(table.insert(text), entry->second);
  }
  ASSERT_EQ(table.size(), static_cast<std::int64_t>(oracle.size()));
  for (const auto& [text, id] : oracle) EXPECT_EQ(table[id], text);
  EXPECT_TRUE(std::has_single_bit(table.slots().size()));
  EXPECT_GE(table.slots().size(), 2 * oracle.size());
}

TEST(StringTable, EmptyTableFindsNothing) {
  const StringTable table;
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.find(""), StringTable::kMissing);
  EXPECT_EQ(table.find("a"), StringTable::kMissing);
}

TEST(StringTable, FindOfManyEqualsFindOfEach) {
  const StringTable table = numbers(1000);
  const StringTable empty;
  std::vector<std::string> owned;
  for (int i = 0; i < 200; ++i) owned.push_back(std::to_string(i * 7));  // some of them are in the table
  owned.insert(owned.end(), {"", "a longer string than those of the table", "999", "999"});
  const std::vector<std::string_view> texts(owned.begin(), owned.end());
  std::vector<std::uint64_t> hashes(texts.size());
  std::vector<std::int32_t> ids(texts.size());
  std::vector<std::uint8_t> which;  // every third is not looked up
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i % 3 != 0) which.push_back(static_cast<std::uint8_t>(i));
  }
  for (const StringTable* one : {&table, &empty}) {
    std::ranges::fill(ids, -7);
    std::ranges::fill(hashes, 0);
    one->find(texts, which, hashes, ids);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const bool asked = i % 3 != 0;
      EXPECT_EQ(ids[i], asked ? one->find(texts[i]) : -7) << texts[i];
      EXPECT_EQ(hashes[i], asked ? StringTable::hash(texts[i]) : 0);
    }
  }
}

TEST(StringTable, ReserveChangesOnlyTheCapacity) {
  StringTable table;
  table.reserve(1000, 4000);
  const std::size_t slots = table.slots().size();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(table.insert(std::to_string(i)), i);
  EXPECT_EQ(table.slots().size(), slots);
  table.reserve(0, 0);
  EXPECT_EQ(table.find("999"), 999);
}

TEST(StringTable, CopyIsIndependent) {
  StringTable first = numbers(10);
  StringTable second = first;
  second.insert("ten");
  EXPECT_EQ(first.find("ten"), StringTable::kMissing);
  EXPECT_EQ(second.find("ten"), 10);
}

// Hashes are part of the file format.
TEST(StringTable, HashIsFrozen) {
  EXPECT_EQ(StringTable::hash(""), 3625361060413594265U);
  EXPECT_EQ(StringTable::hash("a"), 12319746477127755416U);
  EXPECT_EQ(StringTable::hash("word"), 3003754496376774098U);
  EXPECT_EQ(StringTable::hash("sentence"), 713775979424657168U);
  EXPECT_EQ(StringTable::hash("antidisestablishmentarianism"), 3419411967386976215U);
}

// Every bit of the input changes every bit of the hash in about half of the cases.
TEST(StringTable, HashAvalanches) {
  std::mt19937_64 random(7);
  constexpr int kTrials = 400;
  for (const std::size_t length : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 70}) {
    std::vector<int> flips(64);
    for (int trial = 0; trial < kTrials; ++trial) {
      std::string text(length, ' ');
      for (char& c : text) c = static_cast<char>(random());
      const std::uint64_t before = StringTable::hash(text);
      text[random() % length] ^= static_cast<char>(1U << random() % 8);
      const std::uint64_t change = before ^ StringTable::hash(text);
      for (int bit = 0; bit < 64; ++bit) flips[static_cast<std::size_t>(bit)] += change >> bit & 1;
    }
    for (const int count : flips)
      EXPECT_NEAR(count, kTrials / 2, 60) << "length " << length;  // six standard deviations
  }
}

TEST(StringTable, HashDependsOnLengthAndPosition) {
  std::unordered_map<std::uint64_t, std::string> seen;
  for (std::size_t length = 0; length < 100; ++length) {
    for (std::size_t at = 0; at <= length; ++at) {
      std::string text(length, '\0');
      if (at < length) text[at] = 'x';
      const auto [entry, is_new] = seen.emplace(StringTable::hash(text), text);
      EXPECT_TRUE(is_new) << length << " " << at << " " << entry->second.size();
    }
  }
}

TEST(StringTable, FrozenViewFindsTheSame) {
  const StringTable table = numbers(1000);
  const StringTable view = StringTable::view(table.bytes(), table.offsets(), table.slots());
  EXPECT_TRUE(view.frozen());
  EXPECT_EQ(view.size(), 1000);
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(view.find(std::to_string(i)), i < 1000 ? i : StringTable::kMissing);
  StringTable copy = view;
  EXPECT_THROW(copy.insert("more"), Unsupported);
  EXPECT_THROW(copy.reserve(1, 1), Unsupported);
}

TEST(StringTable, ViewOfAnEmptyTable) {
  const std::uint64_t zero = 0;
  const StringTable view = StringTable::view({}, {&zero, 1}, {});
  EXPECT_EQ(view.size(), 0);
  EXPECT_EQ(view.find("a"), StringTable::kMissing);
}

TEST(StringTable, RefusesDamagedArrays) {
  const StringTable table = numbers(100);
  const std::vector<std::uint64_t> offsets(table.offsets().begin(), table.offsets().end());
  const auto damaged = [&](std::size_t at, std::uint64_t value) {
    auto copy = offsets;
    copy[at] = value;
    StringTable::view(table.bytes(), copy, table.slots());
  };
  EXPECT_THROW(damaged(0, 1), FormatError);
  EXPECT_THROW(damaged(50, 1), FormatError);
  EXPECT_THROW(damaged(50, ~std::uint64_t{0}), FormatError);
  EXPECT_THROW(damaged(100, 1), FormatError);
  EXPECT_THROW(damaged(100, 1000), FormatError);
  EXPECT_THROW(StringTable::view(table.bytes(), {}, table.slots()), FormatError);
  EXPECT_THROW(StringTable::view(table.bytes().first(3), offsets, table.slots()), FormatError);
  EXPECT_THROW(StringTable::view(table.bytes(), offsets, table.slots().first(100)), FormatError);
  EXPECT_THROW(StringTable::view(table.bytes(), offsets, table.slots().first(128)), FormatError);
  EXPECT_THROW(StringTable::view(table.bytes(), offsets, {}), FormatError);
}

// Slots are not checked when a file is opened: damage may lose words, and must do nothing else.
TEST(StringTable, DamagedSlotsLoseWordsOnly) {
  const StringTable table = numbers(100);
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> slots(table.slots().size());
  for (std::uint64_t& slot : slots) slot = random() | 1;  // no slot is empty
  const StringTable view = StringTable::view(table.bytes(), table.offsets(), slots);
  for (int i = 0; i < 200; ++i) {
    const std::int32_t id = view.find(std::to_string(i));
    EXPECT_TRUE(id == StringTable::kMissing || id == i);
    const std::string text = std::to_string(i);
    std::uint64_t hash = 0;
    std::int32_t many = 0;
    const std::uint8_t first = 0;
    view.find(std::array{std::string_view(text)}, {&first, 1}, {&hash, 1}, {&many, 1});
    EXPECT_EQ(many, id);
  }
}

}  // namespace
}  // namespace sentencode
