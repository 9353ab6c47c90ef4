#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sentencode::training {

/// The learning rate: a pure function of the step, and of the validations so far. Nothing of it needs to be
/// saved but these.
struct Schedule {
  enum class Shape { constant, linear, cosine, inverse_sqrt };

  double rate = 1e-3;  // the highest
  Shape shape = Shape::constant;
  std::int64_t warmup = 0;  // steps in which it rises to that, from a share of 1 / warmup
  std::int64_t steps = 0;   // of linear and cosine: after so many it is at its end
  double end = 0.0;         // share of `rate` that is left there

  // Where validation does not get better.
  double decay = 1.0;         // what a miss multiplies the rate by; 0.5 halves it
  std::int64_t patience = 1;  // misses in a row until then
  bool higher_is_better = false;

  double epoch_decay = 1.0;  // what each epoch multiplies it by
  double least = 0.0;        // the training ends where it falls below, after the warm-up; 0: never

  /// For step 0, 1, ... of an epoch; `scores` are those of the validations before it.
  double at(std::int64_t step, std::span<const double> scores = {}, std::int64_t epoch = 0) const;

  /// InvalidInput that names the member.
  void check() const;

  bool operator==(const Schedule&) const = default;
};

Schedule::Shape shape_named(std::string_view name);  // InvalidInput names the choices
std::string_view name_of(Schedule::Shape shape);

/// What a history of validations says.
struct Verdict {
  std::int64_t best = -1;   // the validation that was best, the first of equally good ones; -1 without any
  std::int64_t misses = 0;  // validations since then
  std::int64_t decays = 0;  // how often `patience` misses in a row were reached
  bool decayed = false;     // whether the last validation was such a one
};
/// A score that is not a number is a miss.
Verdict judge(std::span<const double> scores, bool higher_is_better, std::int64_t patience);

}  // namespace sentencode::training
