// The leading eigenpairs of a symmetric matrix, by a block Krylov method.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "decompositions.h"
#include "one_blas_thread.h"
#include "sentencode/dense.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

using Index = Eigen::Index;

// Random numbers in [-1, 1), the same on every machine, unlike those of std::uniform_real_distribution.
template <typename T>
RowMajor<T> random_rows(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  RowMajor<T> m(rows, cols);
  for (Index i = 0; i < m.size(); ++i)
    m.data()[i] = static_cast<T>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1);
  return m;
}

/// orthonormalise_rows for few rows, by one Gram matrix in double. Falls back to it for nearly dependent
/// rows.
template <typename T>
RowMajor<T> orthonormalise_few(RowMajor<T>& y) {
  constexpr double kDependent = 1e-6;
  const MatrixD exact = y.template cast<double>();
  const Eigen::LLT<MatrixD> cholesky(exact * exact.transpose());
  const VectorD diagonal = cholesky.matrixLLT().diagonal();
  if (cholesky.info() != Eigen::Success || !(diagonal.minCoeff() > kDependent * diagonal.maxCoeff())) {
    return orthonormalise_rows(y);
  }
  y = cholesky.matrixL().solve(exact).template cast<T>();
  return MatrixD(cholesky.matrixU()).template cast<T>();
}

// Whether concurrent products use one thread each under OneBlasThread.
#if SENTENCODE_HAVE_BLAS && !SENTENCODE_HAVE_OPENBLAS
constexpr bool kOwnThreads = false;  // unknown
#else
constexpr bool kOwnThreads = true;
#endif

/// C = alpha A op(B) + beta C, in strips of columns on parallel_for's threads.
template <typename T>
void gemm_in_strips(Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b,
                    std::type_identity_t<T> beta, MutableRef<T> c) {
  constexpr Index kLeast = 256;
  const Index threads = kOwnThreads ? num_threads() : 1;
  const Index strip = std::max(kLeast, (c.cols() + threads - 1) / threads);
  parallel_for(0, c.cols(), strip, [&](std::int64_t begin, std::int64_t end) {
    const Index count = end - begin;
    auto out = c.middleCols(begin, count);
    if (op_b == Op::none) {
      gemm<T>(Op::none, op_b, alpha, a, b.middleCols(begin, count), beta, out);
    } else {
      gemm<T>(Op::none, op_b, alpha, a, b.middleRows(begin, count), beta, out);
    }
  });
}

/// Orthonormal rows that span { X, C X, C^2 X, ... } for a random block X, and C's projection on them. Every
/// block is orthogonalised twice against all previous ones, which makes the projection accurate.
template <typename T>
class KrylovSpace {
 public:
  KrylovSpace(const RowMajor<T>& c, Index block, std::uint64_t seed)
      : c_(c), seed_(seed), next_(random_rows<T>(block, c.rows(), seed)) {
    orthonormalise_few(next_);
  }

  Index size() const { return size_; }

  void grow(Index size) {
    const Index b = next_.rows(), n = c_.rows();
    size = (size + b - 1) / b * b;
    basis_.conservativeResize(size, n);
    projection_.conservativeResize(size, size);
    while (size_ < size) {
      poll_interrupt();
      basis_.middleRows(size_, b) = next_;  // append q [b, n] to Q [m, n]
      size_ += b;
      RowMajor<T> y(b, n);  // q C, computed as q C^T: contiguous rows are faster to pack
      gemm_in_strips<T>(Op::transpose, T(1), next_, c_, T(0), y);
      const RowMajor<T> h = remove_basis(y);  // q C Q^T [b, m]
      projection_.block(size_ - b, 0, b, size_) = h;
      projection_.block(0, size_ - b, size_, b) = h.transpose();
      coupling_ = orthonormalise_few(y);  // y = coupling^T next
      replace_spent_rows(y);
      remove_basis(y);
      coupling_ = orthonormalise_few(y) * coupling_;
      next_ = std::move(y);
    }
  }

  /// The p leading pairs of the space, and their largest residual |C v - w v|.
  Spectrum<T> ritz(Index p, T& residual) const {
    Spectrum<T> small = eigh<T>(projection_.topLeftCorner(size_, size_));
    const Index b = coupling_.rows();
    residual = (coupling_ * small.vectors.block(0, size_ - b, p, b).transpose()).colwise().norm().maxCoeff();
    Spectrum<T> result;
    result.values = small.values.head(p);
    result.vectors.resize(p, c_.rows());
    gemm_in_strips<T>(Op::none, T(1), small.vectors.topRows(p), basis_.topRows(size_), T(0), result.vectors);
    result.iterations = static_cast<int>(size_ / b);
    return result;
  }

 private:
  // y := y - y Q^T Q; returns y Q^T.
  RowMajor<T> remove_basis(RowMajor<T>& y) const {
    RowMajor<T> h(y.rows(), size_);
    gemm_in_strips<T>(Op::transpose, T(1), y, basis_.topRows(size_), T(0), h);
    gemm_in_strips<T>(Op::none, T(-1), h, basis_.topRows(size_), T(1), y);
    return h;
  }

  // If the rank of C is exhausted, continues with random directions.
  void replace_spent_rows(RowMajor<T>& y) {
    const T nothing =
        Eigen::NumTraits<T>::epsilon() * projection_.diagonal().head(size_).cwiseAbs().maxCoeff();
    for (Index i = 0; i < y.rows(); ++i) {
      if (std::abs(coupling_(i, i)) <= nothing) y.row(i) = random_rows<T>(1, y.cols(), ++seed_);
    }
  }

  const OneBlasThread alone_;  // the products are many and small
  const RowMajor<T>& c_;       // [n, n]
  std::uint64_t seed_;
  Index size_ = 0;          // m
  RowMajor<T> basis_;       // [m, n]
  RowMajor<T> projection_;  // [m, m]
  RowMajor<T> next_;        // [b, n], orthogonal to the basis
  RowMajor<T> coupling_;    // [b, b]
};

/// Measured on covariances of word vectors: the space needs 2 p dimensions and a few blocks more, up to twice
/// that. Smaller blocks need a smaller space, but slower products. If the space is not much smaller than n,
/// LAPACK's direct solver is faster.
struct SpaceSize {
  SpaceSize(Index n, Index p)
      : block(std::clamp<Index>(p / 32 * 4, 16, 64)), first(2 * p + 6 * block), limit(n / 2) {}
  Index block, first, limit;
};

}  // namespace

template <typename T>
double top_eigenpairs_bytes(std::int64_t n, std::int64_t p) {
  const SpaceSize size(n, p);
  const auto width = static_cast<double>(n), space = 1.2 * static_cast<double>(size.first);
  const double direct = 2 * width * width + 7 * width;  // syevd's
  const double numbers = size.first <= size.limit
                             ? space * (width + 4 * space) + static_cast<double>(p + 2 * size.block) * width
                             : direct;
  return numbers * static_cast<double>(sizeof(T));
}

template <typename T>
Spectrum<T> top_eigenpairs(RowMajor<T> c, std::int64_t p, const TopOptions& options) {
  const Index n = c.rows();
  ST_CHECK(p >= 0 && p <= n, InvalidInput, "top_eigenpairs: p must be 0 to ", n, ", got ", p);
  check_square(c);
  const SpaceSize space_size(n, p);
  Index size = space_size.first;
  if (p > 0 && size <= space_size.limit) {
    KrylovSpace<T> space(c, space_size.block, options.seed);
    for (; size <= space_size.limit; size += size / 5) {
      space.grow(size);
      T residual;
      Spectrum<T> result = space.ritz(p, residual);
      if (residual <= static_cast<T>(options.tolerance) * result.values[0]) {
        fix_signs(result.vectors);
        return result;
      }
    }
  }
  Spectrum<T> result = eigh(std::move(c));
  result.values.conservativeResize(p);
  result.vectors.conservativeResize(p, n);
  return result;
}

#define ST_INSTANTIATE(T)                                              \
  template double top_eigenpairs_bytes<T>(std::int64_t, std::int64_t); \
  template Spectrum<T> top_eigenpairs<T>(RowMajor<T>, std::int64_t, const TopOptions&)
ST_INSTANTIATE(float);
ST_INSTANTIATE(double);
#undef ST_INSTANTIATE

}  // namespace sentencode
