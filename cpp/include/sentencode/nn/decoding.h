#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sentencode::nn {

/// The input of a decoder: tensors of the sentences, [B, ...]. It is constant during decoding, and not copied
/// for each hypothesis.
using DecoderMemory = std::vector<at::Tensor>;
/// The state of a decoder: tensors of the hypotheses, [N, ...]. N is a multiple of B; the hypotheses of a
/// sentence are adjacent.
using DecoderCache = std::vector<at::Tensor>;

struct DecoderStart {
  DecoderMemory memory;  // for the steps
  DecoderCache cache;    // one hypothesis per sentence
};

struct DecoderStep {
  at::Tensor logits;  // [N, V] of the next words
  DecoderCache cache;
  at::Tensor alignment{};  // [N, S] attention weights of each word, or undefined
};

/// A model that generates sentences word by word.
class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// The memory and the initial cache. `source` is the argument of the search.
  virtual DecoderStart start(const DecoderMemory& source) = 0;
  /// ids [N] int64, the previous words
  virtual DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory, const DecoderCache& cache) = 0;
  /// The cache of hypotheses `index` [M] int64, which may contain a hypothesis several times or not at all.
  virtual DecoderCache reorder(const DecoderCache& cache, const at::Tensor& index);
};

struct DecodingOptions {
  std::int64_t end = 0;           // the word that ends a sentence
  std::int64_t max_length = 100;  // words at most, without the end
};

struct SamplingOptions {
  double temperature = 1;  // logits are divided by it
  std::int64_t top_k = 0;  // samples from the k most likely words; 0: all
  double top_p = 1;        // samples from the fewest most likely words whose probabilities sum to top_p
  std::uint64_t seed = 0;
  std::vector<std::int64_t> indices{};  // of the sentences, for their random numbers; empty: 0, 1, ...
};

struct BeamOptions {
  std::int64_t beam = 5;      // K
  std::int64_t best = 1;      // hypotheses to return, at most `beam`
  double length_penalty = 0;  // a: scores are log p / ((5 + words) / 6)^a, where words include the end
};

/// Generated sentences, without the first word and the end.
struct Decoded {
  at::Tensor ids;      // [B, n, L] int64, padded with `end`
  at::Tensor lengths;  // [B, n] int64; -1 for hypotheses that do not exist
  at::Tensor scores;   // [B, n] double: log p, including that of the end; beam search: with length penalty
  at::Tensor alignments{};  // [B, n, L, S] float, zero at padding; undefined without alignments
};

/// Chooses the most likely word in each step; n = 1. first [B] int64: the begin symbol of each sentence.
Decoded greedy_search(Decoder& decoder, const DecoderMemory& source, const at::Tensor& first,
                      const DecodingOptions& options);

/// Samples words; n = 1. The random numbers of a sentence depend on the seed and the sentence's index alone,
/// not on the rest of the batch or the device.
Decoded sample(Decoder& decoder, const DecoderMemory& source, const at::Tensor& first,
               const DecodingOptions& options, const SamplingOptions& sampling);

/// Beam search; n = `best`. A sentence is finished, and leaves the batch, when no open hypothesis can become
/// one of its best. Hypotheses of max_length words are ended, and their scores include log p of the end.
Decoded beam_search(Decoder& decoder, const DecoderMemory& source, const at::Tensor& first,
                    const DecodingOptions& options, const BeamOptions& beam);

/// log p of sentences, ids [B, T] int64 including their ends, lengths [B] int64.  -> [B] double
at::Tensor score(Decoder& decoder, const DecoderMemory& source, const at::Tensor& first,
                 const at::Tensor& ids, const at::Tensor& lengths);

}  // namespace sentencode::nn
