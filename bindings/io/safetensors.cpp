#include "sentencode/io/safetensors.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>

#include "bindings.h"
#include "paths.h"

namespace sentencode {
namespace {

/// A copy of a tensor in its own type.
py::array values(const SafeTensors& self, const std::string& name) {
  ST_CHECK(self.has(name), FormatError, self.source(), ": tensor '", name, "' is missing");
  const Tensor& tensor = self.tensors().at(name);
  const std::map<DType, const char*> types{{DType::f64, "<f8"}, {DType::f32, "<f4"}, {DType::f16, "<f2"},
                                           {DType::i64, "<i8"}, {DType::i32, "<i4"}, {DType::i16, "<i2"},
                                           {DType::i8, "<i1"},  {DType::u64, "<u8"}, {DType::u32, "<u4"},
                                           {DType::u16, "<u2"}, {DType::u8, "<u1"}};
  const auto type = types.find(tensor.dtype);
  ST_CHECK(type != types.end(), FormatError, self.source(), ": tensor '", name, "' has the type ",
           dtype_name(tensor.dtype), ", which NumPy lacks");
  py::array array(py::dtype(type->second), tensor.shape);
  if (!tensor.bytes.empty()) std::memcpy(array.mutable_data(), tensor.bytes.data(), tensor.bytes.size());
  return array;
}

}  // namespace

void bind_safetensors(py::module_& m) {
  py::class_<SafeTensors, std::shared_ptr<SafeTensors>>(m, "SafeTensors", "A mapped file of arrays.")
      .def(py::init([](const Path& path) {
             return std::const_pointer_cast<SafeTensors>(SafeTensors::open(path));
           }),
           py::arg("path"), Release())
      .def_property_readonly("shapes",
                             [](const SafeTensors& self) {
                               std::map<std::string, std::vector<std::int64_t>> shapes;
                               for (const auto& [name, tensor] : self.tensors()) shapes[name] = tensor.shape;
                               return shapes;
                             })
      .def("values", &values, py::arg("name"), "A copy of an array.");
}

}  // namespace sentencode
