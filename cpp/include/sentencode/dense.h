#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <type_traits>  // std::type_identity_t

/// Dense products and decompositions: Eigen gives the types, a BLAS/LAPACK that chooses its kernels at run
/// time does the work where one was found at build time, and Eigen itself where none was. Everything is
/// row-major.
namespace sentencode {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Matrix = RowMajor<float>;    // rows are sentences, words or components
using MatrixD = RowMajor<double>;  // sums over a corpus
using Vector = Eigen::VectorXf;
using VectorD = Eigen::VectorXd;

/// A matrix that somebody else owns, with its rows `stride` elements apart.
template <typename T>
using View = Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>>;
using MatrixView = View<float>;
using ConstMatrixView = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// What a product takes: any matrix, or block of one, whose rows are contiguous. T is read off alpha.
template <typename T>
using ConstRef = Eigen::Ref<const RowMajor<std::type_identity_t<T>>, 0, Eigen::OuterStride<>>;
template <typename T>
using MutableRef = Eigen::Ref<RowMajor<std::type_identity_t<T>>, 0, Eigen::OuterStride<>>;

/// |x|^2. Float holds the squares of numbers between 1e-19 and 1e19 alone: those of others are summed in
/// double.
template <typename Row>
double squared_length(const Row& row) {
  const float squares = row.squaredNorm();
  const bool holds = squares > 1e-20F && squares < 1e36F;
  return holds ? squares : row.template cast<double>().squaredNorm();
}

enum class Op { none, transpose };

/// C = alpha op(A) op(B) + beta C, float or double. With beta = 0, C may hold anything.
template <typename T>
void gemm(Op op_a, Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b, std::type_identity_t<T> beta,
          MutableRef<T> c);

/// The usual case: op(A) op(B), newly made.
template <typename T>
RowMajor<T> product(const RowMajor<T>& a, const RowMajor<T>& b, Op op_a = Op::none, Op op_b = Op::none);

/// The p largest eigenvalues of a symmetric matrix in falling order, and their vectors as rows [p, n]. Each
/// vector's largest component in absolute value is positive, so that the result does not depend on the
/// machine's whim.
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
/// (products with C only), or by eigh where p is so near n that this is faster. The same input gives the same
/// result.
template <typename T>
Spectrum<T> top_eigenpairs(RowMajor<T> c, std::int64_t p, const TopOptions& options = {});

/// Which library does the products, as in "scipy-openblas 0.3.34 SkylakeX" or "Eigen 3.4.0".
std::string dense_backend();

}  // namespace sentencode
