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

#include "nn/decoding_kernels.h"
#include "nn/to_device.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode::nn {
namespace {

using at::Tensor;

constexpr double kNever = -std::numeric_limits<double>::infinity();

using Words = std::vector<std::int64_t>;

void check(const Tensor& first, const DecodingOptions& options) {
  TORCH_CHECK_VALUE(first.dim() == 1 && first.scalar_type() == at::kLong,
                    "decoding: first must be int64 [batch], got ", first.dtype(), " ", first.sizes());
  TORCH_CHECK_VALUE(options.max_length >= 1, "decoding: max_length must be at least 1, got ",
                    options.max_length);
}

Tensor to_tensor(const Words& words, const at::Device& device) {
  return to_device(at::tensor(words, at::TensorOptions(at::kLong)), device);
}

/// Numbers (double) and whole numbers (int64) of a step, together: each copy waits for the device.
std::pair<Tensor, Tensor> on_host(const Tensor& numbers, const Tensor& whole) {
  if (numbers.is_cpu()) return {numbers, whole};
  const Tensor both = at::cat({numbers.flatten(), whole.flatten().view(at::kDouble)}).cpu();
  const std::int64_t count = numbers.numel();
  return {both.narrow(0, 0, count).view(numbers.sizes()),
          both.narrow(0, count, whole.numel()).view(at::kLong).view(whole.sizes())};
}

/// logits [N, V] of a step, which have to be what a decoder is to give.
void check_logits(const Tensor& logits, std::int64_t rows, const DecodingOptions& options) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && logits.size(0) == rows, "decoding: logits must be [", rows,
                    ", words], got ", logits.sizes());
  TORCH_CHECK_VALUE(options.end >= 0 && options.end < logits.size(1), "decoding: end must be from 0 to ",
                    logits.size(1) - 1, ", got ", options.end);
}

/// A row of logits with NaN or +inf, or of -inf alone, has no probabilities: its log-softmax is NaN
/// everywhere.
void check_log_p(double log_p) {
  ST_CHECK(
      !std::isnan(log_p), DivergedError,
      "decoding: the decoder's logits are not finite: its weights are damaged, or its training diverged");
}

/// A finished sentence.
struct Sentence {
  Words words;
  double score = 0;
  Words rows{};  // where its words' alignments stand, in those of each step
};

/// What words look at, step by step; nothing if the decoder does not say.
class Alignments {
 public:
  void add(const Tensor& alignment, std::int64_t rows) {
    if (!alignment.defined()) return;
    TORCH_CHECK_VALUE(alignment.dim() == 2 && alignment.size(0) == rows && alignment.is_floating_point(),
                      "decoding: an alignment must be floating point [", rows, ", places], got ",
                      alignment.sizes());
    steps_.push_back(alignment.to(at::kCPU, at::kFloat).contiguous());
  }

  /// -> [B, n, L, S], as many words as ids have
  Tensor of(const std::vector<std::vector<Sentence>>& found, at::IntArrayRef ids) const {
    if (steps_.empty()) return {};
    std::int64_t places = 0;  // a decoder may see fewer of them when the longest sentences have left
    for (const Tensor& step : steps_) places = std::max(places, step.size(1));
    Tensor result = at::zeros({ids[0], ids[1], ids[2], places}, at::kFloat);
    for (std::int64_t b = 0; b < ids[0]; ++b) {
      const auto& sentences = found[static_cast<std::size_t>(b)];
      for (std::int64_t n = 0; n < std::min(ids[1], std::ssize(sentences)); ++n) {
        const Sentence& sentence = sentences[static_cast<std::size_t>(n)];
        float* to = result.mutable_data_ptr<float>() + (b * ids[1] + n) * ids[2] * places;
        for (std::size_t i = 0; i < sentence.words.size() && i < steps_.size(); ++i, to += places) {
          const std::int64_t own = steps_[i].size(1);
          std::copy_n(steps_[i].const_data_ptr<float>() + sentence.rows[i] * own, own, to);
        }
      }
    }
    return result;
  }

 private:
  std::vector<Tensor> steps_;  // [N, S] each
};

DecoderMemory of_sentences(const DecoderMemory& memory, const Tensor& index) {
  DecoderMemory found;
  for (const Tensor& part : memory) found.push_back(part.index_select(0, index));
  return found;
}

Decoded collect(const std::vector<std::vector<Sentence>>& found, std::int64_t best, std::int64_t end,
                const Alignments& alignments) {
  std::size_t longest = 0;
  for (const auto& sentences : found) {
    for (const Sentence& sentence : sentences) longest = std::max(longest, sentence.words.size());
  }
  const auto batch = static_cast<std::int64_t>(found.size());
  Decoded result{at::full({batch, best, static_cast<std::int64_t>(longest)}, end, at::kLong),
                 at::full({batch, best}, -1, at::kLong), at::full({batch, best}, kNever, at::kDouble)};
  auto ids = result.ids.accessor<std::int64_t, 3>();
  auto lengths = result.lengths.accessor<std::int64_t, 2>();
  auto scores = result.scores.accessor<double, 2>();
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto& sentences = found[static_cast<std::size_t>(b)];
    for (std::int64_t n = 0; n < std::min(best, static_cast<std::int64_t>(sentences.size())); ++n) {
      const Sentence& sentence = sentences[static_cast<std::size_t>(n)];
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        ids[b][n][static_cast<std::int64_t>(i)] = sentence.words[i];
      }
      lengths[b][n] = static_cast<std::int64_t>(sentence.words.size());
      scores[b][n] = sentence.score;
    }
  }
  result.alignments = alignments.of(found, result.ids.sizes());
  return result;
}

/// One word a sentence each time: `choose(log p [N, V], rows)` gives [N] of the sentences `rows`.
Decoded one_by_one(Decoder& decoder, const DecoderMemory& given, const Tensor& first,
                   const DecodingOptions& options,
                   const std::function<Tensor(const Tensor&, const Words&)>& choose) {
  check(first, options);
  const at::NoGradGuard no_grad;
  const std::int64_t batch = first.size(0);
  std::vector<std::vector<Sentence>> found(static_cast<std::size_t>(batch), std::vector<Sentence>(1));
  Words rows(static_cast<std::size_t>(batch));  // sentences that are not finished
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  auto [memory, cache] = decoder.start(given);
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
    const auto [scores, on_cpu] =
        on_host(log_p.gather(1, chosen.unsqueeze(1)).squeeze(1).to(at::kDouble), chosen);  // [N]
    Words open, index, next;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Sentence& sentence = found[static_cast<std::size_t>(rows[i])][0];
      const auto word = on_cpu.data_ptr<std::int64_t>()[i];
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
      const Tensor left = to_tensor(index, first.device());
      memory = of_sentences(memory, left);
      cache = decoder.reorder(cache, left);
    }
    rows = std::move(open);
    ids = to_tensor(next, first.device());
  }
  return collect(found, 1, options.end, alignments);
}

/// log p of the k likeliest words of each row of logits [N, V], and which these are, the likeliest first.
/// [N, k] each
std::pair<Tensor, Tensor> likeliest(const Tensor& logits, std::int64_t k) {
  const Tensor of = logits.to(at::kFloat);
  if (!of.is_cpu()) {
    auto [log_p, words] = of.log_softmax(1).topk(k, 1);
    return {log_p, words};
  }
  const Tensor rows = of.contiguous(), log_p = at::empty({of.size(0), k}, of.options());
  const Tensor words = at::empty({of.size(0), k}, of.options().dtype(at::kLong));
  at::parallel_for(0, of.size(0), 8, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      most_likely(rows.const_data_ptr<float>() + i * of.size(1), of.size(1), k,
                  log_p.mutable_data_ptr<float>() + i * k, words.mutable_data_ptr<std::int64_t>() + i * k);
    }
  });
  return {log_p, words};
}

/// The like of one word alone.
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
  std::vector<Open> open;          // that go on: `beam` of them; some are impossible (log p of -inf)
  std::vector<Sentence> finished;  // the best `beam` of those that ended, best first
};

double divisor(const BeamOptions& beam, std::int64_t words) {
  return std::pow((5.0 + static_cast<double>(words)) / 6.0, beam.length_penalty);
}

void finish(Beam& found, Sentence sentence, std::int64_t most) {
  const auto place = std::upper_bound(found.finished.begin(), found.finished.end(), sentence,
                                      [](const Sentence& a, const Sentence& b) { return a.score > b.score; });
  found.finished.insert(place, std::move(sentence));
  if (static_cast<std::int64_t>(found.finished.size()) > most) found.finished.pop_back();
}

/// Whether an open hypothesis could still come before the best ones. Its log p can only fall; what divides it
/// is monotonic in its length, so that one of the two ends is the best it can hope for.
bool may_improve(const Beam& found, const BeamOptions& beam, const DecodingOptions& options,
                 std::int64_t length) {
  double most = kNever;
  for (const auto& open : found.open) most = std::max(most, open.log_p);
  if (most == kNever) return false;
  if (static_cast<std::int64_t>(found.finished.size()) < beam.best) return true;
  const double hope =
      std::max(most / divisor(beam, length + 1), most / divisor(beam, options.max_length + 1));
  return hope > found.finished[static_cast<std::size_t>(beam.best - 1)].score;
}

}  // namespace

DecoderCache Decoder::reorder(const DecoderCache& cache, const Tensor& index) {
  DecoderCache result;
  result.reserve(cache.size());
  for (const Tensor& part : cache) result.push_back(part.index_select(0, index));
  return result;
}

Decoded greedy_search(Decoder& decoder, const DecoderMemory& given, const Tensor& first,
                      const DecodingOptions& options) {
  return one_by_one(decoder, given, first, options,
                    [](const Tensor& log_p, const Words&) { return log_p.argmax(1); });
}

Decoded sample(Decoder& decoder, const DecoderMemory& given, const Tensor& first,
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
  std::vector<std::mt19937_64> numbers;  // a random stream for each sentence
  for (const std::int64_t index : indices) {
    std::seed_seq seeds{static_cast<std::uint32_t>(sampling.seed),
                        static_cast<std::uint32_t>(sampling.seed >> 32), static_cast<std::uint32_t>(index)};
    numbers.emplace_back(seeds);
  }
  const auto choose = [&](const Tensor& log_p, const Words& rows) {
    Tensor p = log_p / sampling.temperature, words;  // [N, V]
    if (sampling.top_k > 0 && sampling.top_k < p.size(1)) std::tie(p, words) = p.topk(sampling.top_k, 1);
    p = p.softmax(1, at::kDouble);  // [N, V or k]
    if (sampling.top_p < 1) {
      Tensor order;
      std::tie(p, order) = p.sort(1, /*descending=*/true);
      words = words.defined() ? words.gather(1, order) : order;
      p = p.masked_fill(p.cumsum(1) - p >= sampling.top_p, 0);  // the most likely one always stays
    }
    const Tensor sums = p.cumsum(1);  // [N, V or k]
    std::vector<double> drawn;
    for (const auto row : rows) {  // 53 bits: the same on every platform, as uniform_real_distribution is not
      drawn.push_back(static_cast<double>(numbers[static_cast<std::size_t>(row)]() >> 11) * 0x1p-53);
    }
    const Tensor drawn_at =
        to_device(at::tensor(drawn, at::TensorOptions(at::kDouble)), sums.device()).unsqueeze(1) *
        sums.slice(1, sums.size(1) - 1);                                      // [N, 1]
    const Tensor place = (sums <= drawn_at).sum(1).clamp_max(p.size(1) - 1);  // [N]
    return words.defined() ? words.gather(1, place.unsqueeze(1)).squeeze(1) : place;
  };
  return one_by_one(decoder, given, first, options, choose);
}

Decoded beam_search(Decoder& decoder, const DecoderMemory& given, const Tensor& first,
                    const DecodingOptions& options, const BeamOptions& beam) {
  check(first, options);
  TORCH_CHECK_VALUE(beam.beam >= 1 && beam.best >= 1 && beam.best <= beam.beam,
                    "beam_search: beam must be at least 1, and best from 1 to beam, got ", beam.beam, " and ",
                    beam.best);
  const at::NoGradGuard no_grad;
  const std::int64_t batch = first.size(0), width = beam.beam;
  std::vector<Beam> found(static_cast<std::size_t>(batch));
  Words rows;  // sentences that are not finished
  for (std::int64_t row = 0; row < batch; ++row) {
    found[static_cast<std::size_t>(row)].open.resize(1);  // all begin alike
    rows.push_back(row);
  }
  Alignments alignments;
  if (batch == 0) return collect({}, beam.best, options.end, alignments);
  auto [memory, cache] = decoder.start(given);
  Tensor ids = first;  // [B]

  for (std::int64_t length = 0;; ++length) {
    poll_interrupt();
    DecoderStep step = decoder.step(ids, memory, cache);
    cache = std::move(step.cache);
    const Tensor& logits = step.logits;  // [N H, V]
    check_logits(logits, ids.size(0), options);
    alignments.add(step.alignment, ids.size(0));
    const auto open = static_cast<std::int64_t>(rows.size());                   // N
    const std::int64_t words = logits.size(1), here = length == 0 ? 1 : width;  // H, hypotheses of a sentence
    std::vector<double> so_far;
    for (const auto row : rows) {
      for (const auto& hypothesis : found[static_cast<std::size_t>(row)].open) {
        so_far.push_back(hypothesis.log_p);
      }
    }
    // Twice as many as go on, as at most one of a hypothesis' followers is its end: of each, then of all.
    const auto [own, followers] = length < options.max_length ? likeliest(logits, std::min(2 * width, words))
                                                              : only(logits, options.end);  // [N H, k]
    const std::int64_t each = own.size(1);
    const Tensor before =
        to_device(at::tensor(so_far, at::TensorOptions(at::kDouble)), own.device());  // [N H]
    const Tensor all = (own + before.unsqueeze(1)).view({open, here * each});         // [N, H k]
    // Of equally likely ones the first come first: topk would take any.
    const auto [sorted, order] = all.sort(/*stable=*/true, 1, /*descending=*/true);
    const Tensor where = order.slice(1, 0, 2 * width);                                   // [N, 2 K]
    const Tensor words_there = followers.reshape({open, here * each}).gather(1, where);  // [N, 2 K]
    const auto [scores, whole] =
        on_host(sorted.slice(1, 0, 2 * width), at::stack({where, words_there}));  // [N, 2 K], [2, N, 2 K]
    const Tensor places = whole[0], chosen = whole[1];                            // [N, 2 K]
    const auto score = scores.accessor<double, 2>();
    const auto place = places.accessor<std::int64_t, 2>(), follower = chosen.accessor<std::int64_t, 2>();

    Words still, left, index, next;
    for (std::int64_t i = 0; i < open; ++i) {
      Beam& mine = found[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)])];
      std::vector<Beam::Open> going;
      Words parents, last;
      for (std::int64_t j = 0; j < scores.size(1) && static_cast<std::int64_t>(going.size()) < width; ++j) {
        check_log_p(score[i][j]);
        if (score[i][j] == kNever) break;
        const std::int64_t parent = place[i][j] / each, word = follower[i][j];
        const Beam::Open& from = mine.open[static_cast<std::size_t>(parent)];
        if (word == options.end) {
          // Among the best `beam` alone, so that a beam of one is the greedy search.
          if (j < width) {
            finish(mine, {from.words, score[i][j] / divisor(beam, length + 1), from.rows}, width);
          }
          continue;
        }
        going.push_back({from.words, score[i][j], from.rows});
        going.back().words.push_back(word);
        going.back().rows.push_back(i * here + parent);
        parents.push_back(i * here + parent);
        last.push_back(word);
      }
      while (static_cast<std::int64_t>(going.size()) < width) {  // impossible ones fill the beam
        going.push_back({{}, kNever});
        parents.push_back(i * here);
        last.push_back(options.end);
      }
      mine.open = std::move(going);
      if (length == options.max_length || !may_improve(mine, beam, options, length + 1)) continue;
      still.push_back(rows[static_cast<std::size_t>(i)]);
      left.push_back(i);
      index.insert(index.end(), parents.begin(), parents.end());
      next.insert(next.end(), last.begin(), last.end());
    }
    if (still.empty()) break;
    if (still.size() < rows.size()) memory = of_sentences(memory, to_tensor(left, first.device()));
    rows = std::move(still);
    cache = decoder.reorder(cache, to_tensor(index, first.device()));
    ids = to_tensor(next, first.device());
  }
  std::vector<std::vector<Sentence>> sentences;
  sentences.reserve(found.size());
  for (Beam& mine : found) sentences.push_back(std::move(mine.finished));
  return collect(sentences, beam.best, options.end, alignments);
}

Tensor score(Decoder& decoder, const DecoderMemory& given, const Tensor& first, const Tensor& ids,
             const Tensor& lengths) {
  TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == at::kLong && first.dim() == 1 &&
                        first.size(0) == ids.size(0) && lengths.sizes() == first.sizes(),
                    "score: ids must be int64 [batch, time], first and lengths [batch]; got ", ids.sizes(),
                    ", ", first.sizes(), " and ", lengths.sizes());
  const at::NoGradGuard no_grad;
  auto [memory, cache] = decoder.start(given);
  Tensor now = first, sum = at::zeros(first.sizes(), first.options().dtype(at::kDouble));  // [B]
  for (std::int64_t t = 0; t < ids.size(1); ++t) {
    poll_interrupt();
    DecoderStep step = decoder.step(now, memory, cache);
    cache = std::move(step.cache);
    now = ids.select(1, t);
    const Tensor log_p = step.logits.to(at::kFloat).log_softmax(1).gather(1, now.unsqueeze(1)).squeeze(1);
    sum = sum + at::where(lengths > t, log_p.to(at::kDouble), 0.0);
  }
  check_log_p(sum.sum().item<double>());
  return sum;
}

}  // namespace sentencode::nn
