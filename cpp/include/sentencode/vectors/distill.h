#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"

namespace sentencode {

struct Distilled {
  Matrix table;                 // W [words, dim]
  double residual = 0;          // the largest of all columns
  std::int64_t iterations = 0;  // likewise
};

struct DistillOptions {
  double penalty = 0.01;          // lambda
  double tolerance = 1e-5;        // of the residual, relative to the right-hand side
  std::int64_t iterations = 200;  // of conjugate gradients, at most
  // Columns are solved in blocks, identified by their first column. All callbacks are called from any thread.
  std::function<std::optional<Distilled>(std::int64_t)> load{};  // a block that was solved before, if any
  std::function<void(std::int64_t, const Distilled&)> save{};    // a solved block
  std::function<void(std::int64_t)> progress{};                  // how many more columns are solved
};

/// Second moments of the averages A W, and of these and the teacher's embeddings.
struct Moments {
  MatrixD gram;   // (A W)^T A W [dim, dim]
  MatrixD cross;  // (A W)^T (T - 1 m^T) [dim, dim]

  /// B = argmin |A W B - (T - 1 m^T)|^2 + ridge s |B - alpha I|^2, where s is the mean of gram's diagonal,
  /// and alpha is the best scalar.
  MatrixD map(double ridge) const;

  /// The averages' principal axes, the largest first [dim, count].
  MatrixD axes(std::int64_t count) const;
};

/// W B, equal in every bit for any number of threads.
Matrix mapped(const Matrix& table, const MatrixD& map);

/// Fits word vectors to a teacher's sentence embeddings, in closed form:
///   W = argmin |A W - (T - 1 m^T)|^2 + lambda |W - W0|^2,   A [n, words], T [n, dim]
/// T holds the teacher's embeddings, m is their mean. A_iw = c_w n_iw / l_i: word weight times the count of
/// word w in sentence i, divided by the number of the sentence's words that are in the table. Stores A, as
/// ids, and A^T T, but not T.
class Distillation {
 public:
  /// weights [words]: c, finite and positive.
  Distillation(StringTable words, Tokenizer tokenizer, std::vector<float> weights, std::int64_t dim);

  /// Adds sentences and the teacher's embeddings of them. Sentences without known words are skipped.
  void add(const Sentences& sentences, const ConstMatrixView& rows);

  /// Adds the sentences of another one with the same words and weights.
  void merge(const Distillation& other);

  std::int64_t sentences() const { return std::ssize(offsets_) - 1; }
  std::int64_t words() const { return words_.size(); }
  std::int64_t dim() const { return right_.cols(); }
  std::int64_t tokens() const { return std::ssize(ids_); }
  std::vector<std::int64_t> counts() const;  // occurrences [words]

  /// m [dim]
  VectorD mean() const;

  /// The same problem for some dimensions of the teacher.
  Distillation columns(const std::vector<std::int64_t>& dims) const;

  Moments moments(const Matrix& table) const;

  /// W, by conjugate gradients from W0. Each column is solved by one thread, so that the number of threads
  /// changes no bit.
  Distilled solve(const Matrix& prior, const DistillOptions& options) const;

  /// A hash of all that the solution depends on: sentences, embeddings, weights, prior and options.
  std::string digest(const Matrix& prior, const DistillOptions& options) const;

  /// |A W - (T - 1 mean^T)|^2 / |T - 1 mean^T|^2
  double error(const Matrix& table, const VectorD& mean) const;

 private:
  void check(const Matrix& table, const char* name) const;
  void check_complete() const;
  double entry(std::int32_t word, const std::vector<std::int32_t>& words) const;  // A_iw / n_iw
  MatrixD right_side(const VectorD& mean) const;                                  // A^T (T - 1 mean^T)
  std::pair<double, double> products(const Matrix& table, const MatrixD& b) const;

  StringTable words_;
  Tokenizer tokenizer_;
  std::vector<float> weights_;            // c [words]
  std::vector<std::int32_t> ids_;         // of all sentences
  std::vector<std::int64_t> offsets_{0};  // [n + 1]
  MatrixD right_;                         // A^T T [words, dim]
  VectorD ones_;                          // A^T 1 [words]
  VectorD sum_, squares_;                 // sums of T's rows and of their squares [dim]
  bool complete_ = true;                  // false if `add` was interrupted
};

}  // namespace sentencode
