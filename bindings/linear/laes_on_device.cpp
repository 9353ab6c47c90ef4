#include "sentencode/linear/laes_on_device.h"

#include "nn_bindings.h"
#include "py.h"
#include "sentences.h"

namespace sentencode {

void bind_laes_on_device(py::module_& m) {
  py::class_<LaesOnDevice>(m, "LAESOnDevice", "Statistics of LAES, computed by torch on a device.")
      .def(py::init<std::shared_ptr<const Laes>, const std::string&>(), py::arg("like").none(false),
           py::arg("device"), Release())
      .def("add", with_sentences(&LaesOnDevice::add), py::arg("sentences"))
      .def("merge_into", &LaesOnDevice::merge_into, py::arg("encoder"), Release());
  m.def("solve_laes_on_device", &solve_on_device, py::arg("encoder"), py::arg("device"), Release(),
        "LAES.solve, computed by torch on a device.");
}

}  // namespace sentencode
