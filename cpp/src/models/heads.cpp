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
using Rows = std::vector<Tensor>;

void check_rows(const char* head, const Rows& rows, std::size_t least, std::size_t most) {
  TORCH_CHECK_VALUE(rows.size() >= least && rows.size() <= most, head, ": an example has ",
                    least == most ? concat(least) : concat(least, " or ", most), " sentences, got ",
                    rows.size());
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

/// Losses are sums, for which half precision, that of products under autocast, has too few digits.
Tensor wide(const Tensor& x) {
  return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

}  // namespace

// --- Classifier
// ---------------------------------------------------------------------------------------------

Classifier::Classifier(const ClassifierOptions& options) : Head("Classifier"), options_(options) {
  ST_CHECK(options.features >= 1 && options.hidden >= 1 && options.layers >= 0, InvalidInput,
           "Classifier: features and hidden must be at least 1 and layers at least 0, got ", options.features,
           ", ", options.hidden, " and ", options.layers);
  ST_CHECK(options.sentences == 1 || options.sentences == 2, InvalidInput,
           "Classifier: sentences must be 1 or 2, got ", options.sentences);
  ST_CHECK(options.classes >= 2, InvalidInput, "Classifier: classes must be at least 2, got ",
           options.classes);
  ST_CHECK(options.dropout >= 0 && options.dropout < 1, InvalidInput,
           "Classifier: dropout must be at least 0 and less than 1, got ", options.dropout);
  const std::int64_t input = (options.sentences == 2 ? 4 : 1) * options.features;
  std::int64_t below = input;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::int64_t wide = layer > 0 && options.shortcuts ? input + below : below;
    layers_.push_back(register_module(concat("hidden_", layer + 1), nn::xavier_linear(wide, options.hidden)));
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

Tensor Classifier::scores(const Rows& rows) const {
  const auto sentences = static_cast<std::size_t>(options_.sentences);
  check_rows("Classifier", rows, sentences, sentences);
  Tensor v = rows[0];  // [B, Z]
  if (rows.size() == 2) {
    const Tensor &a = rows[0], &b = rows[1];
    v = at::cat({a, b, (a - b).abs(), a * b}, 1);  // [B, 4 Z]  eq. 10
  }
  TORCH_CHECK_VALUE(rows[0].dim() == 2 && rows[0].size(1) == options_.features,
                    "Classifier: rows must be [batch, ", options_.features, "], got ", rows[0].sizes());
  Tensor h = v;
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const Tensor in = layer > 0 && options_.shortcuts ? at::cat({v, h}, 1) : h;
    h = nn::activate(layers_[layer]->forward(in), options_.activation);  // [B, hidden]
    h = at::dropout(h, options_.dropout, nn::trains(*this));
  }
  return output_->forward(h);  // [B, C]
}

training::Loss Classifier::loss(const Rows& rows, const Tensor& labels) {
  check_labels("Classifier", labels, at::kLong);
  const Tensor found = wide(scores(rows));                                              // [B, C]
  const Tensor log_p = found.log_softmax(1).gather(1, labels.unsqueeze(1)).squeeze(1);  // [B]
  const Tensor weights = class_weights_.to(log_p).index_select(0, labels);              // [B]
  return {-(weights * log_p).sum(), count_of(labels), (found.detach().argmax(1) == labels).sum()};
}

Tensor Classifier::predict(const Rows& rows) { return scores(rows).softmax(1); }

// --- CosineRegression
// ---------------------------------------------------------------------------------------

CosineRegression::CosineRegression(const CosineRegressionOptions& options)
    : Head("CosineRegression"), options_(options) {
  ST_CHECK(std::isfinite(options.low) && std::isfinite(options.high) && options.high > options.low,
           InvalidInput, "CosineRegression: high must be more than low, got ", options.high, " and ",
           options.low);
}

training::Loss CosineRegression::loss(const Rows& rows, const Tensor& labels) {
  check_rows("CosineRegression", rows, 2, 2);
  check_labels("CosineRegression", labels, at::kFloat);
  const Tensor y = (labels - options_.low) / (options_.high - options_.low);  // [B]
  return {(cosine(rows[0], rows[1]) - y.to(rows[0])).square().sum(), count_of(labels), {}};
}

Tensor CosineRegression::predict(const Rows& rows) {
  check_rows("CosineRegression", rows, 2, 2);
  return options_.low + (options_.high - options_.low) * cosine(rows[0], rows[1]);  // [B]
}

// --- MultipleNegatives
// --------------------------------------------------------------------------------------

MultipleNegatives::MultipleNegatives(const MultipleNegativesOptions& options)
    : Head("MultipleNegatives"), options_(options) {
  ST_CHECK(options.scale > 0 && std::isfinite(options.scale), InvalidInput,
           "MultipleNegatives: scale must be more than 0, got ", options.scale);
}

training::Loss MultipleNegatives::loss(const Rows& rows, const Tensor& /*labels*/) {
  check_rows("MultipleNegatives", rows, 2, 3);
  const auto unit = [](const Tensor& z) { return z / z.norm(2, 1, /*keepdim=*/true).clamp_min(1e-8); };
  const Tensor others = at::cat(Rows(rows.begin() + 1, rows.end()));                         // [B or 2 B, Z]
  const Tensor scores = options_.scale * wide(at::matmul(unit(rows[0]), unit(others).t()));  // [B, B or 2 B]
  const Tensor places = at::arange(rows[0].size(0), scores.options().dtype(at::kLong));      // [B]
  return {at::nll_loss(scores.log_softmax(1), places, {}, at::Reduction::Sum), count_of(rows[0]),
          (scores.detach().argmax(1) == places).sum()};
}

Tensor MultipleNegatives::predict(const Rows& rows) {
  check_rows("MultipleNegatives", rows, 2, 3);
  return cosine(rows[0], rows[1]);
}

// --- Triplet
// ------------------------------------------------------------------------------------------------

void parse(std::string_view name, Distance& choice) {
  for (const Distance distance : {Distance::euclidean, Distance::cosine}) {
    if (name != name_of(distance)) continue;
    choice = distance;
    return;
  }
  throw InvalidInput(concat("distance must be 'euclidean' or 'cosine', got '", name, "'"));
}

std::string_view name_of(Distance choice) { return choice == Distance::euclidean ? "euclidean" : "cosine"; }

Triplet::Triplet(const TripletOptions& options) : Head("Triplet"), options_(options) {
  ST_CHECK(options.margin >= 0 && std::isfinite(options.margin), InvalidInput,
           "Triplet: margin must be at least 0, got ", options.margin);
}

Tensor Triplet::nearer(const Rows& rows) const {
  check_rows("Triplet", rows, 3, 3);
  return distance(rows[0], rows[2], options_.distance) -
         distance(rows[0], rows[1], options_.distance);  // [B]
}

training::Loss Triplet::loss(const Rows& rows, const Tensor& /*labels*/) {
  const Tensor by = nearer(rows);  // [B]
  return {(options_.margin - by).clamp_min(0).sum(), count_of(by), (by.detach() > 0).sum()};
}

Tensor Triplet::predict(const Rows& rows) { return nearer(rows); }

// --- RowRegression
// ------------------------------------------------------------------------------------------

RowRegression::RowRegression(const RowRegressionOptions& options) : Head("RowRegression"), options_(options) {
  ST_CHECK(options.features >= 1 && options.targets >= 1, InvalidInput,
           "RowRegression: features and targets must be at least 1, got ", options.features, " and ",
           options.targets);
  ST_CHECK(options.projection || options.features == options.targets, InvalidInput,
           "RowRegression: without projection rows of ", options.features, " numbers cannot be those of ",
           options.targets);
  if (options.projection) {
    projection_ = register_module("projection", nn::xavier_linear(options.features, options.targets));
  }
}

void RowRegression::set_targets(const Tensor& rows) {
  TORCH_CHECK_VALUE(rows.dim() == 2 && rows.size(1) == options_.targets && rows.is_floating_point(),
                    "RowRegression: targets must be floating point [sentences, ", options_.targets, "], got ",
                    rows.dtype(), " ", rows.sizes());
  targets_ = rows;
}

training::Loss RowRegression::loss(const Rows& rows, const Tensor& labels) {
  check_labels("RowRegression", labels, at::kLong);
  TORCH_CHECK_VALUE(targets_.defined(), "RowRegression: there are no targets: call set_targets first");
  const Tensor found = wide(predict(rows));                                                // [B, Y]
  const Tensor wanted = targets_.index_select(0, labels.to(targets_.device())).to(found);  // [B, Y]
  const Tensor apart = options_.distance == Distance::cosine ? 1 - cosine(found, wanted)
                                                             : (found - wanted).square().mean(1);  // [B]
  return {apart.sum(), count_of(labels), {}};
}

Tensor RowRegression::predict(const Rows& rows) {
  check_rows("RowRegression", rows, 1, 1);
  return projection_ == nullptr ? rows[0] : projection_->forward(rows[0]);  // [B, Y]
}

// --- All
// ----------------------------------------------------------------------------------------------------

std::string Head::config() const {
  std::string found;
  for_heads([&](const auto& kind) {
    using Type = typename std::remove_cvref_t<decltype(kind)>::Type;
    if (typeid(*this) == typeid(Type)) {
      found = written_options("head", kind.name, static_cast<const Type&>(*this).options());
    }
  });
  ST_CHECK(!found.empty(), Unsupported, name(), " has no config: it is none of the heads of this library");
  return found;
}

std::shared_ptr<Head> make_head(const std::string& config) {
  std::shared_ptr<Head> found;
  const nlohmann::json given = parsed_options("head", config);
  for_heads([&](const auto& kind) {
    using Kind = std::remove_cvref_t<decltype(kind)>;
    if (given["head"] == kind.name) {
      found = std::make_shared<typename Kind::Type>(read_options<typename Kind::Options>("head", given));
    }
  });
  ST_CHECK(found != nullptr, InvalidInput, "head: unknown kind ", given["head"].dump());
  return found;
}

}  // namespace sentencode::models
