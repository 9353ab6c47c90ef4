#include "sentencode/version.h"

namespace sentencode {

BuildInfo build_info() noexcept {
#ifdef __clang__
  constexpr std::string_view kCompiler = "Clang " __clang_version__;
#else
  constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif
  return {.version = SENTENCODE_VERSION, .compiler = kCompiler, .blas = SENTENCODE_BLAS_NAME};
}

}  // namespace sentencode
