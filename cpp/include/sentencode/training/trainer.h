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

struct TrainerOptions {
  OptimizerOptions optimizer{};
  Schedule schedule{};
  Clipping clipping{};
  std::int64_t max_steps = 0;       // 0: no bound
  std::int64_t max_epochs = 1;      // 0: no bound; one of the two bounds it
  std::int64_t accumulate = 1;      // batches of one step
  std::int64_t validate_every = 0;  // steps; 0: after each epoch
  std::int64_t save_every = 0;      // steps; 0: when it validates
  std::int64_t stop_after = 0;  // validations that are not better than the best; 0: it never stops for them
  bool validate_accuracy = false;  // the score is the accuracy, not the loss
  bool reload_best = false;        // go on from the best weights whenever the schedule decays
  std::int64_t bad_steps = 0;      // in a row, of a loss or gradient that is not finite, which are left out
  std::int64_t read_every =
      0;                  // steps whose figures are read from the device at once; 0: 1 on a CPU, else 16
  bool bfloat16 = false;  // matrix products in bfloat16 (autocast); parameters stay what they are
  std::uint64_t seed = 0;
  std::string settings = "{}";  // of the model, and what else decides what is learnt: a JSON object

  void check() const;  // InvalidInput that names the member
};

/// What is told after each step.
struct StepReport {
  std::int64_t step = 0;  // done
  std::int64_t epoch = 0;
  double loss = 0;  // mean, of what counts, in all processes
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double rate = 0;                        // learning rate
  double norm = 0;                        // of the gradients, before they were clipped
  std::int64_t examples = 0, tokens = 0;  // of this step, in all processes
  std::vector<double> figures{};          // means of what the model names besides
};

struct ValidationReport {
  std::int64_t step = 0;
  double loss = 0, accuracy = std::numeric_limits<double>::quiet_NaN();
  double score = 0;  // that decides
  std::vector<double> figures{};
  bool best = false, decayed = false;
};

/// Trains any model that gives a loss. What it does in a step is a pure function of the seed, the step, the
/// weights, the optimizer's state and the scores so far: these are all that a checkpoint holds, and a run
/// that goes on from one takes the very steps that it would have taken. A step that fails, or is
/// interrupted, leaves no trace.
class Trainer {
 public:
  /// `valid` and `checkpoints` may be missing.
  Trainer(std::shared_ptr<Model> model, std::shared_ptr<const Batcher> train,
          std::shared_ptr<const Batcher> valid, TrainerOptions options,
          std::shared_ptr<distributed::Communicator> communicator,
          std::optional<CheckpointFolder> checkpoints);
  ~Trainer();

  /// After each step, or after some steps of each of them (`read_every`); may throw to stop: the weights are
  /// then kept in a checkpoint.
  std::function<void(const StepReport&)> on_step;
  std::function<void(const ValidationReport&)> on_validation;
  /// A score of its own in the place of that on `valid`: of what comes after training, for instance. Called
  /// in the first process, which tells the others.
  std::function<double()> validator;
  /// Runs what Ctrl-C has to wait for: reports of a step, a validation that was scored, a checkpoint.
  /// Missing: it just runs. If it is cut off all the same, a validation is as if it had not been.
  std::function<void(const std::function<void()>&)> whole;

  /// Who calls resume() and run() holds what this returns, so that no other training writes to the folder:
  /// IoError that says which one does; InvalidInput where one did between two runs of this trainer. All
  /// processes have to call it; the first one holds the folder.
  std::shared_ptr<const void> own_folder();
  /// From the last checkpoint of the folder, if there is one; returns whether there was. All processes have
  /// to see the same folder. InvalidInput names what differs where it is that of another training: one whose
  /// next steps would not be those of this one.
  bool resume();
  /// Until an end is reached. Between steps it can be interrupted.
  void run();
  /// Takes the weights of the best validation, from the folder or, without one, from memory; returns whether
  /// there are any. InvalidInput where the folder has those of another training.
  bool load_best();

  // Other threads may ask for these while it runs.
  std::int64_t step() const { return step_; }  // done
  std::int64_t last_step() const;              // the end, if it is not stopped before
  /// Of all validations, as they were after one of them.
  std::vector<double> scores() const { return *told_scores_.get(); }
  bool stopped_early() const { return stopped_early_; }

  Checkpoint checkpoint() const;
  void restore(const Checkpoint& checkpoint);

 private:
  /// The model's buffers before a step. Those that no step moves are copied once.
  class Buffers {
   public:
    void keep(const NamedTensors& buffers);
    void put_back(const NamedTensors& buffers, const at::Tensor& where = {}) const;

   private:
    struct Kept {
      at::Tensor original, copy;
      std::int64_t version;
    };
    std::map<std::string, Kept> kept_;
  };

  /// A step that was done, and what it comes to, on the device.
  struct Done {
    StepReport report;
    at::Tensor figures;   // [4 + F] double: loss, accuracy, what counted, the gradients' norm, figures
    std::string batches;  // for a message
  };

  std::int64_t read_every() const;
  void tell();
  void check_finite(const Done& done, const double* figures);
  bool validates() const { return valid_ != nullptr || validator != nullptr; }
  bool ends_epoch() const;
  bool validation_planned() const;  // whenever the training ends
  bool validation_due() const;
  bool out_of_patience() const;
  double rate() const;         // of the next step
  bool rate_is_spent() const;  // whether it is too low to go on
  void forget_last_score();
  bool save_due() const;
  void train_step(BatchLoader& batches);
  void tried_step(BatchLoader& batches);
  /// What validations leave behind, but for the best weights.
  struct Validations {
    std::vector<double> scores;
    std::string scored_by = "{}";  // JSON: what the scores are of
    std::int64_t step = 0;         // after which the last one was
    bool unplanned = false;        // whether that was there only because the training ended
  };

  void validate();
  ValidationReport scored();
  void commit(ValidationReport& report);
  void run_whole(const std::function<void()>& action) const;
  void succeed_together(const char* what, const std::function<void()>& action);
  Loss loss_of(const Batch& batch);
  void check_sparse() const;
  std::string decisive() const;
  std::string scored_by() const;
  std::string place() const;
  void load_weights(const Checkpoint& checkpoint);
  void check_precision(const Checkpoint& checkpoint) const;
  Verdict verdict() const;
  std::string changes_of(const Checkpoint& head) const;
  std::string not_best(const Checkpoint& head) const;
  std::string find_best() const;
  NamedTensors weights() const;
  void keep_best();
  void save();

  std::shared_ptr<Model> model_;
  std::shared_ptr<const Batcher> train_, valid_;
  TrainerOptions options_;
  std::shared_ptr<distributed::Communicator> communicator_;
  std::optional<CheckpointFolder> checkpoints_;
  Optimizer optimizer_;
  at::Device device_;
  Buffers buffers_;
  std::vector<Done> done_;                  // that nobody was told of yet
  at::Tensor bad_in_a_row_;                 // [] float, on the device: steps before this one
  std::map<std::string, at::Tensor> best_;  // weights, where no folder has them
  std::atomic<std::int64_t> step_{0};
  std::int64_t bad_ = 0;
  std::int64_t saved_ = -1;  // the step that was saved last
  Validations validations_;
  Snapshot<std::vector<double>> told_scores_;  // theirs, for other threads
  std::atomic<bool> stopped_early_{false};
  bool between_steps_ = true;  // not in the middle of moving weights
};

}  // namespace sentencode::training
