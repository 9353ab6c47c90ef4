#include "sentencode/linear/prefix_gram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/memory.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// Words of fewer dimensions are multiplied in double, which costs little; others in float, kRows sentences at
// a time, with sums in double.
constexpr std::int64_t kNarrow = 128;
constexpr std::int64_t kRows = 2048;
constexpr std::int64_t kBytes = 64 << 20;  // of their words

/// Begin of block column j of an upper triangle that is stored column by column.
std::int64_t triangle(std::int64_t j) { return j * (j + 1) / 2; }

}  // namespace

PrefixGram::PrefixGram(Reading reading, std::int64_t dim, std::int64_t max_length)
    : reading_(reading),
      dim_(dim),
      max_length_(max_length),
      sums_(std::make_shared<const Sums>(Sums{MatrixD(0, dim), MatrixD(0, dim), {}})) {
  ST_CHECK(dim >= 1, InvalidInput, "dim must be at least 1, got ", dim);
  ST_CHECK(max_length >= 1 && max_length <= 10'000, InvalidInput, "max_length must be 1 to 10000, got ",
           max_length);
}

bool PrefixGram::sums_in_double(std::int64_t dim) { return dim < kNarrow; }

double PrefixGram::bytes(std::int64_t longest, std::int64_t dim) {
  return 8.0 * static_cast<double>(triangle(longest)) * static_cast<double>(dim * dim);
}

void PrefixGram::add(const RaggedIds& sentences) {
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    auto sentence = sentences[i];
    if (sentence.empty()) continue;
    sentence = sentence.first(std::min(sentence.size(), static_cast<std::size_t>(max_length_)));
    waiting_.ids.insert(waiting_.ids.end(), sentence.begin(), sentence.end());
    waiting_.offsets.push_back(std::ssize(waiting_.ids));
    ++sentences_;
    tokens_ += std::ssize(sentence);
    longest_ = std::max<std::int64_t>(longest_, std::ssize(sentence));
  }
}

void PrefixGram::merge(const PrefixGram& other) {
  ST_CHECK(other.reading_ == reading_ && other.dim_ == dim_ && other.max_length_ == max_length_, InvalidInput,
           "cannot merge statistics of another direction, dimension or max_length");
  if (&other == this) return merge(PrefixGram(other));
  if (only_waiting()) {
    sums_ = other.sums_;
  } else if (!other.only_waiting()) {
    const auto sums = grown(other.absorbed_length());
    sums->gram.topRows(other.sums_->gram.rows()) += other.sums_->gram;
    sums->parts.topRows(other.sums_->parts.rows()) += other.sums_->parts;
    for (std::size_t l = 0; l < other.sums_->counts.size(); ++l) sums->counts[l] += other.sums_->counts[l];
    sums_ = sums;
  }
  sentences_ += other.sentences_ - other.waiting_.size();
  tokens_ += other.tokens_ - std::ssize(other.waiting_.ids);
  longest_ = std::max(longest_, other.absorbed_length());
  add(other.waiting_);
}

void PrefixGram::absorb_batches(const WeightedWords& words, std::int64_t others) {
  // Ends of batches, as if each had been added as soon as it was full.
  std::int64_t sentences = 0;
  for (std::int64_t i = 0, from = 0; i < waiting_.size(); ++i) {
    const std::int64_t ids = waiting_.offsets[static_cast<std::size_t>(i) + 1];
    if (ids - from < kWaiting) continue;
    sentences = i + 1;
    from = ids;
  }
  absorb(words, sentences, others);
}

void PrefixGram::absorb(const WeightedWords& words, std::int64_t sentences, std::int64_t others) {
  ST_CHECK(words.dim() == dim_, InvalidInput, "words must have ", dim_, " dimensions, got ", words.dim());
  if (sentences == 0) return;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < sentences; ++i) {
    longest = std::max<std::int64_t>(longest, std::ssize(waiting_[i]));
  }
  // Works on a copy, so that an interrupt changes nothing.
  const auto sums = grown(longest, others);
  for (std::int64_t begin = 0, end = 0; begin < sentences; begin = end) {
    const std::int64_t full = waiting_.offsets[static_cast<std::size_t>(begin)] + kWaiting;
    while (end < sentences && waiting_.offsets[static_cast<std::size_t>(end)] < full) ++end;
    absorb_batch(begin, end, words, *sums);
  }
  RaggedIds rest;
  const std::int64_t absorbed = waiting_.offsets[static_cast<std::size_t>(sentences)];
  rest.ids.assign(waiting_.ids.begin() + absorbed, waiting_.ids.end());
  rest.offsets.clear();
  for (std::int64_t i = sentences; i <= waiting_.size(); ++i) {
    rest.offsets.push_back(waiting_.offsets[static_cast<std::size_t>(i)] - absorbed);
  }
  waiting_ = std::move(rest);
  sums_ = sums;
}

void PrefixGram::absorb_batch(std::int64_t begin, std::int64_t end, const WeightedWords& words,
                              Sums& sums) const {
  // Longest first, so that sentences longer than j are the first rows.
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  const auto length = [this](std::int64_t i) { return std::ssize(waiting_[i]); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return length(a) > length(b); });
  const std::int64_t element = sums_in_double() ? sizeof(double) : sizeof(float);
  for (std::span<const std::int64_t> rest = order; !rest.empty();) {
    poll_interrupt();
    const std::int64_t fitting = kBytes / (length(rest.front()) * dim_ * element);
    const auto rows = rest.first(static_cast<std::size_t>(
        std::clamp<std::int64_t>(fitting, 1, std::min<std::int64_t>(kRows, std::ssize(rest)))));
    sums_in_double() ? absorb_rows<double>(rows, words, sums) : absorb_rows<float>(rows, words, sums);
    rest = rest.subspan(rows.size());
  }
}

void PrefixGram::check_memory(std::int64_t length, std::int64_t dim, std::int64_t others) {
  // G and a larger copy, or C, which is as large. The system would grant more memory, and kill the process
  // when it is used.
  const double gigabytes = static_cast<double>(2 + others) * bytes(length, dim) / 1e9;
  const double limit = static_cast<double>(memory_limit()) / 1e9;
  ST_CHECK(gigabytes <= limit, InvalidInput, "a sentence of ", length, " known words of ", dim,
           " dimensions needs ", std::llround(gigabytes), " GB, of ", std::llround(limit),
           " GB in total: use a smaller max_length");
}

/// A copy of the sums, enlarged for sentences of this length.
std::shared_ptr<PrefixGram::Sums> PrefixGram::grown(std::int64_t length, std::int64_t others) const {
  const std::int64_t old = absorbed_length();
  length = std::max(length, old);
  check_memory(length, dim_, others);
  auto sums = std::make_shared<Sums>();
  const auto copied = [](const MatrixD& from, std::int64_t rows) {
    MatrixD to(rows, from.cols());
    to.topRows(from.rows()) = from;
    to.bottomRows(rows - from.rows()).setZero();
    return to;
  };
  sums->gram = copied(sums_->gram, triangle(length) * dim_);
  sums->parts = copied(sums_->parts, triangle(length));
  sums->counts = sums_->counts;
  sums->counts.resize(static_cast<std::size_t>(length));
  return sums;
}

template <typename T>
void PrefixGram::absorb_rows(std::span<const std::int64_t> rows, const WeightedWords& words,
                             Sums& sums) const {
  const std::int64_t n = dim_, count = std::ssize(rows);
  const auto length = [&](std::int64_t r) { return std::ssize(waiting_[rows[static_cast<std::size_t>(r)]]); };
  const std::int64_t longest = length(0);
  RowMajor<T> z(count,
                longest * n);  // right-aligned: block i is x_(l-i), or zero
  std::vector<std::int64_t> longer(static_cast<std::size_t>(longest));  // rows of length > j
  for (std::int64_t r = 0; r < count; ++r) {
    ++sums.counts[static_cast<std::size_t>(length(r) - 1)];
    for (std::int64_t j = 0; j < length(r); ++j) longer[static_cast<std::size_t>(j)] = r + 1;
  }

  parallel_for(0, count, 64, [&](std::int64_t begin, std::int64_t end) {
    Vector x(n);
    for (std::int64_t r = begin; r < end; ++r) {
      const auto ids = waiting_[rows[static_cast<std::size_t>(r)]];
      for (const std::int32_t id : ids) words.vectors()->prefetch(id);
      for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        const auto from_start = reading_ == Reading::forward ? std::ssize(ids) - 1 - i : i;
        words.row(ids[static_cast<std::size_t>(from_start)], x.data());
        z.block(r, i * n, 1, n) = x.transpose().cast<T>();
      }
    }
  });

  parallel_for(0, longest, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t r = 0; r < longer[static_cast<std::size_t>(i)]; ++r) {
        sums.parts.row(triangle(length(r) - 1) + i) += z.block(r, i * n, 1, n).template cast<double>();
      }
    }
  });

  RowMajor<T> panel;  // a block column of G
  for (std::int64_t j = 0; j < longest; ++j) {
    const auto long_enough = z.topRows(longer[static_cast<std::size_t>(j)]);
    const std::int64_t height = (j + 1) * n;
    auto column = sums.gram.middleRows(triangle(j) * n, height);
    if constexpr (std::is_same_v<T, double>) {
      gemm(Op::transpose, Op::none, 1.0, long_enough.leftCols(height), long_enough.middleCols(j * n, n), 1.0,
           column);
    } else {
      panel.resize(height, n);
      gemm(Op::transpose, Op::none, T(1), long_enough.leftCols(height), long_enough.middleCols(j * n, n),
           T(0), panel);
      parallel_for(0, height, 1024, [&](std::int64_t begin, std::int64_t end) {
        column.middleRows(begin, end - begin) += panel.middleRows(begin, end - begin).template cast<double>();
      });
    }
  }
}

VectorD PrefixGram::mean(const WeightedWords& words) const {
  VectorD sum = sums_->parts.colwise().sum();
  Vector x(dim_);
  for (const std::int32_t id : waiting_.ids) {
    words.row(id, x.data());
    sum += x.cast<double>();
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, tokens_));
}

template <typename T>
RowMajor<T> PrefixGram::covariance(const std::optional<VectorD>& centre) const {
  const std::int64_t width = absorbed_length() * dim_;
  RowMajor<T> c(width, width);
  covariance<T>(centre, c);
  return c;
}

template <typename T>
void PrefixGram::covariance(const std::optional<VectorD>& centre, MutableRef<T> c) const {
  ST_INVARIANT(waiting_.size() == 0);
  const std::int64_t n = dim_, length = absorbed_length();
  ST_INVARIANT(c.rows() == length * n && c.cols() == length * n);
  const MatrixD& gram = sums_->gram;
  // Number of sentences longer than j, and the sums of their x_(l-i), at triangle(j) + i.
  std::vector<std::int64_t> longer = sums_->counts;
  MatrixD sums = centre ? sums_->parts : MatrixD();
  for (std::int64_t j = length - 2; j >= 0 && centre; --j) {
    longer[static_cast<std::size_t>(j)] += longer[static_cast<std::size_t>(j) + 1];
    sums.middleRows(triangle(j), j + 1) += sums.middleRows(triangle(j + 1), j + 1);
  }

  parallel_for(0, length, 1, [&](std::int64_t begin, std::int64_t end) {
    MatrixD sum(n, n);  // along a block diagonal, from its end
    for (std::int64_t d = begin; d < end; ++d) {
      sum.setZero();
      for (std::int64_t j = length - 1; j >= d; --j) {
        const std::int64_t i = j - d;
        sum += gram.middleRows((triangle(j) + i) * n, n);
        if (centre) {  // sum of (x_(l-i) - m)(x_(l-j) - m)^T, multiplied out
          const double count = static_cast<double>(longer[static_cast<std::size_t>(j)]);
          const VectorD& m = *centre;
          const VectorD left = sums.row(triangle(j) + i).transpose() - count * m;
          sum.noalias() -= left * m.transpose();
          sum.noalias() -= m * sums.row(triangle(j) + j);
        }
        c.block(i * n, j * n, n, n) = sum.template cast<T>();
        if (d > 0) c.block(j * n, i * n, n, n) = sum.transpose().template cast<T>();
      }
    }
  });
}
template RowMajor<float> PrefixGram::covariance<float>(const std::optional<VectorD>&) const;
template RowMajor<double> PrefixGram::covariance<double>(const std::optional<VectorD>&) const;
template void PrefixGram::covariance<float>(const std::optional<VectorD>&, MutableRef<float>) const;
template void PrefixGram::covariance<double>(const std::optional<VectorD>&, MutableRef<double>) const;

PrefixGram::State PrefixGram::state() const {
  return {reading_,    dim_,         max_length_,   sentences_, tokens_,
          sums_->gram, sums_->parts, sums_->counts, waiting_};
}

PrefixGram::PrefixGram(State state) : PrefixGram(state.reading, state.dim, state.max_length) {
  const std::int64_t length = std::ssize(state.counts);
  ST_CHECK(length <= max_length_, InvalidInput, "statistics: ", length, " lengths, but max_length is ",
           max_length_);
  ST_CHECK(state.gram.rows() == triangle(length) * dim_ && state.gram.cols() == dim_, InvalidInput,
           "statistics: gram must be [", triangle(length) * dim_, ", ", dim_, "], got [", state.gram.rows(),
           ", ", state.gram.cols(), "]");
  ST_CHECK(state.sums.rows() == triangle(length) && state.sums.cols() == dim_, InvalidInput,
           "statistics: sums must be [", triangle(length), ", ", dim_, "], got [", state.sums.rows(), ", ",
           state.sums.cols(), "]");
  ST_CHECK(state.gram.allFinite() && state.sums.allFinite(), InvalidInput, "statistics: must be finite");
  const auto& offsets = state.waiting.offsets;
  ST_CHECK(!offsets.empty() && offsets.front() == 0 && offsets.back() == std::ssize(state.waiting.ids),
           InvalidInput, "statistics: the offsets of the waiting sentences must run from 0 to ",
           state.waiting.ids.size());
  std::int64_t tokens = offsets.back(), sentences = state.waiting.size();
  for (std::int64_t l = 1; l <= length; ++l) {
    const std::int64_t count = state.counts[static_cast<std::size_t>(l - 1)];
    ST_CHECK(count >= 0 && count < (std::int64_t{1} << 40), InvalidInput, "statistics: ", count,
             " sentences of length ", l);
    sentences += count;
    tokens += count * l;
  }
  ST_CHECK(sentences == state.sentences && tokens == state.tokens, InvalidInput,
           "statistics: ", state.sentences, " sentences and ", state.tokens, " tokens are claimed, ",
           sentences, " and ", tokens, " counted");
  longest_ = length;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::int64_t l = offsets[i + 1] - offsets[i];
    ST_CHECK(l >= 1 && l <= max_length_, InvalidInput, "statistics: a waiting sentence of length ", l);
    longest_ = std::max(longest_, l);
  }
  sentences_ = sentences;
  tokens_ = tokens;
  waiting_ = std::move(state.waiting);
  sums_ = std::make_shared<const Sums>(
      Sums{std::move(state.gram), std::move(state.sums), std::move(state.counts)});
}

}  // namespace sentencode
