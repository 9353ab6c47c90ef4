// A trainer's validations: each one happens as a whole or not at all.
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/training/trainer.h"
#include "training/loss_sums.h"

namespace sentencode::training {

/// JSON of what the scores measure.
std::string Trainer::metric() const {
  nlohmann::json metric{{"higher_is_better", options_.schedule.higher_is_better}};
  if (validator) {
    metric["metric"] = "a function";
  } else {
    metric["metric"] = options_.validate_accuracy ? "accuracy" : "loss";
    metric["valid"] = valid_->examples()->checksum();
    if (const std::string part = valid_->part(); !part.empty()) metric["numbers"] = part;
  }
  return metric.dump();
}

void Trainer::validate() {
  if (!validates()) {
    validations_.step = step_;
    return;
  }
  ValidationReport report = evaluate();
  run_uninterrupted([&] { commit(report); });
}

ValidationReport Trainer::evaluate() {
  ValidationReport report;
  report.step = step_;
  model_->eval();
  if (valid_ != nullptr) {
    const at::NoGradGuard guard;  // not InferenceMode: a model may cache tensors that a gradient reads later
    // The same random numbers in each validation, so that scores can be compared, also after a resume.
    seed_generators(std::numeric_limits<std::uint64_t>::max());
    LossSums sums(device_, model_->figures().size());
    for (std::int64_t i = 0; i < valid_->steps(); ++i) {
      poll_interrupt();
      const Batch batch = valid_->batch(0, i);
      if (batch.numbers.empty()) continue;
      try {
        sums.add(loss_of(batch));
      } catch (const c10::OutOfMemoryError& error) {
        throw_out_of_memory(error, batch, *valid_);
      }
    }
    const at::Tensor means = sums.means(*communicator_).cpu();
    const double* values = means.const_data_ptr<double>();
    report.loss = values[0];
    report.accuracy = values[1];
    report.figures.assign(values + 3, values + means.size(0));
    ST_CHECK(values[2] > 0, InvalidInput, "validation after step ", step_,
             ": the model's losses must have a count above 0, got 0");
    ST_CHECK(validator || !options_.validate_accuracy || !std::isnan(report.accuracy), InvalidInput,
             "metric is the accuracy, but the model's loss does not have it");
  }
  report.score = options_.validate_accuracy ? report.accuracy : report.loss;
  if (validator) {
    const at::Device device = communicator_->host_readable(device_);
    const at::Tensor score = at::zeros({}, at::device(device).dtype(at::kDouble));
    run_on_first_process("compute the metric", [&] { score.fill_(validator()); });
    communicator_->broadcast({score});
    report.score = score.item<double>();
  }
  model_->train();
  return report;
}

/// Afterwards the validation has happened, also if a callback throws. If anything fails before the callback,
/// nothing has changed.
void Trainer::commit(ValidationReport& report) {
  const Validations before = validations_;
  try {
    validations_.scores.push_back(rank_of(report));
    validations_.metric = metric();
    validations_.step = step_;
    validations_.unplanned = !is_validation_planned();
    const ScoreSummary now = summary();
    report.best = now.best == std::ssize(validations_.scores) - 1;
    report.decayed = now.decayed && options_.schedule.decay < 1;
    if (report.best) save_best();
    // A run that goes on from here forgets an unplanned validation, and needs the weights of before.
    if (report.decayed && options_.reload_best && !validations_.unplanned) load_best();
    published_scores_.set(validations_.scores);
  } catch (...) {
    validations_ = before;
    throw;
  }
  saved_step_ = -1;
  stopped_early_ = is_out_of_patience();
  if (on_validation) on_validation(report);
}

/// The score of a validation among others. The loss decides between equal accuracies, which few examples have
/// often; a plateau that changes the learning rate is one of the accuracy alone, as in the papers.
double Trainer::rank_of(const ValidationReport& report) const {
  constexpr double kTie = 1e-9;  // below the difference of two accuracies
  const bool ties = options_.validate_accuracy && !validator && options_.schedule.decay == 1;
  return ties && std::isfinite(report.loss) ? report.score - kTie * report.loss : report.score;
}

ScoreSummary Trainer::summary() const {
  return summarize(validations_.scores, options_.schedule.higher_is_better, options_.schedule.patience);
}

bool Trainer::is_out_of_patience() const {
  return options_.stop_after > 0 && summary().misses >= options_.stop_after;
}

/// A run without a break would not have validated here, and its learning rate would not depend on the score.
void Trainer::forget_last_score() {
  const bool was_best = summary().best == std::ssize(validations_.scores) - 1;
  validations_.scores.pop_back();
  validations_.unplanned = false;
  ST_CHECK(!was_best || !options_.reload_best || options_.schedule.decay == 1 || !find_best().empty(),
           InvalidInput, source(), ": this training ended after step ", step_,
           ", where no validation was planned, and its best weights are from there: with reload_best it "
           "cannot be resumed");
}

}  // namespace sentencode::training
