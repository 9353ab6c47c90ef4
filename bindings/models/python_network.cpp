#include "models/python_network.h"

#include <ATen/Functions.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <utility>
#include <vector>

#include "nn/maybe_tensor.h"
#include "sentencode/encoder.h"
#include "sentencode/error.h"
#include "sentencode/models/networks.h"
#include "sentencode/models/neural_encoder.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/limit.h"
#include "training/python_model.h"

namespace sentencode {

PythonNetwork::PythonNetwork(py::object parts)
    : SentenceNetwork("PythonNetwork"),
      parts_(std::move(parts)),
      model_(std::make_shared<PythonModel>(parts_)),
      dim_(parts_.attr("dim").cast<std::int64_t>()),
      features_(parts_.attr("features").cast<std::int64_t>()),
      config_(parts_.attr("config").cast<std::string>()),
      inputs_{parts_.attr("ids").cast<std::int64_t>(), parts_.attr("characters").cast<std::int64_t>(),
              parts_.attr("alphabet").cast<std::string>()} {}

PythonNetwork::~PythonNetwork() {
  const WithGil gil;
  model_.reset();
  parts_ = py::object();
}

at::Tensor PythonNetwork::word_rows(const models::Words& words) {
  const WithGil gil;
  return call(parts_.attr("word_rows"), words.vectors, words.known, words.ids, if_defined(words.characters),
              nn::Evaluating::here())
      .cast<at::Tensor>();
}

at::Tensor PythonNetwork::encode(const models::Sequences& sentences) {
  at::Tensor z;
  {
    const WithGil gil;
    z = call(parts_.attr("encode"), sentences.x, sentences.lengths, sentences.mask, nn::Evaluating::here())
            .cast<at::Tensor>();
  }
  TORCH_CHECK_VALUE(z.dim() == 2 && z.size(0) == sentences.x.size(0) && z.size(1) == dim_,
                    "encode must return [", sentences.x.size(0), ", ", dim_, "], got ", z.sizes());
  return z;
}

at::Tensor PythonNetwork::end() const {
  const WithGil gil;
  return or_undefined(call(parts_.attr("end")).cast<MaybeTensor>());
}

void bind_python_network(py::module_& m) {
  py::class_<PythonNetwork, models::SentenceNetwork, std::shared_ptr<PythonNetwork>>(
      m, "PythonNetwork", "A network that is written in Python.")
      .def(py::init<py::object>(), py::arg("parts"))
      .def_property_readonly("parts", &PythonNetwork::parts);
  m.def(
      "check_limit", [](const std::vector<std::int64_t>& shape) { nn::check_limit(shape); }, py::arg("shape"),
      "ValueError where a file that is being read has not so many numbers.");
  m.def(
      "register_kind",
      [](const std::string& encoder) {
        register_encoder(encoder, [](const std::string& path, const LoadOptions& from) {
          return std::unique_ptr<Encoder>(models::NeuralEncoder::load(path, from));
        });
      },
      py::arg("encoder"), "Files of neural encoders of that kind are then read.");
  m.def(
      "register_network",
      [](const std::string& network, py::function make) {
        // Never freed: Python may have exited when static objects are destroyed.
        const auto* const held = new py::function(std::move(make));
        models::register_network(network, [held](const std::string& config) {
          const WithGil gil;
          return call(*held, config).cast<std::shared_ptr<models::SentenceNetwork>>();
        });
      },
      py::arg("network"), py::arg("make"), "Files with that network are then read: make(config) gives it.");
}

}  // namespace sentencode
