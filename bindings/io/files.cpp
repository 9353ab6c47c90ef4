#include "bindings.h"
#include "paths.h"
#include "sentencode/io/atomic_file.h"

namespace sentencode {

void bind_files(py::module_& m) {
  py::class_<AtomicFile>(m, "AtomicFile", "A file that is written atomically.")
      .def(py::init([](const Path& path) { return new AtomicFile(path.name); }), py::arg("path"), Release())
      .def_property_readonly("descriptor", &AtomicFile::descriptor, "For writing; must not be closed.")
      .def("commit", &AtomicFile::commit, Release())
      .def("discard", &AtomicFile::discard, Release());
  m.def(
      "link_target", [](const Path& path) { return Path{link_target(path)}; }, py::arg("path"), Release(),
      "The target of a symbolic link; other paths are returned unchanged.");
  m.def(
      "remove_unused", [](const Path& path) { return remove_unused(path); }, py::arg("path"), Release(),
      "Removes a file unless a process has it mapped or writes it.");
  m.def(
      "remove_leftovers", [](const Path& folder) { remove_leftovers(folder); }, py::arg("folder"), Release(),
      "Removes temporary files of killed writers from a folder.");
}

}  // namespace sentencode
