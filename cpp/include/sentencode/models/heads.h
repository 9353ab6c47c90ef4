// The table of all heads, which `make_head`, the loader and the bindings read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/distance.h"
#include "sentencode/models/head.h"
#include "sentencode/models/options.h"

namespace torch::nn {
class LinearImpl;
}

namespace sentencode::models {

struct ClassifierOptions {
  std::int64_t features = 0;  // Z
  std::int64_t sentences = 0;
  std::int64_t classes = 0;
  std::int64_t hidden = 128;
  std::int64_t layers = 2;
  bool shortcuts = true;
  nn::Activation activation = nn::Activation::relu;
  double dropout = 0.1;
  double pair_scale = 1;                                        // s
  static constexpr std::string_view kLater[] = {"pair_scale"};  // may be missing in files
};

template <OptionsOf<ClassifierOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("features", of.features, at_least(1, "Dimensions of a sentence embedding."));
  visit("sentences", of.sentences, {"Sentences of an example.", 1, 2});
  visit("classes", of.classes, at_least(2, "Number of classes."));
  visit("hidden", of.hidden, at_least(1, "Units of each hidden layer."));
  visit("layers", of.layers, at_least(0, "Number of hidden layers; 0: logistic regression."));
  visit("shortcuts", of.shortcuts, {"Makes the input an input of every hidden layer."});
  visit("activation", of.activation,
        {"Activation of the hidden layers: \"none\", \"relu\", \"gelu\" or \"tanh\"."});
  visit("dropout", of.dropout, dropout_probability("Dropout probability of the hidden layers."));
  visit("pair_scale", of.pair_scale, more_than(0, "Factor s of a, b and a * b in the features of pairs."));
}

/// Predicts the class of a sentence a, or of a pair (a, b), by a multi-layer perceptron:
/// -log p(class | [s a; s b; |a - b|; s a * b]), eq. 10 of paper 002, where s = 1. `class_weights` multiply
/// the losses of examples.
class Classifier : public Head {
 public:
  using Options = ClassifierOptions;
  explicit Classifier(const ClassifierOptions& options);
  const ClassifierOptions& options() const { return options_; }

  at::Tensor scores(const std::vector<at::Tensor>& z) const;  // [B, C]
  training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& z) override;  // probabilities [B, C]
  void set_class_weights(const at::Tensor& weights);              // [C]

 private:
  ClassifierOptions options_;
  std::vector<std::shared_ptr<torch::nn::LinearImpl>> layers_;
  std::shared_ptr<torch::nn::LinearImpl> output_;
  at::Tensor class_weights_;  // [C]
};

struct CosineRegressionOptions {
  double low = 0;
  double high = 1;

  void check() const;  // InvalidInput if high is not more than low
};

template <OptionsOf<CosineRegressionOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("low", of.low, {"The score of a cosine of 0."});
  visit("high", of.high, {"The score of a cosine of 1; 5 in STSBenchmark."});
}

/// Regresses the score y of a pair on its cosine: (cos(a, b) - (y - low) / (high - low))^2.
class CosineRegression : public Head {
 public:
  using Options = CosineRegressionOptions;
  explicit CosineRegression(const CosineRegressionOptions& options);
  const CosineRegressionOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& z) override;  // scores [B]

 private:
  CosineRegressionOptions options_;
};

struct MultipleNegativesOptions {
  double scale = 20;
};

template <OptionsOf<MultipleNegativesOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("scale", of.scale, more_than(0, "Factor of the cosines in the softmax."));
}

/// Ranks the partner of a sentence above those of the others in the batch (Henderson et al. 2017):
/// -log softmax_j(scale cos(a_i, p_j)) at i = j. The third sentences of triples are further negatives. Each
/// process ranks its part of the batch.
class MultipleNegatives : public Head {
 public:
  using Options = MultipleNegativesOptions;
  explicit MultipleNegatives(const MultipleNegativesOptions& options);
  const MultipleNegativesOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& z) override;  // cosines of the first two [B]

 private:
  MultipleNegativesOptions options_;
};

struct TripletOptions {
  double margin = 0.2;
  Distance distance = Distance::cosine;
};

template <OptionsOf<TripletOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("margin", of.margin, at_least(0, "Margin between the two distances; 0.2 is for cosines."));
  visit("distance", of.distance, {"Distance of two embeddings: \"cosine\" or \"euclidean\"."});
}

/// Makes a sentence a closer to p than to n: max(d(a, p) - d(a, n) + margin, 0).
class Triplet : public Head {
 public:
  using Options = TripletOptions;
  explicit Triplet(const TripletOptions& options);
  const TripletOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& z) override;  // d(a, n) - d(a, p) [B]

 private:
  at::Tensor difference(const std::vector<at::Tensor>& z) const;  // d(a, n) - d(a, p) [B]

  TripletOptions options_;
};

struct RowRegressionOptions {
  std::int64_t features = 0;  // Z
  std::int64_t targets = 0;   // Y
  bool projection = true;
  Distance distance = Distance::euclidean;
};

template <OptionsOf<RowRegressionOptions> Options, typename Visit>
void for_options(Options& of, const Visit& visit) {
  visit("features", of.features, at_least(1, "Dimensions of a sentence embedding."));
  visit("targets", of.targets, at_least(1, "Dimensions of the target embeddings."));
  visit("projection", of.projection,
        {"Maps embeddings linearly to the targets; without it both have the same dimensions."});
  visit("distance", of.distance, {"\"euclidean\", the mean of squared differences; or \"cosine\"."});
}

/// Regresses the embeddings of another encoder on the sentence embeddings, or a linear map of them: the mean
/// of squared differences, or 1 - cosine. Labels are rows of `set_targets`.
class RowRegression : public Head {
 public:
  using Options = RowRegressionOptions;
  explicit RowRegression(const RowRegressionOptions& options);
  const RowRegressionOptions& options() const { return options_; }

  training::Loss loss(const std::vector<at::Tensor>& z, const at::Tensor& labels) override;
  at::Tensor predict(const std::vector<at::Tensor>& z) override;  // embeddings [B, Y]
  void set_targets(const at::Tensor& targets);                    // [n, Y]; not saved

 private:
  RowRegressionOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> projection_;
  at::Tensor targets_;
};

/// A head class and its name.
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

/// A head with the options of a config. InvalidInput for malformed JSON, and an unknown kind, key or value.
std::shared_ptr<Head> make_head(const std::string& config);

}  // namespace sentencode::models
