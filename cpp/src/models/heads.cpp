#include "sentencode/models/heads.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <typeinfo>
#include <utility>

#include "models/config.h"
#include "sentencode/error.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/linear.h"

namespace sentencode::models {
namespace {

using at::Tensor;
using Embeddings = std::vector<Tensor>;  // of all first sentences [B, Z], all second ones, ...

void check_sentences(const char* head, const Embeddings& z, std::size_t least, std::size_t most) {
  TORCH_CHECK_VALUE(z.size() >= least && z.size() <= most, head, ": an example has ",
                    least == most ? concat(least) : concat(least, " or ", most), " sentences, got ",
                    z.size());
}

void check_labels(const char* head, const Tensor& labels, at::ScalarType type) {
  TORCH_CHECK_VALUE(labels.defined() && labels.scalar_type() == type, head, ": labels must be ",
                    c10::toString(type), ", got ",
                    labels.defined() ? c10::toString(labels.scalar_type()) : "none");
}

Tensor cosine(const Tensor& a, const Tensor& b) { return at::cosine_similarity(a, b, 1, 1e-8); }  // [B]

Tensor distance(const Tensor& a, const Tensor& b, Distance kind) {
  return kind == Distance::cosine ? 1 - cosine(a, b) : at::pairwise_distance(a, b);  // [B]
}

double count_of(const Tensor& x) { return static_cast<double>(x.size(0)); }

/// float32 for sums of losses: products under autocast have half precision, which is too low.
Tensor at_least_float(const Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

}  // namespace

// Classifier

Classifier::Classifier(const ClassifierOptions& options) : Head("Classifier"), options_(checked(options)) {
  const std::int64_t input = (options.sentences == 2 ? 4 : 1) * options.features;
  std::int64_t below = input;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::int64_t inputs = layer > 0 && options.shortcuts ? input + below : below;
    layers_.push_back(
        register_module(concat("hidden_", layer + 1), nn::xavier_linear(inputs, options.hidden)));
    below = options.hidden;
  }
  output_ = register_module("output", nn::xavier_linear(below, options.classes));
  class_weights_ = register_buffer("class_weights", at::ones({options.classes}, at::kFloat));
}

void Classifier::set_class_weights(const Tensor& weights) {
  TORCH_CHECK_VALUE(weights.dim() == 1 && weights.size(0) == options_.classes,
                    "Classifier: class weights must be [", options_.classes, "], got ", weights.sizes());
  class_weights_.copy_(weights);
}

Tensor Classifier::scores(const Embeddings& z) const {
  const auto sentences = static_cast<std::size_t>(options_.sentences);
  check_sentences("Classifier", z, sentences, sentences);
  Tensor v = z[0];  // [B, Z]
  if (z.size() == 2) {
    const Tensor &a = z[0], &b = z[1];
    const double s = options_.pair_scale;
    v = at::cat({s * a, s * b, (a - b).abs(), s * a * b}, 1);  // [B, 4 Z]  eq. 10
  }
  TORCH_CHECK_VALUE(z[0].dim() == 2 && z[0].size(1) == options_.features,
                    "Classifier: embeddings must be [batch, ", options_.features, "], got ", z[0].sizes());
  Tensor h = v;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Tensor in = layer > 0 && options_.shortcuts ? at::cat({v, h}, 1) : h;
    h = nn::activate(layers_[layer]->forward(in), options_.activation);  // [B, hidden]
    h = at::dropout(h, options_.dropout, nn::trains(*this));
  }
  return output_->forward(h);  // [B, C]
}

training::Loss Classifier::loss(const Embeddings& z, const Tensor& labels) {
  check_labels("Classifier", labels, at::kLong);
  const Tensor logits = at_least_float(scores(z));                                       // [B, C]
  const Tensor log_p = logits.log_softmax(1).gather(1, labels.unsqueeze(1)).squeeze(1);  // [B]
  const Tensor weights = class_weights_.to(log_p).index_select(0, labels);               // [B]
  return {-(weights * log_p).sum(), count_of(labels), (logits.detach().argmax(1) == labels).sum()};
}

Tensor Classifier::predict(const Embeddings& z) { return scores(z).softmax(1); }

// CosineRegression

void CosineRegressionOptions::check() const {
  ST_CHECK(high > low, InvalidInput, "high must be more than low=", low, ", got ", high);
}

CosineRegression::CosineRegression(const CosineRegressionOptions& options)
    : Head("CosineRegression"), options_(checked(options)) {}

training::Loss CosineRegression::loss(const Embeddings& z, const Tensor& labels) {
  check_sentences("CosineRegression", z, 2, 2);
  check_labels("CosineRegression", labels, at::kFloat);
  const Tensor y = (labels - options_.low) / (options_.high - options_.low);  // [B]
  return {(cosine(z[0], z[1]) - y.to(z[0])).square().sum(), count_of(labels), {}};
}

Tensor CosineRegression::predict(const Embeddings& z) {
  check_sentences("CosineRegression", z, 2, 2);
  return options_.low + (options_.high - options_.low) * cosine(z[0], z[1]);  // [B]
}

// MultipleNegatives

MultipleNegatives::MultipleNegatives(const MultipleNegativesOptions& options)
    : Head("MultipleNegatives"), options_(checked(options)) {}

training::Loss MultipleNegatives::loss(const Embeddings& z, const Tensor& /*labels*/) {
  check_sentences("MultipleNegatives", z, 2, 3);
  const auto unit = [](const Tensor& x) { return x / x.norm(2, 1, /*keepdim=*/true).clamp_min(1e-8); };
  const Tensor others = at::cat(Embeddings(z.begin() + 1, z.end()));  // [B or 2 B, Z]
  const Tensor scores =
      options_.scale * at_least_float(at::matmul(unit(z[0]), unit(others).t()));        // [B, B or 2 B]
  const Tensor partners = at::arange(z[0].size(0), scores.options().dtype(at::kLong));  // [B]
  return {at::nll_loss(scores.log_softmax(1), partners, {}, at::Reduction::Sum), count_of(z[0]),
          (scores.detach().argmax(1) == partners).sum()};
}

Tensor MultipleNegatives::predict(const Embeddings& z) {
  check_sentences("MultipleNegatives", z, 2, 3);
  return cosine(z[0], z[1]);
}

// Triplet

Triplet::Triplet(const TripletOptions& options) : Head("Triplet"), options_(checked(options)) {}

Tensor Triplet::difference(const Embeddings& z) const {
  check_sentences("Triplet", z, 3, 3);
  return distance(z[0], z[2], options_.distance) - distance(z[0], z[1], options_.distance);  // [B]
}

training::Loss Triplet::loss(const Embeddings& z, const Tensor& /*labels*/) {
  const Tensor d = difference(z);  // [B]
  return {(options_.margin - d).clamp_min(0).sum(), count_of(d), (d.detach() > 0).sum()};
}

Tensor Triplet::predict(const Embeddings& z) { return difference(z); }

// RowRegression

RowRegression::RowRegression(const RowRegressionOptions& options)
    : Head("RowRegression"), options_(checked(options)) {
  ST_CHECK(options.projection || options.features == options.targets, InvalidInput,
           "RowRegression: without projection, embeddings and targets must have the same dimensions, got ",
           options.features, " and ", options.targets);
  if (options.projection) {
    projection_ = register_module("projection", nn::xavier_linear(options.features, options.targets));
  }
}

void RowRegression::set_targets(const Tensor& targets) {
  TORCH_CHECK_VALUE(targets.dim() == 2 && targets.size(1) == options_.targets && targets.is_floating_point(),
                    "RowRegression: targets must be floating point [sentences, ", options_.targets, "], got ",
                    targets.dtype(), " ", targets.sizes());
  targets_ = targets;
}

training::Loss RowRegression::loss(const Embeddings& z, const Tensor& labels) {
  check_labels("RowRegression", labels, at::kLong);
  TORCH_CHECK_VALUE(targets_.defined(), "RowRegression: there are no targets: call set_targets first");
  const Tensor y = at_least_float(predict(z));                                          // [B, Y]
  const Tensor targets = targets_.index_select(0, labels.to(targets_.device())).to(y);  // [B, Y]
  const Tensor losses =
      options_.distance == Distance::cosine ? 1 - cosine(y, targets) : (y - targets).square().mean(1);  // [B]
  return {losses.sum(), count_of(labels), {}};
}

Tensor RowRegression::predict(const Embeddings& z) {
  check_sentences("RowRegression", z, 1, 1);
  return projection_ == nullptr ? z[0] : projection_->forward(z[0]);  // [B, Y]
}

// All

std::string Head::config() const {
  std::string config;
  for_heads([&](const auto& kind) {
    using Type = typename std::remove_cvref_t<decltype(kind)>::Type;
    if (typeid(*this) == typeid(Type)) {
      config = written_options("head", kind.name, static_cast<const Type&>(*this).options());
    }
  });
  ST_CHECK(!config.empty(), Unsupported, name(), " has no config: it is no head of this library");
  return config;
}

std::shared_ptr<Head> make_head(const std::string& config) {
  std::shared_ptr<Head> head;
  const nlohmann::json options = parsed_options("head", config);
  for_heads([&](const auto& kind) {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if (options["head"] == kind.name) {
      head = std::make_shared<typename Kind::Type>(read_options<typename Kind::Options>("head", options));
    }
  });
  ST_CHECK(head != nullptr, InvalidInput, "head: unknown kind ", options["head"].dump());
  return head;
}

}  // namespace sentencode::models
