#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <type_traits>  // std::type_identity_t

/// Dense products and decompositions, with Eigen's types. They are computed by the BLAS/LAPACK that was found
/// at build time, which chooses its kernels at run time, or else by Eigen. Everything is row-major.
namespace sentencode {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Matrix = RowMajor<float>;    // rows are sentences, words or components
using MatrixD = RowMajor<double>;  // sums over a corpus
using Vector = Eigen::VectorXf;
using VectorD = Eigen::VectorXd;

/// A view of a matrix whose rows are `stride` elements apart.
template <typename T>
using View = Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
using MatrixView = View<float>;
using ConstMatrixView = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Arguments of a product: a matrix, or a block of one, with contiguous rows. T is deduced from alpha.
template <typename T>
using ConstRef = Eigen::Ref<const RowMajor<std::type_identity_t<T>>, 0, Eigen::OuterStride<>>;
template <typename T>
using MutableRef = Eigen::Ref<RowMajor<std::type_identity_t<T>>, 0, Eigen::OuterStride<>>;

/// |x|^2. Squares of numbers below 1e-19 or above 1e19 do not fit a float and are summed in double.
template <typename Row>
double squared_length(const Row& row) {
  const float squares = row.squaredNorm();
  const bool fits = squares > 1e-20F && squares < 1e36F;
  return fits ? squares : row.template cast<double>().squaredNorm();
}

enum class Op { none, transpose };

/// C = alpha op(A) op(B) + beta C, float or double. With beta = 0, C may be uninitialised.
template <typename T>
void gemm(Op op_a, Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b, std::type_identity_t<T> beta,
          MutableRef<T> c);

/// op(A) op(B)
template <typename T>
RowMajor<T> product(const RowMajor<T>& a, const RowMajor<T>& b, Op op_a = Op::none, Op op_b = Op::none);

/// The p largest eigenvalues of a symmetric matrix in descending order, and the eigenvectors as rows [p, n].
/// Each vector's component of largest absolute value is positive, so that signs are the same on any machine.
template <typename T>
struct Spectrum {
  Eigen::Matrix<T, Eigen::Dynamic, 1> values;  // [p]
  RowMajor<T> vectors;                         // [p, n]
  int iterations = 0;                          // steps of the blocked method; 0: direct (LAPACK)
};

/// All eigenpairs, by LAPACK's divide and conquer. `c` is overwritten; only its upper triangle is read.
template <typename T>
Spectrum<T> eigh(RowMajor<T> c);

struct TopOptions {
  double tolerance = 1e-6;  // residual |C v - w v| / w_1 of every returned pair
  std::uint64_t seed = 20181111;
};

/// The p largest eigenpairs of a symmetric positive semi-definite matrix [n, n], by a block Krylov method
/// (products with C only), or by eigh if p is so near n that this is faster. Deterministic.
template <typename T>
Spectrum<T> top_eigenpairs(RowMajor<T> c, std::int64_t p, const TopOptions& options = {});

/// The library that computes the products, as in "scipy-openblas 0.3.34 SkylakeX" or "Eigen 3.4.0".
std::string dense_backend();

}  // namespace sentencode
