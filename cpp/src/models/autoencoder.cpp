#include "sentencode/models/autoencoder.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

Autoencoder::Autoencoder(const std::string& name, const AutoencoderOptions& words, std::int64_t dim,
                         std::int64_t states)
    : SentenceNetwork(name), dim_(dim), writer_(*this, words, states) {}

WordInputs Autoencoder::word_inputs() const {
  const AutoencoderOptions& options = writer_.options();
  return {.ids = options.trainable_words ? options.words : 0};
}

Tensor Autoencoder::word_rows(const Words& words) {
  const Tensor rows = writer_.vectors(words.ids.clamp_min(0));           // [W, E]
  return at::where((words.ids >= 0).unsqueeze(1), rows, words.vectors);  // [W, E]
}

training::Loss Autoencoder::loss(const training::TensorBatch& batch) {
  TORCH_CHECK_VALUE(batch.fields.size() == 1, "an autoencoder's batch has one field, the sentences; got ",
                    batch.fields.size());
  const auto& words = batch.fields[0];
  const bool trains = nn::trains(*this);
  const Sequences sentences = Sequences::of(writer_.vectors(words.ids), words.lengths, words.full);
  const Tensor z = encode(trains ? corrupted(sentences) : sentences);  // [B, dim]
  const Tensor h = decode(z, writer_.before(sentences));               // [B, T, D]
  const nn::WrittenLoss found = writer_.loss(h, words.ids, sentences.key_mask(), trains);
  return {found.sum, static_cast<double>(words.tokens), found.correct};
}

void Autoencoder::check_code(const Tensor& z) const {
  TORCH_CHECK_VALUE(z.dim() == 2 && z.size(1) == dim_, name(), ": z must be [batch, ", dim_, "], got ",
                    z.sizes());
}

nn::Decoded Autoencoder::reconstruct(const Tensor& z, const nn::DecodingOptions& options,
                                     const nn::BeamOptions& beam) {
  check_code(z);
  const Tensor first = writer_.first(z.size(0), z.options());
  nn::DecodingOptions with_end = options;
  with_end.end = writer_.options().end;
  return beam.beam == 1 ? nn::greedy_search(*this, {z}, first, with_end)
                        : nn::beam_search(*this, {z}, first, with_end, beam);
}

}  // namespace sentencode::models
