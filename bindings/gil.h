// Python's lock (the GIL): how this package lets it go, takes it, and calls Python from C++. No other way is
// used, so that these hold for every binding:
//
// - No lock is waited for with the GIL held, and the GIL is not asked for under a lock. What may wait runs in
//   a `WithoutGil`.
// - A thread that still runs when Python exits (a daemon thread) stays behind and is stopped for good where
//   it would need the GIL, as Python 3.14 does itself. Before, Python unwinds its stack instead
//   (pthread_exit), which aborts the process at the first destructor, noexcept function or
//   catch (...) on the way.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace sentencode {

namespace py = pybind11;

/// While it lives, this thread does without the GIL.
class WithoutGil {
 public:
  /// `computes`: whether exit has to wait for this thread, for a while: until it comes to poll_interrupt.
  explicit WithoutGil(bool computes = true);
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  bool computes_;
  PyThreadState* state_;
};

/// While it lives, this thread has the GIL; it may have had it before.
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

/// Of functions that touch no Python object, and of properties by way of `getter`.
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

/// Calls a Python function, with the GIL held.
template <typename... Arguments>
py::object call(const py::object& function, Arguments&&... arguments) {
  return call_tuple(function, py::make_tuple(std::forward<Arguments>(arguments)...));
}

/// Whether this is the thread that Python's signal handlers run on.
bool is_main_thread();
/// Whether Python is gone. Who computes then computes for nobody.
bool python_exited();

/// ImportError in a sub-interpreter, which this package's threads and signal checks could not tell from the
/// main one.
void refuse_subinterpreters();

}  // namespace sentencode
