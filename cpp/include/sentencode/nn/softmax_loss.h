#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace sentencode::nn {

enum class Reduction { mean, sum };

Reduction parse_reduction(std::string_view name);  // InvalidInput names the choices

struct SoftmaxLossOptions {
  /// e: the target has 1 - e of the probability that is asked for, and all words share the rest.
  double label_smoothing = 0;
  /// The mean is that over rows that count, weighted as they are; without any it is 0.
  Reduction reduction = Reduction::mean;
  /// Rows with this target do not count.
  std::int64_t ignore_index = -100;
  /// Rows whose logits are held at a time; 0 chooses.
  std::int64_t chunk_rows = 0;
};

/// What a softmax over words says about its targets. Only `loss` has a gradient.
struct SoftmaxLoss {
  at::Tensor loss;  // [], float (double for double)
  at::Tensor nll;   // shape of the targets: -log p(target), without smoothing or weights; 0 where none counts
  at::Tensor correct;  // [] int64: rows that count and whose target no word surpasses
  at::Tensor tokens;   // [] int64: rows that count
};

/// Cross-entropy over all words, without the logits of all rows: rows go through in chunks, and where
/// gradients are wanted each chunk adds its own at once. What is held is one chunk's logits and the
/// gradients.
///   z = h W^T + b, loss = (1 - e) (lse(z) - z_target) + e (lse(z) - mean(z))
///
///   h [..., D], weight W [V, D], b [V] or undefined, targets [...] int64,
///   row_weights [...] bool (a mask) or floating (weights), or undefined
///
/// The weight may be a table of embeddings: its gradients add up. Under autocast, or when h and the weight
/// are bfloat16 or half, products are of that type; logits, sums over rows and gradients that chunks add to
/// are float32. Backward works once more when the graph is kept, and refuses to be differentiated.
SoftmaxLoss softmax_loss(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& b,
                         const at::Tensor& targets, const at::Tensor& row_weights = {},
                         const SoftmaxLossOptions& options = {});

/// Words that all rows are compared with.
struct Negatives {
  at::Tensor ids;       // [k] int64, no word twice
  at::Tensor expected;  // [V] float: how likely a draw like this one has each word
};

/// How frequent words are when ids are ranks: p(i) = log((i + 2) / (i + 1)) / log(V + 1).  [V] double
at::Tensor log_uniform_distribution(std::int64_t words);

/// How likely each word is to be among `count` words (on average) that are drawn of a distribution [V]
/// without replacement: 1 - exp(-p tau), with tau such that they sum to `count`. It must be positive, and
/// need not sum to 1.  [V] float
at::Tensor expected_counts(const at::Tensor& distribution, std::int64_t count);

/// Draws every word by itself with the probability that it has in `expected` [V]. That each draw does not
/// know of the others is what makes the correction of sampled_softmax_loss exact, for a number of words that
/// is not always the same.
Negatives draw_negatives(const at::Tensor& expected, std::optional<at::Generator> generator = std::nullopt);

/// Cross-entropy of the target against the drawn words alone. Logits are less by the logarithm of how often
/// their words are expected; so what is learnt are the logits of the softmax over all words. A drawn
/// word that is a row's target does not count twice. With all words drawn it is the softmax over all words.
/// Arguments are those of softmax_loss; smoothing and chunks have no part in it.  -> []
at::Tensor sampled_softmax_loss(const at::Tensor& h, const at::Tensor& weight, const at::Tensor& b,
                                const at::Tensor& targets, const Negatives& negatives,
                                const at::Tensor& row_weights = {}, const SoftmaxLossOptions& options = {});

/// The output layer: a word for each state. Tied, it has no matrix of its own and is given the word table.
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
