#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sentencode/snapshot.h"
#include "sentencode/training/batch_loader.h"
#include "sentencode/training/checkpoints.h"
#include "sentencode/training/model.h"
#include "sentencode/training/optimizer.h"
#include "sentencode/training/schedule.h"

namespace sentencode::distributed {
class Communicator;
}

namespace sentencode::training {

class GradientMeans;
class LossSums;

struct TrainerOptions {
  OptimizerOptions optimizer{};
  Schedule schedule{};
  Clipping clipping{};
  std::int64_t max_steps = 0;   // 0: unlimited
  std::int64_t max_epochs = 1;  // 0: unlimited, which needs max_steps or max_minutes
  double max_minutes = 0;       // of all runs; ends after the step in which they are over; 0: unlimited
  double anchor = 0;            // pull of `anchored` parameters to their initial values, times the rate
  std::vector<std::string> anchored{};
  std::int64_t accumulate = 1;      // gradient accumulation: batches in a step
  std::int64_t validate_every = 0;  // steps; 0: after each epoch
  bool validate_first = false;      // also before the first step, whose weights may be the best
  std::int64_t save_every = 0;      // steps; 0: at each validation
  std::int64_t stop_after = 0;      // early stopping: validations without improvement; 0: never
  bool validate_accuracy = false;   // the score is the accuracy instead of the loss
  bool reload_best = false;         // load the best weights when the schedule decays
  std::int64_t bad_steps = 0;       // consecutive steps with a non-finite loss or gradient that are skipped
  std::int64_t read_every = 0;      // steps between reads of losses from the device; 0: 1 on a CPU, else 16
  bool bfloat16 = false;            // autocast of matrix products; parameters keep their type
  std::uint64_t seed = 0;
  std::string settings = "{}";  // JSON object: settings of the model, and whatever else affects training

  void check() const;  // InvalidInput names the member
};

/// What on_step receives. Sums and means are over all processes.
struct StepReport {
  std::int64_t step = 0;  // steps done
  std::int64_t epoch = 0;
  double loss = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double rate = 0;  // learning rate
  double norm = 0;  // gradient norm before clipping
  std::int64_t examples = 0, tokens = 0;
  std::vector<double> figures{};  // means of Model::figures
};

struct ValidationReport {
  std::int64_t step = 0;
  double loss = std::numeric_limits<double>::quiet_NaN(), accuracy = loss;
  double score = 0;  // selects the best validation
  std::vector<double> figures{};
  bool best = false, decayed = false;
};

/// Trains any `Model`. A step is a pure function of the seed, the step number, the weights, the optimizer
/// state and the scores so far. A checkpoint holds these, so a resumed run takes the same steps as one
/// without a break. A step that fails or is interrupted changes nothing.
class Trainer {
 public:
  /// `valid`, `communicator` and `checkpoints` are optional.
  Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Batcher> train,
          std::shared_ptr<const Batcher> valid, TrainerOptions options,
          std::shared_ptr<distributed::Communicator> communicator,
          std::optional<CheckpointFolder> checkpoints);
  ~Trainer();

  /// Called after each step, late by up to `read_every` steps. May throw to stop: a checkpoint is then saved.
  std::function<void(const StepReport&)> on_step;
  std::function<void(const ValidationReport&)> on_validation;
  /// Optional score that replaces the one on `valid`. Called in the first process, which broadcasts it.
  std::function<double()> validator;
  /// Optional: runs an action that Ctrl-C must not interrupt (reports, the end of a validation, a
  /// checkpoint). A validation that is interrupted all the same is undone.
  std::function<void(const std::function<void()>&)> uninterrupted;

  /// Locks the folder for as long as the caller of resume() and run() holds the result. IoError names the
  /// training that holds it; InvalidInput where another one has written there since this one ran. Collective:
  /// all processes call it, the first one holds the lock.
  std::shared_ptr<const void> lock_folder();
  /// Restores the last checkpoint of the folder; returns whether there was one. Collective. InvalidInput
  /// names the settings that differ where the checkpoint belongs to another training.
  bool resume();
  /// Loss, accuracy and figures of the current weights on `valid`; nothing is recorded. Collective.
  ValidationReport evaluate();
  /// Trains until an end is reached. Can be interrupted between steps.
  void run();
  /// Loads the weights of the best validation, from the folder or else from memory; returns whether there are
  /// any. InvalidInput where the folder has those of another training.
  bool load_best();

  // Thread-safe while it runs.
  std::int64_t step() const { return step_; }  // steps done
  std::int64_t last_step() const;              // the end, unless it stops early; the maximum if unlimited
  std::vector<double> scores() const { return *published_scores_.get(); }
  bool stopped_early() const { return stopped_early_; }

  Checkpoint checkpoint(bool optimizer = true) const;
  void restore(const Checkpoint& checkpoint);

 private:
  /// A backup of the model's buffers before a step. Buffers that no step changes are copied once.
  class BufferBackup {
   public:
    void save(const NamedTensors& buffers);
    void restore(const NamedTensors& buffers, const at::Tensor& where = {}) const;

   private:
    struct Entry {
      at::Tensor original, copy;
      std::int64_t version;
      bool is_current(const at::Tensor& tensor) const {
        return original.is_same(tensor) && version == tensor._version();
      }
    };
    std::map<std::string, Entry> entries_;
  };

  /// A step that is done but not reported, because its loss is still on the device.
  struct PendingStep {
    StepReport report;
    at::Tensor figures;   // [4 + F] double: loss, accuracy, count, gradient norm, model figures
    std::string batches;  // for error messages
  };

  /// What validations change, except for the best weights.
  struct Validations {
    std::vector<double> scores;
    std::string metric = "{}";  // JSON: what the scores measure
    std::int64_t step = 0;      // of the last one
    bool unplanned = false;     // the last one happened only because the training ended
  };

  // The end, and what is due after a step.
  double rate() const;   // learning rate of the next step
  double spent() const;  // fraction of max_minutes
  bool is_rate_exhausted() const;
  bool is_finished() const;
  bool ends_epoch() const;
  bool validates() const { return valid_ != nullptr || validator != nullptr; }
  bool is_validation_planned() const;  // wherever the training ends
  bool is_validation_due() const;
  bool is_save_due() const;
  ScoreSummary summary() const;
  bool is_out_of_patience() const;
  std::int64_t read_every() const;

  // Steps.
  void seed_generators(std::uint64_t key) const;
  void train_step(BatchLoader& batches);
  void measure(double seconds);
  void pull_to_anchors(const at::Tensor& skip);
  void attempt_step(BatchLoader& batches);
  LossSums accumulate_gradients(BatchLoader& batches, GradientMeans& gradients, PendingStep& step);
  void set_anchors();
  Loss loss_of(const Batch& batch);
  [[noreturn]] void throw_out_of_memory(const c10::OutOfMemoryError& error, const Batch& batch,
                                        const Batcher& batches) const;
  void check_sparse() const;
  void report_steps();
  void check_finite(const PendingStep& step, const double* figures);

  // Validations.
  void validate();
  void commit(ValidationReport& report);
  std::string metric() const;
  void check_metric() const;
  void forget_last_score();
  double rank_of(const ValidationReport& report) const;

  // Checkpoints.
  NamedTensors weights() const;
  NamedTensors saved_weights() const;
  const std::string& frozen() const;
  std::string run_settings(bool of_weights = true) const;
  void check_processes() const;
  std::string changes_of(const Checkpoint& head) const;
  std::string mismatch_with_best(const Checkpoint& head) const;
  std::string find_best() const;
  std::string source() const { return checkpoints_ ? checkpoints_->path() : "checkpoint"; }
  void load_weights(const Checkpoint& checkpoint, bool same_types = false);
  void save_best();
  void save();
  void write_checkpoint();

  void run_uninterrupted(const std::function<void()>& action) const;
  void run_on_first_process(const char* what, const std::function<void()>& action);

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Batcher> train_, valid_;
  TrainerOptions options_;
  std::shared_ptr<distributed::Communicator> communicator_;
  std::optional<CheckpointFolder> checkpoints_;
  Optimizer optimizer_;
  at::Device device_;
  std::vector<std::pair<at::Tensor, at::Tensor>> anchors_;  // parameters and their initial values
  std::string anchored_;                                    // SHA-256 of these values
  BufferBackup buffers_;
  std::vector<PendingStep> pending_;
  at::Tensor consecutive_bad_;                      // [] float, on the device, of the steps so far
  std::map<std::string, at::Tensor> best_weights_;  // without a folder
  std::atomic<std::int64_t> step_{0};
  std::int64_t bad_ = 0;                       // consecutive bad steps among those that were reported
  std::int64_t saved_step_ = -1;               // of the last checkpoint
  double seconds_ = 0;                         // of all runs, after the last step
  mutable std::optional<std::string> frozen_;  // cache
  Validations validations_;
  Snapshot<std::vector<double>> published_scores_;  // for other threads
  std::atomic<bool> stopped_early_{false};
  bool are_weights_consistent_ = true;  // false while the optimizer changes them
};

}  // namespace sentencode::training
