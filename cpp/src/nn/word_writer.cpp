#include "sentencode/nn/word_writer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>

#include "nn/checks.h"
#include "sentencode/error.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/softmax_loss.h"

namespace sentencode::nn {

using at::Tensor;

void WordWriterOptions::check() const {
  ST_CHECK(words >= 2 && features >= 1, InvalidInput,
           "words must be at least 2 and features at least 1, got ", words, " and ", features);
  const auto is_word = [&](std::int64_t id) { return id >= 0 && id < words; };
  ST_CHECK(is_word(begin) && is_word(end) && begin != end, InvalidInput,
           "begin and end must be different ids below ", words, ", got ", begin, " and ", end);
  ST_CHECK(sampled_words >= 0 && sampled_words <= words, InvalidInput,
           "sampled_words must be from 0 (all) to ", words, ", got ", sampled_words);
  ST_CHECK(sampled_words == 0 || label_smoothing == 0, InvalidInput,
           "label_smoothing and sampled_words cannot be combined: smoothing is over all words");
}

WordWriter::WordWriter(torch::nn::Module& owner, const WordWriterOptions& options, std::int64_t states)
    : options_(options) {
  options_.check();
  ST_CHECK(!options_.tied || states == options_.features, InvalidInput,
           "a tied softmax requires states with ", options_.features,
           " dimensions, as the word embeddings have, got ", states);
  table_ = owner.register_module(
      "table", std::make_shared<WordEmbedding>(options_.words, options_.features, options_.trainable_words));
  softmax_ = owner.register_module(
      "softmax", std::make_shared<WordSoftmax>(states, options_.words, options_.word_bias, options_.tied,
                                               options_.label_smoothing));
  if (options_.sampled_words > 0) {
    expected_ = owner.register_buffer(
        "expected", expected_counts(log_uniform_distribution(options_.words), options_.sampled_words));
  }
}

void WordWriter::set_word_counts(const Tensor& counts) {
  check_tensor("word counts", counts, Type::any, {options_.words});
  if (options_.sampled_words == 0) return;
  const at::NoGradGuard guard;
  // At least 1, so that words that never occurred are sampled as well.
  expected_.copy_(expected_counts(counts.to(at::kDouble).clamp_min(1), options_.sampled_words));
}

Tensor WordWriter::tied() const { return options_.tied ? table_->table() : Tensor(); }

Tensor WordWriter::end() const {
  const auto like = table_->table().options().dtype(at::kLong).requires_grad(false);
  return vectors(at::full({}, options_.end, like));
}

Tensor WordWriter::vectors(const Tensor& ids) const { return table_->forward(ids); }

Tensor WordWriter::logits(const Tensor& states) const { return softmax_->logits(states, tied()); }

Tensor WordWriter::first(std::int64_t sentences, const at::TensorOptions& like) const {
  return at::full({sentences}, options_.begin, like.dtype(at::kLong).requires_grad(false));
}

Tensor WordWriter::before(const Tensor& ids) const {
  return at::cat({first(ids.size(0), ids.options()).unsqueeze(1), ids}, 1).slice(1, 0, ids.size(1));
}

Sequences WordWriter::before(const Sequences& sentences) const {
  const Tensor& x = sentences.x;                                                         // [B, T, E]
  const Tensor begin = vectors(first(1, x.options())).to(x.scalar_type()).unsqueeze(1);  // [1, 1, E]
  return sentences.with(at::cat({begin.expand({x.size(0), 1, x.size(2)}), x}, 1).slice(1, 0, x.size(1)));
}

namespace {

/// Samples one word per row from the softmax of logits [B, V]. at::multinomial draws a random number for
/// every word, which took most of the time of a training that samples.
Tensor sample_words(const Tensor& logits) {
  const Tensor sums = logits.softmax(1, at::kFloat).cumsum(1);                      // [B, V]
  const Tensor threshold = at::rand_like(sums.slice(1, 0, 1)) * sums.slice(1, -1);  // [B, 1]
  const Tensor words = at::searchsorted(sums, threshold, /*out_int32=*/false, /*right=*/true);
  return words.squeeze(1).clamp_max(logits.size(1) - 1);
}

/// About `count` words. On a device there are at most so many that a sample is larger once in 10^15 times,
/// and -1 fills up the rest: the host does not wait for the number of words.
Negatives sample_negatives(const Tensor& expected, std::int64_t count) {
  if (expected.is_cpu()) return draw_negatives(expected);
  const double bound = static_cast<double>(count) + 8 * std::sqrt(static_cast<double>(count)) + 8;
  const Tensor chosen = at::rand_like(expected) < expected;  // [V]
  const std::int64_t size = std::min(expected.size(0), static_cast<std::int64_t>(bound));
  return {at::nonzero_static(chosen, size, /*fill_value=*/-1).squeeze(1), expected};
}

}  // namespace

Tensor WordWriter::drawn_before(Decoder& decoder, const DecoderMemory& source, const Tensor& ids,
                                double probability) const {
  ST_CHECK(probability >= 0 && probability <= 1, InvalidInput,
           "the probability of sampled words must be from 0 to 1, got ", probability);
  const at::NoGradGuard guard;
  const Tensor targets = before(ids);  // [B, T]
  if (probability == 0 || ids.size(1) < 2) return targets;
  auto [memory, cache] = decoder.start(source);
  Tensor words = targets.select(1, 0);  // [B]
  std::vector<Tensor> inputs{words};
  for (std::int64_t t = 1; t < ids.size(1); ++t) {
    DecoderStep step = decoder.step(words, memory, cache);
    cache = std::move(step.cache);
    const Tensor samples = sample_words(step.logits);  // [B]
    const Tensor is_sampled = at::rand(samples.sizes(), samples.options().dtype(at::kFloat)) < probability;
    words = at::where(is_sampled, samples, targets.select(1, t));
    inputs.push_back(words);
  }
  return at::stack(inputs, 1);
}

WrittenLoss WordWriter::loss(const Tensor& states, const Tensor& ids, const Tensor& mask,
                             bool training) const {
  // Sums: the caller divides, and the number of words need not be known here.
  if (training && options_.sampled_words > 0) {
    const Negatives others = sample_negatives(expected_.to(at::kFloat), options_.sampled_words);
    return {softmax_->sampled_loss(states, ids, others, mask, tied(), Reduction::sum), {}};
  }
  const SoftmaxLoss losses = softmax_->forward(states, ids, mask, tied(), Reduction::sum);
  return {losses.loss, losses.correct};
}

}  // namespace sentencode::nn
