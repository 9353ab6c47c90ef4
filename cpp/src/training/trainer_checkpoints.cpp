// What a trainer saves, and how it resumes.
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/training/trainer.h"

namespace sentencode::training {

using nlohmann::json;

namespace {

std::string shown(const json& value) {
  const std::string text = value.is_null() ? "nothing" : value.dump();
  return text.size() <= 40 ? text : text.substr(0, 12) + "...";  // probably a hash
}

/// "a.b was 1 and is 2; c was ..."; "" if both are equal. A missing value is "nothing".
std::string differences(const json& before, const json& now, const std::string& name = "",
                        const char* where = "") {
  if (before == now) return "";
  if (!before.is_object() || !now.is_object())
    return concat(name, " was ", shown(before), where, " and is ", shown(now));
  std::set<std::string> keys;
  for (const json* side : {&before, &now})
    for (const auto& item : side->items()) keys.insert(item.key());
  std::string text;
  for (const std::string& key : keys) {
    const std::string change = differences(before.value(key, json()), now.value(key, json()),
                                           name.empty() ? key : concat(name, ".", key), where);
    if (!change.empty()) text += concat(text.empty() ? "" : "; ", change);
  }
  return text;
}

/// JSON has no NaN.
json scores_to_json(std::span<const double> scores) {
  json list = json::array();
  for (const double score : scores) list.push_back(std::isfinite(score) ? json(score) : json(nullptr));
  return list;
}

}  // namespace

/// JSON of all that later steps depend on, except for what a checkpoint holds. The end may change; so may the
/// interval of validations, unless the learning rate depends on it.
std::string Trainer::run_settings(bool of_weights) const {
  const BatcherOptions& batches = train_->options();
  const OptimizerOptions& optimizer = options_.optimizer;
  const Schedule& schedule = options_.schedule;
  json settings{{"examples", train_->examples()->checksum()},
                {"optimizer", optimizer.name},
                {"epsilon", optimizer.epsilon},
                {"weight_decay", optimizer.weight_decay},
                {"learning_rate", schedule.rate},
                {"schedule", name_of(schedule.shape)},
                {"warmup", schedule.warmup},
                {"clip_norm", options_.clipping.global_norm},
                {"clip_each", options_.clipping.each_norm},
                {"accumulate", options_.accumulate},
                {"autocast", options_.bfloat16 ? "bfloat16" : "none"},
                {"seed", options_.seed},
                {"model", json::parse(options_.settings)}};
  settings["batches"] = {{"mode", name_of(batches.mode)},
                         {"batch_size", batches.batch_size},
                         {"bounds", batches.bounds},
                         {"buffer_batches", batches.buffer_batches},
                         {"max_tokens", batches.max_tokens},
                         {"shuffle", batches.shuffle},
                         {"drop_short", batches.drop_short},
                         {"seed", batches.seed},
                         {"pad", batches.pad}};
  if (!batches.numbers.empty()) settings["batches"]["numbers"] = train_->part();
  if (of_weights && !frozen().empty()) settings["frozen"] = frozen();
  if (!batches.length_fields.empty()) settings["batches"]["length_fields"] = batches.length_fields;
  if (last_step() == std::numeric_limits<std::int64_t>::max() && schedule.warmup_spent > 0)
    settings["warmup"] = schedule.warmup_spent;  // steps do not end it
  if (options_.anchor > 0)
    settings["anchor"] = {{"strength", options_.anchor}, {"tables", of_weights ? anchored_ : ""}};
  if (optimizer.sparse_rows) settings["sparse_rows"] = true;
  if (optimizer.name.starts_with("adam")) {
    settings["betas"] = {optimizer.beta1, optimizer.beta2};
  } else {
    settings["momentum"] = optimizer.momentum;
  }
  if (schedule.has_end()) {
    settings["schedule_steps"] = schedule.steps;
    settings["schedule_end"] = schedule.end;
  }
  if (schedule.epoch_decay < 1) settings["epoch_decay"] = schedule.epoch_decay;
  if (schedule.decay < 1) {
    settings["decay"] = schedule.decay;
    settings["patience"] = schedule.patience;
    settings["reload_best"] = options_.reload_best;
    settings["validate_every"] = options_.validate_every;
    if (options_.validate_first) settings["validate_first"] = true;
  }
  return settings.dump();
}

/// Refuses processes that would train on other examples, with other options, other weights, or for another
/// number of steps. The values of the weights are those of process 0.
void Trainer::check_processes() const {
  if (communicator_->size() == 1) return;
  json settings = json::parse(run_settings(/*of_weights=*/false));
  settings["steps"] = {{"last", last_step()},
                       {"validate_every", options_.validate_every},
                       {"validate_first", options_.validate_first},
                       {"save_every", options_.save_every},
                       {"stop_after", options_.stop_after},
                       {"least_rate", options_.schedule.least},
                       {"max_minutes", options_.max_minutes},
                       {"has_checkpoints", checkpoints_.has_value()}};
  settings["valid"] = {{"examples", valid_ ? valid_->examples()->checksum() : ""},
                       {"numbers", valid_ ? valid_->part() : ""},
                       {"by_accuracy", options_.validate_accuracy},
                       {"higher_is_better", options_.schedule.higher_is_better}};
  for (const auto& [name, tensor] : weights())
    settings["weights"][name] = concat(tensor.sizes(), tensor.requires_grad() ? "" : ", not trained");
  const std::string text = settings.dump();
  const auto options = at::device(communicator_->host_readable(device_));
  const at::Tensor length = at::full({}, std::ssize(text), options.dtype(at::kLong));
  communicator_->broadcast({length});
  at::Tensor bytes = at::zeros({length.item<std::int64_t>()}, at::kByte);
  if (communicator_->rank() == 0) std::ranges::copy(text, bytes.mutable_data_ptr<std::uint8_t>());
  bytes = bytes.to(options.device());
  communicator_->broadcast({bytes});
  bytes = bytes.cpu();
  const auto* begin = bytes.const_data_ptr<std::uint8_t>();
  const std::string changes =
      differences(json::parse(begin, begin + bytes.size(0)), settings, "", " in process 0");
  const auto differ = communicator_->all_gather(at::full({}, !changes.empty(), options.dtype(at::kLong)));
  ST_CHECK(changes.empty(), InvalidInput, "process ", communicator_->rank(),
           " would train differently: ", changes);
  for (std::size_t i = 0; i < differ.size(); ++i)
    ST_CHECK(differ[i].item<std::int64_t>() == 0, InvalidInput, "process ", i,
             " would train differently: see its error");
}

/// How the run of a checkpoint differs from this one.
std::string Trainer::changes_of(const Checkpoint& head) const {
  const json state = json::parse(head.state, nullptr, /*allow_exceptions=*/false);
  const json settings = state.is_object() ? state.value("training", json()) : json();
  return differences(settings, json::parse(run_settings()));
}

/// Scores of different metrics cannot be compared.
void Trainer::check_metric() const {
  if (communicator_->size() > 1) {
    const auto options = at::device(communicator_->host_readable(device_)).dtype(at::kLong);
    const auto functions = communicator_->all_gather(at::full({}, validator ? 1 : 0, options));
    for (const at::Tensor& one : functions)
      ST_CHECK(one.item<std::int64_t>() == functions.front().item<std::int64_t>(), InvalidInput,
               "metric is a function in some processes only; only that of process 0 is called");
  }
  if (!validates() || validations_.scores.empty()) return;
  const std::string changes = differences(json::parse(validations_.metric), json::parse(metric()));
  ST_CHECK(changes.empty(), InvalidInput, source(),
           ": its validations cannot be compared with those to come: ", changes);
}

NamedTensors Trainer::weights() const {
  NamedTensors tensors = model_->parameter_tensors();
  for (auto& item : model_->other_tensors()) tensors.push_back(std::move(item));
  return tensors;
}

/// What training changes. Other parameters are those of the model, and only their hash is in checkpoints.
NamedTensors Trainer::saved_weights() const {
  NamedTensors tensors = optimizer_.parameters();
  for (auto& item : model_->other_tensors()) tensors.push_back(std::move(item));
  return tensors;
}

/// SHA-256 of the parameters that are not trained, or "" if all are.
const std::string& Trainer::frozen() const {
  if (frozen_) return *frozen_;
  Sha256 hash;
  bool any = false;
  for (const auto& [name, tensor] : model_->parameter_tensors()) {
    if (tensor.requires_grad()) continue;
    any = true;
    const at::Tensor values = tensor.detach().cpu().contiguous();
    hash.update(std::as_bytes(std::span(name)));
    hash.update({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  }
  frozen_ = any ? hash.hex() : "";
  return *frozen_;
}

Checkpoint Trainer::checkpoint(bool optimizer) const {
  Checkpoint checkpoint;
  checkpoint.step = step_;
  checkpoint.add("model", saved_weights());
  if (optimizer) checkpoint.add("optimizer", optimizer_.state());
  json state{{"scores", scores_to_json(validations_.scores)},
             {"scored_by", json::parse(validations_.metric)},
             {"validated", validations_.step},
             {"unplanned", validations_.unplanned},
             {"bad_steps", bad_},
             {"training", json::parse(run_settings())}};
  if (options_.max_minutes > 0) state["seconds"] = seconds_;  // else equal runs have equal checkpoints
  checkpoint.state = state.dump();
  return checkpoint;
}

/// With `same_types`, InvalidInput where the model has another precision: weights would be rounded.
void Trainer::load_weights(const Checkpoint& checkpoint, bool same_types) {
  const at::NoGradGuard guard;
  const auto saved = checkpoint.part("model");
  const NamedTensors tensors = saved_weights();
  ST_CHECK(saved.size() == tensors.size(), FormatError, "checkpoint: has ", saved.size(),
           " tensors, the model ", tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto item = saved.find(name);
    ST_CHECK(item != saved.end(), FormatError, "checkpoint: tensor '", name, "' of the model is missing");
    const at::Tensor& value = item->second;
    ST_CHECK(value.sizes() == tensor.sizes(), FormatError, "checkpoint: tensor '", name, "' has shape ",
             value.sizes(), ", the model's ", tensor.sizes());
    ST_CHECK(!same_types || value.scalar_type() == tensor.scalar_type(), InvalidInput, source(),
             ": the model's '", name, "' was ", c10::getDtypeNames(value.scalar_type()).first, " and is ",
             c10::getDtypeNames(tensor.scalar_type()).first, ": the checkpoint belongs to a different run");
  }
  for (const auto& [name, tensor] : tensors) tensor.copy_(saved.at(name));
}

void Trainer::restore(const Checkpoint& checkpoint) {
  const json state = json::parse(checkpoint.state, nullptr, /*allow_exceptions=*/false);
  using Type = json::value_t;
  const auto has = [&](const char* key, auto... types) {
    return state.contains(key) && ((state[key].type() == types) || ...);
  };
  const auto has_int = [&](const char* key) { return has(key, Type::number_integer, Type::number_unsigned); };
  ST_CHECK(has("scores", Type::array) && has("scored_by", Type::object) && has("training", Type::object) &&
               has_int("validated") && has_int("bad_steps") && has("unplanned", Type::boolean) &&
               (!state.contains("seconds") || has("seconds", Type::number_float)),
           FormatError, "checkpoint: does not hold the state of a training");
  const std::string changes = changes_of(checkpoint);
  ST_CHECK(changes.empty(), InvalidInput, source(), ": the checkpoint belongs to a different run: ", changes);
  Validations validations;
  for (const json& score : state["scores"])
    validations.scores.push_back(score.is_number() ? score.get<double>() : NAN);
  validations.metric = state["scored_by"].dump();
  validations.step = state["validated"].get<std::int64_t>();
  validations.unplanned = state["unplanned"].get<bool>();
  load_weights(checkpoint, /*same_types=*/true);
  optimizer_.restore(checkpoint.part("optimizer"));
  validations_ = std::move(validations);
  step_ = saved_step_ = checkpoint.step;
  bad_ = state["bad_steps"].get<std::int64_t>();
  seconds_ = state.value("seconds", 0.0);
  if (validations_.unplanned && step_ < last_step() && spent() < 1) forget_last_score();
  published_scores_.set(validations_.scores);
  stopped_early_ = is_out_of_patience();
  are_weights_consistent_ = true;
}

/// Runs on the first process only. If it fails, it fails in all of them.
void Trainer::run_on_first_process(const char* what, const std::function<void()>& action) {
  const at::Device device = communicator_->host_readable(device_);
  const at::Tensor failed = at::zeros({}, at::device(device).dtype(at::kLong));
  std::exception_ptr error;
  if (communicator_->rank() == 0) {
    try {
      action();
    } catch (...) {
      error = std::current_exception();
      failed.fill_(1);
    }
  }
  communicator_->broadcast({failed});
  if (error) std::rethrow_exception(error);
  ST_CHECK(communicator_->size() == 1 || failed.item<std::int64_t>() == 0, IoError,
           checkpoints_ ? concat(source(), ": ") : "", "the first process could not ", what,
           ": see its error");
}

std::shared_ptr<const void> Trainer::lock_folder() {
  std::shared_ptr<const void> lock;
  if (!checkpoints_) return lock;
  run_on_first_process("lock the folder", [&] {
    lock = checkpoints_->lock();
    // Before the first step, resume() checks the folder. Later, it must be unchanged since this trainer ran.
    const auto last = step_ == 0 ? std::nullopt : checkpoints_->last_head();
    if (!last) return;
    const std::string changes = changes_of(*last);
    ST_CHECK(changes.empty(), InvalidInput, source(),
             ": another training has written to the folder since this one stopped: ", changes);
  });
  return lock;
}

void Trainer::save() {
  if (checkpoints_) run_on_first_process("write the checkpoint", [&] { write_checkpoint(); });
  saved_step_ = step_;
}

void Trainer::write_checkpoint() {
  run_uninterrupted([&] { checkpoints_->save(checkpoint()); });
}

void Trainer::save_best() {
  if (checkpoints_) {
    run_on_first_process("write the best weights", [&] {
      checkpoints_->save_best(checkpoint(/*optimizer=*/false), !validations_.unplanned);
    });
    return;
  }
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : saved_weights()) copies[name] = tensor.detach().clone();
  best_weights_ = std::move(copies);
}

/// Why a checkpoint is not that of the best validation, or "". Without validations, it only has to be of the
/// same run.
std::string Trainer::mismatch_with_best(const Checkpoint& head) const {
  const std::string changes = changes_of(head);
  const auto& scores = validations_.scores;
  if (!changes.empty() || scores.empty()) return changes;
  const json state = json::parse(head.state);
  const auto until_best = std::span(scores).first(static_cast<std::size_t>(summary().best + 1));
  const bool is_best = state.value("validated", json()) == json(head.step) &&
                       state.value("scores", json()) == scores_to_json(until_best);
  return is_best ? "" : "its validations had other scores";
}

/// The file with the weights of the best validation, or "".
std::string Trainer::find_best() const {
  if (!checkpoints_ || summary().best < 0) return {};
  return checkpoints_->find_best([&](const Checkpoint& head) { return mismatch_with_best(head).empty(); });
}

bool Trainer::resume() {
  if (!checkpoints_) return false;
  communicator_->barrier();  // the first process may still be writing
  const auto last = checkpoints_->last();
  const std::int64_t step = last ? last->step : -1;
  const auto steps = communicator_->all_gather(at::full({}, step, at::device(device_).dtype(at::kLong)));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto other = steps[i].item<std::int64_t>();
    ST_CHECK(other == step, InvalidInput, "checkpoints: process ", communicator_->rank(), " finds step ",
             step, " in ", checkpoints_->path(), ", process ", i, " step ", other,
             " (-1: none): all processes must see the same folder");
  }
  if (!last) return false;
  ST_CHECK(step <= last_step(), InvalidInput, source(), ": holds a checkpoint of step ", step,
           ", but this training ends after step ", last_step());
  restore(*last);
  try {
    // A run that was killed may have gone on to another best validation.
    run_on_first_process("restore the best weights", [&] {
      if (const std::string best = find_best(); !best.empty()) checkpoints_->restore_best(best);
    });
  } catch (...) {
    step_ = 0;  // not resumed: the next call repeats it
    throw;
  }
  return true;
}

bool Trainer::load_best() {
  if (!checkpoints_) {
    const at::NoGradGuard guard;
    for (const auto& [name, tensor] : saved_weights()) {
      const auto best = best_weights_.find(name);
      if (best != best_weights_.end()) tensor.copy_(best->second);
    }
    return !best_weights_.empty();
  }
  communicator_->barrier();
  if (!validations_.scores.empty() && summary().best < 0) return false;
  const auto best = checkpoints_->best();
  if (!best) return false;
  const std::string mismatch = mismatch_with_best(*best);
  ST_CHECK(mismatch.empty(), InvalidInput, checkpoints_->best_path(),
           ": belongs to a different run: ", mismatch);
  load_weights(*best);
  return true;
}

}  // namespace sentencode::training
