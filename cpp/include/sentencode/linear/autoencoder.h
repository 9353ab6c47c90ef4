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
/// and without a division. Both are contractions together (A A^T + B B^T <= I), and those of a smaller p are
/// their corners.
struct Autoencoder {
  Matrix a;                  // [p, n]
  Matrix b;                  // [p, p]
  Matrix u;                  // [p, L n]: U^T, where the state is to be the projection on it; else empty
  Vector singular_values;    // [p], falling
  Vector centre;             // [n], taken from every x before it is encoded and given back after; empty: zero
  std::int64_t longest = 0;  // L: of the sentences that it was fitted to
  std::int64_t rank =
      0;  // beyond it, singular values are zero to the arithmetic's precision, and rows as well

  std::int64_t hidden() const { return a.rows(); }  // p
  std::int64_t dim() const { return a.cols(); }     // n

  /// The corners of size p. InvalidInput when p > hidden().
  Autoencoder truncated(std::int64_t p) const;

  /// The states [l, p] of words x [l, n] in the order of reading.
  Matrix states(const Matrix& x) const;
  /// l words [l, n] in the order of reading, from the state after the last of them.
  Matrix decode(const Vector& h, std::int64_t l) const;
};

/// An autoencoder's equations for one word of sentences side by side, each of which has a row. Of its first p
/// units, or of all: the parameters of fewer are corners of A and B.
class Recursion {
 public:
  explicit Recursion(const Autoencoder& m) : Recursion(m, m.hidden()) {}
  Recursion(const Autoencoder& m, std::int64_t p) : m_(m), p_(p) {}

  /// A x_t [rows, p], of words less centre.
  Matrix inputs(const Matrix& x) const;
  /// h += B h_(t-1), all [rows, p]: of A x_t it makes h_t.
  void forth(const ConstRef<float>& before, MutableRef<float> h) const;
  /// h += B^T h_(t+1), all [rows, p]: of zeros it makes h_t.
  void back(const ConstRef<float>& after, MutableRef<float> h) const;
  /// x [rows, n] += factor A^T h_t: words less centre.
  void add_words(float factor, const ConstRef<float>& h, MutableRef<float> x) const;

 private:
  const Autoencoder& m_;
  std::int64_t p_;
};

}  // namespace sentencode
