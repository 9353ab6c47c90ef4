#include "sentencode/version.h"

#include "sentencode/vectors/rows.h"

#if SENTENCODE_HAVE_OPENBLAS
#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)
extern "C" char* ST_JOIN(SENTENCODE_BLAS_PREFIX, openblas_get_corename)(void);
#endif

namespace sentencode {

BuildInfo build_info() noexcept {
#ifdef __clang__
  constexpr std::string_view kCompiler = "Clang " __clang_version__;
#else
  constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif
  return {.version = SENTENCODE_VERSION, .compiler = kCompiler, .blas = SENTENCODE_BLAS_NAME};
}

std::string blas_kernel() {
#if SENTENCODE_HAVE_OPENBLAS
  return ST_JOIN(SENTENCODE_BLAS_PREFIX, openblas_get_corename)();
#else
  return "";
#endif
}

std::string_view simd() { return row_kernels().name; }

}  // namespace sentencode
