#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sentencode/linear/table_head.h"
#include "sentencode/vectors/word_vectors.h"

namespace sentencode {

/// Examples of one or two sentences. Ids are rows of the trained table; others are zero rows.
struct TableExamples {
  std::vector<RaggedIds> sides{};
  Matrix y{};  // as in TableHead::loss

  std::int64_t size() const { return sides.empty() ? 0 : sides[0].size(); }
};

struct TableTrainingOptions {
  double learning_rate = 0.01;  // of the table, in multiples of the root mean square of its elements
  double head_learning_rate = 0.001;
  double anchor = 0;  // rate at which rows return to their initial vectors, in multiples of the learning rate
  double word_dropout = 0;  // probability that a word is left out
  std::int64_t batch_size = 32;
  std::int64_t steps = 1;  // of the schedule: the rate rises linearly to its maximum, then falls to zero
  double warm_up = 0.1;    // fraction of the steps
  bool normalize = false;  // divides the means by their lengths
  std::uint64_t seed = 0;
};

/// Trains a table of word vectors and a head by Adam. An embedding is the mean of the rows of a sentence's
/// words. Only rows of the words in a batch change: each has its moments and its number of steps. Computes on
/// one thread, so that results do not depend on the number of threads; several trainers may run at the same
/// time.
class TableTrainer {
 public:
  /// table [V, D]: Initial vectors.
  TableTrainer(std::shared_ptr<const TableExamples> examples, Matrix table, TableHead head,
               const TableTrainingOptions& options);

  /// One pass over some examples in an order that depends on the seed and the number of earlier passes.
  /// Returns the mean loss. DivergedError if it is not finite.
  double epoch(std::span<const std::int64_t> examples);

  /// Embeddings [n, D] of the sentences of some examples, for each of their sides.
  std::vector<Matrix> embeddings(std::span<const std::int64_t> examples) const;
  Matrix predict(std::span<const std::int64_t> examples) const;    // as TableHead::predict
  double mean_loss(std::span<const std::int64_t> examples) const;  // without dropout

  const Matrix& table() const { return table_; }
  const TableHead& head() const { return head_; }
  std::int64_t step() const { return step_; }

 private:
  struct Batch;

  void embed(Batch& batch) const;

  std::shared_ptr<const TableExamples> examples_;
  Matrix initial_, table_, mean_, square_;  // [V, D]: vectors, and moments of their gradients
  std::vector<std::int32_t> steps_of_row_;  // [V]
  TableHead head_;
  Vector head_mean_, head_square_;
  TableTrainingOptions options_;
  double rms_ = 1;  // of the elements of the initial table
  std::int64_t step_ = 0, epoch_ = 0;
};

}  // namespace sentencode
