#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/maybe_tensor.h"
#include "nn/module_node.h"
#include "paths.h"
#include "py.h"
#include "sentences.h"
#include "sentencode/error.h"
#include "sentencode/models/head.h"
#include "sentencode/models/sentence_network.h"
#include "sentencode/nn/evaluating.h"
#include "vectors/arguments.h"

namespace sentencode {
namespace {

/// Sentences of tokens as the network reads them, in batches, the longest first. Those without words are in
/// none.
class TokenBatches {
 public:
  TokenBatches(std::shared_ptr<const models::NeuralEncoder> encoder, const Sentences& tokens,
               std::int64_t size)
      : encoder_(std::move(encoder)), size_(size) {
    const at::NoGradGuard guard;
    const nn::Evaluating evaluating;
    read_ = encoder_->read_tokens(tokens, positions_);
    order_ = models::NeuralEncoder::longest_first(read_);
    while (!order_.empty() && read_.words[order_.back()].empty()) order_.pop_back();
  }

  std::int64_t count() const { return (std::ssize(order_) + size_ - 1) / size_; }

  auto batch(std::int64_t i) const {
    if (i < 0 || i >= count()) throw py::index_error(concat("there are ", count(), " batches, got ", i));
    const auto begin = static_cast<std::size_t>(i * size_);
    const auto sentences =
        std::span(order_).subspan(begin, std::min(static_cast<std::size_t>(size_), order_.size() - begin));
    std::vector<std::vector<std::int64_t>> positions;
    for (const std::int64_t sentence : sentences) {
      const auto* const offset = read_.words.offsets.data() + sentence;
      positions.emplace_back(positions_.begin() + offset[0], positions_.begin() + offset[1]);
    }
    const models::Sequences words = encoder_->gather(read_, sentences);
    return std::make_tuple(std::vector(sentences.begin(), sentences.end()), std::move(positions), words.x,
                           words.lengths.to(words.x.device()));
  }

 private:
  std::shared_ptr<const models::NeuralEncoder> encoder_;
  std::int64_t size_;
  models::NeuralEncoder::Read read_;
  std::vector<std::int64_t> positions_, order_;
};

}  // namespace

void bind_neural_encoder(py::module_& m) {
  using models::NeuralEncoder;
  using models::SentenceNetwork;
  models::register_encoders();
  py::class_<SentenceNetwork, training::Model, std::shared_ptr<SentenceNetwork>>(
      m, "SentenceNetwork", "A network that encodes sentences of word vectors.")
      .def_property_readonly("dim", &SentenceNetwork::dim)
      .def_property_readonly(
          "ids", [](const SentenceNetwork& self) { return self.word_inputs().ids; },
          "Rows of the word table that `word_rows` reads; 0: none.")
      .def_property_readonly(
          "characters", [](const SentenceNetwork& self) { return self.word_inputs().characters; },
          "Characters of a word that `word_rows` reads; 0: none.")
      .def_property_readonly(
          "alphabet", [](const SentenceNetwork& self) { return self.word_inputs().alphabet; },
          "Characters that have ids.")
      .def("config", &SentenceNetwork::config, "Its kind and options as JSON.")
      .def(
          "encode",
          [](SentenceNetwork& self, const at::Tensor& x, const at::Tensor& lengths) {
            return self.encode(models::Sequences::of(x, lengths));
          },
          py::arg("x"), py::arg("lengths"), Release());
  py::class_<TokenBatches>(m, "TokenBatches",
                           "(indices, positions of the words that are read, x [B, T, F], lengths [B]) each.")
      .def("__len__", &TokenBatches::count)
      .def("__getitem__", &TokenBatches::batch, py::arg("i"), Release());
  m.def(
      "read_words",
      [](const py::object& words, const VectorsArgument& vectors, const WeightsArgument& weights,
         const std::vector<std::string>& ids, std::int64_t unknown, std::int64_t characters,
         const std::string& alphabet) {
        const SentencesArgument of(words, "words");
        const WeightedWords weighted = words_of(vectors, Tokenizer(), weights);
        models::WordIds word_ids{.unknown = unknown};
        for (const std::string& word : ids) word_ids.words.insert(word);
        const WithoutGil released;
        const at::Tensor read = at::empty({of.get().size()}, at::kBool);
        for (std::int64_t i = 0; i < of.get().size(); ++i) {
          read.mutable_data_ptr<bool>()[i] =
              models::reads_word(weighted, word_ids, of.get().pieces[static_cast<std::size_t>(i)]);
        }
        models::Words inputs =
            models::read_words(weighted, word_ids, {0, characters, alphabet}, of.get().pieces);
        return std::make_tuple(read, inputs.vectors, inputs.known, inputs.ids, if_defined(inputs.characters));
      },
      py::arg("words"), py::arg("vectors"), py::arg("weights") = py::none(),
      py::arg("ids") = std::vector<std::string>(), py::arg("unknown") = -1, py::arg("characters") = 0,
      py::arg("alphabet") = "",
      "Whether sentences are read with each word, and vectors, known, ids and characters as of "
      "sentencode.models.Words.");
  py::class_<NeuralEncoder, Encoder, std::shared_ptr<NeuralEncoder>>(m, "NeuralEncoder",
                                                                     "Word vectors and a network.")
      .def(py::init([](std::string kind, const VectorsArgument& vectors, const Tokenizer& tokenizer,
                       const WeightsArgument& weights, std::shared_ptr<SentenceNetwork> network,
                       std::int64_t max_words, std::int64_t batch_tokens, const std::vector<std::string>& ids,
                       std::int64_t unknown, std::shared_ptr<models::Head> head) {
             models::WordIds word_ids{.unknown = unknown};
             for (const std::string& word : ids) word_ids.words.insert(word);
             return std::make_shared<NeuralEncoder>(
                 std::move(kind), words_of(vectors, tokenizer, weights), std::move(network),
                 models::NeuralOptions{max_words, batch_tokens}, std::move(word_ids), std::move(head));
           }),
           py::arg("kind"), py::arg("vectors"), py::arg("tokenizer"), py::arg("weights"), py::arg("network"),
           py::arg("max_words"), py::arg("batch_tokens"), py::arg("ids") = std::vector<std::string>(),
           py::arg("unknown") = -1, py::arg("head") = nullptr,
           "ids: the words that have ids, in order; unknown: the id of all others; head: the trained head.")
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
          "read_tokens",
          [](std::shared_ptr<NeuralEncoder> self, const py::object& tokens, std::int64_t size) {
            const SentencesArgument sentences(tokens);
            const WithoutGil released;
            return TokenBatches(std::move(self), sentences.get(), size);
          },
          py::arg("tokens"), py::arg("size"), "The sentences that have words, `size` in a batch.")
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
