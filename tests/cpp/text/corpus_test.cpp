#include "sentencode/text/corpus.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sentencode/error.h"

namespace sentencode {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class Corpus : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "sentencode_corpus" /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& content) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

  fs::path folder_;
};

struct Read {
  Lines lines;
  std::vector<bool> starts;
};

Read read(std::vector<std::string> paths, CorpusOptions options = {}, std::int64_t at_once = 2) {
  CorpusReader reader(std::move(paths), options);
  SentenceBatch batch;
  Read all;
  while (reader.next(at_once, batch)) {
    EXPECT_LE(batch.size(), at_once);
    const SentenceBatch moved = std::move(batch);
    for (const std::string_view line : moved.sentences().pieces) all.lines.emplace_back(line);
    all.starts.insert(all.starts.end(), moved.starts_document().begin(), moved.starts_document().end());
    batch = SentenceBatch();
  }
  EXPECT_EQ(reader.sentences_read(), static_cast<std::int64_t>(all.lines.size()));
  EXPECT_EQ(reader.bytes_read(), reader.bytes_total());
  EXPECT_FALSE(reader.next(at_once, batch));
  return all;
}

TEST_F(Corpus, EmptyLinesEndDocuments) {
  const std::string path = file("a.txt", "One.\nTwo.\n\n \t\nThree.\n\n");
  const Read all = read({path});
  EXPECT_EQ(all.lines, Lines({"One.", "Two.", "Three."}));
  EXPECT_EQ(all.starts, std::vector<bool>({true, false, true}));
}

TEST_F(Corpus, KeepsEmptyLinesOnRequest) {
  const std::string path = file("a.txt", "One.\n\n \nTwo.");
  const Read all = read({path}, {.keep_empty = true});
  EXPECT_EQ(all.lines, Lines({"One.", "", " ", "Two."}));
  EXPECT_EQ(all.starts, std::vector<bool>({true, false, false, false}));
}

TEST_F(Corpus, DropsByteOrderMarksAndCarriageReturns) {
  const std::string path = file("a.txt", "\xEF\xBB\xBFOne.\r\nTwo\r.\r\n\r\nThree.\r");
  const Read all = read({path});
  EXPECT_EQ(all.lines, Lines({"One.", "Two\r.", "Three."}));
  EXPECT_EQ(all.starts, std::vector<bool>({true, false, true}));
}

TEST_F(Corpus, ReadsFilesInOrderAsDocuments) {
  const Read all = read({file("b.txt", "b1\nb2"), file("empty.txt", ""), file("a.txt", "a1\n")}, {}, 100);
  EXPECT_EQ(all.lines, Lines({"b1", "b2", "a1"}));
  EXPECT_EQ(all.starts, std::vector<bool>({true, false, true}));
  EXPECT_TRUE(read({}).lines.empty());
}

TEST_F(Corpus, LinesLongerThanAnyBuffer) {
  Lines expected;
  std::string content;
  for (const std::size_t size : {1UL, 300000UL, 5UL, 262143UL, 262144UL, 262145UL, 1048576UL}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(read({file("a.txt", content)}).lines, expected);
}

TEST_F(Corpus, LimitsTheBytesOfABatch) {
  CorpusReader reader({file("a.txt", "12345\n\n12345\n1234567890123\n1\n2\n3\n")});
  SentenceBatch batch;
  std::vector<std::int64_t> sizes;
  while (reader.next(3, batch, 10)) sizes.push_back(batch.size());
  EXPECT_EQ(sizes, std::vector<std::int64_t>({2, 1, 3}));
  EXPECT_THROW(reader.next(3, batch, 0), InvalidInput);
}

TEST_F(Corpus, ErrorsNameTooLongLines) {
  for (const std::string end : {"\nmore\n", "", "\n"}) {
    const std::string path = file("a.txt", "fine\n" + std::string(11, 'x') + end);
    try {
      read({path}, {.max_line_bytes = 10});
      FAIL();
    } catch (const FormatError& error) {
      EXPECT_EQ(error.what(), path + ":2: a line of more than 10 bytes");
    }
    EXPECT_NO_THROW(read({path}, {.max_line_bytes = 11}));
  }
}

TEST_F(Corpus, RefusesInvalidInput) {
  EXPECT_THROW(CorpusReader({(folder_ / "nothing").string()}), IoError);
  EXPECT_THROW(read({file("utf16.txt", std::string("\xFF\xFEh\0i\0", 6))}), FormatError);
  CorpusReader reader({file("a.txt", "a\n")});
  SentenceBatch batch;
  EXPECT_THROW(reader.next(0, batch), InvalidInput);
}

TEST_F(Corpus, ExpandsPaths) {
  const std::string b = file("b.txt", ""), a = file("sub/a.txt", ""), c = file("c.tsv", "");
  file(".hidden", "");
  file(".git/config", "");
  EXPECT_EQ(expand_paths(b), Lines({b}));
  EXPECT_EQ(expand_paths(folder_.string()), Lines({b, c, a}));
  EXPECT_EQ(expand_paths((folder_ / "*.t*").string()), Lines({b, c}));
  EXPECT_EQ(expand_paths((folder_ / "s?b").string()), Lines({a}));
  EXPECT_THROW(expand_paths((folder_ / "*.gz").string()), IoError);
  fs::create_directories(folder_ / "empty");
  EXPECT_THROW(expand_paths((folder_ / "empty").string()), IoError);
}

}  // namespace
}  // namespace sentencode
