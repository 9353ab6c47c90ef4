#include "sentencode/training/trainer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"
#include "training/examples.h"

namespace sentencode::training {
namespace {

/// Predicts the first word of a sentence from the mean of its word vectors, with dropout.
class FirstWord : public Model {
 public:
  explicit FirstWord(double dropout = 0.2) : dropout_(dropout) {
    at::manual_seed(1);
    table_ = register_module("table", torch::nn::Embedding(8, 16));
    out_ = register_module("out", torch::nn::Linear(16, 8));
    steps_ = register_buffer("steps", at::zeros({}, at::kLong));
  }
  Loss loss(const TensorBatch& batch) override {
    const auto& tokens = batch.fields.at(0);
    if (is_training()) steps_.add_(1);
    if (is_training() ? exhausts : exhausts_in_validation)
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__},
                                  "CUDA out of memory. Tried to allocate 9 GiB");
    if (is_training() && throws) throw std::runtime_error("in the middle of a step");
    const at::Tensor mask = tokens.mask.unsqueeze(2).to(at::kFloat);     // [B, T, 1]
    at::Tensor mean = (table_(tokens.ids) * mask).sum(1) / mask.sum(1);  // [B, 16]
    mean = at::dropout(mean, dropout_, is_training());
    const at::Tensor scores = out_(mean).to(at::kFloat), right = tokens.ids.select(1, 0);  // [B, 8], [B]
    product = at::linear(mean, out_->weight).scalar_type();
    if (broken || (is_training() && ++calls == breaks_at))
      return {scores.sum() * std::numeric_limits<double>::quiet_NaN(), 1.0, {}};
    return {at::cross_entropy_loss(scores, right, {}, at::Reduction::Sum),
            empty ? 0.0 : static_cast<double>(batch.size), (scores.argmax(1) == right).sum(),
            has_figures ? at::tensor({2.0 * batch.size, 1.0 * batch.size, 1.0 * batch.size, 4.0}, at::kDouble)
                              .view({2, 2})
                        : at::Tensor()};
  }
  std::vector<std::string> figures() const override {
    return has_figures ? std::vector<std::string>{"two", "quarter"} : std::vector<std::string>{};
  }
  bool has_figures = false;
  std::int64_t calls = 0, breaks_at = 0;  // the step whose loss is not finite
  bool broken = false, throws = false, empty = false, exhausts = false, exhausts_in_validation = false;
  at::ScalarType product = at::kFloat;  // type of the last matrix product

 private:
  double dropout_;
  torch::nn::Embedding table_{nullptr};
  torch::nn::Linear out_{nullptr};
  at::Tensor steps_;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      for (int t = 0; t < 1 + i % 4; ++t)
        text += static_cast<char>('a' + (t == 0 ? i : i * t) % 5), text += ' ';
      text += '\n';
    }
    const auto words = vocabulary_of({"a", "b", "c", "d", "e"});
    const ExampleOptions options{{field_of("tokens", words)}, {}, Labels::none, "", 1 << 20};
    examples_ = build_examples(folder_.path("file"), {{folder_.write("text", text)}}, options, "key");
  }
  std::shared_ptr<const Batcher> batches(std::int64_t size = 8) const {
    return std::make_shared<const Batcher>(examples_, BatcherOptions{.batch_size = size, .seed = 3});
  }
  static TrainerOptions options(std::int64_t steps) {
    return {.optimizer = {.name = "adam"}, .schedule = {.rate = 0.05}, .max_steps = steps, .max_epochs = 0};
  }
  std::unique_ptr<Trainer> trainer(const std::shared_ptr<Model>& model, const TrainerOptions& options,
                                   const char* folder = nullptr, bool valid = false) const {
    std::optional<CheckpointFolder> checkpoints;
    if (folder != nullptr) checkpoints.emplace(folder_.path(folder));
    return std::make_unique<Trainer>(model, batches(), valid ? batches(60) : nullptr, options, nullptr,
                                     checkpoints);
  }
  static void expect_equal(const Checkpoint& a, const Checkpoint& b) {
    EXPECT_EQ(a.step, b.step);
    EXPECT_EQ(a.state, b.state);
    ASSERT_EQ(a.tensors.size(), b.tensors.size());
    for (const auto& [name, tensor] : a.tensors) EXPECT_TRUE(at::equal(tensor, b.tensors.at(name))) << name;
  }

  TemporaryFolder folder_;
  std::shared_ptr<const ExampleFile> examples_;
};

TEST_F(TrainerTest, Learns) {
  const auto model = std::make_shared<FirstWord>(0.0);
  const auto training = trainer(model, options(400));
  StepReport first, last;
  training->on_step = [&](const StepReport& report) { (report.step == 1 ? first : last) = report; };
  training->run();
  EXPECT_EQ(training->step(), 400);
  EXPECT_GT(first.loss, 1.2);
  EXPECT_LT(last.loss, 0.1);
  EXPECT_EQ(last.accuracy, 1.0);
  EXPECT_GT(first.norm, 0);
  EXPECT_EQ(last.rate, 0.05);
}

TEST_F(TrainerTest, NamesTheBatchThatDoesNotFitIntoMemory) {
  const auto model = std::make_shared<FirstWord>();
  TrainerOptions chosen = options(2);
  chosen.validate_every = 2;
  const auto training = trainer(model, chosen, nullptr, /*valid=*/true);
  const auto expect_error = [&](std::string_view begin, std::string_view advice) {
    try {
      training->run();
      FAIL() << "no error";
    } catch (const c10::OutOfMemoryError& error) {
      const std::string text = error.what_without_backtrace();
      EXPECT_TRUE(text.starts_with(begin)) << text;
      EXPECT_NE(text.find(" examples, padded to "), std::string::npos) << text;
      EXPECT_NE(text.find(advice), std::string::npos) << text;
      EXPECT_NE(text.find("Tried to allocate 9 GiB"), std::string::npos) << text;
    }
  };
  model->exhausts = true;
  expect_error("batch 0 of epoch 0 (",
               "does not fit into the memory of cpu. Lower batch_size (it is 8) and raise accumulate");
  EXPECT_EQ(training->step(), 0);
  model->exhausts = false;
  model->exhausts_in_validation = true;
  expect_error("batch 0 of the validation (", "Lower the validation's batch_size (it is 60), or shorten");
  EXPECT_EQ(training->step(), 2);
  model->exhausts_in_validation = false;
  training->run();
  EXPECT_EQ(training->step(), 2);
}

TEST_F(TrainerTest, CopiesABatchAtOnce) {
  const Batch batch = batches()->batch(0, 0);
  const TensorBatch tensors = to_tensors(batch, at::kCPU);
  const TokenTensors& tokens = tensors.fields.at(0);
  EXPECT_EQ(std::vector<std::int64_t>(tokens.ids.data_ptr<std::int64_t>(),
                                      tokens.ids.data_ptr<std::int64_t>() + tokens.ids.numel()),
            batch.fields.at(0).ids);
  EXPECT_TRUE(at::equal(tokens.host_ids, tokens.ids));
  EXPECT_TRUE(at::equal(tokens.host_lengths, at::tensor(batch.fields.at(0).lengths, at::kLong)));
  EXPECT_TRUE(tokens.ids.storage().is_alias_of(tokens.lengths.storage()));
}

TEST_F(TrainerTest, ResumedRunsEqualUninterruptedOnes) {
  for (const std::int64_t accumulate : {1, 3}) {
    auto chosen = options(10);
    chosen.accumulate = accumulate;
    chosen.validate_every = 5;
    chosen.schedule.decay = 0.5;
    const auto straight = trainer(std::make_shared<FirstWord>(), chosen, nullptr, true);
    straight->run();

    const std::string folder = "run" + std::to_string(accumulate);
    auto half = chosen;
    half.max_steps = 5;
    trainer(std::make_shared<FirstWord>(), half, folder.c_str(), true)->run();
    const auto rest = trainer(std::make_shared<FirstWord>(), chosen, folder.c_str(), true);
    ASSERT_TRUE(rest->resume());
    EXPECT_EQ(rest->step(), 5);
    at::rand({100});  // other users of the generator have no effect
    rest->run();
    expect_equal(rest->checkpoint(), straight->checkpoint());
  }
}

TEST_F(TrainerTest, SavesACheckpointWhenItIsStopped) {
  const auto stopped = trainer(std::make_shared<FirstWord>(), options(10), "run");
  stopped->on_step = [](const StepReport& report) {
    if (report.step == 3) throw Interrupted();
  };
  EXPECT_THROW(stopped->run(), Interrupted);
  const auto straight = trainer(std::make_shared<FirstWord>(), options(10));
  straight->run();
  const auto rest = trainer(std::make_shared<FirstWord>(), options(10), "run");
  ASSERT_TRUE(rest->resume());
  EXPECT_EQ(rest->step(), 3);
  rest->run();
  expect_equal(rest->checkpoint(), straight->checkpoint());
}

TEST_F(TrainerTest, AccumulatedBatchesAreOneLargeBatch) {
  std::map<std::string, at::Tensor> weights[2];
  for (const std::int64_t size : {8, 60}) {  // an epoch is one step of several batches
    auto chosen = options(4);
    chosen.optimizer = {.name = "sgd"};
    chosen.accumulate = batches(size)->steps();
    Trainer training(std::make_shared<FirstWord>(0.0), batches(size), nullptr, chosen, nullptr, {});
    training.run();
    weights[size == 60] = training.checkpoint().part("model");
  }
  EXPECT_GT(batches(8)->steps(), batches(60)->steps());
  for (const char* name : {"table.weight", "out.weight", "out.bias"}) {
    EXPECT_TRUE(at::allclose(weights[0].at(name), weights[1].at(name), 1e-4, 1e-6)) << name;
  }
}

TEST_F(TrainerTest, NamesTheStepWithoutAFiniteLoss) {
  const auto model = std::make_shared<FirstWord>();
  const auto training = trainer(model, options(10), "run");
  training->on_step = [&](const StepReport& report) { model->broken = report.step == 4; };
  try {
    training->run();
    FAIL() << "a loss that is not a number went unnoticed";
  } catch (const DivergedError& error) {
    EXPECT_NE(std::string(error.what()).find("step 5, batch "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("of epoch "), std::string::npos) << error.what();
  }
  EXPECT_EQ(training->step(), 4);
  for (const auto& [name, tensor] : training->checkpoint().part("model")) {
    EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
  }
}

TEST_F(TrainerTest, SkipsAFewBadSteps) {
  const auto model = std::make_shared<FirstWord>();
  auto chosen = options(10);
  chosen.bad_steps = 1;
  const auto training = trainer(model, chosen);
  training->on_step = [&](const StepReport& report) { model->broken = report.step == 4; };
  std::vector<Checkpoint> after;
  const auto first = training->on_step;
  training->on_step = [&](const StepReport& report) {
    first(report);
    after.push_back(training->checkpoint());
    for (auto& [name, tensor] : after.back().tensors) tensor = tensor.clone();
  };
  training->run();
  EXPECT_EQ(training->step(), 10);
  for (const auto& [name, tensor] : after[4].tensors) {
    EXPECT_TRUE(at::equal(tensor, after[3].tensors.at(name))) << name;
  }
  EXPECT_NE(after[4].state, after[3].state);  // the bad step is counted
}

TEST_F(TrainerTest, CountsBadStepsOverCheckpoints) {
  const auto model = std::make_shared<FirstWord>();
  auto chosen = options(2);
  chosen.bad_steps = 2;
  model->broken = true;
  trainer(model, chosen, "run")->run();
  chosen.max_steps = 3;
  const auto rest = trainer(model, chosen, "run");
  ASSERT_TRUE(rest->resume());
  EXPECT_THROW(rest->run(), DivergedError);
}

TEST_F(TrainerTest, FailedStepsChangeNothing) {
  const auto model = std::make_shared<FirstWord>();
  const auto training = trainer(model, options(10), "run");
  training->on_step = [&](const StepReport& report) { model->throws = report.step == 4; };
  EXPECT_THROW(training->run(), std::runtime_error);
  model->throws = false;
  const auto straight = trainer(std::make_shared<FirstWord>(), options(10));
  straight->run();
  const auto rest = trainer(std::make_shared<FirstWord>(), options(10), "run");
  ASSERT_TRUE(rest->resume());
  EXPECT_EQ(rest->step(), 4);
  rest->run();
  expect_equal(rest->checkpoint(), straight->checkpoint());
  training->on_step = nullptr;
  training->run();  // this trainer continues as well
  expect_equal(training->checkpoint(), straight->checkpoint());
}

TEST_F(TrainerTest, ReadEveryDoesNotAffectWeights) {
  for (const std::int64_t bad_step : {0, 6}) {
    std::vector<Checkpoint> checkpoints;
    std::vector<std::vector<double>> all_losses;
    for (const std::int64_t every : {1, 4, 7, 100}) {
      const auto model = std::make_shared<FirstWord>();
      model->breaks_at = bad_step;
      auto chosen = options(11);
      chosen.read_every = every;
      chosen.bad_steps = 1;
      chosen.validate_every = 5;
      chosen.clipping.global_norm = 0.5;
      const auto training = trainer(model, chosen, nullptr, true);
      auto& losses = all_losses.emplace_back();
      training->on_step = [&](const StepReport& report) {
        EXPECT_EQ(report.step, std::ssize(losses) + 1);
        losses.push_back(std::isnan(report.loss) ? -1 : report.loss);
      };
      training->run();
      checkpoints.push_back(training->checkpoint());
      for (auto& [name, tensor] : checkpoints.back().tensors) tensor = tensor.clone();
    }
    for (std::size_t i = 1; i < checkpoints.size(); ++i) {
      expect_equal(checkpoints[i], checkpoints[0]);
      EXPECT_EQ(all_losses[i], all_losses[0]);
    }
  }
}

TEST_F(TrainerTest, TakesNoStepAfterTheLastOne) {
  const auto straight = trainer(std::make_shared<FirstWord>(), options(5));
  straight->run();
  const auto model = std::make_shared<FirstWord>();
  model->breaks_at = 6;
  auto chosen = options(20);
  chosen.read_every = 8;  // reported two steps later
  const auto training = trainer(model, chosen);
  std::int64_t reported = 0;
  training->on_step = [&](const StepReport& report) { reported = report.step; };
  EXPECT_THROW(training->run(), DivergedError);
  EXPECT_EQ(reported, 5);
  EXPECT_EQ(training->step(), 5);
  const auto mine = training->checkpoint().part("model"), its = straight->checkpoint().part("model");
  for (const auto& [name, tensor] : mine) {
    EXPECT_TRUE(at::equal(tensor, its.at(name))) << name;
  }
}

TEST_F(TrainerTest, LoadsTheBestWeightsWithoutAFolder) {
  auto chosen = options(40);
  chosen.schedule.rate = 0.5;  // too large: the score sometimes gets worse
  chosen.schedule.decay = 0.5;
  chosen.validate_every = 2;
  chosen.reload_best = true;
  std::vector<Checkpoint> checkpoints;
  for (const char* folder : {"run", static_cast<const char*>(nullptr)}) {
    const auto training = trainer(std::make_shared<FirstWord>(), chosen, folder, true);
    std::int64_t decays = 0;
    training->on_validation = [&](const ValidationReport& report) { decays += report.decayed; };
    EXPECT_FALSE(training->load_best());
    training->run();
    EXPECT_GT(decays, 0);
    EXPECT_TRUE(training->load_best());
    checkpoints.push_back(training->checkpoint());
    for (auto& [name, tensor] : checkpoints.back().tensors) tensor = tensor.clone();
  }
  expect_equal(checkpoints[0], checkpoints[1]);
}

TEST_F(TrainerTest, ReportsTheFiguresOfTheModel) {
  const auto model = std::make_shared<FirstWord>();
  model->has_figures = true;
  auto chosen = options(3);
  chosen.accumulate = 2;
  const auto training = trainer(model, chosen, nullptr, true);
  std::vector<std::vector<double>> figures;
  training->on_step = [&](const StepReport& report) {
    EXPECT_EQ(report.figures.size(), 2U);
    EXPECT_EQ(report.figures[0], 2.0);
    EXPECT_EQ(report.figures[1], static_cast<double>(report.examples) / 8);
  };
  training->on_validation = [&](const ValidationReport& report) { figures.push_back(report.figures); };
  training->run();
  EXPECT_EQ(figures, (std::vector<std::vector<double>>{{2.0, 15.0 / 4}}));
}

TEST_F(TrainerTest, RepeatsInterruptedValidations) {
  auto chosen = options(10);
  chosen.validate_every = 4;
  chosen.schedule.decay = 0.5;
  for (const bool before : {true, false}) {  // in on_step, in the validation
    const std::string folder = before ? "before" : "within";
    std::int64_t calls = 0;
    const auto make = [&](bool stops) {
      auto training = trainer(std::make_shared<FirstWord>(), chosen, stops ? folder.c_str() : nullptr);
      training->validator = [&, stops] {
        if (stops && !before && ++calls == 1) throw Interrupted();
        return 1.0;
      };
      return training;
    };
    const auto stopped = make(true);
    stopped->on_step = [&](const StepReport& report) {
      if (before && report.step == 4) throw Interrupted();
    };
    EXPECT_THROW(stopped->run(), Interrupted);
    EXPECT_EQ(stopped->step(), 4);
    const auto straight = make(false), rest = make(true);
    straight->run();
    ASSERT_TRUE(rest->resume());
    rest->run();
    EXPECT_EQ(rest->scores().size(), 3U);  // after 4, 8 and 10 steps
    expect_equal(rest->checkpoint(), straight->checkpoint());
  }
}

std::int64_t polls = 0, stops = 0;

TEST_F(TrainerTest, CanBeInterruptedBetweenSteps) {
  const auto training = trainer(std::make_shared<FirstWord>(), options(100), "run");
  polls = 0;
  set_interrupt_check([] { return ++polls == 20; });
  EXPECT_THROW(training->run(), Interrupted);
  set_interrupt_check(nullptr);
  EXPECT_GT(training->step(), 0);
  EXPECT_LE(training->step(), 20);
  EXPECT_EQ(CheckpointFolder(folder_.path("run")).steps().back(), training->step());
}

/// Interrupts at every fourth poll for Ctrl-C (at all of them takes minutes), also while files are written.
TEST_F(TrainerTest, InterruptsChangeNothing) {
  auto chosen = options(5);
  chosen.schedule.decay = 0.5;
  chosen.schedule.higher_is_better = true;
  chosen.validate_every = 2;
  chosen.reload_best = true;
  const std::map<std::int64_t, double> scores{{2, .5}, {4, .4}, {5, .6}};
  std::vector<std::int64_t> validated;
  const auto make = [&](const std::string& folder) {
    auto training = trainer(std::make_shared<FirstWord>(), chosen, folder.c_str(), true);
    training->validator = [&scores, its = training.get()] { return scores.at(its->step()); };
    training->on_validation = [&](const ValidationReport& report) { validated.push_back(report.step); };
    return training;
  };
  const std::vector<std::int64_t> all{2, 4, 5};
  const auto straight = make("straight");
  polls = stops = 0;
  set_interrupt_check([] { return ++polls == stops; });
  straight->run();
  const std::int64_t total = polls;
  EXPECT_EQ(validated, all);
  EXPECT_GT(total, 50);
  for (std::int64_t at = 1; at <= total; at += 4) {
    validated.clear();
    const std::string folder = "run" + std::to_string(at);
    const auto stopped = make(folder);
    polls = 0;
    stops = at;
    try {
      stopped->run();
    } catch (const Interrupted&) {
    }
    stops = 0;
    const auto rest = make(folder);
    rest->resume();
    rest->run();
    EXPECT_EQ(validated, all) << at;
    expect_equal(rest->checkpoint(), straight->checkpoint());
    expect_equal(*CheckpointFolder(folder_.path(folder)).best(),
                 *CheckpointFolder(folder_.path("straight")).best());
  }
  set_interrupt_check(nullptr);
}

TEST_F(TrainerTest, ComputesInBfloat16WithFloat32Parameters) {
  const auto model = std::make_shared<FirstWord>(0.0);
  auto chosen = options(200);
  chosen.bfloat16 = true;
  const auto training = trainer(model, chosen);
  StepReport last;
  training->on_step = [&](const StepReport& report) { last = report; };
  training->run();
  EXPECT_EQ(model->product, at::kBFloat16);
  EXPECT_LT(last.loss, 0.3);
  for (const auto& [name, tensor] : training->checkpoint().part("model")) {
    EXPECT_NE(tensor.scalar_type(), at::kBFloat16) << name;
  }
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  trainer(model, options(1))->run();
  EXPECT_EQ(model->product, at::kFloat);
}

TEST_F(TrainerTest, StopsEarlyAndReloadsTheBest) {
  auto chosen = options(100);
  chosen.validate_every = 1;
  chosen.stop_after = 3;
  chosen.reload_best = true;
  chosen.schedule.decay = 0.5;
  chosen.schedule.higher_is_better = true;
  const auto training = trainer(std::make_shared<FirstWord>(), chosen, "run");
  const std::vector<double> scores{0.5, 0.7, 0.6, 0.6, 0.6, 0.9};
  std::vector<Checkpoint> after;
  std::size_t next = 0;
  training->validator = [&] { return scores.at(next++); };
  training->on_validation = [&](const ValidationReport& report) {
    EXPECT_EQ(report.best, report.score > 0.6 || report.step == 1);
    EXPECT_EQ(report.decayed, report.step > 2);
    after.push_back(training->checkpoint());
    for (auto& [name, tensor] : after.back().tensors) tensor = tensor.clone();
  };
  std::vector<double> rates;
  training->on_step = [&](const StepReport& report) { rates.push_back(report.rate); };
  training->run();
  EXPECT_TRUE(training->stopped_early());
  EXPECT_EQ(training->step(), 5);
  EXPECT_EQ(rates, (std::vector<double>{0.05, 0.05, 0.05, 0.025, 0.0125}));
  EXPECT_TRUE(at::equal(after[4].tensors.at("model.out.weight"), after[1].tensors.at("model.out.weight")));
}

TEST_F(TrainerTest, EndsWithItsEpochs) {
  auto chosen = options(0);
  chosen.max_epochs = 2;
  const auto training = trainer(std::make_shared<FirstWord>(), chosen, nullptr, true);
  std::int64_t validations = 0, examples = 0;
  training->on_validation = [&](const ValidationReport&) { ++validations; };
  training->on_step = [&](const StepReport& report) { examples += report.examples; };
  training->run();
  EXPECT_EQ(training->step(), 2 * batches()->steps());
  EXPECT_EQ(validations, 2);
  EXPECT_EQ(examples, 120);
}

TEST_F(TrainerTest, EndsWithItsTime) {
  auto chosen = options(0);
  chosen.max_minutes = 1e-4;  // 6 ms
  chosen.schedule.shape = Schedule::Shape::linear;
  chosen.schedule.steps = std::int64_t{1} << 40;
  const auto training = trainer(std::make_shared<FirstWord>(), chosen, "timed", true);
  std::vector<double> rates;
  std::int64_t validated = 0;
  training->on_step = [&](const StepReport& report) {
    rates.push_back(report.rate);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  training->on_validation = [&](const ValidationReport& report) { validated = report.step; };
  training->run();
  const std::int64_t last = training->step();
  EXPECT_LE(last, 4);
  EXPECT_EQ(validated, last);
  EXPECT_TRUE(last == 1 || rates.back() < 0.05);  // a machine may be slow
  // The time counts over all runs.
  const auto again = trainer(std::make_shared<FirstWord>(), chosen, "timed", true);
  EXPECT_TRUE(again->resume());
  again->run();
  EXPECT_EQ(again->step(), last);
  EXPECT_EQ(again->scores(), training->scores());
  chosen.max_minutes = 1;
  chosen.max_steps = last + 2;
  const auto longer = trainer(std::make_shared<FirstWord>(), chosen, "timed", true);
  EXPECT_TRUE(longer->resume());
  longer->run();
  EXPECT_EQ(longer->step(), last + 2);
}

TEST_F(TrainerTest, DoesNotSaveWhatIsNotTrained) {
  const auto frozen = [](double value) {
    auto model = std::make_shared<FirstWord>();
    at::Tensor table = model->named_parameters()["table.weight"];
    table.set_requires_grad(false);
    table.fill_(value);
    return model;
  };
  auto chosen = options(4);
  chosen.validate_every = 2;
  const auto training = trainer(frozen(0.25), chosen, "frozen", true);
  training->run();
  const CheckpointFolder folder(folder_.path("frozen"));
  EXPECT_FALSE(folder.last()->tensors.contains("model.table.weight"));
  EXPECT_TRUE(folder.last()->tensors.contains("optimizer.exp_avg.out.weight"));
  EXPECT_TRUE(folder.best()->part("optimizer").empty());
  const auto again = trainer(frozen(0.25), chosen, "frozen", true);
  EXPECT_TRUE(again->resume());
  EXPECT_TRUE(again->load_best());
  EXPECT_THROW(trainer(frozen(0.5), chosen, "frozen", true)->resume(), InvalidInput);
}

TEST_F(TrainerTest, AnchoredTablesStayNearTheirInitialValues) {
  const auto distance = [&](double anchor) {
    const auto model = std::make_shared<FirstWord>(0.0);
    const at::Tensor table = model->named_parameters()["table.weight"], before = table.detach().clone();
    auto chosen = options(40);
    chosen.anchor = anchor;
    chosen.anchored = {"table.weight"};
    trainer(model, chosen)->run();
    return (table - before).norm().item<double>();
  };
  EXPECT_LT(distance(4), 0.5 * distance(0));
  EXPECT_NEAR(distance(20), 0, 1e-6);  // the learning rate is 1 / 20
  auto chosen = options(1);
  chosen.anchor = 1;
  chosen.anchored = {"other"};
  EXPECT_THROW(trainer(std::make_shared<FirstWord>(), chosen), InvalidInput);
}

TEST_F(TrainerTest, EvaluatesWithoutAnEffect) {
  const auto training = trainer(std::make_shared<FirstWord>(), options(2), nullptr, true);
  const ValidationReport before = training->evaluate();
  EXPECT_GT(before.loss, 1.2);
  EXPECT_EQ(training->evaluate().loss, before.loss);
  EXPECT_TRUE(training->scores().empty());
  EXPECT_EQ(training->step(), 0);
}

TEST_F(TrainerTest, RefusesAnotherModelsCheckpoint) {
  const auto training = trainer(std::make_shared<FirstWord>(), options(1));
  Checkpoint other = training->checkpoint();
  other.tensors["model.more"] = at::zeros({1});
  EXPECT_THROW(training->restore(other), FormatError);
  other = training->checkpoint();
  other.tensors["model.out.bias"] = at::zeros({9});
  EXPECT_THROW(training->restore(other), FormatError);
  EXPECT_THROW(training->restore({}), FormatError);
}

TEST_F(TrainerTest, RefusesTheCheckpointOfAnotherTraining) {
  auto mine = options(4);
  mine.settings = R"({"pooling": "mean", "layers": [2, 3]})";
  mine.schedule.steps = 4;
  const Checkpoint saved = trainer(std::make_shared<FirstWord>(), mine)->checkpoint();
  const auto refused = [&](const auto& change) -> std::string {
    auto other = mine;
    change(other);
    try {
      trainer(std::make_shared<FirstWord>(), other)->restore(saved);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "it was not";
  };
  const auto ends_with = [&](const std::string& end, const auto& change) {
    const std::string message = refused(change);
    EXPECT_TRUE(message.ends_with(": " + end)) << message;
  };
  ends_with("seed was 0 and is 1", [](auto& other) { other.seed = 1; });
  ends_with("learning_rate was 0.05 and is 0.5", [](auto& other) { other.schedule.rate = 0.5; });
  ends_with("betas was [0.9,0.999] and is [0.9,0.98]", [](auto& other) { other.optimizer.beta2 = 0.98; });
  ends_with("clip_norm was 0.0 and is 1.0", [](auto& other) { other.clipping.global_norm = 1; });
  ends_with("accumulate was 1 and is 2", [](auto& other) { other.accumulate = 2; });
  ends_with("autocast was \"none\" and is \"bfloat16\"", [](auto& other) { other.bfloat16 = true; });
  ends_with("model.pooling was \"mean\" and is \"max\"",
            [](auto& other) { other.settings = R"({"pooling": "max", "layers": [2, 3]})"; });
  ends_with("model.layers was [2,3] and is nothing; model.pooling was \"mean\" and is nothing",
            [](auto& other) { other.settings = "{}"; });
  EXPECT_EQ(refused([](auto& other) {
              other.max_steps = 9;
              other.validate_every = 2;
              other.save_every = 3;
              other.stop_after = 4;
              other.schedule.steps = 9;  // has no effect on a constant schedule
              other.schedule.patience = 3;
            }),
            "it was not");
  mine.schedule.shape = Schedule::Shape::linear;
  const Checkpoint falling = trainer(std::make_shared<FirstWord>(), mine)->checkpoint();
  mine.schedule.steps = 9;
  EXPECT_THROW(trainer(std::make_shared<FirstWord>(), mine)->restore(falling), InvalidInput);
  const auto larger = std::make_shared<const Batcher>(examples_, BatcherOptions{.batch_size = 9, .seed = 3});
  mine.schedule.steps = 4;
  Trainer of_larger(std::make_shared<FirstWord>(), larger, nullptr, mine, nullptr, {});
  EXPECT_THROW(of_larger.restore(falling), InvalidInput);
}

TEST_F(TrainerTest, DoesNotCompareScoresOfDifferentMetrics) {
  auto chosen = options(4);
  chosen.validate_every = 2;
  trainer(std::make_shared<FirstWord>(), chosen, "run", true)->run();
  chosen.max_steps = 6;
  chosen.validate_accuracy = true;
  const auto by_accuracy = trainer(std::make_shared<FirstWord>(), chosen, "run", true);
  EXPECT_TRUE(by_accuracy->resume());
  EXPECT_THROW(by_accuracy->run(), InvalidInput);
  EXPECT_EQ(by_accuracy->step(), 4);
  const auto without = trainer(std::make_shared<FirstWord>(), chosen, "run", false);
  EXPECT_TRUE(without->resume());
  without->run();
  EXPECT_EQ(without->step(), 6);
}

TEST_F(TrainerTest, ValidatesBeforeTheFirstStep) {
  auto chosen = options(6);
  chosen.validate_every = 3;
  chosen.save_every = 1;
  chosen.validate_first = true;
  const auto start = [&](const char* folder, std::int64_t steps, const std::shared_ptr<FirstWord>& model) {
    auto some = chosen;
    some.max_steps = steps;
    auto training = trainer(model, some, folder, true);
    training->resume();
    // Without a gain: the loss of the weights before the first step is the lowest.
    training->validator = [&run = *training] { return static_cast<double>(run.step()); };
    return training;
  };
  for (const char* folder : {static_cast<const char*>(nullptr), "whole"}) {
    const auto model = std::make_shared<FirstWord>();
    const at::Tensor initial = model->parameter_tensors().front().second.detach().clone();
    const auto training = start(folder, 6, model);
    std::vector<ValidationReport> reports;
    training->on_validation = [&](const ValidationReport& report) { reports.push_back(report); };
    training->run();
    EXPECT_EQ(training->scores(), (std::vector<double>{0, 3, 6}));
    EXPECT_TRUE(reports.at(0).best && !reports.at(1).best && !reports.at(2).best);
    EXPECT_FALSE(at::equal(model->parameter_tensors().front().second, initial));
    EXPECT_TRUE(training->load_best());
    EXPECT_TRUE(at::equal(model->parameter_tensors().front().second, initial));
    training->run();  // does not repeat it
    EXPECT_EQ(reports.size(), 3U);
  }
  // A run that ended between validations forgets only the one at its end.
  start("parts", 2, std::make_shared<FirstWord>())->run();
  const auto model = std::make_shared<FirstWord>();
  const auto rest = start("parts", 6, model);
  EXPECT_EQ(rest->scores(), (std::vector<double>{0}));
  rest->run();
  EXPECT_EQ(rest->scores(), (std::vector<double>{0, 3, 6}));
  EXPECT_TRUE(rest->load_best());
}

TEST_F(TrainerTest, RefusesLossesWithoutACount) {
  const auto model = std::make_shared<FirstWord>();
  model->empty = true;
  const auto training = trainer(model, options(4));
  EXPECT_THROW(training->run(), InvalidInput);
  EXPECT_EQ(training->step(), 0);
}

TEST_F(TrainerTest, RefusesInvalidOptions) {
  const auto expect_refused = [](const auto& change) {
    TrainerOptions wrong;
    EXPECT_NO_THROW(wrong.check());
    change(wrong);
    EXPECT_THROW(wrong.check(), InvalidInput);
  };
  expect_refused([](auto& wrong) { wrong.max_epochs = 0; });
  expect_refused([](auto& wrong) { wrong.accumulate = 0; });
  expect_refused([](auto& wrong) { wrong.max_minutes = -1; });
  expect_refused([](auto& wrong) { wrong.schedule.rate = -1; });
  expect_refused([](auto& wrong) { wrong.settings = "[1]"; });
  expect_refused([](auto& wrong) { wrong.settings = "{"; });
  expect_refused([](auto& wrong) { wrong.read_every = -1; });
  const auto others = std::make_shared<const Batcher>(examples_, BatcherOptions{.rank = 1, .world = 2});
  EXPECT_THROW(Trainer(std::make_shared<FirstWord>(), batches(), others, options(1), nullptr, {}),
               InvalidInput);
  EXPECT_THROW(Trainer(std::make_shared<FirstWord>(), nullptr, nullptr, options(1), nullptr, {}),
               InvalidInput);
}

}  // namespace
}  // namespace sentencode::training
