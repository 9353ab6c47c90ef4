#include "sentencode/models/neural_encoder.h"

#include <torch/csrc/utils/pybind.h>

#include "nn/module_node.h"
#include "paths.h"
#include "py.h"
#include "sentencode/models/sentence_network.h"
#include "vectors/arguments.h"

namespace sentencode {

void bind_neural_encoder(py::module_& m) {
  using models::NeuralEncoder;
  using models::SentenceNetwork;
  models::register_encoders();
  py::class_<SentenceNetwork, training::Model, std::shared_ptr<SentenceNetwork>>(
      m, "SentenceNetwork", "What makes one vector of those of a sentence's words.")
      .def_property_readonly("dim", &SentenceNetwork::dim)
      .def("config", &SentenceNetwork::config, "Its kind and options as JSON.")
      .def(
          "encode",
          [](SentenceNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.encode(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release());
  py::class_<NeuralEncoder, Encoder, std::shared_ptr<NeuralEncoder>>(m, "NeuralEncoder",
                                                                     "Words' vectors and a network.")
      .def(py::init([](std::string kind, const VectorsArgument& vectors, const Tokenizer& tokenizer,
                       const WeightsArgument& weights, std::shared_ptr<SentenceNetwork> network,
                       std::int64_t max_words, std::int64_t batch_tokens) {
             return std::make_shared<NeuralEncoder>(std::move(kind), words_of(vectors, tokenizer, weights),
                                                    std::move(network),
                                                    models::NeuralOptions{max_words, batch_tokens});
           }),
           py::arg("kind"), py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::arg("network"),
           py::arg("max_words"), py::arg("batch_tokens"))
      .def_property_readonly("network", &NeuralEncoder::network)
      .def_property_readonly("vectors",
                             [](const NeuralEncoder& self) {
                               return std::const_pointer_cast<WordVectors>(self.words().vectors());
                             })
      .def_property_readonly("tokenizer", [](const NeuralEncoder& self) { return self.words().tokenizer(); })
      .def_property_readonly("weighted",
                             [](const NeuralEncoder& self) { return !self.words().weights().empty(); })
      .def_property_readonly("max_words", [](const NeuralEncoder& self) { return self.options().max_words; })
      .def_property("params", getter(&NeuralEncoder::params), getter(&NeuralEncoder::set_params))
      .def(
          "save",
          [](const NeuralEncoder& self, const Path& path, bool vectors) {
            using Vectors = SaveOptions::Vectors;
            self.save(path, {vectors ? Vectors::embedded : Vectors::referred_to, false});
          },
          py::arg("path"), py::kw_only(), py::arg("vectors") = true, Release())
      .def_static(
          "load",
          [](const Path& path, const LoadOptions& options) {
            return std::shared_ptr<NeuralEncoder>(NeuralEncoder::load(path, options));
          },
          py::arg("path"), py::arg_v("options", LoadOptions{}, "..."), Release());
}

}  // namespace sentencode
