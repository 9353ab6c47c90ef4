#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sentencode::nn {

/// What a decoder writes from: tensors of the sentences, [B, ...]. It stays what it is while they are
/// written, and no search copies it for each hypothesis.
using DecoderMemory = std::vector<at::Tensor>;
/// What changes with each word: tensors of the hypotheses, [N, ...]. N is B times how many a sentence has;
/// those of a sentence stand together.
using DecoderCache = std::vector<at::Tensor>;

struct DecoderStart {
  DecoderMemory memory;  // of the steps: what was given, or what was made of it
  DecoderCache cache;    // one hypothesis a sentence
};

struct DecoderStep {
  at::Tensor logits;  // [N, V] of the next words
  DecoderCache cache;
  at::Tensor alignment{};  // [N, S] what each word looks at; undefined where there is no such thing
};

/// What writes a sentence word by word. The searches below know nothing else of a model.
class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// Before the first word.
  virtual DecoderStart start(const DecoderMemory& given) = 0;
  /// ids [N] int64, of the words before
  virtual DecoderStep step(const at::Tensor& ids, const DecoderMemory& memory, const DecoderCache& cache) = 0;
  /// The cache of hypotheses `index` [M] int64; they may be there more than once, or not at all.
  virtual DecoderCache reorder(const DecoderCache& cache, const at::Tensor& index);
};

struct DecodingOptions {
  std::int64_t end = 0;           // the word that ends a sentence
  std::int64_t max_length = 100;  // words at most, without the end
};

struct SamplingOptions {
  double temperature = 1;  // of the logits, which it divides
  std::int64_t top_k = 0;  // only the k most likely words; 0: all
  double top_p = 1;        // of these the fewest, most likely ones that have so much of the probability
  std::uint64_t seed = 0;
  std::vector<std::int64_t> indices{};  // of the sentences, one random stream each; empty: their rows
};

struct BeamOptions {
  std::int64_t beam = 5;
  std::int64_t best = 1;      // hypotheses that are returned, at most `beam`
  double length_penalty = 0;  // a: scores are log p / ((5 + words) / 6)^a, the end being a word
};

/// Sentences, without the first word that they were begun with and without their ends.
struct Decoded {
  at::Tensor ids;      // [B, n, L] int64, filled up with `end`
  at::Tensor lengths;  // [B, n] int64; -1 where there are fewer hypotheses than were asked for
  at::Tensor scores;   // [B, n] double: log p, of the end too if it came; for a beam as its penalty has it
  at::Tensor alignments{};  // [B, n, L, S] float: of each word, zero behind the last; undefined as in a step
};

/// The most likely word each time. `first` [B] int64: the words that sentences are begun with; n is 1.
Decoded greedy_search(Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first,
                      const DecodingOptions& options);

/// Samples words from their probabilities. The random numbers of a sentence depend on the seed and the
/// sentence's index alone, not on the rest of the batch or the device.
Decoded sample(Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first,
               const DecodingOptions& options, const SamplingOptions& sampling);

/// The best `best` of the hypotheses that end. All sentences go together; those that are finished leave. A
/// sentence is finished when no hypothesis that is still open can come before its best ones. At max_length
/// words hypotheses have to end, and pay for it. n is `best`.
Decoded beam_search(Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first,
                    const DecodingOptions& options, const BeamOptions& beam);

/// log p of given sentences, ids [B, T] int64 with their ends, lengths [B] int64.  -> [B] double
at::Tensor score(Decoder& decoder, const DecoderMemory& memory, const at::Tensor& first,
                 const at::Tensor& ids, const at::Tensor& lengths);

}  // namespace sentencode::nn
