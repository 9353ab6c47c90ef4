#include "sentencode/vectors/frequencies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"

namespace sentencode {
namespace {

/// Simple lower case; words that are not UTF-8 are unchanged.
std::string lowered(std::string_view word) {
  if (find_invalid_utf8(word) != std::string_view::npos) return std::string(word);
  std::string lower(lowercase_bound(word.size()), '\0');
  lower.resize(lowercase_utf8(word, lower.data()));
  return lower;
}

/// Counts by lower-cased word.
struct Folded {
  StringTable words;
  std::vector<std::int64_t> counts;

  explicit Folded(const Vocabulary& vocabulary) {
    for (std::int64_t i = 0; i < vocabulary.size(); ++i) {
      const auto id = static_cast<std::size_t>(words.insert(lowered(vocabulary.words()[i])));
      if (id == counts.size()) counts.push_back(0);
      counts[id] += vocabulary.counts()[static_cast<std::size_t>(i)];
    }
  }
};

}  // namespace

Frequencies Frequencies::from_vocabulary(const WordVectors& vectors, const Vocabulary& vocabulary) {
  ST_CHECK(vocabulary.total() > 0, InvalidInput, "frequencies: no word was counted");
  const bool cased = vectors.cased();
  std::optional<Folded> folded;
  if (!cased) folded.emplace(vocabulary);
  const StringTable& words = cased ? vocabulary.words() : folded->words;
  const std::vector<std::int64_t>& counts = cased ? vocabulary.counts() : folded->counts;
  const auto share = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(vocabulary.total());
  };

  Frequencies result;
  result.probability.resize(static_cast<std::size_t>(vectors.rows()));
  for (std::int64_t i = 0; i < vectors.size(); ++i) {
    const std::string_view word = vectors.words()[i];
    std::int32_t id = words.find(word);
    if (id == StringTable::kMissing) id = words.find(lowered(word));
    if (id == StringTable::kMissing) continue;
    result.probability[static_cast<std::size_t>(i)] = share(counts[static_cast<std::size_t>(id)]);
  }
  for (const std::int64_t count : counts) result.counted.push_back(share(count));
  return result;
}

Frequencies Frequencies::from_counts(const WordVectors& vectors) {
  const auto counts = vectors.counts();
  ST_CHECK(!counts.empty(), InvalidInput, "frequencies: these word vectors carry no counts");
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  ST_CHECK(total > 0.0 && *std::min_element(counts.begin(), counts.end()) >= 0, InvalidInput,
           "frequencies: the counts of these word vectors must not be negative, nor all zero");
  Frequencies result;
  for (const std::int64_t count : counts) result.counted.push_back(static_cast<double>(count) / total);
  result.probability = result.counted;
  result.probability.resize(static_cast<std::size_t>(vectors.rows()));
  return result;
}

Frequencies Frequencies::zipf(const WordVectors& vectors) {
  Frequencies result;
  double total = 0.0;
  for (std::int64_t rank = 1; rank <= vectors.size(); ++rank) {
    result.counted.push_back(1.0 / (static_cast<double>(rank) + 2.7));
    total += result.counted.back();
  }
  for (double& p : result.counted) p /= total;
  result.probability = result.counted;
  result.probability.resize(static_cast<std::size_t>(vectors.rows()));
  return result;
}

std::vector<float> sif_weights(const Frequencies& frequencies, double a) {
  ST_CHECK(a > 0.0 && std::isfinite(a), InvalidInput, "a must be a positive number, got ", a);
  std::vector<float> weights;
  for (const double p : frequencies.probability) weights.push_back(static_cast<float>(a / (a + p)));
  return weights;
}

std::vector<float> usif_weights(const Frequencies& frequencies, double sentence_length) {
  ST_CHECK(sentence_length >= 1.0 && std::isfinite(sentence_length), InvalidInput,
           "the mean length of a sentence must be at least 1, got ", sentence_length);
  ST_CHECK(!frequencies.counted.empty(), InvalidInput, "frequencies: no word was counted");
  const auto words = static_cast<double>(frequencies.counted.size());
  const double threshold = 1.0 - std::pow(1.0 - 1.0 / words, sentence_length);
  double frequent = 0.0, smallest = std::numeric_limits<double>::max();
  for (const double p : frequencies.counted) {
    frequent += p > threshold;
    if (p > 0.0) smallest = std::min(smallest, p);
  }
  const double alpha = std::max(1.0, frequent) / words;
  const double a = (1.0 - alpha) / (alpha * words / 2.0);
  std::vector<float> weights;
  for (const double p : frequencies.probability) {
    // V = 1 gives a = 0, and 0 / p: use the limit.
    weights.push_back(a > 0.0 ? static_cast<float>(a / (a / 2.0 + (p > 0.0 ? p : smallest))) : 2.0F);
  }
  return weights;
}

}  // namespace sentencode
