#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sentencode/dense.h"
#include "sentencode/distance.h"
#include "sentencode/enum_names.h"

namespace sentencode {

/// Losses on averaged word vectors, named as those of neural encoders.
enum class HeadKind { classifier, cosine_regression, multiple_negatives, row_regression, triplet };
constexpr EnumNames<5> enum_names(HeadKind) {
  return {"head", {"Classifier", "CosineRegression", "MultipleNegatives", "RowRegression", "Triplet"}};
}

struct TableHeadOptions {
  HeadKind kind = HeadKind::classifier;
  std::int64_t dim = 0;      // D, of an embedding
  std::int64_t sides = 1;    // sentences of an example
  std::int64_t outputs = 0;  // K: classes, or dimensions of the targets; 0 for the heads without weights
  double unit = 1;           // embeddings are divided by it
  double scale = 20;         // MultipleNegatives: factor of the cosines
  double pair_scale = 1;     // s, factor of u, v and u * v in the features of pairs
  double margin = 0.2;       // Triplet
  Distance distance = Distance::cosine;  // d of Triplet

  /// Columns F of the features: x = u, or of a pair x = [s u; s v; |u - v|; s u * v].
  std::int64_t features() const { return sides == 2 ? 4 * dim : dim; }
  /// Whether outputs are a function of weights, not of cosines or distances.
  bool has_weights() const { return kind == HeadKind::classifier || kind == HeadKind::row_regression; }
  /// Number of the weights W and b.
  std::int64_t size() const { return outputs * (features() + 1); }
};

/// A loss on the embeddings of single sentences, pairs or triples, and what it predicts:
///
///   Classifier         p = softmax(W x + b);   -sum_k y_k log p_k
///   RowRegression      s = W x + b;            |s - y|^2 / K
///   CosineRegression   cos(u, v);              (cos(u, v) - y)^2
///   MultipleNegatives  cos(u, v);              -log softmax_j(scale cos(u_i, v_j)) at j = i; over w_j, too
///   Triplet            d(u, w) - d(u, v);      max(d(u, v) - d(u, w) + margin, 0)
///
/// Cosines of zero embeddings are 0.
class TableHead {
 public:
  /// W and b are zero.
  explicit TableHead(const TableHeadOptions& options);

  const TableHeadOptions& options() const { return options_; }
  /// W [K, F], b [K].
  const Vector& weights() const { return weights_; }
  Vector& weights() { return weights_; }

  /// Probabilities, embeddings [B, K], cosines or differences [B, 1]. u: embeddings [B, D] of each sentence
  /// of the examples.
  Matrix predict(std::span<const Matrix> u) const;

  /// Sum of the losses of B examples. y: probabilities of classes times weights, targets [B, K], or cosines
  /// [B, 1]. Where not null, grad_weights is increased, and grad_u [B, D] of each sentence is set.
  double loss(std::span<const Matrix> u, const Matrix& y, std::span<Matrix> grad_u = {},
              Vector* grad_weights = nullptr) const;

  /// Minimises the mean loss over all examples plus |W|^2 / (2 C n), from the present weights, by L-BFGS.
  /// Returns the number of iterations.
  int fit(std::span<const Matrix> u, const Matrix& y, double c, int max_iterations = 100);

 private:
  Matrix features(std::span<const Matrix> u) const;      // [B, F]
  Matrix scores(const Matrix& x) const;                  // W x + b [B, K]
  double scores_loss(Matrix& s, const Matrix& y) const;  // s becomes its gradient
  // Losses without weights. x: embeddings; grad: gradients to be set.
  double cosines_loss(std::span<const Matrix> x, const Matrix& y, std::span<Matrix> grad) const;
  double ranking_loss(std::span<const Matrix> x, std::span<Matrix> grad) const;
  Vector differences(std::span<const Matrix> x) const;  // of the distances of triples [B]
  double triplet_loss(std::span<const Matrix> x, std::span<Matrix> grad) const;
  bool compares_units() const;  // cosines, not distances
  void check(std::span<const Matrix> u) const;

  Eigen::Map<const Matrix> w() const { return {weights_.data(), options_.outputs, options_.features()}; }

  TableHeadOptions options_;
  Vector weights_;
};

}  // namespace sentencode
