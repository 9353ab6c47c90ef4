#include "sentencode/training/trainer.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "paths.h"
#include "py.h"
#include "sentencode/distributed/communicator.h"
#include "sentencode/training/checkpoints.h"
#include "training/python_model.h"

namespace sentencode {
namespace {

using namespace training;

/// Sets a trainer's callbacks for a run; they refer to objects that own the trainer.
class Callbacks {
 public:
  Callbacks(Trainer& trainer, const py::function& on_step, const py::function& on_validation,
            const std::optional<py::function>& metric, const py::function& uninterrupted)
      : trainer_(trainer) {
    trainer_.on_step = [&on_step](const StepReport& r) {
      notify(on_step, r.step, r.epoch, r.loss, r.accuracy, r.rate, r.norm, r.examples, r.tokens, r.figures);
    };
    trainer_.on_validation = [&on_validation](const ValidationReport& r) {
      notify(on_validation, r.step, r.loss, r.accuracy, r.score, r.best, r.decayed, r.figures);
    };
    trainer_.uninterrupted = [&uninterrupted](const std::function<void()>& action) {
      const WithGil gil;
      const py::error_scope interrupt;  // a KeyboardInterrupt may be set
      call(uninterrupted, py::cpp_function([&action] {
             const WithoutGil release;
             action();
           }));
    };
    if (!metric) return;
    trainer_.validator = [&metric] {
      const WithGil gil;
      return call(*metric).cast<double>();
    };
  }
  ~Callbacks() {
    trainer_.on_step = nullptr;
    trainer_.on_validation = nullptr;
    trainer_.uninterrupted = nullptr;
    trainer_.validator = nullptr;
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

 private:
  /// Python raises a pending second Ctrl-C as soon as it runs, which would replace the call. A step that was
  /// done must be reported, so the exception waits.
  template <typename... Values>
  static void notify(const py::function& function, const Values&... values) {
    const WithGil gil;
    std::optional<py::error_already_set> interrupt;
    if (PyErr_CheckSignals() != 0) interrupt.emplace();
    call(function, values...);
    if (interrupt) throw py::error_already_set(*interrupt);
  }

  Trainer& trainer_;
};

/// The lock of a folder of checkpoints, as a context manager: a traceback that is kept does not keep the
/// lock.
struct FolderLock {
  std::shared_ptr<const void> lock;
};

/// Options by the names of sentencode.training.TrainingOptions; those that are missing keep their defaults.
TrainerOptions trainer_options(const py::dict& values, std::string settings) {
  TrainerOptions options;
  const auto read = [&]<typename T>(const char* name, T& option) {
    if (!values.contains(name)) return;
    if constexpr (NamedEnum<T>) {
      option = parse_enum<T>(values[name].cast<std::string>());
    } else {
      option = values[name].cast<T>();
    }
  };
  read("optimizer", options.optimizer.name);
  read("beta1", options.optimizer.beta1);
  read("beta2", options.optimizer.beta2);
  read("momentum", options.optimizer.momentum);
  read("epsilon", options.optimizer.epsilon);
  read("weight_decay", options.optimizer.weight_decay);
  read("sparse_rows", options.optimizer.sparse_rows);
  read("schedule", options.schedule.shape);
  read("learning_rate", options.schedule.rate);
  read("warmup", options.schedule.warmup);
  read("warmup_spent", options.schedule.warmup_spent);
  read("schedule_steps", options.schedule.steps);
  read("schedule_end", options.schedule.end);
  read("decay", options.schedule.decay);
  read("patience", options.schedule.patience);
  read("higher_is_better", options.schedule.higher_is_better);
  read("epoch_decay", options.schedule.epoch_decay);
  read("least_rate", options.schedule.least);
  read("clip_norm", options.clipping.global_norm);
  read("clip_each", options.clipping.each_norm);
  read("max_steps", options.max_steps);
  read("max_epochs", options.max_epochs);
  read("max_minutes", options.max_minutes);
  read("anchor", options.anchor);
  read("anchored", options.anchored);
  read("accumulate", options.accumulate);
  read("validate_every", options.validate_every);
  read("validate_first", options.validate_first);
  read("save_every", options.save_every);
  read("stop_after", options.stop_after);
  read("validate_accuracy", options.validate_accuracy);
  read("reload_best", options.reload_best);
  read("bad_steps", options.bad_steps);
  read("read_every", options.read_every);
  read("seed", options.seed);
  options.bfloat16 = values.contains("autocast");
  options.settings = std::move(settings);
  options.check();
  return options;
}

}  // namespace

void bind_trainer(py::module_& m) {
  using distributed::Communicator;

  py::class_<PythonModel, Model, std::shared_ptr<PythonModel>>(m, "PythonModel", "A model in Python.")
      .def(py::init<py::object>(), py::arg("parts"),
           "parts has loss(fields, labels), train(mode), parameters() and buffers().");

  py::class_<FolderLock>(m, "FolderLock", "The lock of a folder of checkpoints, until the context ends.")
      .def("__enter__", [](const FolderLock&) {})
      .def(
          "__exit__",
          [](FolderLock& self, const py::object&, const py::object&, const py::object&) {
            self.lock.reset();
          },
          py::arg("kind") = py::none(), py::arg("error") = py::none(), py::arg("traceback") = py::none());

  py::class_<Trainer>(m, "Trainer", "See sentencode.training.Trainer.")
      .def(py::init([](std::shared_ptr<Model> model, std::shared_ptr<Batcher> train,
                       std::optional<std::shared_ptr<Batcher>> valid,
                       std::shared_ptr<Communicator> communicator, std::string settings,
                       const std::optional<Path>& checkpoints, std::int64_t keep_last,
                       const py::dict& options) {
             TrainerOptions checked = trainer_options(options, std::move(settings));
             const WithoutGil release;  // it waits for the other processes
             std::optional<CheckpointFolder> folder;
             if (checkpoints) folder.emplace(checkpoints->name, keep_last);
             return std::make_unique<Trainer>(std::move(model), std::move(train), valid.value_or(nullptr),
                                              std::move(checked), std::move(communicator), std::move(folder));
           }),
           py::arg("model"), py::arg("train"), py::arg("valid"), py::arg("communicator"), py::kw_only(),
           py::arg("settings"), py::arg("checkpoints"), py::arg("keep_last"), py::arg("options"))
      .def_property_readonly("step", &Trainer::step, "Number of steps done.")
      .def_property_readonly("last_step", &Trainer::last_step, "The end, unless it stops early.")
      .def_property_readonly("scores", &Trainer::scores, "Scores of all validations.")
      .def_property_readonly("stopped_early", &Trainer::stopped_early)
      .def(
          "lock_folder",
          [](Trainer& self) {
            const WithoutGil release;
            return FolderLock{self.lock_folder()};
          },
          "Locks the folder of checkpoints; BlockingIOError if another training holds it.")
      .def("resume", &Trainer::resume, Release(), "Restores the last checkpoint; whether there was one.")
      .def(
          "evaluate",
          [](Trainer& self) {
            const ValidationReport report = without_gil([&] { return self.evaluate(); });
            return py::make_tuple(report.loss, report.accuracy);
          },
          "The loss and the accuracy of the current weights on the validation batches.")
      .def("load_best", &Trainer::load_best, Release(), "Loads the best weights; whether there are any.")
      .def(
          "run",
          [](Trainer& self, const py::function& on_step, const py::function& on_validation,
             const std::optional<py::function>& metric, const py::function& uninterrupted) {
            const Callbacks callbacks(self, on_step, on_validation, metric, uninterrupted);
            const WithoutGil release;
            self.run();
          },
          py::arg("on_step"), py::arg("on_validation"), py::arg("metric"), py::arg("uninterrupted"),
          "on_step(step, epoch, loss, accuracy, rate, norm, examples, tokens, figures), on_validation(step, "
          "loss, accuracy, score, best, decayed, figures), metric() -> score, uninterrupted(action): calls "
          "action so that Ctrl-C waits for it.");

  m.def(
      "lock_folder",
      [](const Path& folder) {
        const WithoutGil release;
        return FolderLock{CheckpointFolder(folder.name).lock()};
      },
      py::arg("folder"), "Locks a folder of checkpoints without a trainer.");

  m.def(
      "checkpoint_weights",
      [](const Path& path) {
        const WithoutGil release;
        return Checkpoint::read(path.name).part("model");
      },
      py::arg("path"), "The weights in a checkpoint, by name.");
}

}  // namespace sentencode
