#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>

#include "sentencode/enum_names.h"

namespace sentencode::nn {

enum class Reduction { mean, sum };
constexpr EnumNames<2> enum_names(Reduction) { return {"reduction", {"mean", "sum"}}; }

struct SoftmaxLossOptions {
  double label_smoothing = 0;  // e: the target has probability 1 - e + e / V, each other word e / V
  Reduction reduction = Reduction::mean;  // mean: of rows that count, by their weights; 0 without rows
  std::int64_t ignore_index = -100;       // rows with this target do not count
  std::int64_t chunk_rows = 0;            // rows whose logits are in memory together; 0: automatic
};

/// Only `loss` has a gradient.
struct SoftmaxLoss {
  at::Tensor loss;  // [], float (double for double)
  at::Tensor nll;   // as targets: -log p(target), without smoothing or weights; 0 for rows that do not count
  at::Tensor correct;  // [] int64: rows that count and whose target has the largest logit
  at::Tensor tokens;   // [] int64: rows that count
};

/// Cross-entropy over all words, without the logits of all rows in memory: each chunk of rows adds its part
/// of the loss, and of the gradients if they are required.
///   z = h W^T + b, loss = (1 - e) (logsumexp(z) - z_target) + e (logsumexp(z) - mean(z))
///
///   h [..., D], weight W [V, D], b [V] or undefined, targets [...] int64,
///   row_weights [...] bool (a mask) or floating point, or undefined
///
/// W may be an embedding table: gradients add up. Under autocast, or if h and W are bfloat16 or float16,
/// matrix products are of that type; logits, sums and gradients are float32. It cannot be differentiated
/// twice.
SoftmaxLoss softmax_loss(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& b,
                         const at::Tensor& targets, const at::Tensor& row_weights = {},
                         const SoftmaxLossOptions& options = {});

/// Sampled words, which all rows share.
struct Negatives {
  at::Tensor ids;       // [k] int64, distinct
  at::Tensor expected;  // [V] float: probability that a sample contains each word
};

/// p(i) = log((i + 2) / (i + 1)) / log(V + 1): frequencies of words whose ids are ranks.  [V] double
at::Tensor log_uniform_distribution(std::int64_t words);

/// Probability that each word is in a sample without replacement from `distribution` [V], with `count` words
/// on average: 1 - exp(-p tau), where tau makes the sum `count`. The distribution must be positive, and need
/// not sum to 1.  [V] float
at::Tensor expected_counts(const at::Tensor& distribution, std::int64_t count);

/// Samples each word independently, with its probability in `expected` [V]. The number of words therefore
/// varies, and the correction in sampled_softmax_loss is exact.
Negatives draw_negatives(const at::Tensor& expected, std::optional<at::Generator> generator = std::nullopt);

/// Cross-entropy of the target against the sampled words. The logarithm of each word's expected count is
/// subtracted from its logit, so that the model learns the logits of the softmax over all words. A sampled
/// word that is a row's target counts once. With all words sampled, this is the softmax over all words.
/// Arguments as in softmax_loss; label_smoothing and chunk_rows are ignored.  -> []
at::Tensor sampled_softmax_loss(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& b,
                                const at::Tensor& targets, const Negatives& negatives,
                                const at::Tensor& row_weights = {}, const SoftmaxLossOptions& options = {});

/// The output layer: logits of the words for each state. If tied, it has no weight, and its methods need
/// `table`, the word embeddings.
class WordSoftmax : public torch::nn::Module {
 public:
  WordSoftmax(std::int64_t features, std::int64_t words, bool bias = true, bool tied = false,
              double label_smoothing = 0);

  SoftmaxLoss forward(const at::Tensor& h, const at::Tensor& targets, const at::Tensor& row_weights = {},
                      const at::Tensor& table = {}, Reduction reduction = Reduction::mean) const;
  at::Tensor sampled_loss(const at::Tensor& h, const at::Tensor& targets, const Negatives& negatives,
                          const at::Tensor& row_weights = {}, const at::Tensor& table = {},
                          Reduction reduction = Reduction::mean) const;
  at::Tensor logits(const at::Tensor& h, const at::Tensor& table = {}) const;  // [..., D] -> [..., V]
  void pretty_print(std::ostream& out) const override;

 private:
  const at::Tensor& matrix(const at::Tensor& table) const;

  std::int64_t features_, words_;
  double label_smoothing_;
  at::Tensor weight_;  // [V, D], undefined when tied
  at::Tensor bias_;    // [V], undefined without
};

}  // namespace sentencode::nn
