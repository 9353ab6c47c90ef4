#include "sentencode/linear/laes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "linear/laes_shared.h"
#include "sentencode/error.h"
#include "sentencode/linear/fit_autoencoder.h"

namespace sentencode {
namespace {

constexpr std::int64_t kSentencesPerBlock = 1 << 16;  // sentences that are added at once
constexpr double kRounding = 1e-6;                    // relative rounding error of a residual

}  // namespace

std::int64_t run_end(const Sentences& sentences, std::int64_t begin, std::int64_t most,
                     std::int64_t max_length) {
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

Matrix embeddings(LaesOptions::Mode mode, const AlignedSentences& rows, const Vector& centre,
                  const Matrix& sums, Matrix reconstructed, const Matrix& h) {
  if (mode == LaesOptions::Mode::hidden) return h;  // (6)
  Matrix e = std::move(reconstructed);
  for (std::int64_t row = 0; row < rows.size_at(0); ++row) {
    const auto l = static_cast<float>(rows.length(row));
    if (mode == LaesOptions::Mode::reconstruction) {
      e.row(row) /= l;  // 1/l sum x~
      if (centre.size() > 0) e.row(row) += centre.transpose();
    } else {
      e.row(row) = (sums.row(row) - e.row(row)) / l;  // 1/l sum (x - x~)
      const double scale = std::max(squared_length(sums.row(row)), squared_length(h.row(row))) / (l * l);
      if (squared_length(e.row(row)) <= kRounding * kRounding * scale) e.row(row).setZero();
    }
  }
  return e;
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
  const std::int64_t d = options_.mode == Mode::hidden ? options_.hidden : words().dim();
  return options_.direction == Direction::both && options_.combine == Combine::concat ? 2 * d : d;
}

void Laes::encode(const Sentences& sentences, MatrixView out) const {
  check_out(sentences, out);
  const auto fitted = checked();
  const auto directions = readings();
  const bool concatenate = options_.combine == Combine::concat;
  const float factor = concatenate ? 1.0F : 1.0F / static_cast<float>(directions.size());
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
        const std::int64_t column = concatenate ? static_cast<std::int64_t>(d) * e.cols() : 0;
        for (std::int64_t row = 0; row < rows.size_at(0); ++row) {  // (7), (8)
          out.row(first + rows.sentence(row)).segment(column, e.cols()) += factor * e.row(row);
        }
      }
    });
    check_finite(out.middleRows(first, ids.size()));
  }
}

Laes::Grams Laes::grams() const {
  const std::lock_guard lock(mutex_);
  return statistics_;  // copies share their sums
}

/// Replaces the statistics. The calling thread must hold `writing_`.
void Laes::replace(Grams grams) {
  const std::lock_guard lock(mutex_);
  statistics_.swap(grams);
  ++changes_;
}

/// Calls add(gram), which adds waiting sentences to the sums, for the statistics selected by `which`. The
/// calling thread must hold `writing_`. One direction after the other, because large sums exist twice
/// meanwhile.
template <typename Which, typename Add>
void Laes::absorb(const Which& which, const Add& add) {
  for (std::size_t d = 0; d < readings().size(); ++d) {
    std::optional<PrefixGram> gram;
    {
      const std::lock_guard lock(mutex_);
      if (statistics_.empty() || !which(statistics_[d])) continue;
      gram = statistics_[d];
    }
    add(*gram);
    const std::lock_guard lock(mutex_);
    statistics_[d] = *std::move(gram);
  }
}

void Laes::partial_fit(const Sentences& sentences) {
  sentences.check();
  for (std::int64_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
    end = run_end(sentences, begin, kSentencesPerBlock, options_.max_length);
    const RaggedIds ids = words().lookup_listed(sentences.slice(begin, end), options_.max_length);
    const Turn::Taken turn = writing_.take();
    // Before `ids` are added, because this may be interrupted.
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

void Laes::solve() { solve_with(std::ssize(readings()) - 1); }

/// others: Number of statistics of the same size in memory.
void Laes::solve_with(std::int64_t others) {
  const auto fit = [&](const PrefixGram& gram) {
    return fit_autoencoder(gram, words(), options_.hidden, options_.center,
                           options_.state == State::projection, others);
  };
  solve_by(fit, others);
}

void Laes::solve_by(const std::function<Autoencoder(const PrefixGram&)>& fit, std::int64_t others) {
  const auto done = [this] {
    const std::lock_guard lock(mutex_);
    ST_CHECK(fitted_ || changes_ > 0, NotFitted, "LAES is not fitted yet: call fit or partial_fit first");
    return fitted_ && solved_ == changes_;
  };
  if (done()) return;
  const Turn::Taken turn = writing_.take();  // until then, another thread may have solved
  if (done()) return;
  // While all sentences are waiting, there may be a smaller problem; see fit_autoencoder.
  absorb([](const PrefixGram& gram) { return !gram.only_waiting() || gram.batch_is_full(); },
         [&](PrefixGram& gram) { gram.absorb(words(), others); });
  auto fitted = std::make_shared<Fitted>();
  for (const PrefixGram& gram : grams()) fitted->emplace_back(fit(gram));
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

std::size_t Laes::index_of(Reading reading) const {
  const auto all = readings();
  const auto position = std::find(all.begin(), all.end(), reading);
  ST_CHECK(position != all.end(), InvalidInput, "LAES: direction is '", name_of(options_.direction),
           "': it has no ", name_of(reading), " part");
  return static_cast<std::size_t>(position - all.begin());
}

std::shared_ptr<const Autoencoder> Laes::autoencoder(Reading reading) const {
  const auto fitted = checked();
  return {fitted, &(*fitted)[index_of(reading)].parameters()};
}

Matrix Laes::states(const Sentences& one, Reading reading) const {
  ST_CHECK(one.size() == 1, InvalidInput, "states: expected one sentence, got ", one.size());
  const RaggedIds ids = words().lookup(one);
  const AlignedSentences row(ids, 0, 1, reading, AlignedSentences::End::first);
  return autoencoder(reading)->states(row.words(words(), {}, 0, row.longest()));
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
  const auto directions = result->readings();
  std::shared_ptr<const Fitted> fitted;
  Grams sums;
  bool solved = false;
  {
    const std::lock_guard lock(mutex_);
    fitted = fitted_;
    sums = statistics_;
    solved = solved_ == changes_;
    result->changes_ = fitted || changes_ > 0 ? 1 : 0;
  }
  result->statistics_.clear();
  for (std::size_t d = 0; d < directions.size() && !sums.empty(); ++d) {
    result->statistics_.push_back(sums[index_of(directions[d])]);
  }
  if (fitted && hidden <= options_.hidden) {
    auto truncated = std::make_shared<Fitted>();
    for (const Reading reading : directions) {
      truncated->emplace_back((*fitted)[index_of(reading)].parameters().truncated(hidden));
    }
    result->fitted_ = std::move(truncated);
    result->solved_ = solved ? 1 : 0;
    return result;
  }
  ST_CHECK(!sums.empty(), InvalidInput, "LAES: ", hidden, " hidden units are more than the ", options_.hidden,
           " that it was saved with, and it was saved without its statistics");
  result->solve_with(std::ssize(sums) - 1);  // this encoder keeps its statistics, too
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

}  // namespace sentencode
