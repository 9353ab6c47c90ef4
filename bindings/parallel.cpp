#include "sentencode/parallel.h"

#include "bindings.h"

namespace sentencode {
void bind_parallel(py::module_& m) {
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, py::arg("threads"));
  // Every child of a pool (joblib, multiprocessing, a DataLoader's workers) would else want all processors.
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] { set_num_threads(1); }));
  }
}

}  // namespace sentencode
