#pragma once

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "py.h"
#include "sentencode/training/model.h"

namespace sentencode {

/// A model in Python. `parts` has
///   loss([(ids, lengths, mask), ...], labels or None) -> (sum, count, right or None, figures [F, 2] or None)
///   figures, the names of these
///   train(mode), parameters() and buffers() -> [(name, tensor), ...]
class PythonModel final : public training::Model {
 public:
  explicit PythonModel(py::object parts) : training::Model("PythonModel"), parts_(std::move(parts)) {}
  ~PythonModel() override {
    const WithGil gil;
    parts_ = py::object();
  }
  PythonModel(const PythonModel&) = delete;
  PythonModel& operator=(const PythonModel&) = delete;

  training::Loss loss(const training::TensorBatch& batch) override {
    const WithGil gil;
    py::list fields;
    for (const training::TokenTensors& field : batch.fields) {
      fields.append(py::make_tuple(field.ids, field.lengths, field.mask));
    }
    const py::object labels = batch.labels.defined() ? py::cast(batch.labels) : py::none();
    auto [sum, count, right, figures] =
        call(parts_.attr("loss"), fields, labels)
            .cast<std::tuple<at::Tensor, double, std::optional<at::Tensor>, std::optional<at::Tensor>>>();
    return {std::move(sum), count, right.value_or(at::Tensor()), figures.value_or(at::Tensor())};
  }
  std::vector<std::string> figures() const override {
    const WithGil gil;
    return parts_.attr("figures").cast<std::vector<std::string>>();
  }
  void train(bool on) override {
    const WithGil gil;
    const py::error_scope interrupt;  // a KeyboardInterrupt may be set
    training::Model::train(on);
    call(parts_.attr("train"), on);
  }
  training::NamedTensors parameter_tensors() const override { return tensors("parameters"); }
  training::NamedTensors other_tensors() const override { return tensors("buffers"); }

 private:
  training::NamedTensors tensors(const char* kind) const {
    const WithGil gil;
    const py::error_scope interrupt;
    return call(parts_.attr(kind)).cast<training::NamedTensors>();
  }

  py::object parts_;
};

}  // namespace sentencode
