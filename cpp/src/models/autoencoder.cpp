#include "sentencode/models/autoencoder.h"

#include <ATen/Functions.h>

#include "sentencode/nn/evaluating.h"

namespace sentencode::models {

using at::Tensor;

training::Loss Autoencoder::loss(const training::TensorBatch& batch) {
  check_fields(batch, 1, "the sentences");
  const auto& words = batch.fields[0];
  const bool trains = nn::trains(*this);
  const Sequences sentences = words_of(words);
  const Tensor z = encode(trains ? corrupted(sentences) : sentences);  // [B, dim]
  const Tensor h = decode(z, writer().before(sentences));              // [B, T, D]
  const nn::WrittenLoss loss = writer().loss(h, words.ids, sentences.key_mask(), trains);
  return {loss.sum, static_cast<double>(words.tokens), loss.correct};
}

nn::Decoded Autoencoder::reconstruct(const Tensor& z, const nn::DecodingOptions& options,
                                     const nn::BeamOptions& beam) {
  check_code(z);
  const Tensor first = writer().first(z.size(0), z.options());
  nn::DecodingOptions with_end = options;
  with_end.end = writer().options().end;
  return beam.beam == 1 ? nn::greedy_search(*this, {z}, first, with_end)
                        : nn::beam_search(*this, {z}, first, with_end, beam);
}

}  // namespace sentencode::models
