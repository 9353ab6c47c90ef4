#pragma once

#include <string>
#include <string_view>

namespace sentencode {

/// How this library was built, for bug reports and result files.
struct BuildInfo {
  std::string_view version;   // of Sentencode, as in "0.1.0"
  std::string_view compiler;  // as in "GCC 12.2.0"
  std::string_view blas;      // of dense.h: "scipy" (scipy-openblas32), "system" or "eigen"
};

BuildInfo build_info() noexcept;

/// The kernel that OpenBLAS chose for this processor, as in "Haswell"; "" without OpenBLAS.
std::string blas_kernel();

/// The instruction set of the core's loops on this processor: "avx512", "avx2" or "portable".
std::string_view simd();

}  // namespace sentencode
