#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/module_node.h"
#include "paths.h"
#include "py.h"
#include "sentencode/models/head.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/evaluating.h"
#include "vectors/arguments.h"

namespace sentencode {

void bind_neural_encoder(py::module_& m) {
  using models::NeuralEncoder;
  using models::SentenceNetwork;
  models::register_encoders();
  py::class_<SentenceNetwork, training::Model, std::shared_ptr<SentenceNetwork>>(
      m, "SentenceNetwork", "What makes one vector of those of a sentence's words.")
      .def_property_readonly("dim", &SentenceNetwork::dim)
      .def_property_readonly(
          "ids", [](const SentenceNetwork& self) { return self.word_inputs().ids; },
          "How many words' ids it asks for when it encodes; 0: none.")
      .def_property_readonly(
          "characters", [](const SentenceNetwork& self) { return self.word_inputs().characters; },
          "How many of a word's characters it asks for; 0: none.")
      .def_property_readonly(
          "alphabet", [](const SentenceNetwork& self) { return self.word_inputs().alphabet; },
          "The characters that it tells apart.")
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
                       std::int64_t max_words, std::int64_t batch_tokens, const std::vector<std::string>& ids,
                       std::int64_t unknown, std::shared_ptr<models::Head> head) {
             models::WordIds known{.unknown = unknown};
             for (const std::string& word : ids) known.words.insert(word);
             return std::make_shared<NeuralEncoder>(
                 std::move(kind), words_of(vectors, tokenizer, weights), std::move(network),
                 models::NeuralOptions{max_words, batch_tokens}, std::move(known), std::move(head));
           }),
           py::arg("kind"), py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::arg("network"),
           py::arg("max_words"), py::arg("batch_tokens"), py::arg("ids") = std::vector<std::string>(),
           py::arg("unknown") = -1, py::arg("head") = nullptr,
           "Words and a network; ids: those that the network knows by theirs; unknown: that of all others; "
           "head: what "
           "was learnt from rows.")
      .def_property_readonly("network", &NeuralEncoder::network)
      .def_property_readonly("head", &NeuralEncoder::head)
      .def_property_readonly("vectors",
                             [](const NeuralEncoder& self) {
                               return std::const_pointer_cast<WordVectors>(self.words().vectors());
                             })
      .def_property_readonly("tokenizer", [](const NeuralEncoder& self) { return self.words().tokenizer(); })
      .def_property_readonly("weights",
                             [](const NeuralEncoder& self) -> std::optional<py::array_t<float>> {
                               const std::span<const float> held = self.words().weights();
                               if (held.empty()) return std::nullopt;
                               return py::array_t<float>(static_cast<py::ssize_t>(held.size()), held.data());
                             })
      .def_property_readonly("ids",
                             [](const NeuralEncoder& self) {
                               std::vector<std::string> words;
                               for (std::int64_t id = 0; id < self.ids().words.size(); ++id) {
                                 words.emplace_back(self.ids().words[id]);
                               }
                               return words;
                             })
      .def_property_readonly("unknown", [](const NeuralEncoder& self) { return self.ids().unknown; })
      .def_property_readonly("max_words", [](const NeuralEncoder& self) { return self.options().max_words; })
      .def(
          "read",
          [](const NeuralEncoder& self, const std::vector<std::string>& tokens) {
            const WithoutGil released;
            const std::vector<std::string_view> pieces(tokens.begin(), tokens.end());
            std::vector<std::int64_t> offsets(tokens.size() + 1);  // each is a sentence
            std::iota(offsets.begin(), offsets.end(), 0);
            const at::NoGradGuard guard;
            const nn::Evaluating evaluating;
            const NeuralEncoder::Read found = self.read({.pieces = pieces, .offsets = offsets});
            std::vector<std::int64_t> kept;
            at::Tensor x = at::empty({std::ssize(found.words.ids), self.width(found)}, at::kFloat);
            for (std::int64_t i = 0; i < found.words.size(); ++i) {
              if (found.words[i].empty()) continue;
              self.row(found, found.words[i][0], x[std::ssize(kept)].mutable_data_ptr<float>());
              kept.push_back(i);
            }
            return std::make_pair(kept, x.narrow(0, 0, std::ssize(kept)));
          },
          py::arg("tokens"), "Which of them the network reads, and as what [n, F].")
      .def_static(
          "padded",
          [](const std::vector<at::Tensor>& rows, std::int64_t most, const at::Tensor& like) {
            std::vector<at::Tensor> parts;
            const at::Tensor lengths = at::empty({std::ssize(rows)}, at::kLong);
            for (const at::Tensor& of : rows) {
              const std::int64_t length = std::min(most, of.size(0));
              lengths.mutable_data_ptr<std::int64_t>()[std::ssize(parts)] = length;
              parts.push_back(of.narrow(0, 0, length));
            }
            return std::make_pair(at::pad_sequence(parts, /*batch_first=*/true).to(like.options()),
                                  lengths.to(like.device()));
          },
          py::arg("rows"), py::arg("most"), py::arg("like"), Release(),
          "What was read of several sentences, `most` words of each, as `like` is: x [B, T, F], lengths [B].")
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
