#include <ATen/Parallel.h>
#include <pybind11/pybind11.h>

#include "nn_bindings.h"
#include "sentencode/parallel.h"
#include "sentencode/processors.h"

namespace sentencode {
namespace {

void set_all_threads(int threads) {
  set_num_threads(threads);
  at::set_num_threads(threads);
}

}  // namespace

// This module has a core of its own, with a count of its own; LibTorch has a third.
void bind_threads(py::module_& m) {
  // LibTorch counts processors, and knows nothing of a container's share of their time.
  if (const int share = processors(); processor_quota() < at::get_num_threads()) at::set_num_threads(share);
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_all_threads, py::arg("threads"), "LibTorch's, too.");
  // As in _core. LibTorch's threads do not survive a fork: a child that waited for them would wait for ever.
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] { set_all_threads(1); }));
  }
}

}  // namespace sentencode
