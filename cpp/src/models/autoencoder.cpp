#include "sentencode/models/autoencoder.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <utility>

#include "sentencode/error.h"
#include "sentencode/nn/embedding.h"
#include "sentencode/nn/evaluating.h"
#include "sentencode/nn/softmax_loss.h"

namespace sentencode::models {

using at::Tensor;

void AutoencoderOptions::check() const {
  ST_CHECK(words >= 2 && features >= 1, InvalidInput,
           "words must be at least 2 and features at least 1, got ", words, " and ", features);
  const auto is_word = [&](std::int64_t id) { return id >= 0 && id < words; };
  ST_CHECK(is_word(begin) && is_word(end) && begin != end, InvalidInput, "begin and end must be two of the ",
           words, " words, got ", begin, " and ", end);
  ST_CHECK(sampled_words >= 0 && sampled_words <= words, InvalidInput,
           "sampled_words must be from 0 (all) to ", words, ", got ", sampled_words);
  ST_CHECK(sampled_words == 0 || label_smoothing == 0, InvalidInput,
           "label_smoothing and sampled_words exclude each other: smoothing is over all words");
}

Autoencoder::Autoencoder(const std::string& name, const AutoencoderOptions& options, std::int64_t dim,
                         std::int64_t states)
    : SentenceNetwork(name), options_(options), dim_(dim) {
  options_.check();
  table_ = register_module("table", std::make_shared<nn::WordEmbedding>(options_.words, options_.features,
                                                                        options_.trainable_words));
  softmax_ = register_module("softmax", std::make_shared<nn::WordSoftmax>(states, options_.words, true, false,
                                                                          options_.label_smoothing));
  if (options_.sampled_words > 0) {
    expected_ = register_buffer("expected", nn::expected_counts(nn::log_uniform_distribution(options_.words),
                                                                options_.sampled_words));
  }
}

void Autoencoder::set_word_counts(const Tensor& counts) {
  TORCH_CHECK_VALUE(counts.dim() == 1 && counts.size(0) == options_.words, "counts must be those of ",
                    options_.words, " words, got ", counts.sizes());
  if (options_.sampled_words == 0) return;
  const at::NoGradGuard guard;
  // A word that was never seen is drawn now and then all the same.
  expected_.copy_(nn::expected_counts(counts.to(at::kDouble).clamp_min(1), options_.sampled_words));
}

Tensor Autoencoder::end() const { return table_->table()[options_.end]; }

Tensor Autoencoder::vectors(const Tensor& ids) const { return table_->forward(ids); }

Tensor Autoencoder::logits(const Tensor& states) const { return softmax_->logits(states); }

training::Loss Autoencoder::loss(const training::TensorBatch& batch) {
  TORCH_CHECK_VALUE(batch.fields.size() == 1, "an autoencoder's batch has one field, the sentences; got ",
                    batch.fields.size());
  const auto& words = batch.fields[0];
  const Sequences sentences = Sequences::of(vectors(words.ids), words.lengths);
  const Tensor z = encode(nn::trains(*this) ? corrupted(sentences) : sentences);  // [B, dim]
  const Tensor h = decode(z, words_before(sentences));                            // [B, T, D]
  const auto tokens = static_cast<double>(words.tokens);
  if (nn::trains(*this) && options_.sampled_words > 0) {
    const nn::Negatives others = nn::draw_negatives(expected_.to(at::kFloat));
    return {softmax_->sampled_loss(h, words.ids, others, words.mask) * tokens, tokens, {}};
  }
  const nn::SoftmaxLoss found = softmax_->forward(h, words.ids, words.mask);
  return {found.loss * tokens, tokens, found.correct};
}

Sequences Autoencoder::words_before(const Sequences& sentences) const {
  const Tensor& x = sentences.x;  // [B, T, E]
  const Tensor first = vectors(at::full({1, 1}, options_.begin, x.options().dtype(at::kLong)));
  const Tensor begin = first.to(x.scalar_type()).expand({x.size(0), 1, x.size(2)});  // [B, 1, E]
  return Sequences::of(at::cat({begin, x}, 1).slice(1, 0, x.size(1)), sentences.lengths);
}

void Autoencoder::check_code(const Tensor& z) const {
  TORCH_CHECK_VALUE(z.dim() == 2 && z.size(1) == dim_, name(), ": z must be [batch, ", dim_, "], got ",
                    z.sizes());
}

nn::Decoded Autoencoder::reconstruct(const Tensor& z, const nn::DecodingOptions& options,
                                     const nn::BeamOptions& beam) {
  check_code(z);
  const Tensor first = at::full({z.size(0)}, options_.begin, z.options().dtype(at::kLong));
  nn::DecodingOptions with_end = options;
  with_end.end = options_.end;
  return beam.beam == 1 ? nn::greedy_search(*this, {z}, first, with_end)
                        : nn::beam_search(*this, {z}, first, with_end, beam);
}

}  // namespace sentencode::models
