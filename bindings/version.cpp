#include "sentencode/version.h"

#include <pybind11/typing.h>

#include "bindings.h"

namespace sentencode {

void bind_version(py::module_& m) {
  const BuildInfo info = build_info();
  m.attr("__version__") = info.version;
  m.def(
      "build_info",
      [info] {
        py::typing::Dict<py::str, py::str> result;
        result["version"] = info.version;
        result["compiler"] = info.compiler;
        result["blas"] = info.blas;
        result["blas_kernel"] = blas_kernel();
        result["simd"] = simd();
        result["torch"] = SENTENCODE_TORCH_VERSION;
        return result;
      },
      "Version, compiler, BLAS, and the torch of `_nn` ('' without); OpenBLAS's kernel and the instruction "
      "set of "
      "the core's loops on this processor.");
}

}  // namespace sentencode
