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

namespace {

/// The first layer: N parallel linear maps of z, one for each position, as one matrix product.
class PositionMaps : public torch::nn::Module {
 public:
  PositionMaps(std::int64_t code, std::int64_t positions, std::int64_t channels)
      : torch::nn::Module("PositionMaps"), positions_(positions) {
    maps_ = register_module("maps", nn::xavier_linear(code, positions * channels));
    // Xavier initialisation of each map, not of all as one matrix.
    const double bound = std::sqrt(6.0 / static_cast<double>(code + channels));
    torch::nn::init::uniform_(maps_->weight, -bound, bound);
  }

  Tensor forward(const Tensor& z) const {
    return maps_->forward(z).unflatten(1, {positions_, -1});  // [B, N, C]
  }

 private:
  std::int64_t positions_;
  std::shared_ptr<torch::nn::LinearImpl> maps_;
};

/// The states [B, N, D] at the position [M] int64 of each of M hypotheses -> [M, D]. The hypotheses of a
/// sentence are contiguous. Positions from N on have the last state.
Tensor at_position(const Tensor& states, const Tensor& position) {
  const std::int64_t each = position.size(0) / std::max<std::int64_t>(states.size(0), 1);
  const Tensor sentence =
      at::arange(position.size(0), position.options()).floor_divide(std::max<std::int64_t>(each, 1));
  return states.index({sentence, position.clamp_max(states.size(1) - 1)});
}

Tensor first_position(const Tensor& z) {
  return at::zeros({z.size(0)}, z.options().dtype(at::kLong).requires_grad(false));
}

/// Decoders that predict all words at once. The memory of a search is the states of all positions.
class PredictAll : public ContextDecoder {
 public:
  using ContextDecoder::ContextDecoder;
  bool autoregressive() const override { return false; }
  nn::DecoderStart start(const Tensor& z) const override { return {{forward(z, {})}, {first_position(z)}}; }
  std::pair<Tensor, nn::DecoderCache> step(const Tensor& /*y*/, const nn::DecoderMemory& memory,
                                           const nn::DecoderCache& cache) const override {
    return {at_position(memory[0], cache[0]), {cache[0] + 1}};
  }
};

/// The layers after the first one; the output of the last is the input of the softmax.
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

  /// x [M, C] -> [M, E]; the caches of the layers start at `at`.
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
    positions_ = register_module("places", std::make_shared<PositionMaps>(code, o.predict, o.channels));
    convolutions_ =
        register_module("convolutions", std::make_shared<Convolutions>(o, features, nn::Padding::same));
  }

  Tensor forward(const Tensor& z, const Sequences& /*previous*/) const override {
    const Tensor x = at::relu(positions_->forward(z));  // [B, N, C]
    return convolutions_->forward(x);                   // [B, N, E]
  }

 private:
  std::shared_ptr<PositionMaps> positions_;
  std::shared_ptr<Convolutions> convolutions_;
};

/// The decoder of section 3.1 with a bidirectional GRU instead of the convolutions.
class PredictAllRNN : public PredictAll {
 public:
  PredictAllRNN(const ContextDecoderOptions& o, std::int64_t features, std::int64_t code)
      : PredictAll("PredictAllRNN") {
    ST_CHECK(features % 2 == 0, InvalidInput,
             "decoder='rnn' requires even features, half of them for each direction, got ", features);
    positions_ = register_module("places", std::make_shared<PositionMaps>(code, o.predict, o.channels));
    gru_ =
        register_module("gru", std::make_shared<nn::RecurrentStack>(nn::RecurrentOptions{
                                   .features = o.channels, .hidden = features / 2, .bidirectional = true}));
  }

  Tensor forward(const Tensor& z, const Sequences& /*previous*/) const override {
    return gru_->forward(at::relu(positions_->forward(z))).output;  // [B, N, E]
  }

 private:
  std::shared_ptr<PositionMaps> positions_;
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
  Tensor forward(const Tensor& z, const Sequences& previous) const override {
    return state_->forward(z, previous);  // [B, T, E]
  }
  nn::DecoderStart start(const Tensor& z) const override { return {{}, state_->start(z)}; }
  std::pair<Tensor, nn::DecoderCache> step(const Tensor& y, const nn::DecoderMemory& /*memory*/,
                                           const nn::DecoderCache& cache) const override {
    return state_->step(y, cache);
  }

 private:
  std::shared_ptr<StateDecoder> state_;
};

/// The decoder of section 2 with causal convolutions; the first layer reads the previous word, too.
class AutoregressiveCNN : public ContextDecoder {
 public:
  AutoregressiveCNN(const ContextDecoderOptions& o, std::int64_t features, std::int64_t code)
      : ContextDecoder("AutoregressiveCNN") {
    positions_ = register_module("places", std::make_shared<PositionMaps>(code, o.predict, o.channels));
    word_ = register_module("word", nn::xavier_linear(features, o.channels, /*bias=*/false));
    convolutions_ =
        register_module("convolutions", std::make_shared<Convolutions>(o, features, nn::Padding::causal));
  }

  bool autoregressive() const override { return true; }

  Tensor forward(const Tensor& z, const Sequences& previous) const override {
    const Tensor maps = positions_->forward(z).slice(1, 0, previous.x.size(1));  // [B, T, C]
    return convolutions_->forward(at::relu(maps + word_->forward(previous.x)));  // [B, T, E]
  }

  nn::DecoderStart start(const Tensor& z) const override {
    nn::DecoderStart start{{positions_->forward(z)}, {first_position(z)}};
    convolutions_->start(start.cache, z);
    return start;
  }

  std::pair<Tensor, nn::DecoderCache> step(const Tensor& y, const nn::DecoderMemory& memory,
                                           const nn::DecoderCache& cache) const override {
    nn::DecoderCache next = cache;
    const Tensor x = at::relu(at_position(memory[0], cache[0]) + word_->forward(y));  // [M, C]
    const Tensor u = convolutions_->step(x, next, 1);                                 // [M, E]
    next[0] = cache[0] + 1;
    return {u, std::move(next)};
  }

 private:
  std::shared_ptr<PositionMaps> positions_;
  std::shared_ptr<torch::nn::LinearImpl> word_;
  std::shared_ptr<Convolutions> convolutions_;
};

}  // namespace

std::shared_ptr<ContextDecoder> ContextDecoder::make(const ContextDecoderOptions& options,
                                                     std::int64_t features, std::int64_t code) {
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
