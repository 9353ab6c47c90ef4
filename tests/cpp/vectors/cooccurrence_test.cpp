#include "sentencode/vectors/cooccurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

using Text = std::vector<std::vector<std::string>>;

/// Owner of the memory of Sentences.
struct Batch {
  explicit Batch(const Text& text) {
    for (const auto& sentence : text) {
      pieces.insert(pieces.end(), sentence.begin(), sentence.end());
      offsets.push_back(static_cast<std::int64_t>(pieces.size()));
    }
  }
  Sentences sentences() const { return {pieces, offsets}; }

  std::vector<std::string_view> pieces;
  std::vector<std::int64_t> offsets{0};
};

StringTable table_of(const std::vector<std::string>& words) {
  StringTable table;
  for (const std::string& word : words) table.insert(word);
  return table;
}

const std::vector<std::string> kWords = {"a", "b", "c", "d", "e", "f", "g"};
const Tokenizer kTokens{.split = Split::whitespace};

/// Random sentences with a Zipfian distribution; some words are not in the table.
Text random_text(std::size_t sentences, unsigned seed) {
  std::mt19937 bits(seed);
  Text text(sentences);
  for (auto& sentence : text) {
    sentence.resize(bits() % 12);
    for (auto& token : sentence)
      token = std::string(1, static_cast<char>('a' + std::min(bits() % 9, bits() % 9)));
  }
  return text;
}

SparseMatrix count(const Text& text, const WindowOptions& options, std::size_t batch = 1 << 20) {
  CooccurrenceCounter counter(table_of(kWords), kTokens, options);
  for (std::size_t i = 0; i < text.size(); i += batch) {
    const Text part(text.begin() + static_cast<std::ptrdiff_t>(i),
                    text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), i + batch)));
    const Batch held(part);
    counter.add(held.sentences());
  }
  return counter.finish();
}

/// The counts by their definition.
std::map<std::pair<int, int>, double> counted_plainly(const Text& text, int window, WindowWeight weight) {
  std::map<std::pair<int, int>, double> counts;
  for (const auto& sentence : text) {
    std::vector<int> ids;
    for (const std::string& token : sentence) {
      if (token < "h") ids.push_back(token[0] - 'a');
    }
    for (int i = 0; i < static_cast<int>(ids.size()); ++i) {
      for (int j = 0; j < static_cast<int>(ids.size()); ++j) {
        const int d = std::abs(i - j);
        if (d == 0 || d > window) continue;
        const double w = weight == WindowWeight::flat       ? 1.0
                         : weight == WindowWeight::harmonic ? 1.0 / d
                                                            : (window + 1.0 - d) / window;
        counts[{ids[static_cast<std::size_t>(i)], ids[static_cast<std::size_t>(j)]}] += w;
      }
    }
  }
  return counts;
}

void expect_equal(const SparseMatrix& a, const SparseMatrix& b) {
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
}

TEST(Cooccurrence, EqualsTheDefinition) {
  const Text text = random_text(300, 1);
  for (const WindowWeight weight : {WindowWeight::linear, WindowWeight::harmonic, WindowWeight::flat}) {
    for (const int window : {1, 2, 5, 40}) {
      SCOPED_TRACE(std::string(name_of(weight)) + " " + std::to_string(window));
      const auto expected = counted_plainly(text, window, weight);
      const SparseMatrix counts = count(text, {.size = window, .weight = weight});
      ASSERT_EQ(counts.rows(), 7);
      EXPECT_EQ(counts.nonzeros(), static_cast<std::int64_t>(expected.size()));
      for (int r = 0; r < 7; ++r) {
        for (auto k = static_cast<std::size_t>(counts.offsets[static_cast<std::size_t>(r)]);
             k < static_cast<std::size_t>(counts.offsets[static_cast<std::size_t>(r) + 1]); ++k) {
          const auto entry = expected.find({r, counts.columns[k]});
          ASSERT_NE(entry, expected.end());
          EXPECT_NEAR(counts.values[k], entry->second, 1e-5 * entry->second);
        }
      }
    }
  }
}

TEST(Cooccurrence, DoesNotDependOnThreadsOrBatches) {
  const Text text = random_text(3000, 2);
  // A small buffer, so that there are many counting passes.
  const WindowOptions options{.size = 4, .weight = WindowWeight::harmonic, .buffer = 1000};
  const int before = num_threads();
  const SparseMatrix expected = count(text, options);
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const std::size_t batch : {std::size_t{7}, std::size_t{1024}})
      expect_equal(count(text, options, batch), expected);
  }
  set_num_threads(before);
}

TEST(Cooccurrence, MergesTheCountsOfWorkers) {
  const Text first = random_text(200, 3), second = random_text(100, 4);
  Text both = first;
  both.insert(both.end(), second.begin(), second.end());
  const WindowOptions options{.size = 3, .weight = WindowWeight::flat};
  CooccurrenceCounter a(table_of(kWords), kTokens, options), b(table_of(kWords), kTokens, options);
  const Batch first_batch(first), second_batch(second);
  a.add(first_batch.sentences());
  b.add(second_batch.sentences());
  a.merge(std::move(b));
  expect_equal(a.finish(), count(both, options));
  EXPECT_EQ(a.finish().nonzeros(), 0) << "finish empties the counter";
  EXPECT_THROW(a.merge(CooccurrenceCounter(table_of(kWords), kTokens, {.size = 4})), InvalidInput);
  EXPECT_THROW(a.merge(CooccurrenceCounter(table_of({"g", "f", "e", "d", "c", "b", "a"}), kTokens, options)),
               InvalidInput);
}

TEST(Cooccurrence, AddsFinishedCountsAndRefusesOthers) {
  const Text text = random_text(100, 5);
  CooccurrenceCounter counter(table_of(kWords), kTokens);
  const SparseMatrix counts = count(text, {});
  counter.add(counts);
  expect_equal(counter.finish(), counts);
  const auto refused = [&](auto change) {
    SparseMatrix other = counts;
    change(other);
    EXPECT_THROW(counter.add(other), InvalidInput);
  };
  refused([](SparseMatrix& m) { m.offsets.push_back(m.offsets.back()); });
  refused([](SparseMatrix& m) { m.columns.front() = 7; });
  refused([](SparseMatrix& m) { m.columns.front() = -1; });
  refused([](SparseMatrix& m) { m.values.pop_back(); });
  refused([](SparseMatrix& m) { m.offsets[1] = m.offsets[2] + 1; });
  expect_equal(count({}, {}), counter.finish());
}

TEST(Cooccurrence, TokenizesRawText) {
  const std::vector<std::string_view> raw = {"a b", "", "  ", "B  a"};
  CooccurrenceCounter counter(table_of(kWords), {.split = Split::whitespace, .lowercase = true}, {.size = 1});
  counter.add({raw, {}});
  const SparseMatrix counts = counter.finish();
  EXPECT_EQ(counts.columns, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(counts.values, (std::vector<float>{2, 2}));
}

TEST(Cooccurrence, MayHaveNothingToCount) {
  EXPECT_EQ(count({}, {}).nonzeros(), 0);
  EXPECT_EQ(count({{}, {"a"}, {"z", "a", "z"}}, {}).nonzeros(), 0);
  EXPECT_EQ(CooccurrenceCounter(StringTable(), kTokens).finish().rows(), 0);
}

TEST(Cooccurrence, RefusesInvalidOptions) {
  const auto make = [](const WindowOptions& options) {
    CooccurrenceCounter(table_of(kWords), kTokens, options);
  };
  EXPECT_THROW(make({.size = 0}), InvalidInput);
  EXPECT_THROW(make({.size = 1001}), InvalidInput);
  EXPECT_THROW(make({.buffer = 0}), InvalidInput);
}

}  // namespace
}  // namespace sentencode
