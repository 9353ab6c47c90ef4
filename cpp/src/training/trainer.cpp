#include "sentencode/training/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "sentencode/distributed/communicator.h"
#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/nn/sparse_rows.h"
#include "sentencode/parallel.h"
#include "sentencode/training/permutation.h"
#include "training/gradient_means.h"
#include "training/loss_sums.h"

namespace sentencode::training {
namespace {

using nlohmann::json;

at::Device device_of(const Model& model) {
  const NamedTensors parameters = model.parameter_tensors();
  ST_CHECK(!parameters.empty(), InvalidInput, "the model has no parameters");
  return parameters.front().second.device();
}

/// Autocast to bfloat16 for its lifetime, like torch.autocast.
class Autocast {
 public:
  Autocast(bool use, at::DeviceType device) : use_(use), device_(device) {
    if (!use_) return;
    enabled_ = at::autocast::is_autocast_enabled(device_);
    dtype_ = at::autocast::get_autocast_dtype(device_);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!use_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool use_, enabled_ = false;
  at::DeviceType device_;
  at::ScalarType dtype_ = at::kFloat;
};

}  // namespace

void TrainerOptions::check() const {
  optimizer.check();
  schedule.check();
  ST_CHECK(max_minutes >= 0 && std::isfinite(max_minutes), InvalidInput,
           "max_minutes must not be negative, got ", max_minutes);
  ST_CHECK(max_steps >= 0 && max_epochs >= 0 && (max_steps + max_epochs > 0 || max_minutes > 0), InvalidInput,
           "max_steps and max_epochs must not be negative, and one of them must be positive without "
           "max_minutes; got ",
           max_steps, " and ", max_epochs);
  ST_CHECK(anchor >= 0 && std::isfinite(anchor), InvalidInput, "anchor must not be negative, got ", anchor);
  ST_CHECK(accumulate >= 1, InvalidInput, "accumulate must be at least 1, got ", accumulate);
  ST_CHECK(validate_every >= 0, InvalidInput, "validate_every must not be negative, got ", validate_every);
  ST_CHECK(save_every >= 0, InvalidInput, "save_every must not be negative, got ", save_every);
  ST_CHECK(stop_after >= 0, InvalidInput, "stop_after must not be negative, got ", stop_after);
  ST_CHECK(bad_steps >= 0, InvalidInput, "bad_steps must not be negative, got ", bad_steps);
  ST_CHECK(read_every >= 0, InvalidInput, "read_every must not be negative, got ", read_every);
  ST_CHECK(clipping.global_norm >= 0 && clipping.each_norm >= 0, InvalidInput,
           "clipping norms must not be negative, got ", clipping.global_norm, " and ", clipping.each_norm);
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
      communicator_(communicator ? std::move(communicator) : distributed::local_communicator()),
      checkpoints_(std::move(checkpoints)),
      optimizer_(model_->parameter_tensors(), options_.optimizer),
      device_(device_of(*model_)) {
  options_.check();
  ST_CHECK(train_ != nullptr, InvalidInput, "train must not be null");
  const auto& sharing = train_->options();
  ST_CHECK(sharing.rank == communicator_->rank() && sharing.world == communicator_->size(), InvalidInput,
           "train: batches are for rank ", sharing.rank, " of ", sharing.world, ", but this process is rank ",
           communicator_->rank(), " of ", communicator_->size());
  ST_CHECK(!options_.optimizer.sparse_rows || communicator_->size() == 1, InvalidInput,
           "sparse_rows: processes exchange dense gradients, and there are ", communicator_->size(),
           "; leave it out, or train in one process");
  ST_CHECK(valid_ == nullptr || valid_->options().world == 1 ||
               (valid_->options().world == sharing.world && valid_->options().rank == sharing.rank),
           InvalidInput, "valid: batches are for rank ", valid_->options().rank, " of ",
           valid_->options().world, ", but this process is rank ", sharing.rank, " of ", sharing.world);
  check_processes();
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : weights()) all.push_back(tensor);
  const at::NoGradGuard guard;
  communicator_->broadcast(all);
  if (options_.anchor > 0) set_anchors();
}

Trainer::~Trainer() = default;

void Trainer::set_anchors() {
  for (const auto& [name, tensor] : optimizer_.parameters()) {
    if (std::ranges::find(options_.anchored, name) != options_.anchored.end())
      anchors_.emplace_back(tensor, tensor.detach().clone());
  }
  ST_CHECK(!anchors_.empty(), InvalidInput, "anchor=", options_.anchor, ": no word table is trained");
  Sha256 hash;
  for (const auto& [_, anchor] : anchors_) {
    const at::Tensor values = anchor.cpu().contiguous();
    hash.update({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  }
  anchored_ = hash.hex();
}

std::int64_t Trainer::last_step() const {
  const std::int64_t batches = train_->steps() * options_.max_epochs;
  const std::int64_t by_epochs = (batches + options_.accumulate - 1) / options_.accumulate;
  if (options_.max_steps + options_.max_epochs == 0) return std::numeric_limits<std::int64_t>::max();
  if (options_.max_epochs == 0) return options_.max_steps;
  return options_.max_steps == 0 ? by_epochs : std::min(by_epochs, options_.max_steps);
}

double Trainer::rate() const {
  const std::int64_t epoch = step_ * options_.accumulate / train_->steps();
  return options_.schedule.at(step_, validations_.scores, epoch, spent());
}

double Trainer::spent() const {
  return options_.max_minutes > 0 ? std::min(1.0, seconds_ / (60 * options_.max_minutes)) : 0;
}

bool Trainer::is_rate_exhausted() const {
  const Schedule& schedule = options_.schedule;
  return schedule.least > 0 && schedule.is_warm(step_, spent()) && rate() < schedule.least;
}

bool Trainer::is_finished() const {
  return step_ >= last_step() || stopped_early_ || is_rate_exhausted() || spent() == 1;
}

bool Trainer::ends_epoch() const {
  const auto epochs = [&](std::int64_t steps) { return steps * options_.accumulate / train_->steps(); };
  return step_ > 0 && epochs(step_) > epochs(step_ - 1);
}

bool Trainer::is_validation_planned() const {
  if (step_ == 0) return options_.validate_first && validates();
  return options_.validate_every == 0 ? ends_epoch() : step_ % options_.validate_every == 0;
}

bool Trainer::is_validation_due() const {
  if (step_ == 0) return is_validation_planned() && validations_.scores.empty();
  return step_ != validations_.step &&
         (step_ == last_step() || is_validation_planned() || is_rate_exhausted() || spent() == 1);
}

bool Trainer::is_save_due() const {
  if (step_ == saved_step_ || step_ == 0) return false;
  return options_.save_every == 0 ? step_ == validations_.step
                                  : step_ % options_.save_every == 0 || step_ == last_step() ||
                                        is_rate_exhausted() || spent() == 1;
}

std::int64_t Trainer::read_every() const {
  return options_.read_every > 0 ? options_.read_every : device_.is_cpu() ? 1 : 16;
}

void Trainer::run() {
  check_metric();
  device_ = device_of(*model_);  // it may have been moved
  consecutive_bad_ = at::full({}, static_cast<double>(bad_), at::device(device_).dtype(at::kFloat));
  const std::int64_t batch = step_ * options_.accumulate;
  BatchLoader batches(train_, {batch / train_->steps(), batch % train_->steps()});
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const double before = seconds_;
  try {
    for (;;) {
      poll_interrupt();
      // A run that stopped before it validated or saved does so when it is resumed.
      if (is_finished() || is_validation_due() || is_save_due()) report_steps();
      if (is_validation_due()) validate();
      if (is_save_due()) save();
      if (is_finished()) break;
      train_step(batches);
      measure(before + std::chrono::duration<double>(Clock::now() - begin).count());
      if (std::ssize(pending_) >= read_every()) report_steps();  // before anything can interrupt
    }
  } catch (...) {
    // Report and save each step that was done. The first error is the one to rethrow.
    const std::exception_ptr error = std::current_exception();
    while (!pending_.empty()) {
      const std::size_t count = pending_.size();
      try {
        report_steps();
      } catch (const std::exception&) {
        if (pending_.size() == count) pending_.clear();  // their losses cannot be read
      }
    }
    try {
      // This process may be the only one with an error: it must not wait for the others.
      if (checkpoints_ && communicator_->rank() == 0 && are_weights_consistent_ && step_ != saved_step_)
        write_checkpoint();
    } catch (const std::exception&) {
    }
    std::rethrow_exception(error);
  }
}

/// Sets the time of all runs; that of the first process counts.
void Trainer::measure(double seconds) {
  seconds_ = seconds;
  if (options_.max_minutes == 0 || communicator_->size() == 1) return;
  const at::Device device = communicator_->host_readable(device_);
  const at::Tensor shared = at::full({}, seconds, at::device(device).dtype(at::kDouble));
  communicator_->broadcast({shared});
  seconds_ = shared.item<double>();
}

void Trainer::BufferBackup::save(const NamedTensors& buffers) {
  for (const auto& [name, tensor] : buffers) {
    const auto item = entries_.find(name);
    if (item == entries_.end() || !item->second.is_current(tensor))
      entries_[name] = {tensor, tensor.detach().clone(), tensor._version()};
  }
}

/// Restores all buffers, or where [] bool is true.
void Trainer::BufferBackup::restore(const NamedTensors& buffers, const at::Tensor& where) const {
  const at::NoGradGuard guard;
  for (const auto& [name, tensor] : buffers) {
    const auto item = entries_.find(name);
    if (item == entries_.end() || item->second.is_current(tensor)) continue;
    const at::Tensor& copy = item->second.copy;
    tensor.copy_(where.defined() ? at::where(where, copy, tensor) : copy);
  }
}

/// Seeds the random generators of the model's device. Random numbers of a step depend on nothing before it.
void Trainer::seed_generators(std::uint64_t key) const {
  const auto rank = static_cast<std::uint64_t>(communicator_->rank());
  const std::uint64_t seed = mixed(mixed(options_.seed, key), rank);
  if (!device_.is_cpu()) {
    at::manual_seed(seed);
    return;
  }
  // at::manual_seed would initialise CUDA, and change generators that belong to the caller.
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.unsafeGetGeneratorImpl()->set_current_seed(seed);
}

Loss Trainer::loss_of(const Batch& batch) {
  const Autocast autocast(options_.bfloat16, device_.type());
  const nn::SparseRows sparse(options_.optimizer.sparse_rows);
  return model_->loss(to_tensors(batch, device_));
}

/// Rethrows the error of a device's allocator with the shape of the batch.
void Trainer::throw_out_of_memory(const c10::OutOfMemoryError& error, const Batch& batch,
                                  const Batcher& batches) const {
  std::string shape;
  for (const BatchField& field : batch.fields) shape += concat(shape.empty() ? "" : " and ", field.width);
  const BatcherOptions& options = batches.options();
  const bool trains = &batches == train_.get(), budget = options.mode == BatchMode::token_budget;
  const std::string which = trains ? concat("batch ", batch.step, " of epoch ", batch.epoch)
                                   : concat("batch ", batch.step, " of the validation");
  throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
                              concat(which, " (", batch.numbers.size(), " examples, padded to ", shape,
                                     " words) does not fit into the memory of ", device_.str(), ". Lower ",
                                     trains ? "" : "the validation's ", budget ? "max_tokens" : "batch_size",
                                     " (it is ", budget ? options.max_tokens : options.batch_size, ")",
                                     trains ? " and raise accumulate by the same factor" : "",
                                     ", or shorten sentences. ", error.what_without_backtrace()));
}

/// Refuses sparse_rows without an effect, and sparse gradients without sparse_rows.
void Trainer::check_sparse() const {
  const NamedTensors& parameters = optimizer_.parameters();
  const auto sparse = std::ranges::find_if(parameters, [](const auto& item) {
    const at::Tensor& gradient = item.second.grad();
    return gradient.defined() && gradient.is_sparse();
  });
  const bool allowed = options_.optimizer.sparse_rows, any = sparse != parameters.end();
  ST_CHECK(allowed || !any, InvalidInput, "model: the gradient of '", sparse->first,
           "' is sparse, which needs sparse_rows; or make its module with sparse=False");
  ST_CHECK(any || !allowed, InvalidInput,
           "sparse_rows: no table of the model has a sparse gradient: a softmax has one with sampled_words, "
           "word vectors with trainable_words unless a softmax over all words shares them");
}

void Trainer::train_step(BatchLoader& batches) {
  buffers_.save(model_->other_tensors());
  try {
    attempt_step(batches);
  } catch (...) {
    if (are_weights_consistent_) buffers_.restore(model_->other_tensors());
    throw;
  }
}

/// Adds the gradients of a step's batches to the parameters.
LossSums Trainer::accumulate_gradients(BatchLoader& batches, GradientMeans& gradients, PendingStep& step) {
  LossSums sums(device_, model_->figures().size());
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    const Batch batch = batches.next();
    if (i == 0) step.report.epoch = batch.epoch;
    step.batches += concat(i == 0 ? "" : ", ", batch.step, " of epoch ", batch.epoch);
    step.report.examples += batch.total;
    for (const BatchField& field : batch.fields) step.report.tokens += field.tokens;
    if (batch.numbers.empty()) continue;  // fewer examples than processes
    try {
      const Loss loss = loss_of(batch);
      if (i + 1 == options_.accumulate) gradients.watch();
      loss.sum.backward();
      sums.add(loss);
    } catch (const c10::OutOfMemoryError& error) {
      throw_out_of_memory(error, batch, *train_);
    }
  }
  return sums;
}

/// Does not wait for the device unless each step's loss is read: a step with a non-finite loss is skipped on
/// the device, and `report_steps` notices it later.
void Trainer::attempt_step(BatchLoader& batches) {
  model_->train();
  seed_generators(static_cast<std::uint64_t>(step_));
  optimizer_.zero_grad();
  PendingStep step;
  GradientMeans gradients(optimizer_.parameters(), *communicator_);
  const LossSums sums = accumulate_gradients(batches, gradients, step);
  check_sparse();
  gradients.send();
  step.report.rate = rate();
  const at::NoGradGuard guard;
  const at::Tensor means = sums.means(*communicator_);
  gradients.finish();
  // Gradients of the summed loss over all processes, divided by the count over all of them.
  const Clipped clipped = clip(optimizer_.parameters(), means[2].reciprocal(), options_.clipping);
  const at::Tensor norm = clipped.norm.to(means.device()).unsqueeze(0);
  step.figures = at::cat({means.slice(0, 0, 3), norm, means.slice(0, 3)});
  const at::Tensor bad = at::logical_and(means[0].isfinite(), clipped.norm.isfinite()).logical_not();
  // After too many bad steps, all are skipped until report_steps has raised the error.
  const at::Tensor too_many = consecutive_bad_ > static_cast<double>(options_.bad_steps);
  consecutive_bad_ = at::where(too_many, consecutive_bad_, (consecutive_bad_ + 1) * bad);
  const at::Tensor skip = too_many.logical_or(bad);
  const bool read_now = read_every() == 1;
  if (!read_now || !skip.item<bool>()) {
    are_weights_consistent_ = false;
    optimizer_.step(step.report.rate, {clipped.divisor, read_now ? at::Tensor() : skip.to(at::kFloat)});
    pull_to_anchors(skip);
    are_weights_consistent_ = true;
  }
  buffers_.restore(model_->other_tensors(), skip);
  step.report.step = ++step_;
  pending_.push_back(std::move(step));
}

/// w -= rate anchor (w - w_0) (L2-SP); of a sparse gradient only its rows.
void Trainer::pull_to_anchors(const at::Tensor& skip) {
  for (const auto& [w, initial] : anchors_) {
    const at::Tensor weight = skip.logical_not().to(w.options()) * std::min(1.0, rate() * options_.anchor);
    if (w.grad().defined() && w.grad().is_sparse()) {
      const at::Tensor rows = w.grad()._indices()[0];  // [k]
      w.index_copy_(0, rows, w.index_select(0, rows).lerp_(initial.index_select(0, rows), weight));
    } else {
      w.lerp_(initial, weight);
    }
  }
}

void Trainer::report_steps() {
  if (pending_.empty()) return;
  std::vector<at::Tensor> figures;
  for (const PendingStep& step : pending_) figures.push_back(step.figures);
  const at::Tensor read = at::stack(figures).cpu();  // [steps, 4 + F]
  const double* values = read.const_data_ptr<double>();
  while (!pending_.empty()) {
    PendingStep step = std::move(pending_.front());
    pending_.erase(pending_.begin());
    check_finite(step, values);
    StepReport& report = step.report;
    report.loss = values[0];
    report.accuracy = values[1];
    report.norm = values[3];
    report.figures.assign(values + 4, values + read.size(1));
    values += read.size(1);
    if (on_step) run_uninterrupted([&] { on_step(report); });
  }
}

/// Counts bad steps. One too many ends the training as if that step had not been.
void Trainer::check_finite(const PendingStep& step, const double* figures) {
  const double loss = figures[0], count = figures[2], norm = figures[3];
  if (std::isfinite(loss) && std::isfinite(norm)) {
    bad_ = 0;
    return;
  }
  if (bad_ < options_.bad_steps) {
    ++bad_;
    return;
  }
  pending_.clear();  // the device has skipped the steps after it
  step_ = step.report.step - 1;
  consecutive_bad_.fill_(static_cast<double>(bad_));
  ST_CHECK(count > 0, InvalidInput, "step ", step.report.step, ", batch ", step.batches,
           ": the model's losses must have a count above 0, got 0");
  const std::string before = bad_ == 0 ? "" : concat("; so it was in the ", bad_, " steps before");
  throw DivergedError(concat("step ", step.report.step, ", batch ", step.batches, ": the loss is ", loss,
                             ", the gradient norm ", norm, before,
                             ". A lower learning rate or a lower clip_norm may help"));
}

void Trainer::run_uninterrupted(const std::function<void()>& action) const {
  if (uninterrupted) {
    uninterrupted(action);
  } else {
    action();
  }
}

}  // namespace sentencode::training
