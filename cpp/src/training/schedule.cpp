#include "sentencode/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sentencode/error.h"

namespace sentencode::training {
void Schedule::check() const {
  ST_CHECK(rate > 0 && std::isfinite(rate), InvalidInput, "learning_rate must be more than 0, got ", rate);
  ST_CHECK(warmup >= 0, InvalidInput, "warmup must not be negative, got ", warmup);
  ST_CHECK(warmup_spent >= 0 && warmup_spent < 1, InvalidInput, "warmup_spent must be in [0, 1), got ",
           warmup_spent);
  ST_CHECK(!has_end() || steps > warmup, InvalidInput, "schedule_steps must be more than warmup (", warmup,
           "), got ", steps);
  ST_CHECK(end >= 0 && end <= 1, InvalidInput, "schedule_end must be in [0, 1], got ", end);
  ST_CHECK(decay > 0 && decay <= 1, InvalidInput, "decay must be in (0, 1], got ", decay);
  ST_CHECK(epoch_decay > 0 && epoch_decay <= 1, InvalidInput, "epoch_decay must be in (0, 1], got ",
           epoch_decay);
  ST_CHECK(least >= 0 && least < rate, InvalidInput, "least_rate must be from 0 to below the rate of ", rate,
           ", got ", least);
  ST_CHECK(patience >= 1, InvalidInput, "patience must be at least 1, got ", patience);
}

double Schedule::at(std::int64_t step, std::span<const double> scores, std::int64_t epoch,
                    double spent) const {
  const auto power = [](double factor, std::int64_t exponent) {
    return factor == 1 ? 1.0 : std::pow(factor, static_cast<double>(exponent));
  };
  const double decayed = power(decay, decay == 1 ? 0 : summarize(scores, higher_is_better, patience).decays) *
                         power(epoch_decay, epoch);
  if (!is_warm(step, spent)) {
    const double by_steps = static_cast<double>(step + 1) / static_cast<double>(warmup);
    return rate * decayed * std::max(by_steps, warmup_spent > 0 ? spent / warmup_spent : 0.0);
  }
  if (shape == Shape::inverse_sqrt) {
    const auto from = static_cast<double>(std::max<std::int64_t>(1, warmup));
    const double by_time = warmup_spent > 0 ? from * spent / warmup_spent : 0;
    return rate * decayed * std::sqrt(from / std::max({from, static_cast<double>(step + 1), by_time}));
  }
  if (!has_end()) return rate * decayed;
  const double by_steps = static_cast<double>(step - warmup) / static_cast<double>(steps - warmup);
  const double by_time = (spent - warmup_spent) / (1 - warmup_spent);
  const double done = std::clamp(std::max(by_steps, by_time), 0.0, 1.0);
  const double left = shape == Shape::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return rate * decayed * (end + (1 - end) * left);
}

ScoreSummary summarize(std::span<const double> scores, bool higher_is_better, std::int64_t patience) {
  ScoreSummary summary;
  std::int64_t misses = 0;  // since the best, or since the last decay
  for (std::size_t i = 0; i < scores.size(); ++i) {
    summary.decayed = false;
    const double score = scores[i];
    const auto best = static_cast<std::size_t>(summary.best);
    if (!std::isnan(score) &&
        (summary.best < 0 || (higher_is_better ? score > scores[best] : score < scores[best]))) {
      summary.best = static_cast<std::int64_t>(i);
      summary.misses = misses = 0;
      continue;
    }
    ++summary.misses;
    if (++misses < patience) continue;
    ++summary.decays;
    summary.decayed = true;
    misses = 0;
  }
  return summary;
}

}  // namespace sentencode::training
