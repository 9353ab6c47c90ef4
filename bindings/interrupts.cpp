#include <atomic>
#include <chrono>

#include "bindings.h"
#include "sentencode/parallel.h"

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

// Each module has a core of its own, and so a hook of its own.
void bind_interrupts(py::module_&) { set_interrupt_check(&signalled); }

}  // namespace sentencode
