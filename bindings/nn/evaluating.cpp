#include "sentencode/nn/evaluating.h"

#include <pybind11/pybind11.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "nn_bindings.h"

namespace sentencode {
namespace {

/// `nn::Evaluating` as a context manager, for the thread that enters it.
class Evaluation {
 public:
  void enter() {
    if (inside_ != std::thread::id())
      throw std::logic_error("Evaluating was entered already: create another one");
    inside_ = std::this_thread::get_id();
    evaluating_.emplace();
  }

  void exit() {
    if (inside_ != std::this_thread::get_id()) {
      throw std::logic_error("Evaluating must be left by the thread that entered it");
    }
    evaluating_.reset();
    inside_ = std::thread::id();
  }

 private:
  std::optional<nn::Evaluating> evaluating_;
  std::thread::id inside_;
};

}  // namespace

void bind_evaluating(py::module_& m) {
  py::class_<Evaluation>(m, "Evaluating",
                         "Context manager: C++ modules behave as in evaluation on this thread.")
      .def(py::init<>())
      .def(
          "__enter__",
          [](Evaluation& self) -> Evaluation& {
            self.enter();
            return self;
          },
          py::return_value_policy::reference)
      .def(
          "__exit__",
          [](Evaluation& self, const py::object&, const py::object&, const py::object&) { self.exit(); },
          py::arg("kind") = py::none(), py::arg("error") = py::none(), py::arg("traceback") = py::none());
}

}  // namespace sentencode
