#pragma once

#include <string>
#include <string_view>

namespace sentencode {

/// What this library was built as: to be printed in bug reports and stored beside results.
struct BuildInfo {
  std::string_view version;   // of Sentencode, as in "0.1.0"
  std::string_view compiler;  // as in "GCC 12.2.0"
  std::string_view blas;      // behind dense.h: "scipy" (scipy-openblas32), "system" or "eigen"
};

BuildInfo build_info() noexcept;

/// Which of its kernels OpenBLAS chose for this processor, as in "Haswell"; "" without OpenBLAS.
std::string blas_kernel();

/// The instructions that the core's own loops use on this processor: "avx512", "avx2" or "portable".
std::string_view simd();

}  // namespace sentencode
