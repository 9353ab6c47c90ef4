#include "sentencode/vectors/read.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"
#include "vectors/parse_float.h"

namespace sentencode {
namespace {

using Table = std::shared_ptr<const WordVectors>;

std::vector<float> row_of(const WordVectors& vectors, std::string_view word) {
  std::vector<float> out(static_cast<std::size_t>(vectors.dim()));
  const std::int32_t id = vectors.id(word);
  if (id < 0) return {};
  vectors.row(id, out.data());
  return out;
}
using Row = std::vector<float>;

std::string raw(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

class ReadVectors : public testing::Test {
 protected:
  Table read(std::string_view content, const ReadOptions& options = {}) {
    return read_vectors(folder.write("vectors", content), options, &report);
  }
  TemporaryFolder folder;
  ReadReport report;
};

TEST_F(ReadVectors, ReadsTheTextFormats) {
  const char* const kBodies[] = {"the 0.5 -1.25\ncat 1e-3 2\n",         // GloVe
                                 "2 2\nthe 0.5 -1.25\ncat 1e-3 2\n",    // word2vec
                                 "2 2\nthe 0.5 -1.25 \ncat 1e-3 2 \n",  // fastText
                                 "the 0.5 -1.25\r\ncat 1e-3 2\r\n",     // Windows
                                 "the\t0.5\t-1.25\ncat\t1e-3\t2",       // tabs, no line feed at the end
                                 "\xEF\xBB\xBFthe  0.5 -1.25\n\n \ncat 0.001 +2.0\n\n"};
  for (const char* body : kBodies) {
    const auto vectors = read(body);
    EXPECT_EQ(vectors->size(), 2) << body;
    EXPECT_EQ(row_of(*vectors, "the"), (Row{0.5F, -1.25F}));
    EXPECT_EQ(row_of(*vectors, "cat"), (Row{1e-3F, 2.0F}));
    EXPECT_EQ(report.rows, 2);
  }
}

TEST_F(ReadVectors, SplitsFromTheRight) {
  const auto vectors =
      read("a 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9\n1 2 10 11 12\n 13 14 15\nb 16 17 18\n");
  EXPECT_EQ(vectors->dim(), 3);
  EXPECT_EQ(row_of(*vectors, ". . ."), (Row{4, 5, 6}));
  EXPECT_EQ(row_of(*vectors, "at name@domain.com"), (Row{7, 8, 9}));
  EXPECT_EQ(row_of(*vectors, "1 2"), (Row{10, 11, 12}));
  EXPECT_EQ(row_of(*vectors, ""), (Row{13, 14, 15}));
  EXPECT_EQ(row_of(*vectors, "b"), (Row{16, 17, 18}));
  EXPECT_EQ(row_of(*read(". . 4 5\n", {.dim = 2}), ". ."), (Row{4, 5}));
}

TEST_F(ReadVectors, DistinguishesAHeaderFromANumericWord) {
  EXPECT_EQ(read("2 1\na 5\nb 6\n")->size(), 2);
  EXPECT_EQ(row_of(*read("7 3\n8 4\n9 5\n", {.dim = 1}), "7"), Row{3});
  EXPECT_EQ(row_of(*read("7 3\n", {.dim = 1}), "7"), Row{3});
  EXPECT_EQ(row_of(*read("1 2 3\n4 5 6\n"), "1"), (Row{2, 3}));
}

TEST_F(ReadVectors, KeepsTheFirstOfDuplicatesAndRepairsBytes) {
  const auto vectors = read("a 1\nb 2\na 3\n\xff\xfe 4\nx\xff 5\nb 6\nx\xfe 7\n");
  EXPECT_EQ(row_of(*vectors, "a"), Row{1});
  EXPECT_EQ(row_of(*vectors, "b"), Row{2});
  EXPECT_EQ(row_of(*vectors, "\xEF\xBF\xBD\xEF\xBF\xBD"), Row{4});
  EXPECT_EQ(row_of(*vectors, "x\xEF\xBF\xBD"), Row{5});
  EXPECT_EQ(vectors->size(), 4);
  EXPECT_EQ(report.rows, 7);
  EXPECT_EQ(report.duplicates, 3);
  EXPECT_EQ(report.repaired, 3);
}

TEST_F(ReadVectors, ErrorsNameThePosition) {
  struct Bad {
    std::string content;
    const char* message;
  };
  const std::vector<Bad> cases{
      {"", "holds no vectors"},
      {"\n\n  \n", "holds no vectors"},
      {"word\n", "line 1: expected a word and its numbers, found 1 fields"},
      {"a 1 2\nb 3\nc 4 5\n", "line 2: expected a word and 2 numbers, found 2 fields: 'b 3'"},
      {"a 1 2\n\nb 3 x\nc 4 5\n", "line 3: number 2 of 2 is 'x': 'b 3 x'"},
      {"a 1 2\nb 3 nan\n", "line 2: number 2 of 2 is 'nan'"},
      {"a 1 2\nb inf 3\n", "line 2: number 1 of 2 is 'inf'"},
      {"a 1 2\nb 3 1e39\n", "line 2: number 2 of the vector of 'b' is inf, not a finite number"},
      {"a 1 2\nb 3 4..5\n", "number 2 of 2 is '4..5'"},
      {"1 2\n3 4\n5 6 7\n", "line 2: expected a word and 2 numbers, found 2 fields"},
      {"3 2\na 1 2\nb 3 4\n", "the header says 3 words, but the file ends after 2"},
      {"3 2\na 1 2\nb 3\nc 4 5\n", "line 3: expected a word and 2 numbers"},
      {"3 2\n", "the header says 3 words, but the file ends after 0"},
      {"0 2\n", "holds no vectors"},
      {std::string("\x80\x04\x95", 3), "a pickle"},
      {std::string("\xba\x16\x4f\x2f\x0c\0\0\0", 8), "byte 8: the file ends within the model's arguments"},
      {"PK\x03\x04", "damaged zip archive at byte 4: its list of files is missing"},
      {"a 1\nb 3e19\n", "line 2: number 1 of the vector of 'b' is 3e+19, too large: squares"},
      {"2 3\na " + raw({1, 2, 3}) + "b " + raw({4, 5}), "word 2 is incomplete"},
      {"2 3\na " + raw({1, 2, 3}) + "b " + raw({4, NAN, 5}),
       "vector 2: number 2 of the vector of 'b' is nan"},
      {"1 3\n" + std::string(70'000, '\x01') + " " + raw({1, 2, 3}), "no space ends word 1"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.content.substr(0, 60));
    EXPECT_THROW_WITH(read(bad.content), FormatError, bad.message);
  }
  EXPECT_THROW_WITH(read("2 3\na 1 2 3\nb 4 5 6\n", {.dim = 4}), FormatError,
                    "the header says 3 dimensions, expected 4");
  EXPECT_THROW_WITH(read("a 1 70000\n", {.storage = Storage::float16}), FormatError, "too large for float16");
  EXPECT_THROW_WITH(read("a 1 2\n", {.format = VectorFormat::word2vec_binary}), FormatError,
                    "expected a header line");
  EXPECT_THROW_WITH(read("a 1 2\n", {.limit = -1}), InvalidInput, "limit");
  EXPECT_THROW_WITH(read_vectors(folder.path("absent")), IoError, "absent");
}

TEST_F(ReadVectors, ReadsWord2vecBinaryWithAndWithoutLineFeeds) {
  for (const char* feed : {"", "\n"}) {
    const auto vectors = read("3 2\nthe " + raw({0.5F, -1.25F}) + feed + "c\xc3\xa9 " + raw({1e-3F, 2.0F}) +
                              feed + "x\xff " + raw({3, 4}) + feed);
    EXPECT_EQ(vectors->size(), 3);
    EXPECT_EQ(row_of(*vectors, "the"), (Row{0.5F, -1.25F}));
    EXPECT_EQ(row_of(*vectors, "c\xc3\xa9"), (Row{1e-3F, 2.0F}));
    EXPECT_EQ(row_of(*vectors, "x\xEF\xBF\xBD"), (Row{3, 4}));
  }
  std::string numbers = "50 8\n";  // words that are numbers
  for (int word = 0; word < 50; ++word) {
    numbers += std::to_string(word * 7 % 50) + " ";
    for (int i = 0; i < 8; ++i) numbers += raw({static_cast<float>(word * i) * 0.37F - 1});
  }
  EXPECT_EQ(read(numbers)->size(), 50);
  // Without blanks and line feeds in the numbers, the first row has two fields.
  EXPECT_EQ(read("1 2\n7 " + raw({1.1F, 2.2F}))->size(), 1);
  // A header that does not match the content: too few words, or another dimension.
  const std::string two = "a " + raw({1, 2}) + "b " + raw({3, 4});
  EXPECT_THROW_WITH(read("1 2\n" + two), FormatError,
                    "the header says 1 words of 2 dimensions, but more data follow");
  EXPECT_EQ(read("2 2\n" + two, {.limit = 1})->size(), 1);
  EXPECT_EQ(read("2 2\n" + two + "\n\n")->size(), 2);
}

TEST_F(ReadVectors, ReadsBlocksOfAFewBytes) {
  std::string text, binary = "200 1\n";
  for (int i = 0; i < 200; ++i) {
    text += concat("w", i, " ", i, "\n");
    binary += concat("w", i, " ") + raw({static_cast<float>(i)});
  }
  for (const std::string& content : {text, binary}) {
    for (std::size_t block = 1; block < 20; ++block) {
      const auto vectors = read(content, {.block_bytes = block});
      ASSERT_EQ(vectors->size(), 200) << block;
      for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(row_of(*vectors, concat("w", i)), (Row{static_cast<float>(i)})) << block;
      }
    }
  }
}

TEST_F(ReadVectors, ReadsOnlyRequestedWords) {
  std::string text, binary = "100 2\n";
  for (int i = 0; i < 100; ++i) {
    text += concat("w", i, " ", i, " 0.5\n", i % 10 == 0 ? "\n" : "");
    binary += concat("w", i, " ") + raw({static_cast<float>(i), 0.5F});
  }
  StringTable only;
  for (const auto word : {"w3", "w70", "absent"}) only.insert(word);
  for (const std::string& content : {text, binary}) {
    for (const std::size_t block : {std::size_t{16}, std::size_t{1} << 20}) {
      EXPECT_EQ(read(content, {.limit = 10, .block_bytes = block})->size(), 10);
      EXPECT_EQ(report.rows, 10);
      EXPECT_EQ(read(content, {.limit = 1000, .block_bytes = block})->size(), 100);
      const auto few = read(content, {.only = &only, .block_bytes = block});
      EXPECT_EQ(few->size(), 2);
      EXPECT_EQ(row_of(*few, "w70"), (Row{70, 0.5F}));
      EXPECT_EQ(report.rows, 100);
      EXPECT_EQ(read(content, {.limit = 50, .only = &only, .block_bytes = block})->size(), 1);
    }
  }
  StringTable spaced;
  spaced.insert(". .");
  EXPECT_EQ(read("a 1 2\n. . 3 4\nb 5 6\n", {.only = &spaced})->size(), 1);
}

TEST_F(ReadVectors, DoesNotDependOnBlocksAndThreads) {
  std::mt19937 random(41);
  std::string text, binary = "3000 7\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string word = concat("w", random() % 2500, i % 50 == 0 ? "\xff" : "");
    text += word;
    binary += word + " ";
    for (int j = 0; j < 7; ++j) {
      const float value = static_cast<float>(random() % 20001) / 1000.0F - 10.0F;
      text += concat(" ", value);
      binary += raw({value});
    }
    text += "\n";
  }
  const int before = num_threads();
  for (const std::string& content : {text, binary}) {
    const auto expected = read(content);
    const ReadReport expected_report = report;
    EXPECT_GT(report.duplicates, 100);
    for (const int threads : {1, 3}) {
      for (const std::size_t block :
           {std::size_t{1}, std::size_t{40}, std::size_t{1000}, std::size_t{30'000}}) {
        set_num_threads(threads);
        const auto vectors = read(content, {.block_bytes = block});
        EXPECT_EQ(vectors->fingerprint(), expected->fingerprint()) << block;
        EXPECT_EQ(report.rows, expected_report.rows);
        EXPECT_EQ(report.duplicates, expected_report.duplicates);
        EXPECT_EQ(report.repaired, expected_report.repaired);
      }
    }
  }
  set_num_threads(before);
}

TEST_F(ReadVectors, CountsLinesAcrossBlocks) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += concat("w", i, i == 4321 ? " x\n" : " 1\n");
  EXPECT_THROW_WITH(read(text, {.block_bytes = 1000}), FormatError, "line 4322: number 1 of 1 is 'x'");
}

TEST_F(ReadVectors, ReportsProgressAndRethrowsItsExceptions) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += concat("w", i, " 1 2 3\n");
  std::vector<std::int64_t> seen;
  ReadOptions options{.block_bytes = 10'000};
  options.progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, static_cast<std::int64_t>(text.size()));
    seen.push_back(done);
  };
  read(text, options);
  EXPECT_GT(seen.size(), 3U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), static_cast<std::int64_t>(text.size()));
  options.progress = [](std::int64_t, std::int64_t) { throw Interrupted(); };
  EXPECT_THROW(read(text, options), Interrupted);
}

TEST_F(ReadVectors, OpensTheNativeFormat) {
  read("a 1 2\nb 3 4\nc 5 6\n", {.storage = Storage::float16})->save(folder.path("native"));
  const auto mapped = read_vectors(folder.path("native"));
  EXPECT_EQ(mapped->storage(), Storage::float16);
  EXPECT_EQ(mapped->path(), folder.path("native"));
  StringTable only;
  only.insert("b");
  const auto less =
      read_vectors(folder.path("native"), {.limit = 2, .only = &only, .storage = Storage::float32});
  EXPECT_EQ(less->size(), 1);
  EXPECT_EQ(less->storage(), Storage::float32);
  EXPECT_THROW_WITH(read_vectors(folder.path("native"), {.dim = 3}), FormatError,
                    "has 2 dimensions, expected 3");
}

TEST_F(ReadVectors, SurvivesTruncationAndFlippedBits) {
  const std::string text = "3 2\nthe 0.5 -1.25\ncat 1e-3 2.25\n. . 3 4\n";
  const std::string binary =
      "3 2\nthe " + raw({0.5F, -1.25F}) + "\ncat " + raw({1e-3F, 2}) + "\nx " + raw({3, 4});
  std::mt19937 random(43);
  for (const std::string& whole : {text, binary}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      try {  // a truncated text may be valid, unless its header has the number of rows
        read(whole.substr(0, length));
        EXPECT_GE(length + 6, whole.size()) << whole.substr(0, length);
      } catch (const FormatError&) {
      }
    }
    for (int i = 0; i < 3000; ++i) {
      std::string flipped = whole;
      for (int n = 0; n < 1 + i % 3; ++n)
        flipped[random() % whole.size()] ^= static_cast<char>(1 << random() % 8);
      try {
        read(flipped);
      } catch (const FormatError&) {
      }
    }
  }
}

TEST_F(ReadVectors, RoundTrips) {
  std::mt19937 random(47);
  Matrix rows(20'000, 5);
  StringTable words;
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    words.insert(concat("w", i));
    for (std::int64_t j = 0; j < 5; ++j) {
      rows(i, j) =
          std::ldexp(static_cast<float>(static_cast<int>(random())), static_cast<int>(random() % 60) - 60);
    }
  }
  const auto vectors =
      WordVectors::from_array(words, ConstMatrixView(rows.data(), rows.rows(), 5, Eigen::OuterStride<>(5)));
  const std::string path = folder.path("out");
  write_text(*vectors, path, TextFormat::glove);
  EXPECT_EQ(read_vectors(path)->fingerprint(), vectors->fingerprint());
  write_text(*vectors, path, TextFormat::word2vec);
  EXPECT_EQ(read_vectors(path)->fingerprint(), vectors->fingerprint());
  write_word2vec_binary(*vectors, path);
  EXPECT_EQ(read_vectors(path)->fingerprint(), vectors->fingerprint());

  const auto spaced = read("a 1 2\n. . 3 4\nb 1 2\n");
  write_text(*spaced, path, TextFormat::glove);
  EXPECT_EQ(read_vectors(path)->fingerprint(), spaced->fingerprint());
  EXPECT_THROW_WITH(write_text(*spaced, path, TextFormat::word2vec), InvalidInput, "the word '. .'");
  EXPECT_THROW_WITH(write_word2vec_binary(*spaced, path), InvalidInput, "the word '. .'");
  EXPECT_THROW_WITH(write_text(*read(" 1 2\na 1 2\n", {.dim = 2}), path, TextFormat::glove), InvalidInput,
                    "the word ''");
}

// --- numbers
// ---------------------------------------------------------------------------------------------------------

void expect_parsed(const std::string& text) {
  const std::string padded = text + std::string(kParseFloatPadding, ' ');
  float value = -7.0F;
  const char* const end = parse_float(padded.data(), padded.data() + text.size(), value);
  const float expected = std::strtof(text.c_str(), nullptr);
  ASSERT_EQ(end - padded.data(), static_cast<std::ptrdiff_t>(text.size())) << text;
  ASSERT_EQ(std::memcmp(&value, &expected, sizeof value), 0) << text << ' ' << value << ' ' << expected;
}

TEST(ParseFloat, RoundsAsTheLibraryDoes) {
  std::mt19937_64 random(53);
  char text[64];
  for (int i = 0; i < 100'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float value, next;
    std::memcpy(&value, &bits, 4);
    const std::uint32_t above = bits + 1;
    std::memcpy(&next, &above, 4);
    if (!std::isfinite(value) || !std::isfinite(next)) continue;
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(1 + random() % 12), static_cast<double>(value));
    expect_parsed(text);
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random() % 10),
                  static_cast<double>(value) * 1e-30);
    expect_parsed(text);
    // The middle between two floats and its neighbours, where rounding twice would be wrong.
    const double middle = (static_cast<double>(value) + static_cast<double>(next)) / 2.0;
    std::snprintf(text, sizeof text, "%.*g", static_cast<int>(8 + random() % 10), middle);
    expect_parsed(text);
  }
}

TEST(ParseFloat, HandlesCornerCases) {
  for (const char* text : {"0",
                           "-0",
                           "0.0",
                           "-0.000000",
                           "1e10",
                           "1e-45",
                           "1e-46",
                           "7e-46",
                           "1.17549435e-38",
                           "3.4028235e38",
                           "3.4028236e38",
                           "1e39",
                           "1e400",
                           "0.0000000000000000000000000000000000000000000000000001",
                           "-0.00000000000000000000000000000000000000000000000000000000000025",
                           "0000000000000000000000000000000000000000e-3",
                           "0.0000000000000000000000000000000000000000000000000001e60",
                           "1e-400",
                           "1e99999999999",
                           "123456789012345678901234567890",
                           "0.00000000000000000000000000000000000000001",
                           "1.",
                           "-.5",
                           ".5e3",
                           "00000000000000000000000001.5",
                           "5e00001",
                           "8388608.5",
                           "16777217",
                           "16777219.0",
                           "9007199254740993"}) {
    expect_parsed(text);
  }
  for (const char* text : {"", "-", ".", "e5", "nan", "inf", "x", "--1", "+-1"}) {
    const std::string padded = text + std::string(kParseFloatPadding, ' ');
    float value = 0.0F;
    EXPECT_EQ(parse_float(padded.data(), padded.data() + std::strlen(text), value), padded.data()) << text;
  }
  const std::string rest = "1.5e 2" + std::string(kParseFloatPadding, ' ');
  float value = 0.0F;
  EXPECT_EQ(parse_float(rest.data(), rest.data() + 6, value) - rest.data(), 3);
  EXPECT_EQ(value, 1.5F);
}

}  // namespace
}  // namespace sentencode
