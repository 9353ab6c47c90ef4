#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace sentencode::nn {

/// What a decoder knows between two words: tensors whose first dimension are the sentences.
using DecoderState = std::vector<at::Tensor>;

/// What writes a sentence word by word. The searches below know nothing else of a model.
class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  /// Before the first word.
  virtual DecoderState start(const DecoderState& memory) = 0;
  /// ids [N] int64, of the words before -> logits [N, V] of the next ones, state
  virtual std::pair<at::Tensor, DecoderState> step(const at::Tensor& ids, const DecoderState& state) = 0;
  /// The state of sentences `index` [M] int64; sentences may be there more than once, or not at all.
  virtual DecoderState reorder(const DecoderState& state, const at::Tensor& index);
};

struct DecodingOptions {
  std::int64_t end = 0;           // the word that ends a sentence
  std::int64_t max_length = 100;  // words at most, without the end
};

struct SamplingOptions {
  double temperature = 1;  // of the logits, which it divides
  std::int64_t top_k = 0;  // only the k most likely words; 0: all
  std::uint64_t seed = 0;
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
};

/// The most likely word each time. `first` [B] int64: the words that sentences are begun with; n is 1.
Decoded greedy_search(Decoder& decoder, const DecoderState& memory, const at::Tensor& first,
                      const DecodingOptions& options);

/// Words drawn as likely as they are. Each sentence has random numbers of its own, by the seed and its row:
/// they do not depend on the other sentences, nor on the device.
Decoded sample(Decoder& decoder, const DecoderState& memory, const at::Tensor& first,
               const DecodingOptions& options, const SamplingOptions& sampling);

/// The best `best` of the hypotheses that end. All sentences go together; those that are finished leave. A
/// sentence is finished when no hypothesis that is still open can come before its best ones. At max_length
/// words hypotheses have to end, and pay for it. n is `best`.
Decoded beam_search(Decoder& decoder, const DecoderState& memory, const at::Tensor& first,
                    const DecodingOptions& options, const BeamOptions& beam);

}  // namespace sentencode::nn
