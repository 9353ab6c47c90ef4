#include "sentencode/parallel.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "paths.h"
#include "sentencode/control_groups.h"

namespace sentencode {
void bind_parallel(py::module_& m) {
  m.def("num_threads", &num_threads);
  m.def("set_num_threads", &set_num_threads, py::arg("threads"));
  m.def(
      "control_groups",
      [](const std::string& controller, const Path& root) {
        std::vector<Path> folders;
        for (auto& folder : control_groups(controller, root)) folders.push_back({std::move(folder)});
        return folders;
      },
      py::arg("controller"), py::arg("root") = "/", Release(),
      "Folders of the control groups that may limit this process; see control_groups.h.");
  // Otherwise every child of a pool (joblib, multiprocessing, DataLoader) would use all processors.
  const py::module_ os = py::module_::import("os");
  if (py::hasattr(os, "register_at_fork")) {
    os.attr("register_at_fork")(py::arg("after_in_child") = py::cpp_function([] { set_num_threads(1); }));
  }
}

}  // namespace sentencode
