#include <chrono>

#include "bindings.h"
#include "gil.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// Only the main thread handles signals. Checking needs the GIL, which busy Python threads release only every
// few milliseconds, so it checks rarely.
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

// Each module links its own copy of the core, with its own hook.
void bind_interrupts(py::module_&) { set_interrupt_check(&signalled); }

}  // namespace sentencode
