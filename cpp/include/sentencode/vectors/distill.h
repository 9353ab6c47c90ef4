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
  double tolerance = 1e-5;        // of the residual, against the right side's length
  std::int64_t iterations = 200;  // of conjugate gradients, at most
  // All are called from any thread. Columns are solved some at once, and these by the number of their first:
  std::function<std::optional<Distilled>(std::int64_t)> kept{};  // what an earlier call found, if it did
  std::function<void(std::int64_t, const Distilled&)> keep{};    // what this one finds
  std::function<void(std::int64_t)> progress{};                  // how many columns more are there
};

/// What the sentences' averages A W have to do with each other and with the teacher's rows.
struct Moments {
  MatrixD own;      // (A W)^T A W [dim, dim]
  MatrixD teacher;  // (A W)^T (T - 1 m^T) [dim, dim]

  /// B = argmin |A W B - (T - 1 m^T)|^2 + ridge s |B - alpha I|^2, where s is the mean of own's diagonal, and
  /// alpha the best factor alone.
  MatrixD map(double ridge) const;

  /// The averages' principal axes, the largest first [dim, count].
  MatrixD axes(std::int64_t count) const;
};

/// W B, in which the number of threads changes no bit.
Matrix mapped(const Matrix& table, const MatrixD& map);

/// A word table that tells a teacher's rows of sentences, in closed form:
///   W = argmin |A W - (T - 1 m^T)|^2 + lambda |W - W0|^2,   A [n, words], T [n, dim]
/// T holds the teacher's rows, m is their mean. A_iw = c_w n_iw / l_i: how often sentence i has word w, times
/// the word's weight, divided by the sentence's length in words of the table. What is kept is A, as ids, and
/// A^T T: no row of T.
class Distillation {
 public:
  /// weights [words]: c, finite and positive.
  Distillation(StringTable words, Tokenizer tokenizer, std::vector<float> weights, std::int64_t dim);

  /// Sentences and the teacher's rows of them. A sentence without known words tells nothing, and is not
  /// counted.
  void add(const Sentences& sentences, const ConstMatrixView& rows);

  /// Adds what another one, of the same words, has seen.
  void merge(const Distillation& other);

  std::int64_t sentences() const { return std::ssize(offsets_) - 1; }
  std::int64_t words() const { return words_.size(); }
  std::int64_t dim() const { return right_.cols(); }
  std::int64_t tokens() const { return std::ssize(ids_); }
  std::vector<std::int64_t> counts() const;  // [words], occurrences

  /// m [dim]
  VectorD mean() const;

  /// The same problem of some of the columns.
  Distillation of_columns(const std::vector<std::int64_t>& which) const;

  Moments moments(const Matrix& table) const;

  /// W, by conjugate gradients from W0. Each column is solved by one thread, so that their number changes no
  /// bit.
  Distilled solve(const Matrix& prior, const DistillOptions& options) const;

  /// What tells this solution from those of other sentences, rows, weights, priors and options.
  std::string digest(const Matrix& prior, const DistillOptions& options) const;

  /// |A W - (T - 1 mean^T)|^2 / |T - 1 mean^T|^2
  double error(const Matrix& table, const VectorD& mean) const;

 private:
  void check(const Matrix& table, const char* name) const;
  void check_whole() const;
  double share(std::int32_t word, const std::vector<std::int32_t>& words) const;  // an entry of A
  MatrixD right(const VectorD& mean) const;                                       // A^T (T - 1 mean^T)
  std::pair<double, double> products(const Matrix& table, const MatrixD& b) const;

  StringTable words_;
  Tokenizer tokenizer_;
  std::vector<float> weights_;            // c [words]
  std::vector<std::int32_t> ids_;         // of all sentences
  std::vector<std::int64_t> offsets_{0};  // [n + 1]
  MatrixD right_;                         // A^T T [words, dim]
  VectorD ones_;                          // A^T 1 [words]
  VectorD sum_, squares_;                 // of T's rows [dim]
  bool whole_ = true;                     // false where `add` was interrupted
};

}  // namespace sentencode
