// Releasing and acquiring Python's GIL, and calling Python from C++. All bindings use only these, so that:
//
// - No thread waits for a lock with the GIL, or for the GIL with a lock. Whatever may wait runs in a
// `WithoutGil`.
// - A thread that still runs when Python exits (a daemon thread) is stopped where it would need the GIL, as
//   by Python 3.14. Older versions unwind its stack (pthread_exit), which aborts the process at the first
//   destructor, noexcept function or catch (...).
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace sentencode {

namespace py = pybind11;

/// Releases the GIL during its lifetime.
class WithoutGil {
 public:
  /// computes: Whether exit waits (for a limited time) until this thread calls poll_interrupt.
  explicit WithoutGil(bool computes = true);
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  bool computes_;
  PyThreadState* state_;
};

/// Holds the GIL during its lifetime; the thread may have it already.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  bool computed_;
  PyGILState_STATE state_;
};

/// For functions that use no Python object, and for properties by `getter`.
using Release = py::call_guard<WithoutGil>;

template <typename Function>
auto without_gil(Function&& function) {
  const WithoutGil released;
  return std::forward<Function>(function)();
}

/// A property's getter that may wait for a lock.
template <typename Function>
py::cpp_function getter(Function&& function) {
  return py::cpp_function(std::forward<Function>(function), Release());
}

py::object call_tuple(const py::object& function, const py::tuple& arguments);

/// Calls a Python function. The thread must hold the GIL.
template <typename... Arguments>
py::object call(const py::object& function, Arguments&&... arguments) {
  return call_tuple(function, py::make_tuple(std::forward<Arguments>(arguments)...));
}

/// Whether this is the thread that Python's signal handlers run on.
bool is_main_thread();
/// Whether Python has exited, so that results are useless.
bool python_exited();

/// ImportError in a sub-interpreter, which threads and signal checks could not distinguish from the main one.
void refuse_subinterpreters();

}  // namespace sentencode
