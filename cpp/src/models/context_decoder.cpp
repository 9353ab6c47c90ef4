#include "sentencode/models/context_decoder.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/models/state_decoder.h"
#include "sentencode/nn/convolution.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

using at::Tensor;

void parse(std::string_view name, ContextDecoding& choice) {
  for (const ContextDecoding kind :
       {ContextDecoding::cnn, ContextDecoding::rnn, ContextDecoding::autoregressive_cnn,
        ContextDecoding::autoregressive_rnn}) {
    if (name != name_of(kind)) continue;
    choice = kind;
    return;
  }
  throw InvalidInput(
      concat("decoder must be 'cnn', 'rnn', 'autoregressive_cnn' or 'autoregressive_rnn', got '", name, "'"));
}

std::string_view name_of(ContextDecoding choice) {
  switch (choice) {
    case ContextDecoding::cnn:
      return "cnn";
    case ContextDecoding::rnn:
      return "rnn";
    case ContextDecoding::autoregressive_cnn:
      return "autoregressive_cnn";
    case ContextDecoding::autoregressive_rnn:
      return "autoregressive_rnn";
  }
  throw InternalError("no such decoder");
}

namespace {

/// The first layer: N linear maps of z in parallel, which are one matrix product.
class Places : public torch::nn::Module {
 public:
  Places(std::int64_t code, std::int64_t places, std::int64_t channels)
      : torch::nn::Module("Places"), places_(places) {
    maps_ = register_module("maps", nn::xavier_linear(code, places * channels));
    // Each place's map begins as one that stands alone.
    const double bound = std::sqrt(6.0 / static_cast<double>(code + channels));
    torch::nn::init::uniform_(maps_->weight, -bound, bound);
  }

  Tensor forward(const Tensor& z) const {
    return maps_->forward(z).unflatten(1, {places_, -1});
  }  // [B, N, C]

 private:
  std::int64_t places_;
  std::shared_ptr<torch::nn::LinearImpl> maps_;
};

/// Rows [B, N, D] of B sentences at the place of each of M hypotheses, place [M] int64 -> [M, D]. Those of a
/// sentence stand together; behind the last place there is the last one.
Tensor at_place(const Tensor& rows, const Tensor& place) {
  const std::int64_t each = place.size(0) / std::max<std::int64_t>(rows.size(0), 1);
  const Tensor sentence =
      at::arange(place.size(0), place.options()).floor_divide(std::max<std::int64_t>(each, 1));
  return rows.index({sentence, place.clamp_max(rows.size(1) - 1)});
}

Tensor first_place(const Tensor& z) {
  return at::zeros({z.size(0)}, z.options().dtype(at::kLong).requires_grad(false));
}

/// Both that tell all words at once: what they tell is there before the first step.
class PredictAll : public ContextDecoder {
 public:
  using ContextDecoder::ContextDecoder;
  bool autoregressive() const override { return false; }
  nn::DecoderStart start(const Tensor& z) const override { return {{forward(z, {})}, {first_place(z)}}; }
  std::pair<Tensor, nn::DecoderCache> step(const Tensor& /*y*/, const nn::DecoderMemory& memory,
                                           const nn::DecoderCache& cache) const override {
    return {at_place(memory[0], cache[0]), {cache[0] + 1}};
  }
};

/// The layers behind the first one: convolutions, the last of which gives what words are told from.
class Convolutions : public torch::nn::Module {
 public:
  Convolutions(const ContextDecoderOptions& o, std::int64_t features, nn::Padding padding)
      : torch::nn::Module("Convolutions") {
    std::int64_t width = o.channels;
    for (std::int64_t i = 2; i <= o.layers; ++i) {
      const bool last = i == o.layers;
      const std::int64_t to = last ? features : o.inner;
      const nn::Activation activation = last ? nn::Activation::none : nn::Activation::relu;
      layers_.push_back(register_module(
          std::to_string(i), std::make_shared<nn::Convolution>(width, to, o.window, activation, padding)));
      width = to;
    }
  }

  Tensor forward(Tensor x) const {  // [B, T, C]
    for (const auto& layer : layers_) x = layer->forward(x).first;
    return x;  // [B, T, E]
  }

  void start(nn::DecoderCache& cache, const Tensor& z) const {
    for (const auto& layer : layers_) cache.push_back(layer->empty_cache(z.size(0), z));
  }

  /// x [M, C] -> [M, E]; what the layers have seen stands in the cache from `at` on.
  Tensor step(Tensor x, nn::DecoderCache& cache, std::size_t at) const {
    for (const auto& layer : layers_) {
      std::tie(x, cache[at]) = layer->step(x, cache[at]);
      ++at;
    }
    return x;
  }

 private:
  std::vector<std::shared_ptr<nn::Convolution>> layers_;
};

/// The decoder of section 2.
class PredictAllCNN : public PredictAll {
 public:
  PredictAllCNN(const ContextDecoderOptions& o, std::int64_t features, std::int64_t code)
      : PredictAll("PredictAllCNN") {
    places_ = register_module("places", std::make_shared<Places>(code, o.predict, o.channels));
    convolutions_ =
        register_module("convolutions", std::make_shared<Convolutions>(o, features, nn::Padding::same));
  }

  Tensor forward(const Tensor& z, const Sequences& /*before*/) const override {
    const Tensor x = at::relu(places_->forward(z));  // [B, N, C]
    return convolutions_->forward(x);                // [B, N, E]
  }

 private:
  std::shared_ptr<Places> places_;
  std::shared_ptr<Convolutions> convolutions_;
};

/// The like of section 3.1, a bidirectional GRU in the place of the convolutions.
class PredictAllRNN : public PredictAll {
 public:
  PredictAllRNN(const ContextDecoderOptions& o, std::int64_t features, std::int64_t code)
      : PredictAll("PredictAllRNN") {
    ST_CHECK(features % 2 == 0, InvalidInput,
             "decoder='rnn' wants word vectors of an even width (features), a half for each direction, got ",
             features);
    places_ = register_module("places", std::make_shared<Places>(code, o.predict, o.channels));
    gru_ =
        register_module("gru", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                   .features = o.channels, .hidden = features / 2, .bidirectional = true}));
  }

  Tensor forward(const Tensor& z, const Sequences& /*before*/) const override {
    return gru_->forward(at::relu(places_->forward(z))).output;  // [B, N, E]
  }

 private:
  std::shared_ptr<Places> places_;
  std::shared_ptr<nn::RecurrentStack> gru_;
};

class AutoregressiveRNN : public ContextDecoder {
 public:
  AutoregressiveRNN(const ContextDecoderOptions& /*o*/, std::int64_t features, std::int64_t code)
      : ContextDecoder("AutoregressiveRNN") {
    state_ =
        register_module("state", std::make_shared<StateDecoder>(features, code, features, nn::Cell::gru));
  }

  bool autoregressive() const override { return true; }
  Tensor forward(const Tensor& z, const Sequences& before) const override {
    return state_->forward(z, before);  // [B, T, E]
  }
  nn::DecoderStart start(const Tensor& z) const override { return {{}, state_->start(z)}; }
  std::pair<Tensor, nn::DecoderCache> step(const Tensor& y, const nn::DecoderMemory& /*memory*/,
                                           const nn::DecoderCache& cache) const override {
    return state_->step(y, cache);
  }

 private:
  std::shared_ptr<StateDecoder> state_;
};

/// The decoder of section 2 with windows that end at each word, whose first layer sees the word before too.
class AutoregressiveCNN : public ContextDecoder {
 public:
  AutoregressiveCNN(const ContextDecoderOptions& o, std::int64_t features, std::int64_t code)
      : ContextDecoder("AutoregressiveCNN") {
    places_ = register_module("places", std::make_shared<Places>(code, o.predict, o.channels));
    word_ = register_module("word", nn::xavier_linear(features, o.channels, /*bias=*/false));
    convolutions_ =
        register_module("convolutions", std::make_shared<Convolutions>(o, features, nn::Padding::causal));
  }

  bool autoregressive() const override { return true; }

  Tensor forward(const Tensor& z, const Sequences& before) const override {
    const Tensor of_z = places_->forward(z).slice(1, 0, before.x.size(1));     // [B, T, C]
    return convolutions_->forward(at::relu(of_z + word_->forward(before.x)));  // [B, T, E]
  }

  nn::DecoderStart start(const Tensor& z) const override {
    nn::DecoderStart begun{{places_->forward(z)}, {first_place(z)}};
    convolutions_->start(begun.cache, z);
    return begun;
  }

  std::pair<Tensor, nn::DecoderCache> step(const Tensor& y, const nn::DecoderMemory& memory,
                                           const nn::DecoderCache& cache) const override {
    nn::DecoderCache next = cache;
    const Tensor x = at::relu(at_place(memory[0], cache[0]) + word_->forward(y));  // [M, C]
    const Tensor u = convolutions_->step(x, next, 1);                              // [M, E]
    next[0] = cache[0] + 1;
    return {u, std::move(next)};
  }

 private:
  std::shared_ptr<Places> places_;
  std::shared_ptr<torch::nn::LinearImpl> word_;
  std::shared_ptr<Convolutions> convolutions_;
};

}  // namespace

std::shared_ptr<ContextDecoder> ContextDecoder::make(const ContextDecoderOptions& options,
                                                     std::int64_t features, std::int64_t code) {
  ST_CHECK(options.predict >= 1 && options.channels >= 1 && options.inner >= 1 && options.window >= 1,
           InvalidInput, "predict, channels, inner and window must be at least 1, got ", options.predict,
           ", ", options.channels, ", ", options.inner, " and ", options.window);
  ST_CHECK(options.layers >= 2, InvalidInput, "decoder_layers must be at least 2, got ", options.layers);
  switch (options.kind) {
    case ContextDecoding::cnn:
      return std::make_shared<PredictAllCNN>(options, features, code);
    case ContextDecoding::rnn:
      return std::make_shared<PredictAllRNN>(options, features, code);
    case ContextDecoding::autoregressive_cnn:
      return std::make_shared<AutoregressiveCNN>(options, features, code);
    case ContextDecoding::autoregressive_rnn:
      return std::make_shared<AutoregressiveRNN>(options, features, code);
  }
  throw InternalError("no such decoder");
}

}  // namespace sentencode::models
