#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// What has a weight: each dimension of a word's vector (paper 002), or the vector as a whole (Lin et al.
/// 2017; the inner attention of paper 003).
enum class Scores { vector, scalar };
constexpr EnumNames<2> enum_names(Scores) { return {"scores", {"vector", "scalar"}}; }

/// What a penalty compares between heads: parameters (eq. 7), attention weights (eq. 8), embeddings (eq. 9).
enum class Penalty { none, parameters, attention, embeddings };
constexpr EnumNames<4> enum_names(Penalty) {
  return {"penalty", {"none", "parameters", "attention", "embeddings"}};
}

struct AttentionPoolingOptions {
  std::int64_t features = 0;  // d
  std::int64_t hidden = 0;    // d_a, of each head; scalar scores: of all heads together
  std::int64_t heads = 1;     // I
  Scores scores = Scores::vector;
  Activation activation = Activation::relu;  // f: relu or tanh
  bool bias = true;                          // b1
};

struct HeadPenalty {
  at::Tensor loss;    // []: sum over pairs of heads of max(lambda - distance, 0), without the factor mu
  at::Tensor active;  // []: fraction of pairs with a positive hinge; no gradient
};

/// Penalty of similar heads, eq. 7 to 9; distances are squared. The loss is the mean over the batch; with
/// `batch_distance`, distances are means over the batch, as in the paper's code.
///   heads [I, n] or [B, I, n]
HeadPenalty head_penalty(const at::Tensor& heads, double lambda = 1, bool batch_distance = false);

/// Generalized pooling (paper 002, eq. 5 and 6): v = [v_1; ...; v_I] with
///   A_i = softmax(W2_i f(W1_i h_t + b1_i)) over the words t, v_i = sum_t A_i,t * h_t
/// There is no b2, because it would cancel in the softmax. With scalar scores heads share W1, and A_i,t is a
/// number. W2 = 0 gives the mean. A sentence without words has the embedding 0 and no gradient.
///
/// On the CPU, padding is skipped, attention weights are recomputed in backward instead of saved, and second
/// derivatives are not supported. Computes in float32, or in double for double, also under autocast.
class AttentionPooling : public torch::nn::Module {
 public:
  explicit AttentionPooling(const AttentionPoolingOptions& options);

  /// h [B, T, d], lengths [B] int64, or undefined for T -> v [B, I d]. Padding is not read. The paper's code
  /// concatenates by dimension instead of by head: v.view({B, I, d}).transpose(1, 2).flatten(1).
  at::Tensor forward(const at::Tensor& h, const at::Tensor& lengths = {}) const;

  /// The same, composed of torch's operators, with derivatives of any order; `forward` on devices other than
  /// the CPU. It computes padding as well, so that shapes do not depend on lengths and the host never waits.
  /// `kernel` uses our kernel for vector scores, if this build has one for the device.
  at::Tensor composed(const at::Tensor& h, const at::Tensor& lengths = {}, bool kernel = false) const;

  /// The attention weights A [B, I, T, d], scalar scores: [B, I, T]; zero at padding. With gradients.
  at::Tensor weights(const at::Tensor& h, const at::Tensor& lengths = {}) const;

  /// The penalty. `parameters` compares W1_i, with scalar scores W2_i, and ignores the other arguments;
  /// `attention` computes the weights of h; `embeddings` compares the heads of `pooled`, the output of
  /// forward.
  HeadPenalty penalty(Penalty penalty, const at::Tensor& h, const at::Tensor& lengths,
                      const at::Tensor& pooled, double lambda = 1, bool batch_distance = false) const;

  std::int64_t dim() const { return options_.heads * options_.features; }
  void pretty_print(std::ostream& out) const override;

 private:
  void check(const at::Tensor& h, const at::Tensor& lengths) const;
  at::Tensor vector_scores(const at::Tensor& z, const at::Tensor& w2) const;

  AttentionPoolingOptions options_;
  std::shared_ptr<torch::nn::LinearImpl> hidden_, score_;  // W1, W2: vector scores [I d_a, d], [I d, d_a]
};

}  // namespace sentencode::nn
