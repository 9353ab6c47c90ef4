#include "sentencode/nn/decoding.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <optional>
#include <string_view>
#include <tuple>

#include "py.h"
#include "sentencode/error.h"

namespace sentencode {

namespace {

using nn::DecoderState;

/// A decoder that is written in Python.
class PythonDecoder : public nn::Decoder {
 public:
  using Step = std::pair<at::Tensor, DecoderState>;

  DecoderState start(const DecoderState& memory) override {
    return *overridden<DecoderState>("start", memory);
  }
  Step step(const at::Tensor& ids, const DecoderState& state) override {
    return *overridden<Step>("step", ids, state);
  }
  DecoderState reorder(const DecoderState& state, const at::Tensor& index) override {
    const auto found = overridden<DecoderState>("reorder", state, index);
    return found ? *found : nn::Decoder::reorder(state, index);
  }

 private:
  /// What the Python class's method gives; nothing where it leaves the method to the base.
  template <typename Result, typename... Arguments>
  std::optional<Result> overridden(const char* name, const Arguments&... arguments) const {
    const WithGil gil;
    const py::function method = py::get_override(static_cast<const nn::Decoder*>(this), name);
    if (method) return call(method, arguments...).template cast<Result>();
    if (std::string_view(name) == "reorder") return std::nullopt;
    throw py::type_error(concat("a Decoder must have a method ", name));
  }
};

using Result = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Result as_tuple(const nn::Decoded& found) { return {found.ids, found.lengths, found.scores}; }

}  // namespace

void bind_decoding(py::module_& m) {
  py::class_<nn::Decoder, PythonDecoder, std::shared_ptr<nn::Decoder>>(m, "Decoder",
                                                                       "See sentencode.nn.Decoder.")
      .def(py::init<>())
      .def("start", &nn::Decoder::start, py::arg("memory"), Release())
      .def("step", &nn::Decoder::step, py::arg("ids"), py::arg("state"), Release())
      .def("reorder", &nn::Decoder::reorder, py::arg("state"), py::arg("index"), Release());
  m.def(
      "greedy_search",
      [](nn::Decoder& decoder, const DecoderState& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length) {
        return as_tuple(nn::greedy_search(decoder, memory, first, {end, max_length}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      Release(), "See sentencode.nn.greedy_search.");
  m.def(
      "sample",
      [](nn::Decoder& decoder, const DecoderState& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length, double temperature, std::int64_t top_k, std::uint64_t seed) {
        return as_tuple(nn::sample(decoder, memory, first, {end, max_length}, {temperature, top_k, seed}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      py::arg("temperature"), py::arg("top_k"), py::arg("seed"), Release(), "See sentencode.nn.sample.");
  m.def(
      "beam_search",
      [](nn::Decoder& decoder, const DecoderState& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length, std::int64_t beam, std::int64_t best, double length_penalty) {
        return as_tuple(
            nn::beam_search(decoder, memory, first, {end, max_length}, {beam, best, length_penalty}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      py::arg("beam"), py::arg("best"), py::arg("length_penalty"), Release(),
      "See sentencode.nn.beam_search.");
}

}  // namespace sentencode
