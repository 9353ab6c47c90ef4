#include "sentencode/models/neural_encoder.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nn/parameters.h"
#include "nn/saved_tensors.h"
#include "saved_model.h"
#include "sentencode/error.h"
#include "sentencode/models/networks.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/parallel.h"
#include "sentencode/training/optimizer.h"

namespace sentencode::models {
namespace {

constexpr std::int64_t kBlock = 1 << 15;  // sentences whose words are looked up before any is encoded
constexpr std::int64_t kFewer = 4;        // a batch of one length may have so many times fewer tokens
constexpr std::int64_t kGrain = 16;       // sentences whose vectors a thread gathers at once
constexpr char kNetwork[] = "network.";   // tensors of a file

at::ScalarType kept_as(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? at::kFloat : tensor.scalar_type();
}

bool is_finite(const at::Tensor& tensor) {
  return !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
}

/// A network as the file describes it, with other weights. Whatever is wrong is a FormatError.
std::shared_ptr<SentenceNetwork> described_network(const SavedModel& saved, const nlohmann::json& config) {
  // No option is a number that is larger than how many numbers the file has: damage must not ask for memory
  // that the network does not need.
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : saved.file->tensors()) {
    if (name.starts_with(kNetwork)) numbers += c10::multiply_integers(tensor.shape);
  }
  // Of networks that are written elsewhere nothing is known: their words may have no rows.
  const bool known = config.contains("network") && config["network"].is_string() &&
                     is_of_table(config["network"].get<std::string>());
  for (const auto& [name, value] : config.items()) {
    if (!known) break;
    const bool fits = !value.is_number_integer() || (value >= 0 && value <= numbers);
    saved.check(fits, "network: ", name, " is ", value.dump(), ", and the file has ", numbers, " numbers");
  }
  try {
    const nn::NumbersLimit limit(numbers);
    return saved.valid([&] { return make_network(config.dump()); });
  } catch (const c10::Error& error) {  // of a layer, or of the allocator
    throw FormatError(concat(saved.file->source(), ": network: ", error.what_without_backtrace()));
  }
}

training::NamedTensors tensors_of(const SentenceNetwork& network) {
  training::NamedTensors found = network.parameter_tensors();
  for (auto& item : network.other_tensors()) found.push_back(std::move(item));
  return found;
}

}  // namespace

NeuralEncoder::NeuralEncoder(std::string kind, WeightedWords words, std::shared_ptr<SentenceNetwork> network,
                             const NeuralOptions& options)
    : kind_(std::move(kind)), words_(std::move(words)), network_(std::move(network)), options_(options) {
  ST_CHECK(network_ != nullptr, InvalidInput, "network is missing");
  ST_CHECK(words_.dim() == network_->features(), InvalidInput, "the network takes vectors of ",
           network_->features(), " numbers, those of the words have ", words_.dim());
  ST_CHECK(options_.max_words >= 1, InvalidInput, "max_words must be at least 1, got ", options_.max_words);
  ST_CHECK(options_.batch_tokens >= 1, InvalidInput, "batch_tokens must be at least 1, got ",
           options_.batch_tokens);
}

NeuralEncoder::~NeuralEncoder() = default;

std::int64_t NeuralEncoder::dim() const { return network_->dim(); }

void NeuralEncoder::encode(const Sentences& sentences, MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, kind_, ": out must be [",
           sentences.size(), ", ", dim(), "], got [", out.rows(), ", ", out.cols(), "]");
  const c10::InferenceMode guard;
  const nn::Evaluating evaluating;
  const training::NamedTensors parameters = network_->parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, kind_, ": the network has no parameters");
  const at::TensorOptions computed = parameters.front().second.options();  // where, and how exactly
  const at::Tensor end = network_->end().defined() ? network_->end().to(at::kCPU, at::kFloat) : at::Tensor();
  const std::int64_t features = words_.dim(), ends = end.defined() ? 1 : 0;

  for (std::int64_t begin = 0; begin < sentences.size(); begin += kBlock) {
    const std::int64_t count = std::min(kBlock, sentences.size() - begin);
    const RaggedIds ids = words_.lookup(sentences.slice(begin, begin + count), options_.max_words);
    const auto length = [&](std::int64_t i) { return std::ssize(ids[i]); };
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));  // the longest first
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return length(a) > length(b); });
    while (!order.empty() && length(order.back()) == 0) {
      out.row(begin + order.back()).setZero();
      order.pop_back();
    }
    for (std::size_t first = 0; first < order.size();) {
      poll_interrupt();
      const std::int64_t width = length(order[first]) + ends;
      std::int64_t rows = std::min(std::max<std::int64_t>(1, options_.batch_tokens / width),
                                   std::ssize(order) - static_cast<std::int64_t>(first));
      // Where there are enough of one length, a batch ends with it: nothing is padded then.
      const auto alike =
          std::ranges::find_if(std::span(order).subspan(first),
                               [&](std::int64_t i) { return length(i) != length(order[first]); }) -
          std::span(order).subspan(first).begin();
      if (alike < rows && alike * width >= options_.batch_tokens / kFewer) rows = alike;
      const auto batch = std::span(order).subspan(first, static_cast<std::size_t>(rows));
      at::Tensor x = at::zeros({rows, width, features});  // [B, T, E]
      at::Tensor lengths = at::empty({rows}, at::kLong);  // [B]
      float* const at = x.mutable_data_ptr<float>();
      auto* const long_as = lengths.mutable_data_ptr<std::int64_t>();
      parallel_for(0, rows, kGrain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t b = from; b < to; ++b) {
          float* place = at + b * width * features;
          for (const std::int32_t id : ids[batch[static_cast<std::size_t>(b)]]) {
            words_.row(id, place);
            place += features;
          }
          if (ends == 1) std::copy_n(end.const_data_ptr<float>(), features, place);
          long_as[b] = length(batch[static_cast<std::size_t>(b)]) + ends;
        }
      });
      const bool full = length(batch.back()) + ends == width;
      const at::Tensor z =
          network_->encode(Sequences::of(x.to(computed), lengths.to(computed.device()), full))
              .to(at::kCPU, at::kFloat)
              .contiguous();  // [B, dim]
      const float* row = z.const_data_ptr<float>();
      for (const std::int64_t i : batch) {
        std::copy_n(row, dim(), out.row(begin + i).data());
        row += dim();
      }
      first += static_cast<std::size_t>(rows);
    }
  }
}

void NeuralEncoder::save(const std::string& path, const SaveOptions& options) const {
  ModelContents contents;
  contents.add(words_, options.vectors, path);
  contents.config["network"] = nlohmann::json::parse(network_->config());
  contents.config["max_words"] = options_.max_words;
  contents.config["batch_tokens"] = options_.batch_tokens;
  std::vector<at::Tensor> held;  // while they are written
  for (const auto& [name, tensor] : tensors_of(*network_)) {
    // A network may compute in other types: what is kept is what it is made with.
    held.push_back(tensor.detach().to(at::kCPU, kept_as(tensor)).contiguous());
    ST_CHECK(is_finite(held.back()), InvalidInput, kind_, ": the network's tensor '", name,
             "' must be finite to be saved");
    contents.tensors[kNetwork + name] = nn::view_of(name, held.back());
  }
  contents.save(path, kind_, params());
}

std::unique_ptr<NeuralEncoder> NeuralEncoder::load(const std::string& path, const LoadOptions& from) {
  const SavedModel saved = SavedModel::open(path, from);
  NeuralOptions options;
  options.max_words = saved.size_option("max_words", 1);
  options.batch_tokens = saved.size_option("batch_tokens", 1);
  const nlohmann::json& config = saved.option("network");
  saved.finish_config();
  const auto network = described_network(saved, config);
  const at::NoGradGuard guard;
  std::set<std::string> known;
  for (const auto& [name, tensor] : tensors_of(*network)) {
    const auto place = saved.file->tensors().find(kNetwork + name);
    saved.check(place != saved.file->tensors().end(), "tensor '", kNetwork, name, "' is missing");
    const at::Tensor found = nn::copy_of(saved.file->source(), place->first, place->second);
    saved.check(found.sizes() == tensor.sizes() && found.scalar_type() == kept_as(tensor), "tensor '",
                place->first, "' is ", c10::toString(found.scalar_type()), " ", found.sizes(), ", expected ",
                c10::toString(kept_as(tensor)), " ", tensor.sizes());
    saved.check(is_finite(found), "tensor '", place->first, "' must be finite");
    tensor.detach().copy_(found);
    known.insert(place->first);
  }
  for (const auto& [name, tensor] : saved.file->tensors()) {
    saved.check(!name.starts_with(kNetwork) || known.contains(name), "tensor '", name,
                "' is none of the network's");
  }
  auto encoder = saved.valid(
      [&] { return std::make_unique<NeuralEncoder>(saved.kind, saved.words(), network, options); });
  encoder->set_params(saved.params);
  network->eval();
  return encoder;
}

void register_encoders() {
  for_networks([](const auto& kind) {
    register_encoder(kind.encoder,
                     [](const std::string& path, const LoadOptions& from) -> std::unique_ptr<Encoder> {
                       return NeuralEncoder::load(path, from);
                     });
  });
}

}  // namespace sentencode::models
