#include "sentencode/nn/decoding.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/maybe_tensor.h"
#include "py.h"
#include "sentencode/error.h"

namespace sentencode {

namespace {

using nn::DecoderCache;
using nn::DecoderMemory;

/// A decoder in Python. `start` returns the cache, or a tuple of memory and cache; `step` gets the same, and
/// returns logits, cache and optionally an alignment.
class PythonDecoder : public nn::Decoder {
 public:
  nn::DecoderStart start(const DecoderMemory& source) override {
    const WithGil gil;
    const py::object started = call(method("start"), source);
    has_memory_ = py::isinstance<py::tuple>(started);
    if (!has_memory_) return {{}, started.cast<DecoderCache>()};
    auto [memory, cache] = started.cast<std::pair<DecoderMemory, DecoderCache>>();
    return {std::move(memory), std::move(cache)};
  }

  nn::DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory,
                       const DecoderCache& cache) override {
    const WithGil gil;
    const py::function step = method("step");
    const py::tuple outputs = has_memory_ ? call(step, ids, memory, cache) : call(step, ids, cache);
    const bool has_alignment = outputs.size() == 3;
    if (outputs.size() != 2 && !has_alignment) {
      throw py::type_error(
          concat("a Decoder's step must return logits, a cache and optionally an alignment; got ",
                 outputs.size(), " values"));
    }
    return {outputs[0].cast<at::Tensor>(), outputs[1].cast<DecoderCache>(),
            has_alignment && !outputs[2].is_none() ? outputs[2].cast<at::Tensor>() : at::Tensor()};
  }

  DecoderCache reorder(const DecoderCache& cache, const at::Tensor& index) override {
    {
      const WithGil gil;
      const py::function reorder = py::get_override(static_cast<const nn::Decoder*>(this), "reorder");
      if (reorder) return call(reorder, cache, index).cast<DecoderCache>();
    }
    return nn::Decoder::reorder(cache, index);
  }

 private:
  py::function method(const char* name) const {
    py::function override = py::get_override(static_cast<const nn::Decoder*>(this), name);
    if (!override) throw py::type_error(concat("a Decoder must have a method ", name));
    return override;
  }

  bool has_memory_ = false;
};

auto as_tuple(const nn::Decoded& decoded) {
  return std::make_tuple(decoded.ids, decoded.lengths, decoded.scores, if_defined(decoded.alignments));
}

}  // namespace

void bind_decoding(py::module_& m) {
  py::class_<nn::Decoder, PythonDecoder, std::shared_ptr<nn::Decoder>>(m, "Decoder",
                                                                       "See sentencode.nn.Decoder.")
      .def(py::init<>())
      .def(
          "start",
          [](nn::Decoder& self, const DecoderMemory& memory) {
            nn::DecoderStart started = self.start(memory);
            return std::make_pair(std::move(started.memory), std::move(started.cache));
          },
          py::arg("memory"), Release())
      .def(
          "step",
          [](nn::Decoder& self, const at::Tensor& ids, const DecoderMemory& memory,
             const DecoderCache& cache) {
            nn::DecoderStep step = self.step(ids, memory, cache);
            return std::make_tuple(step.logits, std::move(step.cache), if_defined(step.alignment));
          },
          py::arg("ids"), py::arg("memory"), py::arg("cache"), Release())
      .def("reorder", &nn::Decoder::reorder, py::arg("cache"), py::arg("index"), Release());
  m.def(
      "greedy_search",
      [](nn::Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length) {
        return as_tuple(nn::greedy_search(decoder, memory, first, {end, max_length}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      Release(), "See sentencode.nn.greedy_search.");
  m.def(
      "sample",
      [](nn::Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length, double temperature, std::int64_t top_k, double top_p, std::uint64_t seed,
         std::vector<std::int64_t> indices) {
        return as_tuple(nn::sample(decoder, memory, first, {end, max_length},
                                   {temperature, top_k, top_p, seed, std::move(indices)}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      py::arg("temperature"), py::arg("top_k"), py::arg("top_p"), py::arg("seed"), py::arg("indices"),
      Release(), "See sentencode.nn.sample.");
  m.def(
      "beam_search",
      [](nn::Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first, std::int64_t end,
         std::int64_t max_length, std::int64_t beam, std::int64_t best, double length_penalty) {
        return as_tuple(
            nn::beam_search(decoder, memory, first, {end, max_length}, {beam, best, length_penalty}));
      },
      py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("end"), py::arg("max_length"),
      py::arg("beam"), py::arg("best"), py::arg("length_penalty"), Release(),
      "See sentencode.nn.beam_search.");
  m.def("score", &nn::score, py::arg("decoder"), py::arg("memory"), py::arg("first"), py::arg("ids"),
        py::arg("lengths"), Release(), "See sentencode.nn.score.");
}

}  // namespace sentencode
