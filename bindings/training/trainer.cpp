#include "sentencode/training/trainer.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "paths.h"
#include "py.h"
#include "sentencode/distributed/communicator.h"
#include "sentencode/training/checkpoints.h"
#include "training/python_model.h"

namespace sentencode {
namespace {

using namespace training;

/// Those of a run alone: they hold what holds the trainer.
class Callbacks {
 public:
  Callbacks(Trainer& trainer, const py::function& on_step, const py::function& on_validation,
            const std::optional<py::function>& validator, const py::function& whole)
      : trainer_(trainer) {
    trainer_.on_step = [&on_step](const StepReport& r) {
      tell(on_step, r.step, r.epoch, r.loss, r.accuracy, r.rate, r.norm, r.examples, r.tokens, r.figures);
    };
    trainer_.on_validation = [&on_validation](const ValidationReport& r) {
      tell(on_validation, r.step, r.loss, r.accuracy, r.score, r.best, r.decayed, r.figures);
    };
    trainer_.whole = [&whole](const std::function<void()>& action) {
      const WithGil gil;
      const py::error_scope interrupt;  // Ctrl-C may be on its way to the caller
      call(whole, py::cpp_function([&action] {
             const WithoutGil release;
             action();
           }));
    };
    if (!validator) return;
    trainer_.validator = [&validator] {
      const WithGil gil;
      return call(*validator).cast<double>();
    };
  }
  ~Callbacks() {
    trainer_.on_step = nullptr;
    trainer_.on_validation = nullptr;
    trainer_.whole = nullptr;
    trainer_.validator = nullptr;
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

 private:
  /// A Ctrl-C that does not wait, a second one, is raised as soon as Python runs again: here, in the place of
  /// the function, if it were not taken away. What is done must be reported.
  template <typename... Figures>
  static void tell(const py::function& function, const Figures&... figures) {
    const WithGil gil;
    std::optional<py::error_already_set> interrupt;
    if (PyErr_CheckSignals() != 0) interrupt.emplace();
    call(function, figures...);
    if (interrupt) throw py::error_already_set(*interrupt);
  }

  Trainer& trainer_;
};

/// Of a folder of checkpoints: a context, so that a traceback that is kept does not keep the folder.
struct FolderOwner {
  std::shared_ptr<const void> held;
};

}  // namespace

void bind_trainer(py::module_& m) {
  using distributed::Communicator;

  py::class_<PythonModel, Model, std::shared_ptr<PythonModel>>(m, "PythonModel",
                                                               "A model that is written in Python.")
      .def(py::init<py::object>(), py::arg("parts"),
           "parts has loss(fields, labels), train(mode), parameters() and buffers().");

  py::class_<FolderOwner>(m, "FolderOwner", "Holds a folder of checkpoints until it is left.")
      .def("__enter__", [](const FolderOwner&) {})
      .def(
          "__exit__",
          [](FolderOwner& self, const py::object&, const py::object&, const py::object&) {
            self.held.reset();
          },
          py::arg("kind") = py::none(), py::arg("error") = py::none(), py::arg("traceback") = py::none());

  py::class_<Trainer>(m, "Trainer", "See sentencode.training.Trainer.")
      .def(py::init([](std::shared_ptr<Model> model, std::shared_ptr<Batcher> train,
                       std::optional<std::shared_ptr<Batcher>> valid,
                       std::shared_ptr<Communicator> communicator, const std::string& optimizer, double beta1,
                       double beta2, double momentum, double epsilon, double weight_decay, bool sparse_rows,
                       double learning_rate, const std::string& schedule, std::int64_t warmup,
                       std::int64_t schedule_steps, double schedule_end, double decay, std::int64_t patience,
                       double epoch_decay, double least_rate, bool higher_is_better, double clip_norm,
                       double clip_each, std::int64_t max_steps, std::int64_t max_epochs,
                       std::int64_t accumulate, std::int64_t validate_every, std::int64_t save_every,
                       std::int64_t stop_after, bool validate_accuracy, bool reload_best,
                       std::int64_t bad_steps, std::int64_t read_every, bool bfloat16, std::uint64_t seed,
                       std::string settings, const std::optional<Path>& checkpoints, std::int64_t keep_last) {
             TrainerOptions options;
             options.optimizer = {optimizer, beta1, beta2, momentum, epsilon, weight_decay, sparse_rows};
             options.schedule = {
                 learning_rate, shape_named(schedule), warmup,      schedule_steps, schedule_end, decay,
                 patience,      higher_is_better,      epoch_decay, least_rate};
             options.clipping = {clip_norm, clip_each};
             options.max_steps = max_steps;
             options.max_epochs = max_epochs;
             options.accumulate = accumulate;
             options.validate_every = validate_every;
             options.save_every = save_every;
             options.stop_after = stop_after;
             options.validate_accuracy = validate_accuracy;
             options.reload_best = reload_best;
             options.bad_steps = bad_steps;
             options.read_every = read_every;
             options.bfloat16 = bfloat16;
             options.seed = seed;
             options.settings = std::move(settings);
             const WithoutGil release;  // it waits for the other processes
             std::optional<CheckpointFolder> folder;
             if (checkpoints) folder.emplace(checkpoints->name, keep_last);
             return std::make_unique<Trainer>(std::move(model), std::move(train), valid.value_or(nullptr),
                                              std::move(options), std::move(communicator), std::move(folder));
           }),
           py::arg("model"), py::arg("train"), py::arg("valid"), py::arg("communicator"), py::kw_only(),
           py::arg("optimizer"), py::arg("beta1"), py::arg("beta2"), py::arg("momentum"), py::arg("epsilon"),
           py::arg("weight_decay"), py::arg("sparse_rows"), py::arg("learning_rate"), py::arg("schedule"),
           py::arg("warmup"), py::arg("schedule_steps"), py::arg("schedule_end"), py::arg("decay"),
           py::arg("patience"), py::arg("epoch_decay"), py::arg("least_rate"), py::arg("higher_is_better"),
           py::arg("clip_norm"), py::arg("clip_each"), py::arg("max_steps"), py::arg("max_epochs"),
           py::arg("accumulate"), py::arg("validate_every"), py::arg("save_every"), py::arg("stop_after"),
           py::arg("validate_accuracy"), py::arg("reload_best"), py::arg("bad_steps"), py::arg("read_every"),
           py::arg("bfloat16"), py::arg("seed"), py::arg("settings"), py::arg("checkpoints"),
           py::arg("keep_last"))
      .def_property_readonly("step", &Trainer::step, "Steps done.")
      .def_property_readonly("last_step", &Trainer::last_step, "The end, if it is not stopped before.")
      .def_property_readonly("scores", &Trainer::scores, "Of all validations.")
      .def_property_readonly("stopped_early", &Trainer::stopped_early)
      .def(
          "own_folder",
          [](Trainer& self) {
            const WithoutGil release;
            return FolderOwner{self.own_folder()};
          },
          "Holds the folder while it is entered; BlockingIOError if another training does.")
      .def("resume", &Trainer::resume, Release(), "From the last checkpoint; whether there was one.")
      .def("load_best", &Trainer::load_best, Release(), "Takes the best weights; whether there are any.")
      .def(
          "run",
          [](Trainer& self, const py::function& on_step, const py::function& on_validation,
             const std::optional<py::function>& validator, const py::function& whole) {
            const Callbacks callbacks(self, on_step, on_validation, validator, whole);
            const WithoutGil release;
            self.run();
          },
          py::arg("on_step"), py::arg("on_validation"), py::arg("validator"), py::arg("whole"),
          "on_step(step, epoch, loss, accuracy, rate, norm, examples, tokens, figures), on_validation(step, "
          "loss, accuracy, score, best, decayed, figures), validator() -> score, whole(action): calls what "
          "Ctrl-C has to wait for.");

  m.def(
      "own_folder",
      [](const Path& folder) {
        const WithoutGil release;
        return FolderOwner{CheckpointFolder(folder.name).own()};
      },
      py::arg("folder"), "The same without a trainer.");

  m.def(
      "checkpoint_weights",
      [](const Path& path) {
        const WithoutGil release;
        return Checkpoint::read(path.name).part("model");
      },
      py::arg("path"), "The weights that a checkpoint holds, by name.");
}

}  // namespace sentencode
