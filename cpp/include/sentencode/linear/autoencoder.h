#pragma once

#include <cstdint>

#include "sentencode/dense.h"

namespace sentencode {

/// The linear autoencoder for sequences (LAES), paper 004, section IV: n inputs, p hidden units.
///
///   h_t = A x_t + B h_(t-1)                    (1)
///   x_t = A^T h_t,  h_(t-1) = B^T h_t          (2)
///
/// With the singular value decomposition Xi = V S U^T of the data matrix, and U_i the i-th n x p block of U,
/// the optimal parameters are A = U_1^T and B = sum_i U_(i+1)^T U_i: the paper's Q^T, for every p, without V
/// and without a division. A A^T + B B^T <= I, and the parameters of a smaller p are the leading rows and
/// columns.
struct Autoencoder {
  Matrix a;                  // [p, n]
  Matrix b;                  // [p, p]
  Matrix u;                  // U^T [p, L n] if states are projections, else empty
  Vector singular_values;    // [p], descending
  Vector centre;             // [n], subtracted from every x, and added to reconstructions; empty: zero
  std::int64_t longest = 0;  // L, of the sentences of fit
  std::int64_t rank = 0;     // beyond it, singular values and rows are zero up to rounding

  std::int64_t hidden() const { return a.rows(); }  // p
  std::int64_t dim() const { return a.cols(); }     // n

  /// The parameters for p hidden units. InvalidInput if p > hidden().
  Autoencoder truncated(std::int64_t p) const;

  /// States [l, p] of words x [l, n] in reading order.
  Matrix states(const Matrix& x) const;
  /// Reconstructs l words [l, n] in reading order from the state after the last one.
  Matrix decode(const Vector& h, std::int64_t l) const;
};

/// One step of the recursions for a batch of sentences (rows), with the first p units of an autoencoder, or
/// all.
class Recursion {
 public:
  explicit Recursion(const Autoencoder& m) : Recursion(m, m.hidden()) {}
  Recursion(const Autoencoder& m, std::int64_t p) : m_(m), p_(p) {}

  /// A x_t [rows, p], for words minus centre.
  Matrix inputs(const Matrix& x) const;
  /// h += B h_(t-1), all [rows, p]: h_t, if h was A x_t.
  void encode_step(const ConstRef<float>& before, MutableRef<float> h) const;
  /// h += B^T h_(t+1), all [rows, p]: h_t, if h was zero.
  void decode_step(const ConstRef<float>& after, MutableRef<float> h) const;
  /// x [rows, n] += factor A^T h_t, words minus centre.
  void add_words(float factor, const ConstRef<float>& h, MutableRef<float> x) const;

 private:
  const Autoencoder& m_;
  std::int64_t p_;
};

}  // namespace sentencode
