#include "sentencode/nn/decoding.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "nn/checks.h"
#include "nn/decoding_kernels.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using Words = std::vector<std::int64_t>;

void check(const Tensor& first, const DecodingOptions& options) {
  check_tensor("decoding: first", first, Type::int64, {"batch"});
  TORCH_CHECK_VALUE(options.max_length >= 1, "decoding: max_length must be at least 1, got ",
                    options.max_length);
}

Tensor to_tensor(const Words& words, const at::Device& device) {
  return to_device(at::tensor(words, at::TensorOptions(at::kLong)), device);
}

/// Copies scores (double) and ids (int64) to the host, together, because each copy waits for the device.
std::pair<Tensor, Tensor> on_host(const Tensor& scores, const Tensor& ids) {
  if (scores.is_cpu()) return {scores, ids};
  const Tensor both = at::cat({scores.flatten(), ids.flatten().view(at::kDouble)}).cpu();
  const std::int64_t count = scores.numel();
  return {both.narrow(0, 0, count).view(scores.sizes()),
          both.narrow(0, count, ids.numel()).view(at::kLong).view(ids.sizes())};
}

void check_logits(const Tensor& logits, std::int64_t rows, const DecodingOptions& options) {
  check_tensor("decoding: logits", logits, Type::any, {rows, "words"});
  TORCH_CHECK_VALUE(options.end >= 0 && options.end < logits.size(1), "decoding: end must be from 0 to ",
                    logits.size(1) - 1, ", got ", options.end);
}

/// The log-softmax of logits is NaN if one of them is NaN or +inf, or all are -inf.
void check_log_p(double log_p) {
  ST_CHECK(
      !std::isnan(log_p), DivergedError,
      "decoding: the decoder's logits are not finite: its weights are damaged, or its training diverged");
}

/// A finished sentence.
struct Sentence {
  Words words;
  double score = 0;
  Words rows{};  // row of each word in the alignments of its step
};

/// The alignments of all steps; none if the decoder returns none.
class Alignments {
 public:
  void add(const Tensor& alignment, std::int64_t rows) {
    if (!alignment.defined()) return;
    check_tensor("decoding: alignment", alignment, Type::floating, {rows, "positions"});
    steps_.push_back(alignment.to(at::kCPU, at::kFloat).contiguous());
  }

  /// hypotheses[b][n] -> [B, n, L, S], for ids of the given sizes
  Tensor of(const std::vector<std::vector<Sentence>>& hypotheses, at::IntArrayRef ids) const {
    if (steps_.empty()) return {};
    std::int64_t positions = 0;  // decreases when the longest sentences are finished
    for (const Tensor& step : steps_) positions = std::max(positions, step.size(1));
    Tensor alignments = at::zeros({ids[0], ids[1], ids[2], positions}, at::kFloat);
    for (std::int64_t b = 0; b < ids[0]; ++b) {
      const auto& sentences = hypotheses[static_cast<std::size_t>(b)];
      for (std::int64_t n = 0; n < std::min(ids[1], std::ssize(sentences)); ++n) {
        const Sentence& sentence = sentences[static_cast<std::size_t>(n)];
        float* row = alignments.mutable_data_ptr<float>() + (b * ids[1] + n) * ids[2] * positions;
        for (std::size_t i = 0; i < sentence.words.size() && i < steps_.size(); ++i, row += positions) {
          const std::int64_t width = steps_[i].size(1);
          std::copy_n(steps_[i].const_data_ptr<float>() + sentence.rows[i] * width, width, row);
        }
      }
    }
    return alignments;
  }

 private:
  std::vector<Tensor> steps_;  // [N, S] each
};

std::vector<Tensor> select(const std::vector<Tensor>& tensors, const Tensor& index) {
  std::vector<Tensor> selected;
  for (const Tensor& tensor : tensors) selected.push_back(tensor.index_select(0, index));
  return selected;
}

/// The `best` of hypotheses[b], which are sorted.
Decoded collect(const std::vector<std::vector<Sentence>>& hypotheses, std::int64_t best, std::int64_t end,
                const Alignments& alignments) {
  std::size_t longest = 0;
  for (const auto& sentences : hypotheses) {
    for (const Sentence& sentence : sentences) longest = std::max(longest, sentence.words.size());
  }
  const auto batch = static_cast<std::int64_t>(hypotheses.size());
  Decoded decoded{at::full({batch, best, static_cast<std::int64_t>(longest)}, end, at::kLong),
                  at::full({batch, best}, -1, at::kLong),
                  at::full({batch, best}, kMinusInfinity, at::kDouble)};
  auto ids = decoded.ids.accessor<std::int64_t, 3>();
  auto lengths = decoded.lengths.accessor<std::int64_t, 2>();
  auto scores = decoded.scores.accessor<double, 2>();
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto& sentences = hypotheses[static_cast<std::size_t>(b)];
    for (std::int64_t n = 0; n < std::min(best, static_cast<std::int64_t>(sentences.size())); ++n) {
      const Sentence& sentence = sentences[static_cast<std::size_t>(n)];
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        ids[b][n][static_cast<std::int64_t>(i)] = sentence.words[i];
      }
      lengths[b][n] = static_cast<std::int64_t>(sentence.words.size());
      scores[b][n] = sentence.score;
    }
  }
  decoded.alignments = alignments.of(hypotheses, decoded.ids.sizes());
  return decoded;
}

/// Decodes with one hypothesis a sentence. choose(log p [N, V], rows) returns the next words [N] of the
/// sentences `rows`.
Decoded decode(Decoder& decoder, const DecoderMemory& source, const Tensor& first,
               const DecodingOptions& options,
               const std::function<Tensor(const Tensor&, const Words&)>& choose) {
  check(first, options);
  const at::NoGradGuard no_grad;
  const std::int64_t batch = first.size(0);
  std::vector<std::vector<Sentence>> hypotheses(static_cast<std::size_t>(batch), std::vector<Sentence>(1));
  Words rows(static_cast<std::size_t>(batch));  // unfinished sentences
  std::iota(rows.begin(), rows.end(), 0);
  auto [memory, cache] = decoder.start(source);
  Alignments alignments;
  Tensor ids = first;  // [N]
  for (std::int64_t length = 0; length < options.max_length && !rows.empty(); ++length) {
    poll_interrupt();
    DecoderStep step = decoder.step(ids, memory, cache);
    cache = std::move(step.cache);
    check_logits(step.logits, ids.size(0), options);
    alignments.add(step.alignment, ids.size(0));
    const Tensor log_p = step.logits.to(at::kFloat).log_softmax(1);  // [N, V]
    const Tensor chosen = choose(log_p, rows);                       // [N]
    const auto [scores, words] =
        on_host(log_p.gather(1, chosen.unsqueeze(1)).squeeze(1).to(at::kDouble), chosen);  // [N]
    Words open, index, next;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Sentence& sentence = hypotheses[static_cast<std::size_t>(rows[i])][0];
      const auto word = words.data_ptr<std::int64_t>()[i];
      check_log_p(scores.data_ptr<double>()[i]);
      sentence.score += scores.data_ptr<double>()[i];
      if (word == options.end) continue;
      sentence.words.push_back(word);
      sentence.rows.push_back(static_cast<std::int64_t>(i));
      open.push_back(rows[i]);
      index.push_back(static_cast<std::int64_t>(i));
      next.push_back(word);
    }
    if (open.size() < rows.size() && !open.empty()) {
      const Tensor unfinished = to_tensor(index, first.device());
      memory = select(memory, unfinished);
      cache = decoder.reorder(cache, unfinished);
    }
    rows = std::move(open);
    ids = to_tensor(next, first.device());
  }
  return collect(hypotheses, 1, options.end, alignments);
}

/// log p of the k most likely words of each row of logits [N, V], and their ids, most likely first.  [N, k]
/// each
std::pair<Tensor, Tensor> top_words(const Tensor& logits, std::int64_t k) {
  const Tensor z = logits.to(at::kFloat).contiguous();
  if (!z.is_cpu()) {
    auto [log_p, words] = z.log_softmax(1).topk(k, 1);
    return {log_p, words};
  }
  const std::int64_t rows = z.size(0), vocabulary = z.size(1);
  const Tensor log_p = at::empty({rows, k}, z.options()), words = at::empty({rows, k}, at::kLong);
  at::parallel_for(0, rows, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      most_likely(z.const_data_ptr<float>() + i * vocabulary, vocabulary, k,
                  log_p.mutable_data_ptr<float>() + i * k, words.mutable_data_ptr<std::int64_t>() + i * k);
    }
  });
  return {log_p, words};
}

/// The same for one word.
std::pair<Tensor, Tensor> only(const Tensor& logits, std::int64_t word) {
  const Tensor log_p = logits.to(at::kFloat).log_softmax(1).slice(1, word, word + 1);  // [N, 1]
  return {log_p, at::full_like(log_p, word, log_p.options().dtype(at::kLong))};
}

/// Beam search of one sentence.
struct Beam {
  struct Open {
    Words words;
    double log_p = 0;
    Words rows{};
  };
  std::vector<Open> open;          // `beam` unfinished hypotheses; some may be impossible (log p = -inf)
  std::vector<Sentence> finished;  // the best `beam` finished ones, best first
};

double divisor(const BeamOptions& beam, std::int64_t words) {
  return std::pow((5.0 + static_cast<double>(words)) / 6.0, beam.length_penalty);
}

void add_finished(Beam& state, Sentence sentence, std::int64_t most) {
  const auto position =
      std::ranges::upper_bound(state.finished, sentence.score, std::greater<>(), &Sentence::score);
  state.finished.insert(position, std::move(sentence));
  if (std::ssize(state.finished) > most) state.finished.pop_back();
}

/// Whether an open hypothesis can still become one of the best. Its log p can only decrease, and the divisor
/// is monotonic in the length, so that its score is at most that of the shortest or of the longest
/// continuation.
bool may_improve(const Beam& state, const BeamOptions& beam, const DecodingOptions& options,
                 std::int64_t length) {
  double most = kMinusInfinity;
  for (const auto& open : state.open) most = std::max(most, open.log_p);
  if (most == kMinusInfinity) return false;
  if (std::ssize(state.finished) < beam.best) return true;
  const double bound =
      std::max(most / divisor(beam, length + 1), most / divisor(beam, options.max_length + 1));
  return bound > state.finished[static_cast<std::size_t>(beam.best - 1)].score;
}

}  // namespace

DecoderCache Decoder::reorder(const DecoderCache& cache, const Tensor& index) { return select(cache, index); }

Decoded greedy_search(Decoder& decoder, const DecoderMemory& source, const Tensor& first,
                      const DecodingOptions& options) {
  return decode(decoder, source, first, options,
                [](const Tensor& log_p, const Words&) { return log_p.argmax(1); });
}

Decoded sample(Decoder& decoder, const DecoderMemory& source, const Tensor& first,
               const DecodingOptions& options, const SamplingOptions& sampling) {
  TORCH_CHECK_VALUE(sampling.temperature > 0, "sampling: temperature must be positive, got ",
                    sampling.temperature);
  TORCH_CHECK_VALUE(sampling.top_k >= 0, "sampling: top_k must not be negative, got ", sampling.top_k);
  TORCH_CHECK_VALUE(sampling.top_p > 0 && sampling.top_p <= 1,
                    "sampling: top_p must be greater than 0 and at most 1, got ", sampling.top_p);
  check(first, options);
  std::vector<std::int64_t> indices = sampling.indices;
  if (indices.empty()) {
    indices.resize(static_cast<std::size_t>(first.size(0)));
    std::iota(indices.begin(), indices.end(), 0);
  }
  TORCH_CHECK_VALUE(std::ssize(indices) == first.size(0), "sampling: indices must be those of ",
                    first.size(0), " sentences, got ", indices.size());
  std::vector<std::mt19937_64> generators;  // one per sentence
  for (const std::int64_t index : indices) {
    std::seed_seq seeds{static_cast<std::uint32_t>(sampling.seed),
                        static_cast<std::uint32_t>(sampling.seed >> 32), static_cast<std::uint32_t>(index)};
    generators.emplace_back(seeds);
  }
  const auto choose = [&](const Tensor& log_p, const Words& rows) {
    Tensor p = log_p / sampling.temperature, words;  // [N, V]
    if (sampling.top_k > 0 && sampling.top_k < p.size(1)) std::tie(p, words) = p.topk(sampling.top_k, 1);
    p = p.softmax(1, at::kDouble);  // [N, V or k]
    if (sampling.top_p < 1) {
      Tensor order;
      std::tie(p, order) = p.sort(1, /*descending=*/true);
      words = words.defined() ? words.gather(1, order) : order;
      p = p.masked_fill(p.cumsum(1) - p >= sampling.top_p, 0);  // keeps at least the most likely word
    }
    const Tensor sums = p.cumsum(1);  // [N, V or k]
    std::vector<double> uniform;
    for (const auto row : rows) {  // 53 bits; uniform_real_distribution differs between platforms
      uniform.push_back(static_cast<double>(generators[static_cast<std::size_t>(row)]() >> 11) * 0x1p-53);
    }
    const Tensor threshold = to_device(at::tensor(uniform, at::kDouble), sums.device()).unsqueeze(1) *
                             sums.slice(1, sums.size(1) - 1);                  // [N, 1]
    const Tensor index = (sums <= threshold).sum(1).clamp_max(p.size(1) - 1);  // [N]
    return words.defined() ? words.gather(1, index.unsqueeze(1)).squeeze(1) : index;
  };
  return decode(decoder, source, first, options, choose);
}

Decoded beam_search(Decoder& decoder, const DecoderMemory& source, const Tensor& first,
                    const DecodingOptions& options, const BeamOptions& beam) {
  check(first, options);
  TORCH_CHECK_VALUE(beam.beam >= 1 && beam.best >= 1 && beam.best <= beam.beam,
                    "beam_search: beam must be at least 1, and best from 1 to beam, got ", beam.beam, " and ",
                    beam.best);
  const at::NoGradGuard no_grad;
  const std::int64_t batch = first.size(0), width = beam.beam;
  std::vector<Beam> beams(static_cast<std::size_t>(batch),
                          Beam{.open = std::vector<Beam::Open>(1), .finished = {}});
  Words rows(static_cast<std::size_t>(batch));  // unfinished sentences
  std::iota(rows.begin(), rows.end(), 0);
  Alignments alignments;
  if (batch == 0) return collect({}, beam.best, options.end, alignments);
  auto [memory, cache] = decoder.start(source);
  Tensor ids = first;  // [B]

  for (std::int64_t length = 0;; ++length) {
    poll_interrupt();
    DecoderStep step = decoder.step(ids, memory, cache);
    cache = std::move(step.cache);
    const Tensor& logits = step.logits;  // [N H, V]
    check_logits(logits, ids.size(0), options);
    alignments.add(step.alignment, ids.size(0));
    const std::int64_t sentences = std::ssize(rows), hypotheses = length == 0 ? 1 : width;  // N, H
    std::vector<double> log_p_so_far;
    for (const auto row : rows) {
      for (const auto& open : beams[static_cast<std::size_t>(row)].open) log_p_so_far.push_back(open.log_p);
    }
    // 2 K candidates suffice for K open hypotheses, because at most one continuation of each ends it.
    const auto [log_p, words] = length < options.max_length
                                    ? top_words(logits, std::min(2 * width, logits.size(1)))
                                    : only(logits, options.end);  // [N H, k]
    const std::int64_t k = log_p.size(1);
    const Tensor before = to_device(at::tensor(log_p_so_far, at::kDouble), log_p.device());  // [N H]
    const Tensor all = (log_p + before.unsqueeze(1)).view({sentences, hypotheses * k});      // [N, H k]
    // Stable: of equally likely candidates the first one is chosen. topk would choose any.
    const auto [sorted, order] = all.sort(/*stable=*/true, 1, /*descending=*/true);
    const Tensor best = order.slice(1, 0, 2 * width);                                      // [N, 2 K]
    const Tensor best_words = words.reshape({sentences, hypotheses * k}).gather(1, best);  // [N, 2 K]
    const auto [host_scores, host_ids] =
        on_host(sorted.slice(1, 0, 2 * width), at::stack({best, best_words}));  // [N, 2 K], [2, N, 2 K]
    const auto score = host_scores.accessor<double, 2>();
    const auto candidate = host_ids.accessor<std::int64_t, 3>();

    Words unfinished_rows, unfinished, parents, next;
    for (std::int64_t i = 0; i < sentences; ++i) {
      Beam& state = beams[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
      std::vector<Beam::Open> open;
      Words its_parents, its_words;
      for (std::int64_t j = 0; j < score.size(1) && std::ssize(open) < width; ++j) {
        check_log_p(score[i][j]);
        if (score[i][j] == kMinusInfinity) break;
        const std::int64_t parent = candidate[0][i][j] / k, word = candidate[1][i][j];
        const Beam::Open& previous = state.open[static_cast<std::size_t>(parent)];
        if (word == options.end) {
          // Only among the best K, so that a beam of 1 is greedy search.
          if (j < width) {
            add_finished(state, {previous.words, score[i][j] / divisor(beam, length + 1), previous.rows},
                         width);
          }
          continue;
        }
        open.push_back({previous.words, score[i][j], previous.rows});
        open.back().words.push_back(word);
        open.back().rows.push_back(i * hypotheses + parent);
        its_parents.push_back(i * hypotheses + parent);
        its_words.push_back(word);
      }
      while (std::ssize(open) < width) {  // impossible hypotheses fill the beam
        open.push_back({{}, kMinusInfinity});
        its_parents.push_back(i * hypotheses);
        its_words.push_back(options.end);
      }
      state.open = std::move(open);
      if (length == options.max_length || !may_improve(state, beam, options, length + 1)) continue;
      unfinished_rows.push_back(rows[static_cast<std::size_t>(i)]);
      unfinished.push_back(i);
      parents.insert(parents.end(), its_parents.begin(), its_parents.end());
      next.insert(next.end(), its_words.begin(), its_words.end());
    }
    if (unfinished.empty()) break;
    if (unfinished.size() < rows.size()) memory = select(memory, to_tensor(unfinished, first.device()));
    rows = std::move(unfinished_rows);
    cache = decoder.reorder(cache, to_tensor(parents, first.device()));
    ids = to_tensor(next, first.device());
  }
  std::vector<std::vector<Sentence>> finished;
  for (Beam& state : beams) finished.push_back(std::move(state.finished));
  return collect(finished, beam.best, options.end, alignments);
}

Tensor score(Decoder& decoder, const DecoderMemory& source, const Tensor& first, const Tensor& ids,
             const Tensor& lengths) {
  check_tensor("score: ids", ids, Type::int64, {"batch", "time"});
  check_tensor("score: first", first, Type::any, {ids.size(0)});
  check_tensor("score: lengths", lengths, Type::any, {ids.size(0)});
  const at::NoGradGuard no_grad;
  auto [memory, cache] = decoder.start(source);
  Tensor words = first, sum = at::zeros(first.sizes(), first.options().dtype(at::kDouble));  // [B]
  for (std::int64_t t = 0; t < ids.size(1); ++t) {
    poll_interrupt();
    DecoderStep step = decoder.step(words, memory, cache);
    cache = std::move(step.cache);
    words = ids.select(1, t);
    const Tensor log_p = step.logits.to(at::kFloat).log_softmax(1).gather(1, words.unsqueeze(1)).squeeze(1);
    sum = sum + at::where(lengths > t, log_p.to(at::kDouble), 0.0);
  }
  check_log_p(sum.sum().item<double>());
  return sum;
}

}  // namespace sentencode::nn
