#include "sentencode/training/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>

#include "sentencode/error.h"

namespace sentencode::training {
namespace {

constexpr std::array<std::string_view, 4> kShapes = {"constant", "linear", "cosine", "inverse_sqrt"};

}  // namespace

std::string_view name_of(Schedule::Shape shape) { return kShapes[static_cast<std::size_t>(shape)]; }

Schedule::Shape shape_named(std::string_view name) {
  const auto* const place = std::ranges::find(kShapes, name);
  ST_CHECK(place != kShapes.end(), InvalidInput,
           "schedule must be 'constant', 'linear', 'cosine' or 'inverse_sqrt', got '", name, "'");
  return static_cast<Schedule::Shape>(place - kShapes.begin());
}

void Schedule::check() const {
  ST_CHECK(rate > 0 && std::isfinite(rate), InvalidInput, "learning rate must be positive, got ", rate);
  ST_CHECK(warmup >= 0, InvalidInput, "warmup must not be negative, got ", warmup);
  const bool ends = shape == Shape::linear || shape == Shape::cosine;
  ST_CHECK(!ends || steps > warmup, InvalidInput, "steps of a ", name_of(shape),
           " schedule must be more than its warmup of ", warmup, ", got ", steps);
  ST_CHECK(end >= 0 && end <= 1, InvalidInput, "end must be a share of the rate, 0 to 1, got ", end);
  ST_CHECK(decay > 0 && decay <= 1, InvalidInput, "decay must be above 0 and at most 1, got ", decay);
  ST_CHECK(epoch_decay > 0 && epoch_decay <= 1, InvalidInput,
           "epoch_decay must be above 0 and at most 1, got ", epoch_decay);
  ST_CHECK(least >= 0 && least < rate, InvalidInput, "least_rate must be from 0 to below the rate of ", rate,
           ", got ", least);
  ST_CHECK(patience >= 1, InvalidInput, "patience must be at least 1, got ", patience);
}

double Schedule::at(std::int64_t step, std::span<const double> scores, std::int64_t epoch) const {
  double after = decay == 1
                     ? 1.0
                     : std::pow(decay, static_cast<double>(judge(scores, higher_is_better, patience).decays));
  if (epoch_decay < 1) after *= std::pow(epoch_decay, static_cast<double>(epoch));
  if (step < warmup) return rate * after * static_cast<double>(step + 1) / static_cast<double>(warmup);
  switch (shape) {
    case Shape::constant:
      return rate * after;
    case Shape::inverse_sqrt: {
      const auto from = static_cast<double>(std::max<std::int64_t>(1, warmup));
      return rate * after * std::sqrt(from / std::max(from, static_cast<double>(step + 1)));
    }
    case Shape::linear:
    case Shape::cosine: {
      const double done =
          std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
      const double left = shape == Shape::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
      return rate * after * (end + (1 - end) * left);
    }
  }
  return rate * after;
}

Verdict judge(std::span<const double> scores, bool higher_is_better, std::int64_t patience) {
  Verdict found;
  std::int64_t row = 0;  // misses since the best, or since the last decay
  for (std::size_t i = 0; i < scores.size(); ++i) {
    found.decayed = false;
    const double score = scores[i];
    const auto best = static_cast<std::size_t>(found.best);
    const bool better = !std::isnan(score) &&
                        (found.best < 0 || (higher_is_better ? score > scores[best] : score < scores[best]));
    if (better) {
      found.best = static_cast<std::int64_t>(i);
      found.misses = row = 0;
      continue;
    }
    ++found.misses;
    if (++row == patience) {
      ++found.decays;
      found.decayed = true;
      row = 0;
    }
  }
  return found;
}

}  // namespace sentencode::training
