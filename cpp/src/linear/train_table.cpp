#include "sentencode/linear/train_table.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "one_blas_thread.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/training/permutation.h"

namespace sentencode {
namespace {

constexpr std::int64_t kPredicted = 1024;  // examples that are predicted together
constexpr float kMeanDecay = 0.9F, kSquareDecay = 0.999F, kEpsilon = 1e-8F;  // Adam's

void check_indices(std::span<const std::int64_t> examples, std::int64_t n) {
  const auto bad = std::ranges::find_if(examples, [n](std::int64_t i) { return i < 0 || i >= n; });
  ST_CHECK(bad == examples.end(), InvalidInput, "there is no example ", *bad, " of ", n);
}

/// Adam's step t, with the moments of gradient g: x -= rate * m^ / (sqrt(v^) + epsilon).
template <typename X, typename M>
void adam(X&& x, const auto& g, M&& m, M&& v, std::int64_t t, float rate) {
  m = kMeanDecay * m + (1 - kMeanDecay) * g;
  v = kSquareDecay * v + (1 - kSquareDecay) * g.square();
  const auto steps = static_cast<float>(t);
  const float mean = 1 - std::pow(kMeanDecay, steps), square = 1 - std::pow(kSquareDecay, steps);
  x -= (rate / mean) * m / ((v / square).sqrt() + kEpsilon);
}

}  // namespace

/// The words of some examples and their embeddings.
struct TableTrainer::Batch {
  std::vector<RaggedIds> words;   // of each side, without those that are dropped
  std::vector<Matrix> u{};        // [B, D]
  std::vector<Vector> lengths{};  // of the means [B], if embeddings are normalised
  Matrix y{};                     // [B, Y]
};

TableTrainer::TableTrainer(std::shared_ptr<const TableExamples> examples, Matrix table, TableHead head,
                           const TableTrainingOptions& options)
    : examples_(std::move(examples)), table_(std::move(table)), head_(std::move(head)), options_(options) {
  ST_CHECK(examples_ != nullptr && examples_->size() > 0, InvalidInput, "there are no examples");
  ST_CHECK(std::ssize(examples_->sides) == head_.options().sides, InvalidInput, "the head has ",
           head_.options().sides, " sentences in an example, the data ", examples_->sides.size());
  for (const RaggedIds& side : examples_->sides) {
    ST_CHECK(side.size() == examples_->size(), InvalidInput, "sides have ", side.size(), " and ",
             examples_->size(), " sentences");
  }
  for (const RaggedIds& side : examples_->sides) {
    ST_CHECK(std::ranges::all_of(side.ids, [](std::int32_t id) { return id >= 0; }), InvalidInput,
             "ids must not be negative");
    ST_CHECK(side.offsets.front() == 0 && std::ranges::is_sorted(side.offsets) &&
                 side.offsets.back() == std::ssize(side.ids),
             InvalidInput, "offsets must rise from 0 to the number of ids, ", side.ids.size());
  }
  ST_CHECK(examples_->y.rows() == examples_->size(), InvalidInput, "expected y of ", examples_->size(),
           " examples, got ", examples_->y.rows());
  ST_CHECK(table_.rows() > 0 && table_.cols() == head_.options().dim, InvalidInput, "the table must be [V, ",
           head_.options().dim, "], got [", table_.rows(), ", ", table_.cols(), "]");
  const auto& o = options_;
  for (const auto& [name, value, most] : {std::tuple("learning_rate", o.learning_rate, 1e6),
                                          {"head_learning_rate", o.head_learning_rate, 1e6},
                                          {"anchor", o.anchor, 1e6},
                                          {"word_dropout", o.word_dropout, 0.999},
                                          {"warm_up", o.warm_up, 1.0}}) {
    ST_CHECK(value >= 0 && value <= most, InvalidInput, name, " must be from 0 to ", most, ", got ", value);
  }
  ST_CHECK(o.batch_size >= 1 && o.steps >= 1, InvalidInput, "batch_size and steps must be positive, got ",
           o.batch_size, " and ", o.steps);
  initial_ = table_;
  mean_ = square_ = Matrix::Zero(table_.rows(), table_.cols());
  steps_of_row_.assign(static_cast<std::size_t>(table_.rows()), 0);
  head_mean_ = head_square_ = Vector::Zero(head_.weights().size());
  rms_ = std::sqrt(table_.cast<double>().squaredNorm() / static_cast<double>(table_.size()));
}

void TableTrainer::embed(Batch& batch) const {
  batch.u.resize(batch.words.size());
  batch.lengths.resize(batch.words.size());
  for (std::size_t side = 0; side < batch.words.size(); ++side) {
    const RaggedIds& words = batch.words[side];
    Matrix& u = batch.u[side];
    u.setZero(words.size(), table_.cols());
    for (std::int64_t i = 0; i < words.size(); ++i) {
      for (const std::int32_t id : words[i]) {
        if (id < table_.rows()) u.row(i) += table_.row(id);
      }
      if (!words[i].empty()) u.row(i) /= static_cast<float>(words[i].size());
    }
    if (!options_.normalize) continue;
    Vector& lengths = batch.lengths[side];
    lengths = u.rowwise().norm();
    lengths = (lengths.array() > 0).select(lengths, 1);
    u.array().colwise() /= lengths.array();
  }
}

double TableTrainer::epoch(std::span<const std::int64_t> examples) {
  check_indices(examples, examples_->size());
  const OneBlasThread one_thread;
  const auto n = std::ssize(examples);
  const KeyedPermutation order(n, mixed(options_.seed, static_cast<std::uint64_t>(epoch_)));
  std::vector<std::int32_t> slot_of_row(steps_of_row_.size(), -1);
  std::vector<std::int32_t> touched;
  std::vector<Matrix> grad_u(examples_->sides.size());
  Vector grad_weights(head_.weights().size());
  Matrix grad_rows;
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += options_.batch_size) {
    poll_interrupt();
    const std::int64_t count = std::min(options_.batch_size, n - begin);
    std::mt19937_64 bits(mixed(mixed(options_.seed, 1), static_cast<std::uint64_t>(step_)));
    Batch batch{.words = std::vector<RaggedIds>(examples_->sides.size())};
    batch.y.resize(count, examples_->y.cols());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t example = examples[static_cast<std::size_t>(order(begin + i))];
      // A word is left out of both sentences, which would otherwise seem to differ by it.
      const std::uint64_t key = bits();
      batch.y.row(i) = examples_->y.row(example);
      for (std::size_t side = 0; side < batch.words.size(); ++side) {
        RaggedIds& words = batch.words[side];
        for (const std::int32_t id : examples_->sides[side][example]) {
          if (uniform(mixed(key, static_cast<std::uint64_t>(id))) < options_.word_dropout) continue;
          words.ids.push_back(id);
        }
        words.offsets.push_back(std::ssize(words.ids));
      }
    }
    embed(batch);
    grad_weights.setZero();
    const double loss = head_.loss(batch.u, batch.y, grad_u, &grad_weights);
    ST_CHECK(std::isfinite(loss), DivergedError, "the loss is ", loss, " at step ", step_ + 1,
             ": the learning rate is too high, or vectors are too large");
    sum += loss;

    // Gradients of rows: sums over the words of the batch, each with 1 / (B l) of that of its sentence.
    std::size_t words = 0;
    for (const RaggedIds& side : batch.words) words += side.ids.size();
    grad_rows.setZero(static_cast<Eigen::Index>(words), table_.cols());
    for (std::size_t side = 0; side < batch.words.size(); ++side) {
      Matrix& g = grad_u[side];
      if (options_.normalize) {  // of the means: (g - u (u g)) / |mean|
        const Vector along = g.cwiseProduct(batch.u[side]).rowwise().sum();
        g -= along.asDiagonal() * batch.u[side];
        g.array().colwise() /= batch.lengths[side].array();
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const auto ids = batch.words[side][i];
        const float by = 1 / static_cast<float>(count * std::ssize(ids));
        for (const std::int32_t id : ids) {
          if (id >= table_.rows()) continue;
          std::int32_t& slot = slot_of_row[static_cast<std::size_t>(id)];
          if (slot < 0) {
            slot = static_cast<std::int32_t>(touched.size());
            touched.push_back(id);
          }
          grad_rows.row(slot) += by * g.row(i);
        }
      }
    }

    // The rate rises linearly, then falls to zero.
    const double at = static_cast<double>(++step_), steps = static_cast<double>(options_.steps);
    const double rise = options_.warm_up * steps;
    const double factor = std::min(1.0, rise > 0 ? at / rise : 1.0) * std::max(0.0, 1 - (at - 1) / steps);
    const auto rate = static_cast<float>(factor * options_.learning_rate * rms_);
    const auto back = static_cast<float>(factor * options_.learning_rate * options_.anchor);
    for (std::size_t slot = 0; slot < touched.size(); ++slot) {
      const auto id = touched[slot];
      slot_of_row[static_cast<std::size_t>(id)] = -1;
      auto row = table_.row(id).array();
      if (back > 0) row -= std::min(back, 1.0F) * (row - initial_.row(id).array());
      adam(row, grad_rows.row(static_cast<Eigen::Index>(slot)).array(), mean_.row(id).array(),
           square_.row(id).array(), ++steps_of_row_[static_cast<std::size_t>(id)], rate);
    }
    touched.clear();
    grad_weights /= static_cast<float>(count);
    adam(head_.weights().array(), grad_weights.array(), head_mean_.array(), head_square_.array(), step_,
         static_cast<float>(factor * options_.head_learning_rate));
  }
  ++epoch_;
  return sum / static_cast<double>(n);
}

namespace {
/// body(begin, end, words) for blocks of examples.
template <typename Body>
void for_blocks(const TableExamples& from, std::span<const std::int64_t> examples, const Body& body) {
  check_indices(examples, from.size());
  for (std::int64_t begin = 0; begin < std::ssize(examples); begin += kPredicted) {
    const std::int64_t end = std::min(begin + kPredicted, std::int64_t{std::ssize(examples)});
    std::vector<RaggedIds> words(from.sides.size());
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t example = examples[static_cast<std::size_t>(i)];
      for (std::size_t side = 0; side < words.size(); ++side) {
        const auto ids = from.sides[side][example];
        words[side].ids.insert(words[side].ids.end(), ids.begin(), ids.end());
        words[side].offsets.push_back(std::ssize(words[side].ids));
      }
    }
    body(begin, end, std::move(words));
  }
}
}  // namespace

std::vector<Matrix> TableTrainer::embeddings(std::span<const std::int64_t> examples) const {
  std::vector<Matrix> all(examples_->sides.size(), Matrix(std::ssize(examples), table_.cols()));
  for_blocks(*examples_, examples, [&](std::int64_t begin, std::int64_t end, std::vector<RaggedIds> words) {
    Batch batch{.words = std::move(words)};
    embed(batch);
    for (std::size_t side = 0; side < all.size(); ++side) {
      all[side].middleRows(begin, end - begin) = batch.u[side];
    }
  });
  return all;
}

Matrix TableTrainer::predict(std::span<const std::int64_t> examples) const {
  const OneBlasThread one_thread;
  Matrix all;
  for_blocks(*examples_, examples, [&](std::int64_t begin, std::int64_t end, std::vector<RaggedIds> words) {
    Batch batch{.words = std::move(words)};
    embed(batch);
    const Matrix block = head_.predict(batch.u);
    if (begin == 0) all.resize(std::ssize(examples), block.cols());
    all.middleRows(begin, end - begin) = block;
  });
  return all;
}

double TableTrainer::mean_loss(std::span<const std::int64_t> examples) const {
  const OneBlasThread one_thread;
  double sum = 0;
  for_blocks(*examples_, examples, [&](std::int64_t begin, std::int64_t end, std::vector<RaggedIds> words) {
    Batch batch{.words = std::move(words)};
    embed(batch);
    batch.y.resize(end - begin, examples_->y.cols());
    for (std::int64_t i = begin; i < end; ++i) {
      batch.y.row(i - begin) = examples_->y.row(examples[static_cast<std::size_t>(i)]);
    }
    sum += head_.loss(batch.u, batch.y);
  });
  return sum / static_cast<double>(examples.size());
}

}  // namespace sentencode
