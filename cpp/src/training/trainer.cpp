#include "sentencode/training/trainer.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/training/permutation.h"

namespace sentencode::training {
namespace {

using nlohmann::json;

/// What the losses of some batches come to.
class Sums {
 public:
  explicit Sums(at::Device device)
      : sum_(at::zeros({}, at::device(device).dtype(at::kDouble))), right_(sum_) {}

  void add(const Loss& loss) {
    sum_ = sum_ + loss.sum.detach();
    if (loss.right.defined()) right_ = right_ + loss.right;
    counted_ &= loss.right.defined();
    count_ += loss.count;
  }

  struct Means {
    double loss, accuracy, count;
  };
  /// Over all processes; one look at the device's memory.
  Means means(distributed::Communicator& others) const {
    const at::Tensor count = at::full_like(sum_, count_), told = at::full_like(sum_, counted_ ? 1.0 : 0.0);
    at::Tensor all = at::stack({sum_, right_, count, told}).to(at::kDouble);
    others.all_reduce_mean({all});
    all = all.cpu();
    const double* number = all.const_data_ptr<double>();
    const double accuracy = number[3] == 1 ? number[1] / number[2] : std::numeric_limits<double>::quiet_NaN();
    return {number[0] / number[2], accuracy, number[2] * others.size()};
  }

 private:
  at::Tensor sum_, right_;  // [] double
  double count_ = 0;
  bool counted_ = true;  // whether all told what was right
};

NamedTensors named_parameters(const torch::nn::Module& model) {
  NamedTensors found;
  for (const auto& item : model.named_parameters()) found.emplace_back(item.key(), item.value());
  return found;
}

at::Device device_of(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  ST_CHECK(!parameters.empty(), InvalidInput, "the model has no parameters");
  return parameters.front().device();
}

std::shared_ptr<distributed::Communicator> or_alone(std::shared_ptr<distributed::Communicator> communicator) {
  return communicator ? std::move(communicator) : distributed::local_communicator();
}

}  // namespace

TensorBatch to_tensors(const Batch& batch, at::Device device) {
  TensorBatch found;
  found.size = std::ssize(batch.numbers);
  const auto to = [&](const auto& values, at::ScalarType type, std::vector<std::int64_t> shape) {
    // from_blob wants memory that may be written; nobody writes before it is copied.
    using Value = typename std::decay_t<decltype(values)>::value_type;
    return at::from_blob(const_cast<Value*>(values.data()), shape, type)
        .to(device, type, false, /*copy=*/true);
  };
  for (const BatchField& field : batch.fields) {
    TokenTensors tokens;
    tokens.ids = to(field.ids, at::kLong, {found.size, field.width});
    tokens.lengths = to(field.lengths, at::kLong, {found.size});
    tokens.tokens = std::accumulate(field.lengths.begin(), field.lengths.end(), std::int64_t{0});
    tokens.mask =
        at::arange(field.width, tokens.lengths.options()).unsqueeze(0) < tokens.lengths.unsqueeze(1);
    found.fields.push_back(std::move(tokens));
  }
  if (!batch.int_labels.empty()) found.labels = to(batch.int_labels, at::kLong, {found.size});
  if (!batch.float_labels.empty()) found.labels = to(batch.float_labels, at::kFloat, {found.size});
  return found;
}

void TrainerOptions::check() const {
  optimizer.check();
  schedule.check();
  ST_CHECK(max_steps >= 0 && max_epochs >= 0 && max_steps + max_epochs > 0, InvalidInput,
           "max_steps and max_epochs must not be negative, and one of them must bound the training; got ",
           max_steps, " and ", max_epochs);
  ST_CHECK(accumulate >= 1, InvalidInput, "accumulate must be at least 1, got ", accumulate);
  ST_CHECK(validate_every >= 0, InvalidInput, "validate_every must not be negative, got ", validate_every);
  ST_CHECK(save_every >= 0, InvalidInput, "save_every must not be negative, got ", save_every);
  ST_CHECK(stop_after >= 0, InvalidInput, "stop_after must not be negative, got ", stop_after);
  ST_CHECK(bad_steps >= 0, InvalidInput, "bad_steps must not be negative, got ", bad_steps);
  ST_CHECK(clipping.global_norm >= 0 && clipping.each_norm >= 0, InvalidInput,
           "norms that gradients are clipped at must not be negative, got ", clipping.global_norm, " and ",
           clipping.each_norm);
}

Trainer::Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Batcher> train,
                 std::shared_ptr<const Batcher> valid, TrainerOptions options,
                 std::shared_ptr<distributed::Communicator> communicator,
                 std::optional<CheckpointFolder> checkpoints)
    : model_(std::move(model)),
      train_(std::move(train)),
      valid_(std::move(valid)),
      options_(std::move(options)),
      communicator_(or_alone(std::move(communicator))),
      checkpoints_(std::move(checkpoints)),
      optimizer_(named_parameters(*model_), options_.optimizer),
      device_(device_of(*model_)) {
  options_.check();
  ST_CHECK(train_ != nullptr, InvalidInput, "there are no examples to train on");
  const auto& sharing = train_->options();
  ST_CHECK(sharing.rank == communicator_->rank() && sharing.world == communicator_->size(), InvalidInput,
           "batches are those of process ", sharing.rank, " of ", sharing.world, ", this is ",
           communicator_->rank(), " of ", communicator_->size());
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : weights()) all.push_back(tensor);
  const at::NoGradGuard guard;
  communicator_->broadcast(all);
}

Trainer::~Trainer() = default;

NamedTensors Trainer::weights() const {
  NamedTensors found = named_parameters(*model_);
  for (const auto& item : model_->named_buffers()) found.emplace_back(item.key(), item.value());
  return found;
}

std::int64_t Trainer::last_step() const {
  const std::int64_t batches = train_->steps() * options_.max_epochs;
  const std::int64_t by_epochs = (batches + options_.accumulate - 1) / options_.accumulate;
  if (options_.max_epochs == 0) return options_.max_steps;
  return options_.max_steps == 0 ? by_epochs : std::min(by_epochs, options_.max_steps);
}

void Trainer::run() {
  const std::int64_t last = last_step();
  const auto reached = [&](std::int64_t every) { return every > 0 && step_ % every == 0; };
  const std::int64_t drawn = step_ * options_.accumulate;
  BatchLoader batches(train_, {drawn / train_->steps(), drawn % train_->steps()});
  try {
    while (step_ < last && !stopped_early_) {
      const std::int64_t epoch = step_ * options_.accumulate / train_->steps();
      const StepReport report = train_step(batches);
      const bool ends_epoch = step_ * options_.accumulate / train_->steps() > epoch || step_ == last;
      if (options_.validate_every == 0 ? ends_epoch : reached(options_.validate_every) || step_ == last) {
        validate();
        if (options_.save_every == 0) save();
      }
      if (reached(options_.save_every) || (options_.save_every > 0 && step_ == last)) save();
      if (on_step) on_step(report);
    }
  } catch (...) {
    // Whoever stops it finds it where it was: a step that failed was not counted, nor were weights moved.
    const std::exception_ptr error = std::current_exception();
    try {
      save();
    } catch (const std::exception&) {  // the first error tells more
    }
    std::rethrow_exception(error);
  }
}

StepReport Trainer::train_step(BatchLoader& batches) {
  model_->train();
  // Dropout of a step depends on nothing that came before.
  at::manual_seed(mixed(mixed(options_.seed, static_cast<std::uint64_t>(step_)),
                        static_cast<std::uint64_t>(communicator_->rank())));
  optimizer_.zero_grad();
  StepReport report;
  Sums sums(device_);
  std::string numbers;  // of the batches, for a message
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    const Batch batch = batches.next();
    if (i == 0) report.epoch = batch.epoch;
    numbers += concat(i == 0 ? "" : ", ", batch.step, " of epoch ", batch.epoch);
    report.examples += batch.total;
    for (const BatchField& field : batch.fields) report.tokens += field.tokens;
    if (batch.numbers.empty()) continue;  // fewer examples than processes
    const Loss loss = model_->loss(to_tensors(batch, device_));
    loss.sum.backward();
    sums.add(loss);
  }
  // A sum's gradient over all processes, divided by what counts in all of them.
  const auto world = static_cast<double>(communicator_->size());
  const auto [loss, accuracy, count] = sums.means(*communicator_);
  report.loss = loss;
  report.accuracy = accuracy;
  {
    const at::NoGradGuard guard;
    std::vector<at::Tensor> gradients;
    for (const auto& [name, tensor] : optimizer_.parameters()) {
      if (!tensor.grad().defined()) {
        if (world == 1) continue;
        tensor.mutable_grad() = at::zeros_like(tensor);  // others may have one
      }
      gradients.push_back(tensor.grad());
    }
    communicator_->all_reduce_mean(gradients);
    if (!gradients.empty()) at::_foreach_mul_(gradients, world / count);
  }
  report.rate = options_.schedule.at(step_, scores_);
  report.norm = clip(optimizer_.parameters(), options_.clipping);
  if (std::isfinite(report.loss) && std::isfinite(report.norm)) {
    bad_ = 0;
    optimizer_.step(report.rate);
  } else {
    ++bad_;
    ST_CHECK(bad_ <= options_.bad_steps, InvalidInput, "step ", step_ + 1, ", batch ", numbers,
             ": the loss is ", report.loss, ", the gradients' norm ", report.norm,
             bad_ > 1 ? concat("; so it was in the ", bad_ - 1, " steps before") : std::string(),
             ". A lower learning rate, or gradients clipped at a lower norm, may help");
  }
  report.step = ++step_;
  return report;
}

void Trainer::validate() {
  ValidationReport report;
  report.step = step_;
  if (valid_ != nullptr) {
    const at::NoGradGuard guard;  // what a model keeps from it may meet a gradient later
    model_->eval();
    Sums sums(device_);
    for (std::int64_t i = 0; i < valid_->steps(); ++i) {
      const Batch batch = valid_->batch(0, i);
      if (batch.numbers.empty()) continue;
      sums.add(model_->loss(to_tensors(batch, device_)));
    }
    const auto means = sums.means(*communicator_);
    report.loss = means.loss;
    report.accuracy = means.accuracy;
    model_->train();
  }
  if (!validator && valid_ == nullptr) return;
  report.score = validator ? validator() : options_.validate_accuracy ? report.accuracy : report.loss;
  scores_.push_back(report.score);
  const Verdict verdict = judge(scores_, options_.schedule.higher_is_better, options_.schedule.patience);
  report.best = verdict.best == std::ssize(scores_) - 1;
  report.decayed = verdict.decayed && options_.schedule.decay < 1;
  if (report.best && checkpoints_ && communicator_->rank() == 0) checkpoints_->save_best(checkpoint());
  if (report.decayed && options_.reload_best && checkpoints_) {
    communicator_->barrier();
    if (const auto best = checkpoints_->best()) load_weights(*best);
  }
  stopped_early_ = options_.stop_after > 0 && verdict.misses >= options_.stop_after;
  if (on_validation) on_validation(report);
}

void Trainer::save() const {
  if (checkpoints_ && communicator_->rank() == 0) checkpoints_->save(checkpoint());
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint found;
  found.step = step_;
  found.add("model", weights());
  found.add("optimizer", optimizer_.state());
  json scores = json::array();  // JSON has no NaN
  for (const double score : scores_) scores.push_back(std::isfinite(score) ? json(score) : json(nullptr));
  found.state = json{{"scores", scores}, {"stopped_early", stopped_early_}}.dump();
  return found;
}

void Trainer::load_weights(const Checkpoint& checkpoint) {
  const at::NoGradGuard guard;
  const auto saved = checkpoint.part("model");
  const NamedTensors mine = weights();
  ST_CHECK(saved.size() == mine.size(), FormatError, "checkpoint: ", saved.size(),
           " tensors of a model that has ", mine.size());
  for (const auto& [name, tensor] : mine) {
    const auto place = saved.find(name);
    ST_CHECK(place != saved.end(), FormatError, "checkpoint: tensor '", name, "' of the model is missing");
    ST_CHECK(place->second.sizes() == tensor.sizes(), FormatError, "checkpoint: tensor '", name, "' is ",
             place->second.sizes(), ", the model's ", tensor.sizes());
    tensor.copy_(place->second);
  }
}

void Trainer::restore(const Checkpoint& checkpoint) {
  const json state = json::parse(checkpoint.state, nullptr, /*allow_exceptions=*/false);
  ST_CHECK(state.is_object() && state.contains("scores") && state["scores"].is_array(), FormatError,
           "checkpoint: it is not that of a training");
  std::vector<double> scores;
  for (const json& score : state["scores"]) {
    scores.push_back(score.is_number() ? score.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  load_weights(checkpoint);
  optimizer_.restore(checkpoint.part("optimizer"));
  scores_ = std::move(scores);
  step_ = checkpoint.step;
  bad_ = 0;
  stopped_early_ = state.value("stopped_early", false);
}

bool Trainer::resume() {
  if (!checkpoints_) return false;
  const auto last = checkpoints_->last();
  if (last) restore(*last);
  return last.has_value();
}

}  // namespace sentencode::training
