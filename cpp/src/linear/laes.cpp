#include "sentencode/linear/laes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

using Options = LaesOptions;

constexpr std::int64_t kLookup = 8192;          // sentences whose ids are found at once
constexpr std::int64_t kLearnt = 1 << 16;       // sentences that are learnt at once
constexpr std::int64_t kText = 32 << 20;        // bytes of text that are looked at at once
constexpr std::int64_t kUnits = 4096;           // a file may ask for so many hidden units, whatever it holds
constexpr std::int64_t kTokens = 32768;         // words that are multiplied at once
constexpr std::int64_t kSweepBytes = 64 << 20;  // of what is computed of them once for many hidden sizes
constexpr double kRounding = 1e-6;              // of what a residual is the difference of: rounding's share

// The names of options, in the order of their values.
constexpr std::array<std::string_view, 3> kModes{"hidden", "reconstruction", "residual"};
constexpr std::array<std::string_view, 3> kDirections{"forward", "backward", "both"};
constexpr std::array<std::string_view, 2> kCombines{"sum", "concat"};
constexpr std::array<std::string_view, 2> kStates{"recursive", "projection"};
constexpr std::array<std::string_view, 2> kReadings{"forward", "backward"};

template <typename Value, std::size_t N>
Value value_named(const char* option, const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string all;
    for (const auto known : names) all += concat(all.empty() ? "'" : ", '", known, "'");
    throw InvalidInput(concat(option, " must be one of ", all, ", got '", name, "'"));
  }
  return static_cast<Value>(found - names.begin());
}

/// Calls block(begin, end) for runs of sentences of about `tokens` words: a long sentence is one alone.
template <typename Block>
void for_blocks(const RaggedIds& ids, std::int64_t tokens, const Block& block) {
  for (std::int64_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const std::int64_t full = ids.offsets[static_cast<std::size_t>(begin)] + tokens;
    for (end = begin + 1; end < ids.size() && ids.offsets[static_cast<std::size_t>(end) + 1] <= full;) ++end;
    block(begin, end);
  }
}

/// The end of a run of sentences from `begin`: at most `most`, of at most kText bytes, but one at least. Of a
/// sentence, max_length words count.
std::int64_t run_end(const Sentences& sentences, std::int64_t begin, std::int64_t most,
                     std::int64_t max_length = kText) {
  const auto piece = [&](std::int64_t i) {
    return static_cast<std::size_t>(sentences.tokenised() ? sentences.offsets[static_cast<std::size_t>(i)]
                                                          : i);
  };
  most = std::min(begin + most, sentences.size());
  std::int64_t end = begin;
  for (std::int64_t bytes = 0; end < most; ++end) {
    std::int64_t more = 0;
    for (std::size_t i = piece(end); i < piece(end + 1); ++i) more += 1 + std::ssize(sentences.pieces[i]);
    bytes += std::min(more, 2 * max_length);
    if (end > begin && bytes > kText) break;
  }
  return end;
}

/// e of every row from its sum of words less centre, its sum of reconstructions less centre, and h; as mode
/// asks.
Matrix embeddings(Options::Mode mode, const AlignedSentences& rows, const Vector& centre, const Matrix& sums,
                  Matrix reconstructed, const Matrix& h) {
  if (mode == Options::Mode::hidden) return h;  // (6)
  Matrix e = std::move(reconstructed);
  for (std::int64_t row = 0; row < rows.longer(0); ++row) {
    const auto l = static_cast<float>(rows.length(row));
    if (mode == Options::Mode::reconstruction) {
      e.row(row) /= l;  // 1/l sum x~
      if (centre.size() > 0) e.row(row) += centre.transpose();
    } else {
      e.row(row) = (sums.row(row) - e.row(row)) / l;  // 1/l sum (x - x~)
      const double whole = std::max(squared_length(sums.row(row)), squared_length(h.row(row))) / (l * l);
      if (squared_length(e.row(row)) <= kRounding * kRounding * whole) e.row(row).setZero();
    }
  }
  return e;
}

/// How many words a Sweep takes at once: what it keeps of each is a row of so many numbers.
std::int64_t sweep_tokens(const Autoencoder& m) {
  const std::int64_t row = std::max(m.hidden(), m.dim()) * std::int64_t{sizeof(float)};
  return std::clamp<std::int64_t>(kSweepBytes / row, 1, kTokens);
}

/// Calls piece(first, last) for runs of positions at which some sentences have about `tokens` words.
template <typename Piece>
void for_positions(const AlignedSentences& rows, std::int64_t tokens, const Piece& piece) {
  for (std::int64_t first = 0, last = 0; first < rows.longest(); first = last) {
    std::int64_t words = rows.longer(last++);
    while (last < rows.longest() && words + rows.longer(last) <= tokens) words += rows.longer(last++);
    piece(first, last);
  }
}

/// The paper's recursions for every hidden size in turn: what does not depend on the size is computed once,
/// unless it is of a sentence so long that it could not be kept.
class Sweep {
 public:
  Sweep(const Autoencoder& parameters, const RaggedIds& ids, const WeightedWords& words, Reading reading)
      : m_(parameters),
        words_(words),
        rows_(ids, 0, ids.size(), reading, AlignedSentences::End::first),
        tokens_(sweep_tokens(parameters)),
        sums_(Matrix::Zero(ids.size(), m_.dim())) {
    if (m_.u.size() > 0) {
      const AlignedSentences from_last(ids, 0, ids.size(), reading, AlignedSentences::End::last);
      projected_ = BatchAutoencoder(m_).states(from_last, words, &sums_);
    } else {
      for_positions(rows_, tokens_, [&](std::int64_t first, std::int64_t last) {
        const Matrix x = rows_.words(words_, m_.centre, first, last, &sums_);
        if (first == 0 && last == rows_.longest()) inputs_ = product(x, m_.a, Op::none, Op::transpose);
      });
    }
  }

  const AlignedSentences& rows() const { return rows_; }
  const Matrix& sums() const { return sums_; }  // of every row's words, less centre [size, n]

  /// h_l of every row [size, p].
  Matrix states(std::int64_t p) const {
    if (m_.u.size() > 0) return projected_.leftCols(p);
    Matrix final = Matrix::Zero(rows_.size(), p), h(rows_.longer(0), p), next(rows_.longer(0), p);
    for_positions(rows_, tokens_, [&](std::int64_t first, std::int64_t last) {
      Matrix fresh;
      if (inputs_.size() == 0) {
        const Matrix x = rows_.words(words_, m_.centre, first, last);
        fresh.resize(x.rows(), p);
        gemm(Op::none, Op::transpose, 1.0F, x, m_.a.topRows(p), 0.0F, fresh);
      }
      const Matrix& inputs = inputs_.size() == 0 ? fresh : inputs_;
      for (std::int64_t t = first, at = 0; t < last; ++t) {
        const std::int64_t going_on = rows_.longer(t), before = t > 0 ? rows_.longer(t - 1) : going_on;
        next.topRows(going_on) = inputs.block(at, 0, going_on, p);  // A x_t
        if (t > 0) {                                                // + B h_(t-1)
          gemm(Op::none, Op::transpose, 1.0F, h.topRows(going_on), m_.b.topLeftCorner(p, p), 1.0F,
               next.topRows(going_on));
          final.middleRows(going_on, before - going_on) = h.middleRows(going_on, before - going_on);
        }
        std::swap(h, next);
        at += going_on;
      }
    });
    const std::int64_t last = rows_.longest() > 0 ? rows_.longer(rows_.longest() - 1) : 0;
    final.topRows(last) = h.topRows(last);
    return final;
  }

  /// sum_i x~_i of every row [size, n]: A^T (I + B^T + ... + (B^T)^(l-1)) h, by Horner's rule.
  Matrix reconstructed_sums(const Matrix& h) const {
    const std::int64_t p = h.cols();
    Matrix final = h, sum = h, next(rows_.longer(1), p);
    for (std::int64_t k = 1; k < rows_.longest(); ++k) {
      const std::int64_t going_on = rows_.longer(k);
      next.topRows(going_on) = h.topRows(going_on);
      gemm(Op::none, Op::none, 1.0F, sum.topRows(going_on), m_.b.topLeftCorner(p, p), 1.0F,
           next.topRows(going_on));
      const std::int64_t ended = rows_.longer(k + 1);
      final.middleRows(ended, going_on - ended) = next.middleRows(ended, going_on - ended);
      std::swap(sum, next);
    }
    Matrix out(h.rows(), m_.dim());
    gemm(Op::none, Op::none, 1.0F, final, m_.a.topRows(p), 0.0F, out);
    return out;
  }

 private:
  const Autoencoder& m_;
  const WeightedWords& words_;
  AlignedSentences rows_;
  std::int64_t tokens_;  // that are taken at once
  Matrix sums_;
  Matrix inputs_;     // A x_t [tokens, P], position by position; empty where they are more
  Matrix projected_;  // U^T z [size, P], where the state is the projection
};

PrefixGram::State read_statistics(const SavedModel& saved, const std::string& prefix, Reading reading,
                                  std::int64_t n, std::int64_t max_length) {
  const auto vector = [&]<typename T>(const char* name, T) {
    const auto found = saved.values<T>(prefix + name, {-1});
    return std::vector<T>(found.begin(), found.end());
  };
  const auto seen = saved.values<std::int64_t>(prefix + "seen", {2});
  return {.reading = reading,
          .dim = n,
          .max_length = max_length,
          .sentences = seen[0],
          .tokens = seen[1],
          .gram = saved.matrix<double>(prefix + "gram", -1, n),
          .sums = saved.matrix<double>(prefix + "sums", -1, n),
          .counts = vector("counts", std::int64_t{}),
          .waiting = {vector("waiting.ids", std::int32_t{}), vector("waiting.offsets", std::int64_t{})}};
}

void check_sizes(std::span<const std::int64_t> hidden, std::int64_t most) {
  for (const std::int64_t p : hidden) {
    ST_CHECK(p >= 1 && p <= most, InvalidInput, "hidden sizes must be 1 to ", most, ", got ", p);
  }
}

}  // namespace

std::string_view name_of(Options::Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view name_of(Options::Direction direction) {
  return kDirections[static_cast<std::size_t>(direction)];
}
std::string_view name_of(Options::Combine combine) { return kCombines[static_cast<std::size_t>(combine)]; }
std::string_view name_of(Options::State state) { return kStates[static_cast<std::size_t>(state)]; }
Options::Mode mode_named(std::string_view name) { return value_named<Options::Mode>("mode", kModes, name); }
Options::Direction direction_named(std::string_view name) {
  return value_named<Options::Direction>("direction", kDirections, name);
}
Options::Combine combine_named(std::string_view name) {
  return value_named<Options::Combine>("combine", kCombines, name);
}
Options::State state_named(std::string_view name) {
  return value_named<Options::State>("state", kStates, name);
}

Laes::Laes(WeightedWords words, const LaesOptions& options)
    : LinearEncoder(std::move(words)), options_(options) {
  ST_CHECK(options.hidden >= 1, InvalidInput, "hidden must be at least 1, got ", options.hidden);
  for (const Reading reading : readings()) {
    statistics_.emplace_back(reading, this->words().dim(), options.max_length);
  }
}

std::vector<Reading> Laes::readings() const {
  switch (options_.direction) {
    case Direction::forward:
      return {Reading::forward};
    case Direction::backward:
      return {Reading::backward};
    case Direction::both:
      break;
  }
  return {Reading::forward, Reading::backward};
}

std::int64_t Laes::dim() const {
  const std::int64_t one = options_.mode == Mode::hidden ? options_.hidden : words().dim();
  return options_.direction == Direction::both && options_.combine == Combine::concat ? 2 * one : one;
}

void Laes::encode(const Sentences& sentences, MatrixView out) const {
  check_out(sentences, out);
  const auto fitted = checked();
  const auto directions = readings();
  const bool side_by_side = options_.combine == Combine::concat;
  const float share = side_by_side ? 1.0F : 1.0F / static_cast<float>(directions.size());
  for (std::int64_t first = 0, next = 0; first < sentences.size(); first = next) {
    next = run_end(sentences, first, kLookup);
    const RaggedIds ids = words().lookup(sentences.slice(first, next));
    out.middleRows(first, ids.size()).setZero();
    for_blocks(ids, kTokens, [&](std::int64_t begin, std::int64_t end) {
      for (std::size_t d = 0; d < directions.size(); ++d) {
        const BatchAutoencoder& model = (*fitted)[d];
        const AlignedSentences rows(ids, begin, end, directions[d], AlignedSentences::End::last);
        Matrix sums = Matrix::Zero(options_.mode == Mode::residual ? rows.size() : 0, words().dim());
        const Matrix h = model.states(rows, words(), sums.size() > 0 ? &sums : nullptr);  // [rows, p]
        Matrix reconstructed;                                                             // [rows, n]
        if (options_.mode != Mode::hidden) reconstructed = model.reconstructed_sums(rows, h);
        const Matrix e =
            embeddings(options_.mode, rows, model.parameters().centre, sums, std::move(reconstructed), h);
        const std::int64_t column = side_by_side ? static_cast<std::int64_t>(d) * e.cols() : 0;
        for (std::int64_t row = 0; row < rows.longer(0); ++row) {  // (7), (8)
          out.row(first + rows.sentence(row)).segment(column, e.cols()) += share * e.row(row);
        }
      }
    });
  }
}

Laes::Grams Laes::grams() const {
  const std::lock_guard lock(mutex_);
  return statistics_;  // copies share their sums
}

/// By whose turn it is: statistics that know more.
void Laes::replace(Grams grams) {
  const std::lock_guard lock(mutex_);
  statistics_.swap(grams);
  ++changes_;
}

/// By whose turn it is: takes waiting sentences into the sums, which changes nothing of what is known. One
/// direction after the other, because sums are large, and there are two of them meanwhile.
template <typename Which, typename Take>
void Laes::absorb(const Which& which, const Take& take) {
  for (std::size_t d = 0; d < readings().size(); ++d) {
    std::optional<PrefixGram> gram;
    {
      const std::lock_guard lock(mutex_);
      if (statistics_.empty() || !which(statistics_[d])) continue;
      gram = statistics_[d];
    }
    take(*gram);
    const std::lock_guard lock(mutex_);
    statistics_[d] = *std::move(gram);
  }
}

void Laes::partial_fit(const Sentences& sentences) {
  for (std::int64_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
    end = run_end(sentences, begin, kLearnt, options_.max_length);
    const RaggedIds ids = words().lookup_listed(sentences.slice(begin, end), options_.max_length);
    const Turn::Taken turn = writing_.take();
    // Room is made before anything is added: what may be interrupted is over by then.
    const std::int64_t others = std::ssize(readings()) - 1;
    absorb([](const PrefixGram& gram) { return gram.batch_is_full(); },
           [&](PrefixGram& gram) { gram.absorb_batches(words(), others); });
    Grams grown = grams();
    ST_CHECK(!grown.empty(), InvalidInput,
             "LAES: cannot continue fitting: it was saved without its statistics");
    for (PrefixGram& gram : grown) gram.add(ids);
    replace(std::move(grown));
  }
}

void Laes::merge(const Laes& other) {
  ST_CHECK(words().same_as(other.words()), InvalidInput,
           "LAES: cannot merge unless both have the same words, weights and tokenizer");
  const Grams theirs = other.grams();
  const Turn::Taken turn = writing_.take();
  Grams merged = grams();
  ST_CHECK(!merged.empty() && merged.size() == theirs.size(), InvalidInput,
           "LAES: cannot merge without statistics, or with those of other directions");
  for (std::size_t d = 0; d < merged.size(); ++d) merged[d].merge(theirs[d]);
  replace(std::move(merged));
}

void Laes::solve() { solve_beside(std::ssize(readings()) - 1); }

/// While there are so many statistics of the same sentences beside those of a direction.
void Laes::solve_beside(std::int64_t others) {
  const auto done = [this] {
    const std::lock_guard lock(mutex_);
    ST_CHECK(fitted_ || changes_ > 0, NotFitted, "LAES is not fitted yet: call fit or partial_fit first");
    return fitted_ && solved_ == changes_;
  };
  if (done()) return;
  const Turn::Taken turn = writing_.take();  // until then, another thread may have solved
  if (done()) return;
  // While all sentences wait, smaller problems than C may be solved; see fit_autoencoder.
  absorb([](const PrefixGram& gram) { return !gram.only_waiting() || gram.batch_is_full(); },
         [&](PrefixGram& gram) { gram.absorb(words(), others); });
  auto fitted = std::make_shared<Fitted>();
  for (const PrefixGram& gram : grams()) {
    fitted->emplace_back(fit_autoencoder(gram, words(), options_.hidden, options_.center,
                                         options_.state == State::projection, others));
  }
  const std::lock_guard lock(mutex_);
  fitted_ = std::move(fitted);
  solved_ = changes_;
}

std::shared_ptr<const Laes::Fitted> Laes::fitted_ptr() const {
  const std::lock_guard lock(mutex_);
  return fitted_;
}

std::shared_ptr<const Laes::Fitted> Laes::checked() const {
  auto fitted = fitted_ptr();
  ST_CHECK(fitted, NotFitted, "LAES is not fitted yet: call fit first");
  return fitted;
}

std::size_t Laes::place_of(Reading reading) const {
  const auto all = readings();
  const auto found = std::find(all.begin(), all.end(), reading);
  ST_CHECK(found != all.end(), InvalidInput, "LAES: direction is '", name_of(options_.direction),
           "': it has no ", kReadings[static_cast<std::size_t>(reading)], " part");
  return static_cast<std::size_t>(found - all.begin());
}

std::shared_ptr<const Autoencoder> Laes::autoencoder(Reading reading) const {
  const auto fitted = checked();
  return {fitted, &(*fitted)[place_of(reading)].parameters()};
}

Matrix Laes::states(const Sentences& one, Reading reading) const {
  ST_CHECK(one.size() == 1, InvalidInput, "states: expected one sentence, got ", one.size());
  const RaggedIds ids = words().lookup(one);
  const AlignedSentences row(ids, 0, 1, reading, AlignedSentences::End::first);
  return autoencoder(reading)->states(row.words(words(), {}, 0, row.longest()));
}

std::vector<double> Laes::reconstruction_error(const Sentences& sentences,
                                               std::span<const std::int64_t> hidden, Reading reading) const {
  const auto model = autoencoder(reading);
  check_sizes(hidden, model->hidden());
  double whole = 0;
  std::vector<double> wrong(hidden.size());
  const std::int64_t tokens = sweep_tokens(*model);
  const auto add = [&](const RaggedIds& ids) {
    const Sweep sweep(*model, ids, words(), reading);
    const AlignedSentences rows(ids, 0, ids.size(), reading, AlignedSentences::End::last);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const std::int64_t p = hidden[i];
      Matrix h = sweep.states(p);
      for_positions(rows, tokens, [&](std::int64_t first, std::int64_t last) {
        poll_interrupt();
        Matrix missing = rows.words(words(), {}, first, last);  // x_(l-k) - A^T h_(l-k)
        if (i == 0) whole += missing.cast<double>().squaredNorm();
        for (std::int64_t k = first, at = 0; k < last; ++k) {
          const std::int64_t count = rows.longer(k), next = rows.longer(k + 1);
          auto here = missing.middleRows(at, count);
          gemm(Op::none, Op::none, -1.0F, h.topRows(count), model->a.topRows(p), 1.0F, here);
          if (model->centre.size() > 0) here.rowwise() -= model->centre.transpose();
          h = product<float>(h.topRows(next), model->b.topLeftCorner(p, p));  // h_(t-1) = B^T h_t
          at += count;
        }
        wrong[i] += missing.cast<double>().squaredNorm();
      });
    }
  };
  for (std::int64_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
    end = run_end(sentences, begin, kLookup / 8);
    const RaggedIds ids = words().lookup(sentences.slice(begin, end));
    for_blocks(ids, tokens, [&](std::int64_t first, std::int64_t last) {
      RaggedIds some;
      words().vectors()->append(ids, first, last, some);
      add(some);
    });
  }
  for (double& error : wrong) error = whole > 0 ? std::sqrt(error / whole) : 0;
  return wrong;
}

std::vector<Curve> Laes::select(const Sentences& first, const Sentences& second, std::span<const double> gold,
                                std::span<const std::int64_t> hidden) const {
  check_pairs(first, second, gold);
  const auto fitted = checked();
  const auto directions = readings();
  check_sizes(hidden, options_.hidden);
  const bool both = directions.size() == 2;
  std::vector<Curve> curves;
  if (!both) {
    curves.push_back({std::string(name_of(options_.direction)), {}, {}});
  } else {
    for (const char* name : {"forward", "backward", "sum", "concat"}) curves.push_back({name, {}, {}});
  }
  // For each curve and size, the cosine of each pair.
  std::vector<MatrixD> cosines(curves.size(), MatrixD(std::ssize(hidden), first.size()));

  const auto score = [&](std::int64_t begin, const RaggedIds& ids) {  // first sentences, then second ones
    const std::int64_t pairs = ids.size() / 2;
    std::vector<Sweep> sweeps;
    for (std::size_t d = 0; d < directions.size(); ++d) {
      sweeps.emplace_back((*fitted)[d].parameters(), ids, words(), directions[d]);
    }
    for (std::int64_t i = 0; i < std::ssize(hidden); ++i) {
      poll_interrupt();
      std::array<Matrix, 2> e;  // [2 pairs, dim], by direction
      for (std::size_t d = 0; d < directions.size(); ++d) {
        const Matrix h = sweeps[d].states(hidden[static_cast<std::size_t>(i)]);
        Matrix reconstructed;
        if (options_.mode != Mode::hidden) reconstructed = sweeps[d].reconstructed_sums(h);
        const auto& rows = sweeps[d].rows();
        const Matrix sorted = embeddings(options_.mode, rows, (*fitted)[d].parameters().centre,
                                         sweeps[d].sums(), std::move(reconstructed), h);
        e[d] = Matrix::Zero(2 * pairs, sorted.cols());
        for (std::int64_t row = 0; row < rows.longer(0); ++row)
          e[d].row(rows.sentence(row)) = sorted.row(row);
      }
      parallel_for(0, pairs, 256, [&](std::int64_t pair, std::int64_t last) {
        for (; pair < last; ++pair) {
          // The products of direction a of sentence x with direction b of sentence y.
          const auto dot = [&](std::size_t a, std::int64_t x, std::size_t b, std::int64_t y) {
            return e[a].row(x).cast<double>().dot(e[b].row(y).cast<double>());
          };
          const auto put = [&](std::size_t curve, const auto& product_of) {
            const std::int64_t x = pair, y = pairs + pair;
            cosines[curve](i, begin + pair) = cosine(product_of(x, y), product_of(x, x), product_of(y, y));
          };
          for (std::size_t d = 0; d < directions.size(); ++d) {
            put(d, [&](auto x, auto y) { return dot(d, x, d, y); });
          }
          if (both) {
            put(2, [&](auto x, auto y) {
              return dot(0, x, 0, y) + dot(0, x, 1, y) + dot(1, x, 0, y) + dot(1, x, 1, y);
            });
            put(3, [&](auto x, auto y) { return dot(0, x, 0, y) + dot(1, x, 1, y); });
          }
        }
      });
    }
  };
  const std::int64_t tokens = sweep_tokens(fitted->front().parameters());
  for (std::int64_t begin = 0, end = 0; begin < first.size(); begin = end) {
    end = std::min(run_end(first, begin, kLookup / 8), run_end(second, begin, kLookup / 8));
    const RaggedIds one = words().lookup(first.slice(begin, end));
    const RaggedIds two = words().lookup(second.slice(begin, end));
    RaggedIds both_sides;  // how long the pairs are
    for (std::size_t i = 1; i < one.offsets.size(); ++i) {
      both_sides.offsets.push_back(one.offsets[i] + two.offsets[i]);
    }
    for_blocks(both_sides, tokens, [&](std::int64_t from, std::int64_t to) {
      RaggedIds some;
      words().vectors()->append(one, from, to, some);
      words().vectors()->append(two, from, to, some);
      score(begin + from, some);
    });
  }

  for (std::size_t c = 0; c < curves.size(); ++c) {
    curves[c].settings.assign(hidden.begin(), hidden.end());
    correlate(curves[c], cosines[c], gold);
  }
  return curves;
}

std::unique_ptr<Laes> Laes::variant(std::int64_t hidden, Mode mode, Direction direction,
                                    Combine combine) const {
  LaesOptions options = options_;
  options.hidden = hidden;
  options.mode = mode;
  options.direction = direction;
  options.combine = combine;
  auto result = std::make_unique<Laes>(words(), options);
  result->set_params(params());
  const auto wanted = result->readings();
  std::shared_ptr<const Fitted> fitted;
  Grams have;
  bool solved = false;
  {
    const std::lock_guard lock(mutex_);
    fitted = fitted_;
    have = statistics_;
    solved = solved_ == changes_;
    result->changes_ = fitted || changes_ > 0 ? 1 : 0;
  }
  result->statistics_.clear();
  for (std::size_t d = 0; d < wanted.size() && !have.empty(); ++d) {
    result->statistics_.push_back(have[place_of(wanted[d])]);
  }
  if (fitted && hidden <= options_.hidden) {
    auto corners = std::make_shared<Fitted>();
    for (const Reading reading : wanted) {
      corners->emplace_back((*fitted)[place_of(reading)].parameters().truncated(hidden));
    }
    result->fitted_ = std::move(corners);
    result->solved_ = solved ? 1 : 0;
    return result;
  }
  ST_CHECK(!have.empty(), InvalidInput, "LAES: ", hidden, " hidden units are more than the ", options_.hidden,
           " that it was saved with, and it was saved without its statistics");
  result->solve_beside(std::ssize(have) - 1);  // those of this encoder are kept, too
  return result;
}

std::vector<PrefixGram::State> Laes::statistics() const {
  std::vector<PrefixGram::State> states;
  for (const auto& gram : grams()) states.push_back(gram.state());
  return states;
}

void Laes::set_statistics(std::vector<PrefixGram::State> states) {
  const auto expected = readings();
  ST_CHECK(states.size() == expected.size(), InvalidInput, "LAES: statistics of ", states.size(),
           " directions, expected ", expected.size());
  Grams grams;
  for (std::size_t d = 0; d < states.size(); ++d) {
    PrefixGram gram(std::move(states[d]));
    ST_CHECK(gram.reading() == expected[d] && gram.dim() == words().dim() &&
                 gram.max_length() == options_.max_length,
             InvalidInput, "LAES: statistics of another direction, dimension or max_length");
    for (const std::int32_t id : gram.waiting().ids) {
      ST_CHECK(id >= 0 && id < words().vectors()->rows(), InvalidInput, "LAES: statistics name word ", id,
               ", the vectors hold ", words().vectors()->rows());
    }
    grams.push_back(std::move(gram));
  }
  const Turn::Taken turn = writing_.take();
  replace(std::move(grams));
}

bool Laes::solved() const {
  const std::lock_guard lock(mutex_);
  return fitted_ && solved_ == changes_;
}

std::int64_t Laes::sentences_seen() const {
  const std::lock_guard lock(mutex_);
  return statistics_.empty() ? 0 : statistics_.front().sentences();
}

std::int64_t Laes::tokens_seen() const {
  const std::lock_guard lock(mutex_);
  return statistics_.empty() ? 0 : statistics_.front().tokens();
}

void Laes::write(ModelContents& contents, const SaveOptions& save) const {
  auto& config = contents.config;
  config["hidden"] = options_.hidden;
  config["mode"] = name_of(options_.mode);
  config["direction"] = name_of(options_.direction);
  config["combine"] = name_of(options_.combine);
  config["center"] = options_.center;
  config["state"] = name_of(options_.state);
  config["max_length"] = options_.max_length;
  std::shared_ptr<const Fitted> fitted;
  Grams have;
  {
    const std::lock_guard lock(mutex_);
    const bool stale = changes_ != solved_;
    ST_CHECK(fitted_ || (stale && save.statistics), NotFitted,
             "LAES is not fitted yet: there is nothing to save");
    if (save.statistics) have = statistics_;
    // Where the statistics know more, whoever loads them solves.
    if (!stale || !save.statistics) fitted = fitted_;
  }
  const auto directions = readings();
  for (std::size_t d = 0; d < directions.size() && fitted; ++d) {
    const Autoencoder& m = (*fitted)[d].parameters();
    const std::string prefix = concat(kReadings[static_cast<std::size_t>(directions[d])], '.');
    contents.add(prefix + "a", m.a);
    contents.add(prefix + "b", m.b);
    contents.add(prefix + "singular_values", m.singular_values);
    contents.add(prefix + "longest", std::vector<std::int64_t>{m.longest});
    contents.add(prefix + "rank", std::vector<std::int64_t>{m.rank});
    if (options_.center) contents.add(prefix + "centre", m.centre);
    if (options_.state == State::projection) contents.add(prefix + "u", m.u);
  }
  for (const PrefixGram& gram : have) {
    PrefixGram::State state = gram.state();
    const std::string prefix = concat("statistics.", kReadings[static_cast<std::size_t>(state.reading)], '.');
    contents.add(prefix + "gram", std::move(state.gram));
    contents.add(prefix + "sums", std::move(state.sums));
    contents.add(prefix + "counts", std::move(state.counts));
    contents.add(prefix + "seen", std::vector<std::int64_t>{state.sentences, state.tokens});
    contents.add(prefix + "waiting.ids", std::move(state.waiting.ids));
    contents.add(prefix + "waiting.offsets", std::move(state.waiting.offsets));
  }
}

std::unique_ptr<Laes> Laes::load(const SavedModel& saved) {
  LaesOptions options;
  options.hidden = saved.size_option("hidden", 1);
  options.mode = saved.named_option("mode", mode_named);
  options.direction = saved.named_option("direction", direction_named);
  options.combine = saved.named_option("combine", combine_named);
  options.center = saved.flag_option("center");
  options.state = saved.named_option("state", state_named);
  options.max_length = saved.size_option("max_length", 1);
  saved.finish_config();

  auto result = std::make_unique<Laes>(saved.words(), options);
  const std::int64_t p = options.hidden, n = result->words().dim();
  auto fitted = std::make_shared<Fitted>();
  std::vector<PrefixGram::State> states;
  for (const Reading reading : result->readings()) {
    const std::string name(kReadings[static_cast<std::size_t>(reading)]);
    const std::string prefix = "statistics." + name + ".";
    const bool has_statistics = saved.file->has(prefix + "gram");
    if (has_statistics) states.push_back(read_statistics(saved, prefix, reading, n, options.max_length));
    if (has_statistics && !saved.file->has(name + ".a")) continue;
    Autoencoder m;
    m.a = saved.matrix(name + ".a", p, n);
    m.b = saved.matrix(name + ".b", p, p);
    const auto values = saved.values<float>(name + ".singular_values", {p});
    m.singular_values = Eigen::Map<const Vector>(values.data(), p);
    m.longest = saved.values<std::int64_t>(name + ".longest", {1})[0];
    m.rank = saved.values<std::int64_t>(name + ".rank", {1})[0];
    saved.check(m.longest >= 1 && m.longest <= options.max_length, name, ".longest is ", m.longest,
                ", max_length is ", options.max_length);
    saved.check(m.rank >= 0 && m.rank <= p, name, ".rank is ", m.rank, " of ", p);
    if (options.center) {
      const auto centre = saved.values<float>(name + ".centre", {n});
      m.centre = Eigen::Map<const Vector>(centre.data(), n);
    }
    if (options.state == State::projection) m.u = saved.matrix(name + ".u", p, m.longest * n);
    fitted->emplace_back(std::move(m));
  }
  const std::size_t directions = result->readings().size();
  saved.check(states.empty() || states.size() == directions, "statistics of one direction are missing");
  saved.check(fitted->empty() || fitted->size() == directions, "parameters of one direction are missing");
  if (states.empty()) {
    result->statistics_.clear();
  } else {
    result->set_statistics(std::move(states));
  }
  if (fitted->empty()) {
    // Then it will be solved for, and no file says how large a problem is: only what it holds does.
    const PrefixGram& gram = result->statistics_.front();
    const std::int64_t most = std::min(gram.longest() * n, gram.tokens());
    saved.check(p <= std::max(most, kUnits), "config: hidden is ", p, ", of which statistics of ",
                gram.tokens(), " words fill ", most, " at most");
  } else {
    result->solved_ = result->changes_;
    result->fitted_ = std::move(fitted);
  }
  return result;
}

}  // namespace sentencode
