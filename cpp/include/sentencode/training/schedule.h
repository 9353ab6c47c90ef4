#pragma once

#include <cstdint>
#include <span>

#include "sentencode/enum_names.h"

namespace sentencode::training {

/// Learning-rate schedule: a pure function of the step, the epoch and the scores of the validations so far.
struct Schedule {
  enum class Shape { constant, linear, cosine, inverse_sqrt };

  double rate = 1e-3;  // peak learning rate
  Shape shape = Shape::constant;
  std::int64_t warmup = 0;    // steps of linear warm-up from rate / warmup
  double warmup_spent = 0.0;  // fraction of a time limit at which the warm-up ends at the latest; 0: never
  std::int64_t steps = 0;     // linear and cosine: step of the end
  double end = 0.0;           // linear and cosine: fraction of `rate` at the end

  // Decay on plateaus of the score.
  double decay = 1.0;         // factor
  std::int64_t patience = 1;  // consecutive validations without improvement before each decay
  bool higher_is_better = false;

  double epoch_decay = 1.0;  // factor per epoch
  double least = 0.0;        // training ends below this rate, after the warm-up; 0: never

  bool has_end() const { return shape == Shape::linear || shape == Shape::cosine; }
  bool is_warm(std::int64_t step, double spent) const {
    return step >= warmup || (warmup_spent > 0 && spent >= warmup_spent);
  }

  /// Learning rate of step 0, 1, ...; `scores` are those of the validations before it. `spent` is the
  /// fraction of a time limit: a schedule with an end is there at the latest when it is 1.
  double at(std::int64_t step, std::span<const double> scores = {}, std::int64_t epoch = 0,
            double spent = 0) const;

  void check() const;  // InvalidInput names the member

  bool operator==(const Schedule&) const = default;
};
constexpr EnumNames<4> enum_names(Schedule::Shape) {
  return {"schedule", {"constant", "linear", "cosine", "inverse_sqrt"}};
}

struct ScoreSummary {
  std::int64_t best = -1;   // index of the first best score; -1: none
  std::int64_t misses = 0;  // validations since then
  std::int64_t decays = 0;  // how often `patience` consecutive misses were reached
  bool decayed = false;     // whether the last validation reached them
};
/// NaN is a miss.
ScoreSummary summarize(std::span<const double> scores, bool higher_is_better, std::int64_t patience);

}  // namespace sentencode::training
