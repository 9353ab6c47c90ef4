#pragma once

#include <string_view>

namespace sentencode {

/// What this library was built as: to be printed in bug reports and stored beside results.
struct BuildInfo {
  std::string_view version;   // of Sentencode, as in "0.1.0"
  std::string_view compiler;  // as in "GCC 12.2.0"
  std::string_view blas;      // behind dense.h: "scipy" (scipy-openblas32), "system" or "eigen"
};

BuildInfo build_info() noexcept;

}  // namespace sentencode
