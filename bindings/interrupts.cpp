#include <chrono>

#include "bindings.h"
#include "gil.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// Signals are the main thread's. Asking costs it the GIL, which busy Python threads give up only every few
// milliseconds: it asks seldom.
bool signalled() {
  if (python_exited()) return true;
  if (!is_main_thread()) return false;
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last;
  const Clock::time_point now = Clock::now();
  if (now - last < std::chrono::milliseconds(50)) return false;
  last = now;
  const WithGil gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

// Each module has a core of its own, and so a hook of its own.
void bind_interrupts(py::module_&) { set_interrupt_check(&signalled); }

}  // namespace sentencode
