#include "bindings.h"
#include "paths.h"
#include "sentencode/io/atomic_file.h"

namespace sentencode {

void bind_files(py::module_& m) {
  py::class_<AtomicFile>(m, "AtomicFile", "A file that is there whole or not at all.")
      .def(py::init([](const Path& path) { return new AtomicFile(path.name); }), py::arg("path"), Release())
      .def_property_readonly("descriptor", &AtomicFile::descriptor, "To be written to, and not closed.")
      .def("commit", &AtomicFile::commit, Release())
      .def("discard", &AtomicFile::discard, Release());
  m.def(
      "link_target", [](const Path& path) { return Path{link_target(path)}; }, py::arg("path"), Release(),
      "The file that a name chosen by the user leads to.");
  m.def(
      "remove_unused", [](const Path& path) { return remove_unused(path); }, py::arg("path"), Release(),
      "Removes a file unless a process has it mapped, or writes it.");
  m.def(
      "remove_leftovers", [](const Path& folder) { remove_leftovers(folder); }, py::arg("folder"), Release(),
      "Removes what killed writers of a folder's files left there.");
}

}  // namespace sentencode
