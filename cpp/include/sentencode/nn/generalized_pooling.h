#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// What has a score: every dimension of a word's vector (paper 002), or the vector as a whole (Lin et al.
/// 2017; the inner attention of paper 003).
enum class Scores { vector, scalar };
/// What a penalty wants heads to differ in: nothing, parameters (eq. 7), weights (eq. 8), vectors (eq. 9).
enum class Penalty { none, parameters, attention, embeddings };

Scores parse_scores(std::string_view name);  // InvalidInput names the choices
std::string_view scores_name(Scores scores);
Penalty parse_penalty(std::string_view name);  // InvalidInput names the choices
std::string_view penalty_name(Penalty penalty);

struct AttentionPoolingOptions {
  std::int64_t features = 0;  // d
  std::int64_t hidden = 0;    // d_a, of each head; of all heads together if scores are scalar
  std::int64_t heads = 1;     // I
  Scores scores = Scores::vector;
  Activation activation = Activation::relu;  // or tanh
  bool bias = true;                          // b1
};

/// A penalty of heads that resemble each other, and whether it does anything.
struct HeadPenalty {
  at::Tensor loss;    // []: sum over pairs of heads of max(lambda - distance, 0); without mu
  at::Tensor active;  // []: the share of pairs whose hinge is above zero; no gradient
};

/// Eq. 7 to 9 of what each head has; distances are squared. The loss is the mean over the batch, or, with
/// `batch_distance`, that of distances which are means over the batch (as the paper's code does it).
///   heads [I, n] or [B, I, n]
HeadPenalty head_penalty(const at::Tensor& heads, double lambda = 1, bool batch_distance = false);

/// Sums of a sentence's vectors, weighted by small networks (eq. 5, 6):
///   A_i = softmax(W2_i f(W1_i h_t + b1_i)) over words t, v_i = sum_t A_i,t * h_t, v = [v_1; ...; v_I]
/// Without b2, which would move all scores of a dimension alike, and so no weight. With scalar scores a
/// weight is of a whole vector, and heads share W1. W2 = 0 is the mean. A sentence without words has a zero
/// row, and no gradient.
///
/// On the CPU only words are computed with, and weights are never kept: backward computes them again from the
/// scores. It cannot be differentiated twice there. Numbers are float32, or double for double, also under
/// autocast.
class AttentionPooling : public torch::nn::Module {
 public:
  explicit AttentionPooling(const AttentionPoolingOptions& options);

  /// h [B, T, d], lengths [B] int64 of words at the left, or undefined for T -> v [B, I d], head after head.
  /// What h holds behind a sentence's end is never read. The paper's code has dimension after dimension: that
  /// is v.view({B, I, d}).transpose(1, 2).flatten(1).
  at::Tensor forward(const at::Tensor& h, const at::Tensor& lengths = {}) const;

  /// The same, composed of torch's operators, which have gradients of any order; `forward` calls it on all
  /// devices but the CPU. Padding is computed with, too, so that shapes do not depend on lengths and the host
  /// never waits. `kernel`: vector scores are pooled by our kernel where this build has it for the device.
  at::Tensor composed(const at::Tensor& h, const at::Tensor& lengths = {}, bool kernel = false) const;

  /// A, to be looked at and for eq. 8; with gradients, and all in memory.  [B, I, T, d], scalar [B, I, T];
  /// zero where there is no word
  at::Tensor weights(const at::Tensor& h, const at::Tensor& lengths = {}) const;

  /// The penalty on what `penalty` names. `parameters` looks at no sentence: it takes W1_i, or if that is
  /// shared the row of W2. `attention` computes the weights, apart from `forward`. `embeddings` takes
  /// `pooled`, what forward returned.
  HeadPenalty penalty(Penalty penalty, const at::Tensor& h, const at::Tensor& lengths,
                      const at::Tensor& pooled, double lambda = 1, bool batch_distance = false) const;

  std::int64_t dim() const { return options_.heads * options_.features; }
  void pretty_print(std::ostream& out) const override;

 private:
  void check(const at::Tensor& h, const at::Tensor& lengths) const;

  AttentionPoolingOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> hidden_, score_;  // W1 [I d_a, d], W2 [I d, d_a]; [d_a, d], [I, d_a]
};

}  // namespace sentencode::nn
