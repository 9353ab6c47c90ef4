#include "sentencode/evaluation/logistic.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>

#include "py.h"

namespace sentencode {

void bind_logistic(py::module_& m) {
  py::class_<Features>(m, "Features", "The rows that classifiers are fitted to.")
      .def(py::init<at::Tensor>(), py::arg("embeddings"), "The embeddings [n, d] themselves.")
      .def(py::init<at::Tensor, at::Tensor, at::Tensor, const std::vector<std::string>&>(),
           py::arg("embeddings"), py::arg("first"), py::arg("second"), py::arg("parts"),
           "Of pairs of embeddings u, v: 'u', 'v', '|u-v|' and 'u*v', the selected ones concatenated.")
      .def("part", &Features::part, py::arg("index"), "Some of the rows, of the same embeddings.")
      .def_property_readonly("rows", &Features::rows)
      .def_property_readonly("dim", &Features::dim)
      .def("block", &Features::block, py::arg("begin"), py::arg("end"), Release(),
           "[end - begin, dim], float32.");

  m.def(
      "fit_logistic",
      [](const Features& features, at::Tensor targets, std::int64_t classes, at::Tensor folds,
         at::Tensor fold, at::Tensor penalties, double tolerance, double gap, std::int64_t max_iterations,
         std::int64_t max_bytes, const py::object& on_progress) {
        LogisticOptions options{tolerance, gap, max_iterations, max_bytes, {}};
        options.on_progress = [&](std::int64_t done, std::int64_t all) {
          const WithGil held;
          if (PyErr_CheckSignals() != 0) throw py::error_already_set();
          if (!on_progress.is_none()) call(on_progress, done, all);
        };
        const LogisticProblems problems{std::move(targets), classes, std::move(folds), std::move(fold),
                                        std::move(penalties)};
        LogisticSolutions solutions;
        {
          const WithoutGil released;
          solutions = fit_logistic(features, problems, options);
        }
        py::dict result;
        result["weights"] = solutions.weights;
        result["intercepts"] = solutions.intercepts;
        result["predictions"] = solutions.predictions;
        result["objectives"] = solutions.objectives;
        result["gradients"] = solutions.gradients;
        result["gaps"] = solutions.gaps;
        result["iterations"] = solutions.iterations;
        return result;
      },
      py::arg("features"), py::arg("targets"), py::arg("classes"), py::arg("folds"), py::arg("fold"),
      py::arg("penalties"), py::arg("tolerance"), py::arg("gap"), py::arg("max_iterations"),
      py::arg("max_bytes"), py::arg("on_progress"),
      "Many logistic regressions on the same rows, solved together.");
}

}  // namespace sentencode
