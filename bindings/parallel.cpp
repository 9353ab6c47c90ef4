#include "sentencode/parallel.h"

#include <atomic>
#include <chrono>

#include "bindings.h"

namespace sentencode {
namespace {

// Asking costs the GIL, which busy Python threads give up only every few milliseconds: ask seldom.
bool signalled() {
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::rep> last{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  constexpr Clock::rep kPause =
      std::chrono::duration_cast<Clock::duration>(std::chrono::milliseconds(50)).count();
  if (now - last < kPause) return false;
  last = now;
  const py::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

void bind_parallel(py::module_& m) {
  set_interrupt_check(&signalled);
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, py::arg("threads"));
  // Every child of a pool (joblib, multiprocessing, a DataLoader's workers) would else want all processors.
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] { set_num_threads(1); }));
  }
}

}  // namespace sentencode
