#include "sentencode/text/vocabulary.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

using Entries = std::vector<std::pair<std::string, std::int64_t>>;

Entries entries(const Vocabulary& vocabulary) {
  Entries all;
  for (std::int64_t id = 0; id < vocabulary.size(); ++id) {
    all.emplace_back(vocabulary.words()[id], vocabulary.counts()[static_cast<std::size_t>(id)]);
  }
  return all;
}

Vocabulary vocabulary(const Entries& of) {
  StringTable words;
  std::vector<std::int64_t> counts;
  for (const auto& [word, count] : of) {
    words.insert(word);
    counts.push_back(count);
  }
  return {words, counts};
}

TEST(Vocabulary, OrdersByCountThenBytes) {
  const Vocabulary made = vocabulary({{"b", 2}, {"z", 0}, {"a", 2}, {"\u00E4", 2}, {"the", 9}});
  EXPECT_EQ(entries(made), Entries({{"the", 9}, {"a", 2}, {"b", 2}, {"\u00E4", 2}, {"z", 0}}));
  EXPECT_EQ(made.total(), 15);
  EXPECT_EQ(made.find("b"), 2);
  EXPECT_EQ(made.find("c"), StringTable::kMissing);
  EXPECT_THROW(vocabulary({{"a", -1}}), InvalidInput);
  EXPECT_THROW(vocabulary({{"a", INT64_MAX}, {"b", 1}}), InvalidInput);
  EXPECT_THROW(Vocabulary(StringTable(), std::vector<std::int64_t>{1}), InvalidInput);
  EXPECT_THROW(Vocabulary(made.words(), made.counts(), 14), InvalidInput);
  EXPECT_EQ(Vocabulary(made.words(), made.counts(), 16).total(), 16);
}

TEST(Vocabulary, PruningKeepsTheTotal) {
  const Vocabulary made = vocabulary({{"a", 5}, {"b", 3}, {"c", 3}, {"d", 1}});
  EXPECT_EQ(entries(made.pruned(3, 0)), Entries({{"a", 5}, {"b", 3}, {"c", 3}}));
  EXPECT_EQ(entries(made.pruned(0, 2)), Entries({{"a", 5}, {"b", 3}}));
  EXPECT_EQ(entries(made.pruned(4, 3)), Entries({{"a", 5}}));
  EXPECT_EQ(entries(made.pruned(6, 3)), Entries());
  EXPECT_EQ(made.pruned(3, 1).total(), 12);
  EXPECT_EQ(made.pruned(3, 1).find("b"), StringTable::kMissing);
  EXPECT_THROW(made.pruned(-1, 0), InvalidInput);
  EXPECT_THROW(made.pruned(0, -1), InvalidInput);
}

TEST(Vocabulary, RoundTripsThroughAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("round.txt");
  const Entries all = {{"the", 900}, {". . .", 80}, {"\u00E4", 7}, {"c", 0}};
  vocabulary(all).write(path);
  EXPECT_EQ(entries(Vocabulary::read(path)), all);
  std::filesystem::remove(path);
  for (const char* bad : {"", "two\nlines", " front", "back\t", "back\r", "\uFEFFmark"}) {
    EXPECT_THROW(vocabulary({{bad, 1}}).write(path), InvalidInput) << bad;
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST(Vocabulary, ReadsFilesOfOtherPrograms) {
  const TemporaryFolder folder;
  EXPECT_EQ(entries(Vocabulary::read(folder.write("a.txt", "one 1\r\ntwo\t22 \n\nnew york 3"))),
            Entries({{"two", 22}, {"new york", 3}, {"one", 1}}));
  EXPECT_EQ(Vocabulary::read(folder.write("b.txt", "")).size(), 0);
}

TEST(Vocabulary, ErrorsNameFileAndLine) {
  const TemporaryFolder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"a 1\nword\n", ":2: expected 'word count', got 'word'"},
      {"a 1\nb x\n", ":2: expected 'word count', got 'b x'"},
      {"a -1\n", ":1: expected 'word count', got 'a -1'"},
      {"a 1.5\n", ":1: expected 'word count', got 'a 1.5'"},
      {" 7\n", ":1: expected 'word count', got ' 7'"},
      {"a 99999999999999999999\n", ":1: expected 'word count', got 'a 99999999999999999999'"},
      {"a 9007199254740993\n", ":1: expected 'word count', got 'a 9007199254740993'"},
      {"\xff 9007199254740992\n\xfe 1\n", ":2: the count of '\uFFFD' exceeds 9007199254740992"},
      {"a 1\nb 2\na 3\n", ":3: the word 'a' is there for the second time"},
  };
  for (const auto& [content, message] : cases) {
    const std::string path = folder.write("file.txt", content);
    try {
      Vocabulary::read(path);
      ADD_FAILURE() << content;
    } catch (const FormatError& error) {
      EXPECT_EQ(error.what(), path + message);
    }
  }
  EXPECT_THROW(Vocabulary::read(folder.path("nothing")), IoError);
}

class VocabularyCounting : public testing::Test {
 protected:
  VocabularyCounting() {
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
      std::string& sentence = sentences_.emplace_back();
      for (unsigned n = random() % 20; n > 0; --n) {
        const auto word = static_cast<unsigned>(random() % 30 * (random() % 30));
        sentence += concat("W", word, " ");
        ++oracle_[concat("w", word)];
      }
    }
    views_.assign(sentences_.begin(), sentences_.end());
  }
  ~VocabularyCounting() override { set_num_threads(threads_); }

  Sentences part(std::size_t begin, std::size_t count) const {
    return {std::span(views_).subspan(begin, count), {}};
  }

  const int threads_ = num_threads();
  const Tokenizer tokenizer_{.split = Split::whitespace, .lowercase = true};
  std::vector<std::string> sentences_;
  std::vector<std::string_view> views_;
  std::map<std::string, std::int64_t> oracle_;
};

TEST_F(VocabularyCounting, AgreesWithAMap) {
  VocabularyCounter counter(tokenizer_);
  counter.add(part(0, views_.size()));
  EXPECT_EQ(counter.sentences(), 3000);
  const Entries counted = entries(counter.finish());
  const std::map<std::string, std::int64_t> as_map(counted.begin(), counted.end());
  EXPECT_EQ(as_map, oracle_);
  EXPECT_EQ(entries(counter.finish(1, 10)), Entries(counted.begin(), counted.begin() + 10));
}

TEST_F(VocabularyCounting, DoesNotDependOnThreadsOrBatches) {
  VocabularyCounter whole(tokenizer_);
  set_num_threads(1);
  whole.add(part(0, views_.size()));
  const Entries expected = entries(whole.finish(2));
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    VocabularyCounter first(tokenizer_), second(tokenizer_);
    for (std::size_t begin = 0; begin < views_.size(); begin += 500)
      (begin % 1000 ? first : second).add(part(begin, 500));
    first.merge(second);
    EXPECT_EQ(entries(first.finish(2)), expected);
    EXPECT_EQ(first.sentences(), 3000);
  }
}

TEST_F(VocabularyCounting, RefusesToMergeOtherTokenizers) {
  VocabularyCounter counter(tokenizer_);
  EXPECT_THROW(counter.merge(VocabularyCounter(Tokenizer{})), InvalidInput);
}

TEST_F(VocabularyCounting, ARefusedBatchChangesNothing) {
  Tokenizer strict = tokenizer_;
  strict.invalid = InvalidUtf8::refuse;
  VocabularyCounter counter(strict);
  counter.add(part(0, 100));
  const Entries before = entries(counter.finish());
  std::vector<std::string_view> bad = views_;
  bad.back() = "\xFF";
  EXPECT_THROW(counter.add({bad, {}}), InvalidInput);
  EXPECT_EQ(entries(counter.finish()), before);
  EXPECT_EQ(counter.sentences(), 100);
}

}  // namespace
}  // namespace sentencode
