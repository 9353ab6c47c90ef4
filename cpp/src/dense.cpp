#include "sentencode/dense.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <atomic>
#include <climits>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "decompositions.h"
#include "one_blas_thread.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

#if SENTENCODE_HAVE_BLAS
#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)
#define ST_BLAS(name) ST_JOIN(SENTENCODE_BLAS_PREFIX, name)

// Fortran's names and types (32-bit integers). The hidden string-length arguments are omitted, as is usual in
// C.
#define ST_DECLARE_BLAS(t, T)                                                                              \
  void ST_BLAS(t##gemm_)(const char* op_a, const char* op_b, const int* m, const int* n, const int* k,     \
                         const T* alpha, const T* a, const int* lda, const T* b, const int* ldb,           \
                         const T* beta, T* c, const int* ldc);                                             \
  void ST_BLAS(t##syevd_)(const char* job, const char* triangle, const int* n, T* a, const int* lda, T* w, \
                          T* work, const int* lwork, int* iwork, const int* liwork, int* info);            \
  void ST_BLAS(t##geqrf_)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work,               \
                          const int* lwork, int* info);                                                    \
  void ST_BLAS(t##orgqr_)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,    \
                          T* work, const int* lwork, int* info)
extern "C" {
ST_DECLARE_BLAS(s, float);
ST_DECLARE_BLAS(d, double);
#if SENTENCODE_HAVE_OPENBLAS
char* ST_BLAS(openblas_get_config)(void);
#endif
}
#else
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#endif

namespace sentencode {
namespace {

using Index = Eigen::Index;
template <typename T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

#if SENTENCODE_HAVE_BLAS

constexpr int kAlone = 1024;  // up to this size a decomposition uses one thread

// The routines by type.
template <typename T>
struct Blas;
#define ST_BLAS_OF(t, T)                              \
  template <>                                         \
  struct Blas<T> {                                    \
    static constexpr auto gemm = ST_BLAS(t##gemm_);   \
    static constexpr auto syevd = ST_BLAS(t##syevd_); \
    static constexpr auto geqrf = ST_BLAS(t##geqrf_); \
    static constexpr auto orgqr = ST_BLAS(t##orgqr_); \
  }
ST_BLAS_OF(s, float);
ST_BLAS_OF(d, double);

int to_int(Index n) {
  ST_CHECK(n <= INT_MAX, InvalidInput, "BLAS counts with 32 bits: ", n, " rows or columns are too many");
  return static_cast<int>(n);
}

// Row stride; BLAS requires at least 1, even for a matrix without columns.
template <typename M>
int stride_of(const M& m) {
  return to_int(std::max<Index>(1, m.outerStride()));
}

// LAPACK's workspace query.
template <typename T, typename Routine>
void with_workspace(const char* name, Routine&& routine) {
  T wanted = 0;
  int info = 0;
  routine(&wanted, -1, &info);
  // As a float, the size may have been rounded down.
  std::vector<T> work(static_cast<std::size_t>(static_cast<double>(wanted) * (1 + 1e-6)) + 1);
  routine(work.data(), to_int(static_cast<Index>(work.size())), &info);
  ST_CHECK(info == 0, InternalError, name, " failed with code ", info);
}

template <typename T>
void raw_gemm(Op op_a, Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b, T beta,
              MutableRef<T> c) {
  // Rows are Fortran's columns: C^T = op(B)^T op(A)^T.
  const char ta = op_a == Op::none ? 'N' : 'T', tb = op_b == Op::none ? 'N' : 'T';
  const int m = to_int(c.rows()), n = to_int(c.cols()), k = to_int(op_a == Op::none ? a.cols() : a.rows());
  const int lda = stride_of(a), ldb = stride_of(b), ldc = stride_of(c);
  Blas<T>::gemm(&tb, &ta, &n, &m, &k, &alpha, b.data(), &ldb, a.data(), &lda, &beta, c.data(), &ldc);
}

// Eigenvalues in ascending order; vectors as rows.
template <typename T>
Column<T> raw_eigh(RowMajor<T>& c) {
  // The size of LAPACK's workspace, 2 n^2 + 6 n + 1, must fit in 32 bits.
  ST_CHECK(c.rows() <= 32766, InvalidInput, "eigh: a matrix of ", c.rows(),
           " rows is too large (at most 32766)");
  const int n = to_int(c.rows());
  Column<T> w(n);
  std::vector<int> iwork(static_cast<std::size_t>(3 + 5 * n));
  const int liwork = static_cast<int>(iwork.size());
  const char vectors = 'V', lower = 'L';  // our upper triangle is Fortran's lower
  std::optional<OneBlasThread> alone;
  if (n <= kAlone) alone.emplace();
  with_workspace<T>("syevd", [&](T* work, int lwork, int* info) {
    Blas<T>::syevd(&vectors, &lower, &n, c.data(), &n, w.data(), work, &lwork, iwork.data(), &liwork, info);
  });
  return w;
}

template <typename T>
RowMajor<T> raw_orthonormalise_rows(RowMajor<T>& y) {
  const int n = to_int(y.cols()), b = to_int(y.rows());
  std::optional<OneBlasThread> alone;
  if (b <= kAlone) alone.emplace();
  std::vector<T> tau(static_cast<std::size_t>(b));
  with_workspace<T>("geqrf", [&](T* work, int lwork, int* info) {
    Blas<T>::geqrf(&n, &b, y.data(), &n, tau.data(), work, &lwork, info);
  });
  // Fortran's upper triangle of R, column by column, is the lower triangle of our rows.
  RowMajor<T> r = y.leftCols(b).template triangularView<Eigen::Lower>().toDenseMatrix().transpose();
  with_workspace<T>("orgqr", [&](T* work, int lwork, int* info) {
    Blas<T>::orgqr(&n, &b, &b, y.data(), &n, tau.data(), work, &lwork, info);
  });
  return r;
}

#else

template <typename T>
void raw_gemm(Op op_a, Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b, T beta,
              MutableRef<T> c) {
  if (beta == T(0)) {
    c.setZero();
  } else if (beta != T(1)) {
    c *= beta;
  }
  if (op_a == Op::none) {
    if (op_b == Op::none)
      c.noalias() += alpha * (a * b);
    else
      c.noalias() += alpha * (a * b.transpose());
  } else {
    if (op_b == Op::none)
      c.noalias() += alpha * (a.transpose() * b);
    else
      c.noalias() += alpha * (a.transpose() * b.transpose());
  }
}

template <typename T>
Column<T> raw_eigh(RowMajor<T>& c) {
  // The solver reads the lower triangle.
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> > solver(c.transpose());
  ST_CHECK(solver.info() == Eigen::Success, InternalError, "the symmetric eigen-solver did not converge");
  c = solver.eigenvectors().transpose();
  return solver.eigenvalues();
}

template <typename T>
RowMajor<T> raw_orthonormalise_rows(RowMajor<T>& y) {
  Eigen::HouseholderQR<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> > qr(y.transpose());  // [n, b]
  const Index b = y.rows();
  y = (qr.householderQ() * Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>::Identity(y.cols(), b))
          .transpose();
  return qr.matrixQR().topRows(b).template triangularView<Eigen::Upper>();
}

#endif

template <typename T>
void fix_signs(RowMajor<T>& vectors) {
  for (auto row : vectors.rowwise()) {
    Index largest = 0;
    row.cwiseAbs().maxCoeff(&largest);
    if (row[largest] < 0) row = -row;
  }
}

// Eigen's allFinite is not vectorised, and would take a tenth of the time of LAES's fit.
template <typename T>
bool all_finite(const RowMajor<T>& m) {
  std::atomic<bool> finite{true};
  parallel_for(0, m.rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      // x - x is 0, or NaN if x is infinite or NaN.
      const auto row = m.row(i).array();
      if (!((row - row).sum() == T(0))) finite = false;  // NOLINT(misc-redundant-expression)
    }
  });
  return finite;
}

template <typename T>
void check_square(const RowMajor<T>& c) {
  ST_CHECK(c.rows() == c.cols(), InvalidInput, "a symmetric matrix is square, got ", c.rows(), " x ",
           c.cols());
  ST_CHECK(all_finite(c), InvalidInput, "a matrix to decompose must be finite, got NaN or infinity");
}

// Random numbers in [-1, 1), the same on every machine, unlike those of std::uniform_real_distribution.
template <typename T>
RowMajor<T> random_rows(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  RowMajor<T> m(rows, cols);
  for (Index i = 0; i < m.size(); ++i)
    m.data()[i] = static_cast<T>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1);
  return m;
}

}  // namespace

template <typename T>
void gemm(Op op_a, Op op_b, T alpha, const ConstRef<T>& a, const ConstRef<T>& b, std::type_identity_t<T> beta,
          MutableRef<T> c) {
  const auto rows = [](Op op, const auto& m) { return op == Op::none ? m.rows() : m.cols(); };
  const auto cols = [](Op op, const auto& m) { return op == Op::none ? m.cols() : m.rows(); };
  ST_CHECK(rows(op_a, a) == c.rows() && cols(op_b, b) == c.cols() && cols(op_a, a) == rows(op_b, b),
           InvalidInput, "gemm: shapes do not fit: [", rows(op_a, a), ", ", cols(op_a, a), "] x [",
           rows(op_b, b), ", ", cols(op_b, b), "] -> [", c.rows(), ", ", c.cols(), "]");
  if (c.size() > 0) raw_gemm<T>(op_a, op_b, alpha, a, b, beta, c);
}

template <typename T>
RowMajor<T> product(const RowMajor<T>& a, const RowMajor<T>& b, Op op_a, Op op_b) {
  RowMajor<T> c(op_a == Op::none ? a.rows() : a.cols(), op_b == Op::none ? b.cols() : b.rows());
  gemm(op_a, op_b, T(1), a, b, T(0), c);
  return c;
}

template <typename T>
RowMajor<T> orthonormalise_rows(RowMajor<T>& y) {
  ST_INVARIANT(y.rows() <= y.cols());
  return y.rows() == 0 ? RowMajor<T>(0, 0) : raw_orthonormalise_rows(y);
}

template <typename T>
Spectrum<T> eigh(RowMajor<T> c) {
  check_square(c);
  Spectrum<T> result;
  if (c.size() > 0) {
    result.values = raw_eigh(c).reverse();
    c.colwise().reverseInPlace();
    fix_signs(c);
  }
  result.vectors = std::move(c);
  return result;
}

namespace {

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

std::string dense_backend() {
#if SENTENCODE_HAVE_OPENBLAS
  return ST_BLAS(openblas_get_config)();
#elif SENTENCODE_HAVE_BLAS
  return "BLAS";
#else
  return concat("Eigen ", EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".", EIGEN_MINOR_VERSION);
#endif
}

#define ST_INSTANTIATE(T)                                                                     \
  template void gemm<T>(Op, Op, T, const ConstRef<T>&, const ConstRef<T>&, T, MutableRef<T>); \
  template RowMajor<T> product<T>(const RowMajor<T>&, const RowMajor<T>&, Op, Op);            \
  template RowMajor<T> orthonormalise_rows<T>(RowMajor<T>&);                                  \
  template double top_eigenpairs_bytes<T>(std::int64_t, std::int64_t);                        \
  template Spectrum<T> eigh<T>(RowMajor<T>);                                                  \
  template Spectrum<T> top_eigenpairs<T>(RowMajor<T>, std::int64_t, const TopOptions&)
ST_INSTANTIATE(float);
ST_INSTANTIATE(double);

}  // namespace sentencode
