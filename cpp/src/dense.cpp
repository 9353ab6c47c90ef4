#include "sentencode/dense.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <optional>
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
  T size = 0;
  int info = 0;
  routine(&size, -1, &info);
  // As a float, the size may have been rounded down.
  std::vector<T> work(static_cast<std::size_t>(static_cast<double>(size) * (1 + 1e-6)) + 1);
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

}  // namespace

template <typename T>
void fix_signs(RowMajor<T>& vectors) {
  for (auto row : vectors.rowwise()) {
    Index largest = 0;
    row.cwiseAbs().maxCoeff(&largest);
    if (row[largest] < 0) row = -row;
  }
}

template <typename T>
void check_square(const RowMajor<T>& c) {
  ST_CHECK(c.rows() == c.cols(), InvalidInput, "a symmetric matrix is square, got ", c.rows(), " x ",
           c.cols());
  ST_CHECK(all_finite(c), InvalidInput, "a matrix to decompose must be finite, got NaN or infinity");
}

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
  template void fix_signs<T>(RowMajor<T>&);                                                   \
  template void check_square<T>(const RowMajor<T>&);                                          \
  template Spectrum<T> eigh<T>(RowMajor<T>)
ST_INSTANTIATE(float);
ST_INSTANTIATE(double);
#undef ST_INSTANTIATE

}  // namespace sentencode
