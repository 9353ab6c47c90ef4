#include "sentencode/distributed/communicator.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "py.h"

namespace sentencode {

void bind_communicator(py::module_& m) {
  using distributed::Communicator;
  py::class_<Communicator, std::shared_ptr<Communicator>>(m, "Communicator",
                                                          R"doc(All that a trainer knows of other processes.

Every process calls the same methods in the same order, with tensors of the same shapes.
Made by `sentencode.distributed.communicator`.)doc")
      .def_property_readonly("rank", &Communicator::rank, "This process, from 0.")
      .def_property_readonly("size", &Communicator::size, "How many processes there are.")
      .def("all_reduce_mean", &Communicator::all_reduce_mean, py::arg("tensors"), Release(),
           "Replaces each tensor by its mean over all processes, in place.")
      .def("broadcast", &Communicator::broadcast, py::arg("tensors"), py::arg("root") = 0, Release(),
           "Replaces each tensor by that of process `root`, in place.")
      .def("all_gather", &Communicator::all_gather, py::arg("tensor"), Release(),
           "Returns the tensor of each process, in the order of ranks.")
      .def("barrier", &Communicator::barrier, Release(), "Returns when all processes are here.");
  m.def("local_communicator", &distributed::local_communicator);
  // By its name: a group itself could not be read where torch and we use different versions of pybind11.
  m.def(
      "group_communicator",
      [](const std::string& name) {
        return distributed::group_communicator(c10d::resolve_process_group(name));
      },
      py::arg("name"));
}

}  // namespace sentencode
