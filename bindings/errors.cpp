#include "errors.h"

#include <string_view>

#include "sentencode/error.h"

namespace sentencode {
namespace {

// Never released, because the interpreter may be gone when static objects are destroyed.
PyObject* diverged_error = nullptr;
PyObject* format_error = nullptr;
PyObject* not_fitted_error = nullptr;

/// Bytes that are not UTF-8 are of file names, and become surrogates as in Python.
py::object text_of(const Error& error) {
  const std::string_view text = error.what();
  PyObject* object =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

void translate(
    std::exception_ptr failure) {  // NOLINT(performance-unnecessary-value-param): required by pybind11
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const InvalidInput& e) {
    py::set_error(PyExc_ValueError, text_of(e));
  } catch (const DivergedError& e) {
    py::set_error(diverged_error, text_of(e));
  } catch (const FormatError& e) {
    py::set_error(format_error, text_of(e));
  } catch (const IoError& e) {
    // With a number, Python chooses the subclass: FileNotFoundError, PermissionError, ...
    if (e.error_number() == 0) {
      py::set_error(PyExc_OSError, text_of(e));
    } else {
      py::set_error(PyExc_OSError, py::make_tuple(e.error_number(), text_of(e)));
    }
  } catch (const NotFitted& e) {
    // Calls the class, which may return an instance of a subclass that is also scikit-learn's error.
    const py::object object = py::reinterpret_borrow<py::object>(not_fitted_error)(text_of(e));
    py::set_error(py::type::handle_of(object), object);
  } catch (const Unsupported& e) {
    py::set_error(PyExc_NotImplementedError, text_of(e));
  } catch (const Interrupted&) {
    // The signal handler has already set the exception.
    if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const Error& e) {
    py::set_error(PyExc_RuntimeError, text_of(e));
  }
}

}  // namespace

void define_errors(py::module_& m) {
  const py::module_ errors = py::module_::import("sentencode.errors");
  for (const char* name : {"DivergedError", "FormatError", "NotFittedError"})
    m.attr(name) = errors.attr(name);
}

void bind_errors(const py::module_& defined) {
  const auto class_of = [&](const char* name) { return py::object(defined.attr(name)).release().ptr(); };
  diverged_error = class_of("DivergedError");
  format_error = class_of("FormatError");
  not_fitted_error = class_of("NotFittedError");
  py::register_local_exception_translator(&translate);
}

}  // namespace sentencode
