#include "sentencode/training/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "nn/to_device.h"
#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/nn/sparse_rows.h"
#include "sentencode/parallel.h"
#include "sentencode/training/permutation.h"
#include "training/gradient_means.h"

namespace sentencode::training {
namespace {

using nlohmann::json;

/// Seeds the generators that a model on `device` samples from. at::manual_seed would initialise CUDA for a
/// model on the CPU, too, and change generators that are the caller's.
void seed_generators(at::Device device, std::uint64_t seed) {
  if (!device.is_cpu()) {
    at::manual_seed(seed);
    return;
  }
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.unsafeGetGeneratorImpl()->set_current_seed(seed);
}

/// What the losses of some batches come to.
class Sums {
 public:
  Sums(at::Device device, std::size_t figures)
      : sum_(at::zeros({}, at::device(device).dtype(at::kDouble))),
        right_(sum_),
        figures_(at::zeros({static_cast<std::int64_t>(figures), 2}, sum_.options())) {}

  void add(const Loss& loss) {
    sum_ = sum_ + loss.sum.detach();
    if (loss.right.defined()) right_ = right_ + loss.right;
    counted_ &= loss.right.defined();
    count_ += loss.count;
    if (figures_.size(0) == 0) return;
    ST_CHECK(loss.figures.defined() && loss.figures.sizes() == figures_.sizes(), InvalidInput,
             "the model names ", figures_.size(0), " figures, and must give each as a sum and of how many");
    figures_ = figures_ + loss.figures.detach();
  }

  /// Means over all processes, on the device: [3 + F] double: loss, accuracy (NaN where not all told what was
  /// right), what counted in the mean process, figures.
  at::Tensor means(distributed::Communicator& others) const {
    const at::Tensor count = at::full_like(sum_, count_), told = at::full_like(sum_, counted_ ? 1.0 : 0.0);
    const at::Tensor all = at::cat({at::stack({sum_, right_, count, told}), figures_.flatten()});
    others.all_reduce_mean({all});
    const at::Tensor first = at::where(all[3] == 1, all.slice(0, 0, 2), at::stack({all[0], all[3] * NAN}));
    const at::Tensor figures = all.slice(0, 4).view({-1, 2});
    return at::cat({first / all[2], all.slice(0, 2, 3), figures.select(1, 0) / figures.select(1, 1)});
  }

 private:
  at::Tensor sum_, right_;  // [] double
  at::Tensor figures_;      // [F, 2] double
  double count_ = 0;
  bool counted_ = true;  // whether all told what was right
};

NamedTensors without_repeats(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  NamedTensors found;
  for (const auto& item : tensors) {
    const auto same = [&](const auto& other) { return other.second.is_same(item.value()); };
    if (item.value().defined() && std::ranges::none_of(found, same))
      found.emplace_back(item.key(), item.value());
  }
  return found;
}

at::Device device_of(const Model& model) {
  const NamedTensors parameters = model.parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, "the model has no parameters");
  return parameters.front().second.device();
}

/// While it lives, what autocast knows (matrix products, convolutions) is computed in bfloat16.
class Autocast {
 public:
  Autocast(bool wanted, at::DeviceType device) : wanted_(wanted), device_(device) {
    if (!wanted_) return;
    enabled_ = at::autocast::is_autocast_enabled(device_);
    dtype_ = at::autocast::get_autocast_dtype(device_);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!wanted_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool wanted_, enabled_ = false;
  at::DeviceType device_;
  at::ScalarType dtype_ = at::kFloat;
};

/// Adds "a.b was 1 and is 2; c was ..." of two JSON values; null is nothing.
void tell_differences(const json& before, const json& now, const std::string& name, std::string& told) {
  if (before == now) return;
  if (before.is_object() && now.is_object()) {
    std::set<std::string> keys;
    for (const json* side : {&before, &now})
      for (const auto& item : side->items()) keys.insert(item.key());
    for (const std::string& key : keys)
      tell_differences(before.value(key, json()), now.value(key, json()),
                       name.empty() ? key : concat(name, ".", key), told);
    return;
  }
  const auto shown = [](const json& value) -> std::string {
    const std::string text = value.is_null() ? "nothing" : value.dump();
    return text.size() <= 40 ? text : text.substr(0, 12) + "...";  // a hash, most likely
  };
  told += concat(told.empty() ? "" : "; ", name, " was ", shown(before), " and is ", shown(now));
}

std::string differences(const json& before, const json& now) {
  std::string told;
  tell_differences(before, now, "", told);
  return told;
}

/// The error of a device's allocator, with the batch that did not fit.
[[noreturn]] void throw_out_of_memory(const c10::OutOfMemoryError& error, const Batch& batch,
                                      const BatcherOptions& options, at::Device device) {
  std::string shape;
  for (const BatchField& field : batch.fields) shape += concat(shape.empty() ? "" : " and ", field.width);
  const bool budget = options.mode == BatchMode::token_budget;
  throw c10::OutOfMemoryError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
      concat("batch ", batch.step, " of epoch ", batch.epoch, " (", batch.numbers.size(),
             " examples, padded to ", shape, " words) does not fit into the memory of ", device.str(),
             ". Lower ", budget ? "max_tokens" : "batch_size", " (it is ",
             budget ? options.max_tokens : options.batch_size,
             ") and raise accumulate by the same factor, or shorten sentences. ",
             error.what_without_backtrace()));
}

/// JSON has no number that is not finite.
json json_of(std::span<const double> scores) {
  json found = json::array();
  for (const double score : scores) found.push_back(std::isfinite(score) ? json(score) : json(nullptr));
  return found;
}

std::shared_ptr<distributed::Communicator> or_alone(std::shared_ptr<distributed::Communicator> communicator) {
  return communicator ? std::move(communicator) : distributed::local_communicator();
}

}  // namespace

NamedTensors Model::parameter_tensors() const { return without_repeats(named_parameters()); }

NamedTensors Model::other_tensors() const { return without_repeats(named_buffers()); }

TensorBatch to_tensors(const Batch& batch, at::Device device) {
  TensorBatch found;
  found.size = std::ssize(batch.numbers);
  std::vector<const std::vector<std::int64_t>*> parts;
  for (const BatchField& field : batch.fields) parts.insert(parts.end(), {&field.ids, &field.lengths});
  if (!batch.int_labels.empty()) parts.push_back(&batch.int_labels);
  std::int64_t count = 0;
  for (const auto* part : parts) count += std::ssize(*part);
  // All whole numbers travel together: a copy takes a GPU longer to begin than to make.
  const at::Tensor host = nn::empty_for(device, {count}, at::kLong);
  auto* to = host.mutable_data_ptr<std::int64_t>();
  for (const auto* part : parts) to = std::ranges::copy(*part, to).out;
  const at::Tensor there = device.is_cpu() ? host : host.to(device, /*non_blocking=*/true);
  std::int64_t begin = 0;
  const auto next = [&](std::vector<std::int64_t> shape) {
    const std::int64_t size = c10::multiply_integers(shape), from = std::exchange(begin, begin + size);
    return std::pair(there.narrow(0, from, size).view(shape), host.narrow(0, from, size).view(shape));
  };
  for (const BatchField& field : batch.fields) {
    TokenTensors tokens;
    std::tie(tokens.ids, tokens.host_ids) = next({found.size, field.width});
    std::tie(tokens.lengths, tokens.host_lengths) = next({found.size});
    tokens.tokens = std::accumulate(field.lengths.begin(), field.lengths.end(), std::int64_t{0});
    tokens.full =
        std::ranges::all_of(field.lengths, [&](std::int64_t length) { return length == field.width; });
    tokens.mask =
        at::arange(field.width, tokens.lengths.options()).unsqueeze(0) < tokens.lengths.unsqueeze(1);
    found.fields.push_back(std::move(tokens));
  }
  if (!batch.int_labels.empty()) found.labels = next({found.size}).first;
  if (!batch.float_labels.empty()) {
    found.labels = nn::to_device(at::tensor(batch.float_labels, at::kFloat), device);
  }
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
  ST_CHECK(read_every >= 0, InvalidInput, "read_every must not be negative, got ", read_every);
  ST_CHECK(clipping.global_norm >= 0 && clipping.each_norm >= 0, InvalidInput,
           "norms that gradients are clipped at must not be negative, got ", clipping.global_norm, " and ",
           clipping.each_norm);
  ST_CHECK(json::parse(settings, nullptr, /*allow_exceptions=*/false).is_object(), InvalidInput,
           "settings must be a JSON object, got ", settings);
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
      optimizer_(model_->parameter_tensors(), options_.optimizer),
      device_(device_of(*model_)) {
  options_.check();
  ST_CHECK(train_ != nullptr, InvalidInput, "there are no examples to train on");
  const auto& sharing = train_->options();
  ST_CHECK(sharing.rank == communicator_->rank() && sharing.world == communicator_->size(), InvalidInput,
           "batches are those of process ", sharing.rank, " of ", sharing.world, ", this is ",
           communicator_->rank(), " of ", communicator_->size());
  ST_CHECK(!options_.optimizer.sparse_rows || communicator_->size() == 1, InvalidInput,
           "sparse_rows: processes exchange dense gradients, and there are ", communicator_->size(),
           "; leave it out, or train in one process");
  ST_CHECK(valid_ == nullptr || valid_->options().world == 1 ||
               (valid_->options().world == sharing.world && valid_->options().rank == sharing.rank),
           InvalidInput, "batches of validation are those of process ", valid_->options().rank, " of ",
           valid_->options().world, ", this is ", sharing.rank, " of ", sharing.world);
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : weights()) all.push_back(tensor);
  const at::NoGradGuard guard;
  communicator_->broadcast(all);
}

Trainer::~Trainer() = default;

NamedTensors Trainer::weights() const {
  NamedTensors found = model_->parameter_tensors();
  for (auto& item : model_->other_tensors()) found.push_back(std::move(item));
  return found;
}

std::int64_t Trainer::last_step() const {
  const std::int64_t batches = train_->steps() * options_.max_epochs;
  const std::int64_t by_epochs = (batches + options_.accumulate - 1) / options_.accumulate;
  if (options_.max_epochs == 0) return options_.max_steps;
  return options_.max_steps == 0 ? by_epochs : std::min(by_epochs, options_.max_steps);
}

bool Trainer::ends_epoch() const {
  const auto epochs = [&](std::int64_t steps) { return steps * options_.accumulate / train_->steps(); };
  return step_ > 0 && epochs(step_) > epochs(step_ - 1);
}

bool Trainer::validation_planned() const {
  return options_.validate_every == 0 ? ends_epoch() : step_ % options_.validate_every == 0;
}

bool Trainer::validation_due() const {
  return step_ != validations_.step && (step_ == last_step() || validation_planned() || rate_is_spent());
}

Verdict Trainer::verdict() const {
  return judge(validations_.scores, options_.schedule.higher_is_better, options_.schedule.patience);
}

bool Trainer::out_of_patience() const {
  return options_.stop_after > 0 && verdict().misses >= options_.stop_after;
}

bool Trainer::save_due() const {
  if (step_ == saved_ || step_ == 0) return false;
  return options_.save_every == 0
             ? step_ == validations_.step
             : step_ % options_.save_every == 0 || step_ == last_step() || rate_is_spent();
}

double Trainer::rate() const {
  const std::int64_t epoch = step_ * options_.accumulate / train_->steps();
  return options_.schedule.at(step_, validations_.scores, epoch);
}

bool Trainer::rate_is_spent() const {
  const Schedule& schedule = options_.schedule;
  return schedule.least > 0 && step_ >= schedule.warmup && rate() < schedule.least;
}

/// All that the steps to come depend on, but for what a checkpoint holds beside it. Where a training ends may
/// change, and how often it looks at itself unless its learning rate depends on that.
std::string Trainer::decisive() const {
  const BatcherOptions& batches = train_->options();
  const OptimizerOptions& optimizer = options_.optimizer;
  const Schedule& schedule = options_.schedule;
  json found{{"examples", train_->examples()->checksum()},
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
             {"seed", options_.seed}};
  if (optimizer.sparse_rows) found["sparse_rows"] = true;
  found["batches"] = {{"mode", name_of(batches.mode)},
                      {"batch_size", batches.batch_size},
                      {"bounds", batches.bounds},
                      {"buffer_batches", batches.buffer_batches},
                      {"max_tokens", batches.max_tokens},
                      {"shuffle", batches.shuffle},
                      {"drop_short", batches.drop_short},
                      {"seed", batches.seed},
                      {"pad", batches.pad}};
  if (!batches.length_fields.empty()) found["batches"]["length_fields"] = batches.length_fields;
  found["model"] = json::parse(options_.settings);
  if (optimizer.name.starts_with("adam")) {
    found["betas"] = {optimizer.beta1, optimizer.beta2};
  } else {
    found["momentum"] = optimizer.momentum;
  }
  if (schedule.shape == Schedule::Shape::linear || schedule.shape == Schedule::Shape::cosine) {
    found["schedule_steps"] = schedule.steps;
    found["schedule_end"] = schedule.end;
  }
  if (schedule.epoch_decay < 1) found["epoch_decay"] = schedule.epoch_decay;
  if (schedule.decay < 1) {
    found["decay"] = schedule.decay;
    found["patience"] = schedule.patience;
    found["reload_best"] = options_.reload_best;
    found["validate_every"] = options_.validate_every;
  }
  return found.dump();
}

/// Scores of different things cannot be compared.
std::string Trainer::scored_by() const {
  json found{{"higher_is_better", options_.schedule.higher_is_better}};
  if (validator) {
    found["metric"] = "a function";
  } else {
    found["metric"] = options_.validate_accuracy ? "accuracy" : "loss";
    found["valid"] = valid_->examples()->checksum();
  }
  return found.dump();
}

std::string Trainer::place() const { return checkpoints_ ? checkpoints_->path() : "checkpoint"; }

void Trainer::run() {
  if (validates() && !validations_.scores.empty()) {
    const std::string changes = differences(json::parse(validations_.scored_by), json::parse(scored_by()));
    ST_CHECK(changes.empty(), InvalidInput, place(),
             ": its validations cannot be compared with those to come: ", changes);
  }
  const std::int64_t drawn = step_ * options_.accumulate;
  device_ = device_of(*model_);  // it may have been moved
  bad_in_a_row_ = at::full({}, static_cast<double>(bad_), at::device(device_).dtype(at::kFloat));
  BatchLoader batches(train_, {drawn / train_->steps(), drawn % train_->steps()});
  try {
    for (;;) {
      poll_interrupt();
      // A run that was stopped before it validated does so when it goes on.
      if (step_ >= last_step() || stopped_early_ || rate_is_spent() || validation_due() || save_due()) tell();
      if (validation_due()) validate();
      if (save_due()) save();
      if (step_ >= last_step() || stopped_early_ || rate_is_spent()) break;
      train_step(batches);
      if (std::ssize(done_) >= read_every()) tell();  // before anything can interrupt
    }
  } catch (...) {
    // Whoever stops it finds it where it was: a step that failed was not counted, nor was anything moved.
    const std::exception_ptr error = std::current_exception();
    // Of every step that was taken, whatever is raised when it is told of.
    while (!done_.empty()) {
      const std::size_t left = done_.size();
      try {
        tell();
      } catch (const std::exception&) {           // the first error tells more
        if (done_.size() == left) done_.clear();  // their figures cannot be read
      }
    }
    try {
      if (between_steps_ && step_ != saved_) save();
    } catch (const std::exception&) {  // the first error tells more
    }
    std::rethrow_exception(error);
  }
}

void Trainer::Buffers::keep(const NamedTensors& buffers) {
  for (const auto& [name, tensor] : buffers) {
    const auto place = kept_.find(name);
    const bool same = place != kept_.end() && place->second.original.is_same(tensor) &&
                      place->second.version == tensor._version();
    if (!same) kept_[name] = {tensor, tensor.detach().clone(), tensor._version()};
  }
}

/// All of them, or where [] bool says so.
void Trainer::Buffers::put_back(const NamedTensors& buffers, const at::Tensor& where) const {
  const at::NoGradGuard guard;
  for (const auto& [name, tensor] : buffers) {
    const auto place = kept_.find(name);
    if (place == kept_.end()) continue;
    const Kept& kept = place->second;
    if (kept.original.is_same(tensor) && kept.version == tensor._version()) continue;
    tensor.copy_(where.defined() ? at::where(where, kept.copy, tensor) : kept.copy);
  }
}

Loss Trainer::loss_of(const Batch& batch) {
  const Autocast cast(options_.bfloat16, device_.type());
  const nn::SparseRows sparse(options_.optimizer.sparse_rows);
  return model_->loss(to_tensors(batch, device_));
}

/// An option without effect would be taken for one that has it, and nobody wants adam to be lazy unasked.
void Trainer::check_sparse() const {
  const auto is_sparse = [](const auto& item) {
    const at::Tensor& gradient = item.second.grad();
    return gradient.defined() && gradient.is_sparse();
  };
  const NamedTensors& all = optimizer_.parameters();
  const auto found = std::ranges::find_if(all, is_sparse);
  const bool wanted = options_.optimizer.sparse_rows, there = found != all.end();
  ST_CHECK(wanted || !there, InvalidInput, "model: the gradient of '", found->first,
           "' is sparse, which needs sparse_rows; or make its module with sparse=False");
  ST_CHECK(
      there || !wanted, InvalidInput,
      "sparse_rows: no table of the model is read by rows alone: that of a softmax is with sampled_words, "
      "that of words with trainable_words unless a softmax over all words shares it");
}

std::int64_t Trainer::read_every() const {
  return options_.read_every > 0 ? options_.read_every : device_.is_cpu() ? 1 : 16;
}

void Trainer::train_step(BatchLoader& batches) {
  buffers_.keep(model_->other_tensors());
  try {
    tried_step(batches);
  } catch (...) {
    if (between_steps_) buffers_.put_back(model_->other_tensors());
    throw;
  }
}

/// Nothing in it looks at the device's memory, unless figures of every step are read: whether a step is fit
/// to be taken is known there, and learnt here in `tell`.
void Trainer::tried_step(BatchLoader& batches) {
  model_->train();
  // Dropout of a step depends on nothing that came before.
  seed_generators(device_, mixed(mixed(options_.seed, static_cast<std::uint64_t>(step_)),
                                 static_cast<std::uint64_t>(communicator_->rank())));
  optimizer_.zero_grad();
  Done done;
  StepReport& report = done.report;
  Sums sums(device_, model_->figures().size());
  GradientMeans gradients(optimizer_.parameters(), *communicator_);
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    const Batch batch = batches.next();
    if (i == 0) report.epoch = batch.epoch;
    done.batches += concat(i == 0 ? "" : ", ", batch.step, " of epoch ", batch.epoch);
    report.examples += batch.total;
    for (const BatchField& field : batch.fields) report.tokens += field.tokens;
    if (batch.numbers.empty()) continue;  // fewer examples than processes
    try {
      const Loss loss = loss_of(batch);
      if (i + 1 == options_.accumulate) gradients.watch();
      loss.sum.backward();
      sums.add(loss);
    } catch (const c10::OutOfMemoryError& error) {
      throw_out_of_memory(error, batch, train_->options(), device_);
    }
  }
  check_sparse();
  gradients.send();
  report.rate = rate();
  const at::NoGradGuard guard;
  const at::Tensor means = sums.means(*communicator_);
  gradients.finish();
  // A sum's gradient over all processes, divided by what counts in all of them.
  const Clipped clipped = clip(optimizer_.parameters(), means[2].reciprocal(), options_.clipping);
  done.figures =
      at::cat({means.slice(0, 0, 3), clipped.norm.to(means.device()).unsqueeze(0), means.slice(0, 3)});
  const at::Tensor bad = at::logical_and(means[0].isfinite(), clipped.norm.isfinite()).logical_not();
  // Once there were too many, no step is taken until somebody has looked.
  const at::Tensor over = bad_in_a_row_ > static_cast<double>(options_.bad_steps);
  bad_in_a_row_ = at::where(over, bad_in_a_row_, (bad_in_a_row_ + 1) * bad);
  const at::Tensor skip = over.logical_or(bad);
  const bool known = read_every() == 1;
  if (!known || !skip.item<bool>()) {
    between_steps_ = false;
    optimizer_.step(report.rate, {clipped.divisor, known ? at::Tensor() : skip.to(at::kFloat)});
    between_steps_ = true;
  }
  buffers_.put_back(model_->other_tensors(), skip);
  report.step = ++step_;
  done_.push_back(std::move(done));
}

/// Of the steps that nobody was told of.
void Trainer::tell() {
  if (done_.empty()) return;
  std::vector<at::Tensor> figures;
  for (const Done& done : done_) figures.push_back(done.figures);
  const at::Tensor read = at::stack(figures).cpu();  // [steps, 4 + F]
  const double* number = read.const_data_ptr<double>();
  while (!done_.empty()) {
    Done done = std::move(done_.front());
    done_.erase(done_.begin());
    check_finite(done, number);
    StepReport& report = done.report;
    report.loss = number[0];
    report.accuracy = number[1];
    report.norm = number[3];
    report.figures.assign(number + 4, number + read.size(1));
    number += read.size(1);
    if (on_step) run_whole([&] { on_step(report); });
  }
}

/// A step that could not be taken is left out, or ends the training: it is as if it had not been.
void Trainer::check_finite(const Done& done, const double* figures) {
  const double loss = figures[0], count = figures[2], norm = figures[3];
  if (std::isfinite(loss) && std::isfinite(norm)) {
    bad_ = 0;
    return;
  }
  if (bad_ < options_.bad_steps) {
    ++bad_;
    return;
  }
  done_.clear();  // none of those after it was taken
  step_ = done.report.step - 1;
  bad_in_a_row_.fill_(static_cast<double>(bad_));
  ST_CHECK(count > 0, InvalidInput, "step ", done.report.step, ", batch ", done.batches,
           ": nothing counted: the model says that its loss is the sum over 0");
  const std::string before = bad_ == 0 ? "" : concat("; so it was in the ", bad_, " steps before");
  throw DivergedError(concat("step ", done.report.step, ", batch ", done.batches, ": the loss is ", loss,
                             ", the gradients' norm ", norm, before,
                             ". A lower learning rate, or gradients clipped at a lower norm, may help"));
}

void Trainer::run_whole(const std::function<void()>& action) const {
  if (whole) {
    whole(action);
  } else {
    action();
  }
}

/// What the first process does alone. If it fails, it does in all of them, rather than leave them apart.
void Trainer::succeed_together(const char* what, const std::function<void()>& action) {
  const at::Tensor failed = at::zeros({}, at::device(device_).dtype(at::kLong));
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
  ST_CHECK(communicator_->size() == 1 || failed.item<std::int64_t>() == 0, IoError, place(),
           ": the first process could not ", what, ": see its error");
}

std::shared_ptr<const void> Trainer::own_folder() {
  std::shared_ptr<const void> owner;
  if (!checkpoints_) return owner;
  succeed_together("take the folder", [&] {
    owner = checkpoints_->own();
    // resume() looks at what is there before the first step. Later, it has to be what this training left.
    const auto last = step_ == 0 ? std::nullopt : checkpoints_->last_head();
    if (!last) return;
    const std::string changes = changes_of(*last);
    ST_CHECK(changes.empty(), InvalidInput, place(),
             ": another training has written to the folder since this one stopped: ", changes);
  });
  return owner;
}

void Trainer::validate() {
  if (!validates()) {
    validations_.step = step_;
    return;
  }
  ValidationReport report = scored();
  run_whole([&] { commit(report); });
}

ValidationReport Trainer::scored() {
  ValidationReport report;
  report.step = step_;
  report.loss = std::numeric_limits<double>::quiet_NaN();
  model_->eval();
  if (valid_ != nullptr) {
    const at::NoGradGuard guard;  // what a model keeps from it may meet a gradient later
    // What a model draws is the same in every validation, so that they compare, also after a resume.
    seed_generators(device_, mixed(mixed(options_.seed, std::numeric_limits<std::uint64_t>::max()),
                                   static_cast<std::uint64_t>(communicator_->rank())));
    Sums sums(device_, model_->figures().size());
    for (std::int64_t i = 0; i < valid_->steps(); ++i) {
      poll_interrupt();
      const Batch batch = valid_->batch(0, i);
      if (!batch.numbers.empty()) sums.add(loss_of(batch));
    }
    const at::Tensor means = sums.means(*communicator_).cpu();
    const double* number = means.const_data_ptr<double>();
    report.loss = number[0];
    report.accuracy = number[1];
    report.figures.assign(number + 3, number + means.size(0));
    ST_CHECK(number[2] > 0, InvalidInput, "validation after step ", step_,
             ": nothing counted: the model says that its loss is the sum over 0");
    ST_CHECK(validator || !options_.validate_accuracy || !std::isnan(report.accuracy), InvalidInput,
             "metric is the accuracy, but the model does not say how much it had right");
  }
  report.score = options_.validate_accuracy ? report.accuracy : report.loss;
  if (validator) {
    const at::Tensor score = at::zeros({}, at::device(device_).dtype(at::kDouble));
    if (communicator_->rank() == 0) score.fill_(validator());
    communicator_->broadcast({score});
    report.score = score.item<double>();
  }
  model_->train();
  return report;
}

/// It has happened when this returns, also where a callback fails: they were all called. Before, nothing has.
void Trainer::commit(ValidationReport& report) {
  const Validations before = validations_;
  try {
    validations_.scores.push_back(report.score);
    validations_.scored_by = scored_by();
    validations_.step = step_;
    validations_.unplanned = !validation_planned();
    const Verdict now = verdict();
    report.best = now.best == std::ssize(validations_.scores) - 1;
    report.decayed = now.decayed && options_.schedule.decay < 1;
    if (report.best) keep_best();
    if (report.decayed && options_.reload_best) load_best();
    told_scores_.set(validations_.scores);
  } catch (...) {
    validations_ = before;
    throw;
  }
  saved_ = -1;
  stopped_early_ = out_of_patience();
  if (on_validation) on_validation(report);
}

void Trainer::keep_best() {
  if (checkpoints_) {
    succeed_together("write the best weights",
                     [&] { checkpoints_->save_best(checkpoint(), !validations_.unplanned); });
    return;
  }
  std::map<std::string, at::Tensor> best;
  for (const auto& [name, tensor] : weights()) best[name] = tensor.detach().clone();
  best_ = std::move(best);
}

void Trainer::save() {
  if (checkpoints_ && communicator_->rank() == 0) run_whole([&] { checkpoints_->save(checkpoint()); });
  saved_ = step_;
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint found;
  found.step = step_;
  found.add("model", weights());
  found.add("optimizer", optimizer_.state());
  found.state = json{{"scores", json_of(validations_.scores)},
                     {"scored_by", json::parse(validations_.scored_by)},
                     {"validated", validations_.step},
                     {"unplanned", validations_.unplanned},
                     {"bad_steps", bad_},
                     {"training", json::parse(decisive())}}
                    .dump();
  return found;
}

void Trainer::load_weights(const Checkpoint& checkpoint) {
  const at::NoGradGuard guard;
  const auto saved = checkpoint.part("model");
  const NamedTensors mine = weights();
  ST_CHECK(saved.size() == mine.size(), FormatError, "checkpoint: ", saved.size(),
           " tensors of a model that has ", mine.size());
  for (const auto& [name, tensor] : mine) {
    const auto found = saved.find(name);
    ST_CHECK(found != saved.end(), FormatError, "checkpoint: tensor '", name, "' of the model is missing");
    const at::Tensor& its = found->second;
    ST_CHECK(its.sizes() == tensor.sizes(), FormatError, "checkpoint: tensor '", name, "' is ", its.sizes(),
             ", the model's ", tensor.sizes());
  }
  for (const auto& [name, tensor] : mine) tensor.copy_(saved.at(name));
}

/// Weights of another precision would be rounded, and the steps would be others.
void Trainer::check_precision(const Checkpoint& checkpoint) const {
  const auto saved = checkpoint.part("model");
  for (const auto& [name, tensor] : weights()) {
    const auto found = saved.find(name);
    ST_CHECK(found == saved.end() || found->second.scalar_type() == tensor.scalar_type(), InvalidInput,
             place(), ": the model's '", name, "' was ",
             c10::getDtypeNames(found->second.scalar_type()).first, " and is ",
             c10::getDtypeNames(tensor.scalar_type()).first, ": the checkpoint belongs to a different run");
  }
}

void Trainer::restore(const Checkpoint& checkpoint) {
  const json state = json::parse(checkpoint.state, nullptr, /*allow_exceptions=*/false);
  const auto is_whole = [&](const char* key) {
    return state.contains(key) && state[key].is_number_integer();
  };
  const auto is_object = [&](const char* key) { return state.contains(key) && state[key].is_object(); };
  ST_CHECK(state.is_object() && state.contains("scores") && state["scores"].is_array() &&
               is_object("scored_by") && is_object("training") && is_whole("validated") &&
               is_whole("bad_steps") && state.contains("unplanned") && state["unplanned"].is_boolean(),
           FormatError, "checkpoint: it is not that of a training");
  const std::string changes = differences(state["training"], json::parse(decisive()));
  ST_CHECK(changes.empty(), InvalidInput, place(), ": the checkpoint belongs to a different run: ", changes);
  Validations validations;
  for (const json& score : state["scores"]) {
    validations.scores.push_back(score.is_number() ? score.get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN());
  }
  check_precision(checkpoint);
  load_weights(checkpoint);
  optimizer_.restore(checkpoint.part("optimizer"));
  validations.scored_by = state["scored_by"].dump();
  validations.step = state["validated"].get<std::int64_t>();
  validations.unplanned = state["unplanned"].get<bool>();
  validations_ = std::move(validations);
  step_ = saved_ = checkpoint.step;
  bad_ = state["bad_steps"].get<std::int64_t>();
  if (validations_.unplanned && step_ < last_step()) forget_last_score();
  told_scores_.set(validations_.scores);
  stopped_early_ = out_of_patience();
  between_steps_ = true;
}

/// The unbroken run would not have validated here, nor would its learning rate depend on that.
void Trainer::forget_last_score() {
  const bool was_best = verdict().best == std::ssize(validations_.scores) - 1;
  validations_.scores.pop_back();
  validations_.unplanned = false;
  ST_CHECK(!was_best || !options_.reload_best || options_.schedule.decay == 1 || !find_best().empty(),
           InvalidInput, place(), ": this training ended after step ", step_,
           ", where no validation was planned, and its best weights are from there: with reload_best it "
           "cannot be resumed");
}

/// How the training that a checkpoint is of differs from this one.
std::string Trainer::changes_of(const Checkpoint& head) const {
  const json state = json::parse(head.state, nullptr, /*allow_exceptions=*/false);
  const json training = state.is_object() ? state.value("training", json()) : json();
  return differences(training, json::parse(decisive()));
}

/// Why a checkpoint is not that of the best of these validations; empty where it is. Without any, it has to
/// be of the same training.
std::string Trainer::not_best(const Checkpoint& head) const {
  const std::string changes = changes_of(head);
  const auto& scores = validations_.scores;
  if (!changes.empty() || scores.empty()) return changes;
  const json state = json::parse(head.state);
  const auto until = std::span(scores).first(static_cast<std::size_t>(verdict().best + 1));
  const bool is_best =
      state.value("validated", json()) == json(head.step) && state.value("scores", json()) == json_of(until);
  return is_best ? "" : "its validations had other scores";
}

/// The file that holds the weights of the best validation; empty where there is none.
std::string Trainer::find_best() const {
  if (!checkpoints_ || verdict().best < 0) return {};
  return checkpoints_->find_best([&](const Checkpoint& head) { return not_best(head).empty(); });
}

bool Trainer::resume() {
  if (!checkpoints_) return false;
  communicator_->barrier();  // the first process may be writing still
  const auto last = checkpoints_->last();
  const std::int64_t mine = last ? last->step : -1;
  const auto all = communicator_->all_gather(at::full({}, mine, at::device(device_).dtype(at::kLong)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto its = all[i].item<std::int64_t>();
    ST_CHECK(its == mine, InvalidInput, "checkpoints: process ", communicator_->rank(), " finds step ", mine,
             " in ", checkpoints_->path(), ", process ", i, " step ", its,
             " (-1: none): all processes must see the same folder");
  }
  if (!last) return false;
  ST_CHECK(mine <= last_step(), InvalidInput, place(), ": this training is at step ", mine,
           " there, and is to end after step ", last_step());
  restore(*last);
  try {
    // A run that was killed may have gone further, to another best validation.
    succeed_together("restore the best weights", [&] {
      if (const std::string best = find_best(); !best.empty()) checkpoints_->restore_best(best);
    });
  } catch (...) {
    step_ = 0;  // nothing was resumed: the next call repeats it
    throw;
  }
  return true;
}

bool Trainer::load_best() {
  if (!checkpoints_) {
    const at::NoGradGuard guard;
    for (const auto& [name, tensor] : weights()) {
      const auto kept = best_.find(name);
      if (kept != best_.end()) tensor.copy_(kept->second);
    }
    return !best_.empty();
  }
  communicator_->barrier();
  if (!validations_.scores.empty() && verdict().best < 0) return false;
  const auto best = checkpoints_->best();
  if (!best) return false;
  const std::string why = not_best(*best);
  ST_CHECK(why.empty(), InvalidInput, checkpoints_->best_path(), ": belongs to a different run: ", why);
  load_weights(*best);
  return true;
}

}  // namespace sentencode::training
