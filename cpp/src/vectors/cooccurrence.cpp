#include "sentencode/vectors/cooccurrence.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

constexpr std::int32_t kBoundary = -1;

float weight_at(const WindowOptions& options, int distance) {
  switch (options.weight) {
    case WindowWeight::linear:
      return static_cast<float>(options.size + 1 - distance) / static_cast<float>(options.size);
    case WindowWeight::harmonic:
      return 1.0F / static_cast<float>(distance);
    case WindowWeight::flat:
      break;
  }
  return 1;
}

/// Positions of each word in a text, ascending: positions[starts[w]] .. positions[starts[w + 1] - 1].
struct Occurrences {
  std::vector<std::int64_t> starts;
  std::vector<std::uint32_t> positions;

  Occurrences(const std::vector<std::int32_t>& text, std::int64_t words)
      : starts(static_cast<std::size_t>(words) + 2, 0) {
    // Counting sort: counts are offset by two, so that every start is right after filling.
    for (const std::int32_t id : text) {
      if (id != kBoundary) ++starts[static_cast<std::size_t>(id) + 2];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    positions.resize(static_cast<std::size_t>(starts.back()));
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == kBoundary) continue;
      const std::int64_t at = starts[static_cast<std::size_t>(text[i]) + 1]++;
      positions[static_cast<std::size_t>(at)] = static_cast<std::uint32_t>(i);
    }
    starts.pop_back();
  }
};

/// A dense row of counts, with a bit for every used column, so that they are read in order without sorting.
class Accumulator {
 public:
  explicit Accumulator(std::int64_t columns)
      : sums_(static_cast<std::size_t>(columns)), used_(static_cast<std::size_t>(columns) / 64 + 1) {}

  void add(std::int32_t column, float weight) {
    const auto c = static_cast<std::size_t>(column);
    sums_[c] += static_cast<double>(weight);
    used_[c / 64] |= std::uint64_t{1} << (c % 64);
  }
  void add(const std::vector<std::int32_t>& columns, const std::vector<float>& values) {
    for (std::size_t i = 0; i < columns.size(); ++i) add(columns[i], values[i]);
  }

  /// Returns the used columns and their sums, and clears them.
  void drain(std::vector<std::int32_t>& columns, std::vector<float>& values) {
    columns.clear();
    values.clear();
    for (std::size_t block = 0; block < used_.size(); ++block) {
      for (std::uint64_t bits = std::exchange(used_[block], 0); bits != 0; bits &= bits - 1) {
        const std::size_t c = block * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        columns.push_back(static_cast<std::int32_t>(c));
        values.push_back(static_cast<float>(std::exchange(sums_[c], 0.0)));
      }
    }
  }

 private:
  std::vector<double> sums_;
  std::vector<std::uint64_t> used_;
};

}  // namespace

CooccurrenceCounter::CooccurrenceCounter(StringTable words, Tokenizer tokenizer, WindowOptions options)
    : words_(std::move(words)),
      tokenizer_(std::move(tokenizer)),
      buffer_limit_(static_cast<std::size_t>(options.buffer)),
      rows_(static_cast<std::size_t>(words_.size())) {
  constexpr int kLargestWindow = 1000;
  constexpr std::int64_t kLargestBuffer = 1 << 30;  // positions have 32 bits
  ST_CHECK(options.size >= 1 && options.size <= kLargestWindow, InvalidInput, "window must be 1 to ",
           kLargestWindow, " words, got ", options.size);
  ST_CHECK(options.buffer >= 1 && options.buffer <= kLargestBuffer, InvalidInput, "buffer must be 1 to ",
           kLargestBuffer, " words, got ", options.buffer);
  for (int d = 0; d <= options.size; ++d) weights_.push_back(d == 0 ? 0 : weight_at(options, d));
}

void CooccurrenceCounter::add(const Sentences& sentences) {
  sentences.check();
  constexpr std::int64_t kGrain = 512;
  std::vector<std::vector<std::int32_t>> pieces(
      static_cast<std::size_t>((sentences.size() + kGrain - 1) / kGrain));
  parallel_for(0, sentences.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t>& ids = pieces[static_cast<std::size_t>(begin / kGrain)];
    Tokens tokens;
    for (std::int64_t i = begin; i < end; ++i) {
      tokens.clear();
      tokenizer_(sentences, i, tokens);
      ids.push_back(kBoundary);
      for (const std::string_view token : tokens.views()) {
        const std::int32_t id = words_.find(token);
        if (id != StringTable::kMissing) ids.push_back(id);
      }
    }
  });
  for (const std::vector<std::int32_t>& ids : pieces) {
    // Sentence by sentence, so that counting passes do not depend on the batches.
    for (auto begin = ids.begin(); begin != ids.end();) {
      const auto end = std::find(begin + 1, ids.end(), kBoundary);
      buffer_.insert(buffer_.end(), begin, end);
      begin = end;
      if (buffer_.size() >= buffer_limit_) count_buffer();
    }
  }
}

void CooccurrenceCounter::count_buffer() {
  ST_CHECK(buffer_.size() <= UINT32_MAX, InvalidInput, "a sentence of ", buffer_.size(),
           " tokens is too long");
  const std::int64_t words = words_.size();
  const Occurrences occurrences(buffer_, words);

  // Pieces of equal work: the most frequent words take most of it.
  constexpr std::int64_t kPieces = 256;
  const std::int64_t share = occurrences.starts.back() / kPieces + 1;
  std::vector<std::int64_t> bounds{0};
  for (std::int64_t w = 1; w <= words; ++w) {
    const auto work = [&](std::int64_t upto) { return occurrences.starts[static_cast<std::size_t>(upto)]; };
    if (w == words || work(w) - work(bounds.back()) >= share) bounds.push_back(w);
  }

  const auto window = static_cast<std::int64_t>(weights_.size()) - 1;
  const auto text_end = static_cast<std::int64_t>(buffer_.size());
  const std::int32_t* const text = buffer_.data();
  parallel_for(0, static_cast<std::int64_t>(bounds.size()) - 1, 1, [&](std::int64_t piece, std::int64_t) {
    Accumulator sums(words);
    Row merged;
    for (std::int64_t w = bounds[static_cast<std::size_t>(piece)];
         w < bounds[static_cast<std::size_t>(piece) + 1]; ++w) {
      const auto first = occurrences.starts[static_cast<std::size_t>(w)];
      const auto last = occurrences.starts[static_cast<std::size_t>(w) + 1];
      if (first == last) continue;
      for (std::int64_t k = first; k < last; ++k) {
        const std::int64_t at = occurrences.positions[static_cast<std::size_t>(k)];
        // Every text begins with a boundary, which ends the loop.
        for (std::int64_t d = 1; d <= window && text[at - d] != kBoundary; ++d) {
          sums.add(text[at - d], weights_[static_cast<std::size_t>(d)]);
        }
        const std::int64_t reach = std::min(window, text_end - 1 - at);
        for (std::int64_t d = 1; d <= reach && text[at + d] != kBoundary; ++d) {
          sums.add(text[at + d], weights_[static_cast<std::size_t>(d)]);
        }
      }
      Row& row = rows_[static_cast<std::size_t>(w)];
      sums.add(row.columns, row.values);
      sums.drain(merged.columns, merged.values);
      row = merged;  // a copy without spare capacity
    }
  });
  buffer_.clear();
}

void CooccurrenceCounter::merge(CooccurrenceCounter other) {
  ST_CHECK(std::ranges::equal(other.words_.bytes(), words_.bytes()) &&
               std::ranges::equal(other.words_.offsets(), words_.offsets()) && other.weights_ == weights_ &&
               other.tokenizer_ == tokenizer_,
           InvalidInput, "merge: the counters must have the same words, tokenizer and window");
  add(other.finish());
}

void CooccurrenceCounter::add(const SparseMatrix& counts) {
  const std::int64_t words = words_.size();
  ST_CHECK(counts.rows() == words && counts.cols == words, InvalidInput, "counts of ", counts.rows(), " x ",
           counts.cols, " words, expected ", words);
  ST_CHECK(counts.offsets.front() == 0 && std::ranges::is_sorted(counts.offsets) &&
               counts.nonzeros() == std::ssize(counts.columns) &&
               counts.nonzeros() == std::ssize(counts.values),
           InvalidInput, "counts: offsets do not fit the columns and values");
  ST_CHECK(std::ranges::all_of(counts.columns, [&](std::int32_t c) { return c >= 0 && c < words; }),
           InvalidInput, "counts: a column that is none of ", words, " words");
  count_buffer();
  parallel_for(0, words, 1024, [&](std::int64_t begin, std::int64_t end) {
    Accumulator sums(words);
    for (auto w = static_cast<std::size_t>(begin); w < static_cast<std::size_t>(end); ++w) {
      sums.add(rows_[w].columns, rows_[w].values);
      for (auto k = static_cast<std::size_t>(counts.offsets[w]);
           k < static_cast<std::size_t>(counts.offsets[w + 1]); ++k) {
        sums.add(counts.columns[k], counts.values[k]);
      }
      sums.drain(rows_[w].columns, rows_[w].values);
    }
  });
}

SparseMatrix CooccurrenceCounter::finish() {
  count_buffer();
  SparseMatrix counts;
  counts.cols = words_.size();
  counts.offsets.reserve(rows_.size() + 1);
  for (const Row& row : rows_) {
    counts.offsets.push_back(counts.offsets.back() + static_cast<std::int64_t>(row.columns.size()));
  }
  counts.columns.reserve(static_cast<std::size_t>(counts.nonzeros()));
  counts.values.reserve(static_cast<std::size_t>(counts.nonzeros()));
  for (Row& row : rows_) {
    counts.columns.insert(counts.columns.end(), row.columns.begin(), row.columns.end());
    counts.values.insert(counts.values.end(), row.values.begin(), row.values.end());
    row = {};  // frees its memory
  }
  return counts;
}

}  // namespace sentencode
