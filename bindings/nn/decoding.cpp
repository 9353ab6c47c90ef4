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

/// A decoder that is written in Python. `start` gives the cache alone, or a memory and a cache as a tuple;
/// `step` gets what there is of both, and gives logits, cache and perhaps an alignment.
class PythonDecoder : public nn::Decoder {
 public:
  nn::DecoderStart start(const DecoderMemory& given) override {
    const WithGil gil;
    const py::object found = call(method("start"), given);
    remembers_ = py::isinstance<py::tuple>(found);
    if (!remembers_) return {{}, found.cast<DecoderCache>()};
    auto [memory, cache] = found.cast<std::pair<DecoderMemory, DecoderCache>>();
    return {std::move(memory), std::move(cache)};
  }

  nn::DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory,
                       const DecoderCache& cache) override {
    const WithGil gil;
    const py::function own = method("step");
    const py::tuple found = remembers_ ? call(own, ids, memory, cache) : call(own, ids, cache);
    if (found.size() != 2 && found.size() != 3) {
      throw py::type_error(
          concat("a Decoder's step must return logits, a state and perhaps an alignment; got ", found.size(),
                 " things"));
    }
    nn::DecoderStep step{found[0].cast<at::Tensor>(), found[1].cast<DecoderCache>()};
    if (found.size() == 3 && !found[2].is_none()) step.alignment = found[2].cast<at::Tensor>();
    return step;
  }

  DecoderCache reorder(const DecoderCache& cache, const at::Tensor& index) override {
    {
      const WithGil gil;
      const py::function own = py::get_override(static_cast<const nn::Decoder*>(this), "reorder");
      if (own) return call(own, cache, index).cast<DecoderCache>();
    }
    return nn::Decoder::reorder(cache, index);
  }

 private:
  py::function method(const char* name) const {
    py::function found = py::get_override(static_cast<const nn::Decoder*>(this), name);
    if (!found) throw py::type_error(concat("a Decoder must have a method ", name));
    return found;
  }

  bool remembers_ = false;  // whether it has a memory apart from its cache
};

auto as_tuple(const nn::Decoded& found) {
  return std::make_tuple(found.ids, found.lengths, found.scores, if_defined(found.alignments));
}

}  // namespace

void bind_decoding(py::module_& m) {
  py::class_<nn::Decoder, PythonDecoder, std::shared_ptr<nn::Decoder>>(m, "Decoder",
                                                                       "See sentencode.nn.Decoder.")
      .def(py::init<>())
      .def(
          "start",
          [](nn::Decoder& self, const DecoderMemory& given) {
            nn::DecoderStart found = self.start(given);
            return std::make_pair(std::move(found.memory), std::move(found.cache));
          },
          py::arg("given"), Release())
      .def(
          "step",
          [](nn::Decoder& self, const at::Tensor& ids, const DecoderMemory& memory,
             const DecoderCache& cache) {
            nn::DecoderStep found = self.step(ids, memory, cache);
            return std::make_tuple(found.logits, std::move(found.cache), if_defined(found.alignment));
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
