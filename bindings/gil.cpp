#include "gil.h"

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "bindings.h"

namespace sentencode {
namespace {

std::atomic<bool> exited{false};
std::atomic<int> computing{0};              // threads in WithoutGil
thread_local bool is_computing = false;     // whether this thread is one of them
std::atomic<unsigned long> main_thread{0};  // NOLINT(google-runtime-int): Python's type

[[noreturn]] void stop_for_good() {
  if (is_computing) --computing;
  for (;;) ::pause();
}

/// Calls a function that may take the GIL. If Python would end the thread, it is stopped here, without
/// unwinding.
template <typename Function>
void or_stop(const Function& take) {
#ifdef __GLIBCXX__
  try {
    take();
  } catch (const abi::__forced_unwind&) {
    stop_for_good();
  }
#else
  take();
#endif
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Python has exited: static objects are destroyed next, so that no thread may compute any more.
void at_exit() {
  exited = true;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (computing > 0 && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void find_main_thread() {
  main_thread =
      py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();  // NOLINT
}

}  // namespace

WithoutGil::WithoutGil(bool computes) : computes_(computes), state_(PyEval_SaveThread()) {
  is_computing = computes_;
  if (computes_) ++computing;
}

WithoutGil::~WithoutGil() {
  if (computes_) --computing;
  is_computing = false;
  if (exited && !is_main_thread()) stop_for_good();
  or_stop([this] { PyEval_RestoreThread(state_); });
}

WithGil::WithGil() : computed_(is_computing) {
  if (computed_) --computing;
  is_computing = false;
  // A thread without a state would get a new one, of an interpreter that may have exited.
  if ((exited || is_finalizing()) && !is_main_thread()) stop_for_good();
  or_stop([this] { state_ = PyGILState_Ensure(); });
}

WithGil::~WithGil() {
  PyGILState_Release(state_);
  is_computing = computed_;
  if (computed_) ++computing;
}

py::object call_tuple(const py::object& function, const py::tuple& arguments) {
  PyObject* result = nullptr;
  or_stop([&] { result = PyObject_CallObject(function.ptr(), arguments.ptr()); });
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

bool python_exited() { return exited; }

void refuse_subinterpreters() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return;
  PyErr_SetString(PyExc_ImportError,
                  "sentencode works in Python's main interpreter alone, and this is a sub-interpreter: use "
                  "processes (multiprocessing) instead");
}

void bind_gil(py::module_&) {
  find_main_thread();
  exited = false;
  Py_AtExit(&at_exit);
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] {
                                  computing = 0;  // a forked child has no other threads
                                  main_thread = PyThread_get_thread_ident();
                                }));
  }
}

}  // namespace sentencode
