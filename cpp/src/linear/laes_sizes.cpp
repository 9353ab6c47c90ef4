// Evaluation of LAES at many hidden sizes.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "linear/laes_shared.h"
#include "linear/sweep.h"
#include "sentencode/error.h"
#include "sentencode/linear/laes.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

void check_sizes(std::span<const std::int64_t> hidden, std::int64_t most) {
  for (const std::int64_t p : hidden) {
    ST_CHECK(p >= 1 && p <= most, InvalidInput, "hidden sizes must be 1 to ", most, ", got ", p);
  }
}

}  // namespace

std::vector<double> Laes::reconstruction_error(const Sentences& sentences,
                                               std::span<const std::int64_t> hidden, Reading reading) const {
  const auto model = autoencoder(reading);
  check_sizes(hidden, model->hidden());
  double total = 0;
  std::vector<double> errors(hidden.size());
  const std::int64_t tokens = sweep_tokens(*model);
  const auto add = [&](const RaggedIds& ids) {
    const Sweep sweep(*model, ids, words(), reading);
    const AlignedSentences rows(ids, 0, ids.size(), reading, AlignedSentences::End::last);
    for (std::size_t i = 0; i < hidden.size(); ++i) {
      const Recursion recursion(*model, hidden[i]);
      Matrix h = sweep.states(hidden[i]);
      for_positions(rows, tokens, [&](std::int64_t first, std::int64_t last) {
        poll_interrupt();
        Matrix residual = rows.words(words(), {}, first, last);  // x_(l-k) - A^T h_(l-k)
        if (i == 0) total += residual.cast<double>().squaredNorm();
        for (std::int64_t k = first, at = 0; k < last; ++k) {
          const std::int64_t count = rows.size_at(k), next = rows.size_at(k + 1);
          auto block = residual.middleRows(at, count);
          recursion.add_words(-1.0F, h.topRows(count), block);
          if (model->centre.size() > 0) block.rowwise() -= model->centre.transpose();
          Matrix before = Matrix::Zero(next, h.cols());
          recursion.decode_step(h.topRows(next), before);
          h = std::move(before);
          at += count;
        }
        errors[i] += residual.cast<double>().squaredNorm();
      });
    }
  };
  for (std::int64_t begin = 0, end = 0; begin < sentences.size(); begin = end) {
    end = run_end(sentences, begin, kLookup / 8);
    const RaggedIds ids = words().lookup(sentences.slice(begin, end));
    for_blocks(ids, tokens, [&](std::int64_t first, std::int64_t last) {
      RaggedIds block;
      words().vectors()->append(ids, first, last, block);
      add(block);
    });
  }
  ST_CHECK(total > 0, InvalidInput, "LAES: no sentence has a known word whose vector is not zero");
  for (double& error : errors) error = std::sqrt(error / total);
  return errors;
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
  // For each curve: cosines [sizes, pairs].
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
        for (std::int64_t row = 0; row < rows.size_at(0); ++row)
          e[d].row(rows.sentence(row)) = sorted.row(row);
      }
      parallel_for(0, pairs, 256, [&](std::int64_t pair, std::int64_t last) {
        for (; pair < last; ++pair) {
          // Dot product of direction a of sentence x and direction b of sentence y.
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
    RaggedIds both_sides;  // offsets of pairs
    for (std::size_t i = 1; i < one.offsets.size(); ++i) {
      both_sides.offsets.push_back(one.offsets[i] + two.offsets[i]);
    }
    for_blocks(both_sides, tokens, [&](std::int64_t from, std::int64_t to) {
      RaggedIds block;
      words().vectors()->append(one, from, to, block);
      words().vectors()->append(two, from, to, block);
      score(begin + from, block);
    });
  }

  for (std::size_t c = 0; c < curves.size(); ++c) {
    curves[c].settings.assign(hidden.begin(), hidden.end());
    correlate(curves[c], cosines[c], gold);
  }
  return curves;
}

}  // namespace sentencode
