// All heads: the one table that loader, `make_head` and bindings go through.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/models/head.h"
#include "sentencode/models/options.h"

namespace torch::nn {
class LinearImpl;
}

namespace sentencode::models {

struct ClassifierOptions {
  std::int64_t features = 1;   // Z, of a sentence's row
  std::int64_t sentences = 1;  // of an example: 1 or 2
  std::int64_t classes = 2;
  std::int64_t hidden = 600;
  std::int64_t layers = 2;  // hidden ones
  bool shortcuts = true;    // each hidden layer above the first sees the input, too
  nn::Activation activation = nn::Activation::relu;
  double dropout = 0.5;  // on hidden layers
};

template <OptionsOf<ClassifierOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("features", of.features);
  visit("sentences", of.sentences);
  visit("classes", of.classes);
  visit("hidden", of.hidden);
  visit("layers", of.layers);
  visit("shortcuts", of.shortcuts);
  visit("activation", of.activation);
  visit("dropout", of.dropout);
}

/// Tells the class of a sentence a, or of a pair (a, b): -log p(class | [a; b; |a - b|; a * b]), eq. 10 of
/// paper 002, by a perceptron with shortcuts. `class_weights` multiply the losses of examples.
class Classifier : public Head {
 public:
  using Options = ClassifierOptions;
  explicit Classifier(const ClassifierOptions& options);
  const ClassifierOptions& options() const { return options_; }

  at::Tensor scores(const std::vector<at::Tensor>& rows) const;  // [B, C]
  training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& rows) override;  // probabilities [B, C]
  void set_class_weights(const at::Tensor& weights);                 // [C]

 private:
  ClassifierOptions options_;
  std::vector<std::shared_ptr<torch::nn::LinearImpl>> layers_;
  std::shared_ptr<torch::nn::LinearImpl> output_;
  at::Tensor class_weights_;  // [C]
};

struct CosineRegressionOptions {
  double low = 0;   // the score that a cosine of 0 stands for
  double high = 1;  // that of 1
};

template <OptionsOf<CosineRegressionOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("low", of.low);
  visit("high", of.high);
}

/// The cosine of a pair is its score: (cos(a, b) - (y - low) / (high - low))^2.
class CosineRegression : public Head {
 public:
  using Options = CosineRegressionOptions;
  explicit CosineRegression(const CosineRegressionOptions& options);
  const CosineRegressionOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& rows) override;  // scores [B]

 private:
  CosineRegressionOptions options_;
};

struct MultipleNegativesOptions {
  double scale = 20;  // of cosines
};

template <OptionsOf<MultipleNegativesOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("scale", of.scale);
}

/// Which sentence of the batch belongs to a sentence (Henderson et al. 2017): -log softmax_j(scale cos(a_i,
/// p_j)) at i = j. The third sentences of triples are more of the wrong ones. Of several processes each ranks
/// what is in its own part of the batch.
class MultipleNegatives : public Head {
 public:
  using Options = MultipleNegativesOptions;
  explicit MultipleNegatives(const MultipleNegativesOptions& options);
  const MultipleNegativesOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& rows) override;  // cosines of the first two [B]

 private:
  MultipleNegativesOptions options_;
};

/// How far rows lie apart.
enum class Distance { euclidean, cosine };

void parse(std::string_view name, Distance& choice);  // InvalidInput names the choices
std::string_view name_of(Distance choice);

struct TripletOptions {
  double margin = 1;
  Distance distance = Distance::euclidean;
};

template <OptionsOf<TripletOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("margin", of.margin);
  visit("distance", of.distance);
}

/// A sentence lies nearer to the second than to the third: max(d(a, p) - d(a, n) + margin, 0).
class Triplet : public Head {
 public:
  using Options = TripletOptions;
  explicit Triplet(const TripletOptions& options);
  const TripletOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& rows) override;  // d(a, n) - d(a, p) [B]

 private:
  at::Tensor nearer(const std::vector<at::Tensor>& rows) const;

  TripletOptions options_;
};

struct RowRegressionOptions {
  std::int64_t features = 1;  // Z, of a sentence's row
  std::int64_t targets = 1;   // Y, of the rows that are imitated
  bool projection = true;     // whether a linear map leads there; else widths must be the same
  Distance distance = Distance::euclidean;
};

template <OptionsOf<RowRegressionOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("features", of.features);
  visit("targets", of.targets);
  visit("projection", of.projection);
  visit("distance", of.distance);
}

/// A sentence's row, or a linear map of it, is that of another encoder: the mean of squared differences, or
/// 1 - cosine. Labels are places among the rows that `set_targets` was given.
class RowRegression : public Head {
 public:
  using Options = RowRegressionOptions;
  explicit RowRegression(const RowRegressionOptions& options);
  const RowRegressionOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& rows, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& rows) override;  // rows [B, Y]
  void set_targets(const at::Tensor& rows);                          // [n, Y]; no part of files

 private:
  RowRegressionOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> projection_;
  at::Tensor targets_;
};

/// A head's class, which has `Options` and is made of them, and its name.
template <typename Class>
struct HeadKind {
  using Type = Class;
  using Options = typename Class::Options;
  const char* name;
};

/// Calls visit(HeadKind<...>) for each, sorted by name.
template <typename Visit>
void for_heads(const Visit& visit) {
  visit(HeadKind<Classifier>{"Classifier"});
  visit(HeadKind<CosineRegression>{"CosineRegression"});
  visit(HeadKind<MultipleNegatives>{"MultipleNegatives"});
  visit(HeadKind<RowRegression>{"RowRegression"});
  visit(HeadKind<Triplet>{"Triplet"});
}

/// A head as its config says. InvalidInput where the JSON is none, or has an unknown kind, key or value.
std::shared_ptr<Head> make_head(const std::string& config);

}  // namespace sentencode::models
