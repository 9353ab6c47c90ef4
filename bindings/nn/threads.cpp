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

// This module contains its own core with its own thread count; LibTorch has a third one.
void bind_threads(py::module_& m) {
  // LibTorch does not respect a container's CPU limit.
  if (const int share = processors(); processor_quota() < at::get_num_threads()) at::set_num_threads(share);
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_all_threads, py::arg("threads"),
        "Sets the thread counts of this module and of LibTorch.");
  // As in _core. LibTorch's threads do not survive a fork: a child would wait for them forever.
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] { set_all_threads(1); }));
  }
}

}  // namespace sentencode
