// Conversion of paths: any argument of `os.fspath`, including bytes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

namespace sentencode {

/// A path in the system's encoding. From Python: str, bytes or a path; to Python: a str, as of `os.fsdecode`.
struct Path {
  std::string name;
  operator const std::string&() const { return name; }  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace sentencode

namespace pybind11::detail {

template <>
struct type_caster<sentencode::Path> {
  PYBIND11_TYPE_CASTER(sentencode::Path,
                       io_name("str | bytes | os.PathLike[str] | os.PathLike[bytes]", "str"));

  bool load(handle source, bool) {
    if (!PyUnicode_Check(source.ptr()) && !PyBytes_Check(source.ptr()) && !hasattr(source, "__fspath__"))
      return false;
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(source.ptr(), &bytes) == 0) throw error_already_set();
    value.name = reinterpret_steal<pybind11::bytes>(bytes);
    return true;
  }
  static handle cast(const sentencode::Path& path, return_value_policy, handle) {
    return PyUnicode_DecodeFSDefaultAndSize(path.name.data(), static_cast<Py_ssize_t>(path.name.size()));
  }
};

}  // namespace pybind11::detail
