#include "sentencode/vectors/svd.h"

#include <algorithm>
#include <random>
#include <utility>

#include "sentencode/error.h"

namespace sentencode {
namespace {

using Index = Eigen::Index;

// Y^T Y in double, as the lengths of directions may be very different.
MatrixD gram(const Matrix& y) {
  constexpr Index kRows = 4096;
  MatrixD g = MatrixD::Zero(y.cols(), y.cols());
  for (Index begin = 0; begin < y.rows(); begin += kRows) {
    const MatrixD block = y.middleRows(begin, std::min(kRows, y.rows() - begin)).cast<double>();
    gemm<double>(Op::transpose, Op::none, 1.0, block, block, 1.0, g);
  }
  return g;
}

// Orthonormal columns Y (V^T / sqrt(w)) that span Y, with the eigenpairs (w, V) of Y^T Y, the largest first.
// Directions of rounding errors become zero.
Matrix orthonormal(const Matrix& y) {
  const Spectrum<double> spectrum = eigh<double>(gram(y));
  constexpr double kRounding = 1e-12;  // of float, squared, with some margin
  const double least = spectrum.values.size() > 0 ? kRounding * spectrum.values[0] : 0;
  MatrixD rotation = spectrum.vectors;  // rows
  for (Index i = 0; i < rotation.rows(); ++i) {
    rotation.row(i) *= spectrum.values[i] > least ? 1 / std::sqrt(spectrum.values[i]) : 0.0;
  }
  return product<float>(y, rotation.cast<float>(), Op::none, Op::transpose);
}

// Random signs are as good as Gaussian numbers, and the same on every machine.
Matrix random_signs(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Matrix signs(rows, cols);
  std::uint64_t bits = 0;
  for (Index i = 0; i < signs.size(); ++i) {
    bits = i % 64 == 0 ? generator() : bits >> 1;
    signs.data()[i] = (bits & 1) != 0 ? 1.0F : -1.0F;
  }
  return signs;
}

}  // namespace

LeftSingular left_singular(const SparseMatrix& a, std::int64_t dim, const SvdOptions& options) {
  const std::int64_t smaller = std::min(a.rows(), a.cols);
  ST_CHECK(dim >= 1 && dim <= smaller, InvalidInput, "dim must be 1 to ", smaller,
           ", the smaller side of the matrix, got ", dim);
  ST_CHECK(options.iterations >= 0 && options.oversampling >= 0, InvalidInput,
           "iterations and oversampling must not be negative, got ", options.iterations, " and ",
           options.oversampling);

  const SparseMatrix at = transposed(a);
  const std::int64_t steps = 2 * (options.iterations + 1);
  std::int64_t done = 0;
  const auto multiply = [&](const SparseMatrix& m, const Matrix& x) {
    Matrix y = product(m, x);
    if (options.progress) options.progress(++done, steps);
    return y;
  };

  const std::int64_t width = std::min(dim + options.oversampling, smaller);
  Matrix q = orthonormal(multiply(a, random_signs(a.cols, width, options.seed)));  // [rows, width]
  for (int i = 0; i < options.iterations; ++i) {
    q = orthonormal(multiply(a, orthonormal(multiply(at, q))));
  }
  q = orthonormal(q);  // twice, which removes the rounding errors of the first time

  // Rayleigh-Ritz in the span of Q: Z = A^T Q, and the eigenvectors of Q^T A A^T Q = Z^T Z rotate Q to the
  // singular vectors.
  const Spectrum<double> spectrum = eigh<double>(gram(multiply(at, q)));
  LeftSingular result;
  result.values = spectrum.values.head(dim).cwiseMax(0.0).cwiseSqrt().cast<float>();
  const Matrix rotation = spectrum.vectors.topRows(dim).cast<float>();
  result.vectors = product<float>(q, rotation, Op::none, Op::transpose);
  for (auto column : result.vectors.colwise()) {
    Index largest = 0;
    column.cwiseAbs().maxCoeff(&largest);
    if (column[largest] < 0) column = -column;
  }
  return result;
}

}  // namespace sentencode
