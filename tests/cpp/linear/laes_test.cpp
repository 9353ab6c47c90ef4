#include "sentencode/linear/laes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <thread>

#include "linear/example.h"
#include "sentencode/evaluation/metrics.h"
#include "sentencode/parallel.h"
#include "temporary_folder.h"

namespace sentencode {
namespace {

using Options = LaesOptions;

std::unique_ptr<Laes> fitted(const Example& example, const Texts& texts, const Options& options) {
  auto laes = std::make_unique<Laes>(example.words(), options);
  laes->partial_fit(texts.sentences());
  laes->solve();
  return laes;
}

TEST(LaesMemory, CountsAllDirections) {
  Example example(130);
  const Texts long_ones(example.ids(27, 10'000, 10'000));  // more words than may wait
  Laes one(example.words(), {.max_length = 10'000});
  Laes both(example.words(), {.direction = Options::Direction::both, .max_length = 10'000});
  for (Laes* laes : {&one, &both}) {
    laes->partial_fit(long_ones.sentences());
    const auto again = [&] { laes->partial_fit(long_ones.sentences()); };
    const auto solve = [&] { laes->solve(); };
    const std::string expected = laes == &one ? "needs 13521 GB" : "needs 20282 GB";
    EXPECT_THROW_WITH(again(), InvalidInput, expected);
    EXPECT_THROW_WITH(solve(), InvalidInput, expected);
  }
}

/// Section V by its definition, with the parameters of one direction.
Vector slow_embedding(const Example& example, std::span<const std::int32_t> ids, const Laes& laes,
                      Reading reading) {
  const Autoencoder& m = *laes.autoencoder(reading);
  const Options& options = laes.options();
  const std::int64_t n = m.dim(), p = m.hidden(), l = std::ssize(ids);
  if (l == 0) return Vector::Zero(options.mode == Options::Mode::hidden ? p : n);
  const MatrixD a = m.a.cast<double>(), b = m.b.cast<double>();
  MatrixD x = example.x(ids, reading);
  const VectorD centre = options.center ? VectorD(m.centre.cast<double>()) : VectorD(VectorD::Zero(n));
  VectorD h = VectorD::Zero(p);
  for (std::int64_t t = 0; t < l; ++t) {
    const VectorD input = x.row(t).transpose() - centre;
    if (options.state == Options::State::recursive) {
      h = a * input + b * h;
    } else if (l - 1 - t < m.longest) {
      h += m.u.middleCols((l - 1 - t) * n, n).cast<double>() * input;
    }
  }
  if (options.mode == Options::Mode::hidden) return h.cast<float>();
  VectorD sum = VectorD::Zero(n);
  for (std::int64_t t = l - 1; t >= 0; --t) {
    const VectorD reconstructed = a.transpose() * h + centre;
    sum += options.mode == Options::Mode::residual ? VectorD(x.row(t).transpose() - reconstructed)
                                                   : reconstructed;
    h = b.transpose() * h;
  }
  return (sum / static_cast<double>(l)).cast<float>();
}

using Case = std::tuple<Options::Mode, Options::Direction, Options::Combine, bool, Options::State>;
class LaesTest : public ::testing::TestWithParam<Case> {
 protected:
  Options options(std::int64_t hidden) const {
    const auto [mode, direction, combine, center, state] = GetParam();
    return {.hidden = hidden,
            .mode = mode,
            .direction = direction,
            .combine = combine,
            .center = center,
            .state = state};
  }
  Example example_{6};
};

TEST_P(LaesTest, EqualsThePaper) {
  const Texts train(example_.ids(80, 1, 7));
  const RaggedIds test = example_.ids(50, 0, 17);
  const auto laes = fitted(example_, train, options(8));
  const Matrix actual = laes->encode(Texts(test).sentences());
  ASSERT_EQ(actual.cols(), laes->dim());
  for (std::int64_t i = 0; i < test.size(); ++i) {
    std::vector<Vector> parts;
    if (laes->options().direction != Options::Direction::backward)
      parts.push_back(slow_embedding(example_, test[i], *laes, Reading::forward));
    if (laes->options().direction != Options::Direction::forward)
      parts.push_back(slow_embedding(example_, test[i], *laes, Reading::backward));
    Vector expected = parts[0];
    if (parts.size() == 2 && laes->options().combine == Options::Combine::sum) {
      expected = (parts[0] + parts[1]) / 2;
    } else if (parts.size() == 2) {
      expected.resize(2 * parts[0].size());
      expected << parts[0], parts[1];
    }
    ASSERT_EQ(actual.cols(), expected.size());
    EXPECT_LE((actual.row(i).transpose() - expected).norm(), 5e-6 * (1 + expected.norm())) << i;
  }
}

TEST_P(LaesTest, EmbeddingsDoNotDependOnBatchesOrThreads) {
  const auto laes = fitted(example_, Texts(example_.ids(80, 1, 7)), options(8));
  const Texts texts(example_.ids(200, 0, 17));
  const Matrix together = laes->encode(texts.sentences());
  const int threads = num_threads();
  set_num_threads(1);
  EXPECT_LE((laes->encode(texts.sentences()) - together).cwiseAbs().maxCoeff(), 1e-6);
  set_num_threads(threads);
  for (const std::int64_t size : {1, 2, 7, 64}) {
    for (std::int64_t begin = 0; begin < texts.size(); begin += 31) {
      const std::int64_t end = std::min(begin + size, texts.size());
      const Matrix alone = laes->encode(texts.sentences().slice(begin, end));
      EXPECT_LE((alone - together.middleRows(begin, end - begin)).cwiseAbs().maxCoeff(), 1e-6);
    }
  }
}

TEST_P(LaesTest, SelectEqualsEncodingWithEachHiddenSize) {
  const Texts one(example_.ids(60, 0, 9)), two(example_.ids(60, 0, 9));
  std::vector<double> gold;
  for (int i = 0; i < 60; ++i) gold.push_back(std::cos(i * 2.3));
  const auto laes = fitted(example_, Texts(example_.ids(80, 1, 7)), options(12));
  const std::vector<std::int64_t> sizes{1, 2, 5, 12};
  const std::vector<Curve> curves = laes->select(one.sentences(), two.sentences(), gold, sizes);
  const bool both = laes->options().direction == Options::Direction::both;
  ASSERT_EQ(curves.size(), both ? 4U : 1U);
  for (const Curve& curve : curves) {
    EXPECT_EQ(curve.settings, sizes);
    const bool combined = curve.name == "sum" || curve.name == "concat";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto smaller = laes->resized(
          sizes[i], combined ? Options::Direction::both : parse_enum<Options::Direction>(curve.name),
          combined ? parse_enum<Options::Combine>(curve.name) : Options::Combine::sum);
      std::vector<double> cosines(60);
      cosine_of_pairs(smaller->encode(one.sentences()), smaller->encode(two.sentences()), cosines);
      EXPECT_NEAR(curve.pearson[i], pearson(cosines, gold), 1e-4) << curve.name << " " << sizes[i];
    }
  }
}

TEST_P(LaesTest, RoundTripsThroughAFile) {
  const TemporaryFolder folder;
  const auto laes = fitted(example_, Texts(example_.ids(80, 1, 7)), options(8));
  const Texts texts(example_.ids(30, 0, 9)), more(example_.ids(30, 1, 9));
  for (const bool statistics : {false, true}) {
    laes->set_params("what Python says");
    laes->save(folder.path("model"), {.statistics = statistics});
    const auto loaded = load_encoder(folder.path("model"));
    EXPECT_EQ(loaded->kind(), "LAES");
    EXPECT_EQ(loaded->encode(texts.sentences()), laes->encode(texts.sentences()));
    auto& again = dynamic_cast<Laes&>(*loaded);
    EXPECT_EQ(again.params(), "what Python says");
    if (statistics) {
      again.partial_fit(more.sentences());
      again.solve();
      auto expected = laes->resized(8, laes->options().direction, laes->options().combine);
      expected->partial_fit(more.sentences());
      expected->solve();
      EXPECT_LE((again.encode(texts.sentences()) - expected->encode(texts.sentences())).cwiseAbs().maxCoeff(),
                1e-6);
    } else {
      EXPECT_THROW_WITH(again.partial_fit(more.sentences()), InvalidInput, "without its statistics");
      EXPECT_THROW_WITH(again.resized(9, again.options().direction, again.options().combine), InvalidInput,
                        "9 hidden units are more than the 8");
    }
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  const auto& [mode, direction, combine, center, state] = info.param;
  return concat(name_of(mode), '_', name_of(direction), '_', name_of(combine), center ? "_centred_" : "_",
                name_of(state));
}
INSTANTIATE_TEST_SUITE_P(
    Laes, LaesTest,
    ::testing::Combine(::testing::Values(Options::Mode::hidden, Options::Mode::reconstruction,
                                         Options::Mode::residual),
                       ::testing::Values(Options::Direction::forward, Options::Direction::backward,
                                         Options::Direction::both),
                       ::testing::Values(Options::Combine::sum, Options::Combine::concat), ::testing::Bool(),
                       ::testing::Values(Options::State::recursive, Options::State::projection)),
    name_of_case);

TEST(Laes, MergedPartsEqualTheWholeInAnyOrder) {
  Example example(6);
  const RaggedIds ids = example.ids(90, 0, 8);
  const Texts all(ids), test(example.ids(20, 1, 8));
  const Options options{
      .hidden = 7, .mode = Options::Mode::residual, .direction = Options::Direction::both, .center = true};
  const Matrix expected = fitted(example, all, options)->encode(test.sentences());
  Laes left(example.words(), options), right(example.words(), options);
  right.partial_fit(all.sentences().slice(0, 40));
  right.solve();  // adds waiting sentences to the sums, which changes nothing
  left.partial_fit(all.sentences().slice(40, 90));
  left.merge(right);
  EXPECT_EQ(left.tokens_seen(), std::ssize(ids.ids));
  left.solve();
  EXPECT_LE((left.encode(test.sentences()) - expected).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_LT(right.tokens_seen(), left.tokens_seen()) << "merging must not change what is merged";
}

TEST(Laes, SharedStatisticsAreCopiedOnWrite) {
  Example example(6);
  const Texts train(example.ids(80, 1, 7)), more(example.ids(80, 1, 7)), test(example.ids(20, 1, 8));
  const auto large = fitted(example, train, {.hidden = 10});
  const auto small = large->resized(4, Options::Direction::forward, Options::Combine::sum);
  const std::int64_t seen = large->tokens_seen();
  small->partial_fit(more.sentences());
  small->solve();
  EXPECT_EQ(large->tokens_seen(), seen);
  EXPECT_GT(small->tokens_seen(), seen);
  const auto larger = large->resized(15, Options::Direction::forward, Options::Combine::sum);
  const Matrix expected = fitted(example, train, {.hidden = 15})->encode(test.sentences());
  EXPECT_LE((larger->encode(test.sentences()) - expected).cwiseAbs().maxCoeff(), 1e-5);
}

TEST(Laes, VariantsEqualAFitWithTheirOptions) {
  Example example(6);
  const Texts train(example.ids(80, 1, 7)), test(example.ids(20, 1, 8));
  const auto both = fitted(
      example, train, {.hidden = 5, .mode = Options::Mode::residual, .direction = Options::Direction::both});
  for (const std::int64_t hidden : {3, 5, 9}) {  // leading rows of the parameters, and new solutions
    for (const auto mode : {Options::Mode::hidden, Options::Mode::reconstruction, Options::Mode::residual}) {
      for (const auto direction : {Options::Direction::forward, Options::Direction::both}) {
        const Options options{
            .hidden = hidden, .mode = mode, .direction = direction, .combine = Options::Combine::concat};
        const auto variant = both->variant(hidden, mode, direction, Options::Combine::concat);
        const Matrix expected = fitted(example, train, options)->encode(test.sentences());
        EXPECT_LE((variant->encode(test.sentences()) - expected).cwiseAbs().maxCoeff(), 1e-5);
      }
    }
  }
}

TEST(Laes, StatisticsRoundTrip) {
  Example example(6);
  const Texts train(example.ids(80, 1, 7)), test(example.ids(20, 1, 8));
  const Options options{.hidden = 6, .direction = Options::Direction::both};
  const auto laes = fitted(example, train, options);
  Laes other(example.words(), options);
  other.set_statistics(laes->statistics());
  other.solve();
  EXPECT_EQ(other.encode(test.sentences()), laes->encode(test.sentences()));

  auto states = laes->statistics();
  states.pop_back();
  EXPECT_THROW_WITH(other.set_statistics(states), InvalidInput, "statistics of 1 directions, expected 2");
  Laes waiting(example.words(), options);
  waiting.partial_fit(Texts{"w1 w2"}.sentences());
  states = waiting.statistics();
  states[1].waiting.ids[0] = 30;
  EXPECT_THROW_WITH(other.set_statistics(states), InvalidInput,
                    "statistics name word 30, the vectors hold 30");
  states[1].waiting.ids[0] = -1;
  EXPECT_THROW_WITH(other.set_statistics(states), InvalidInput, "statistics name word -1");
}

TEST(Laes, ReconstructionErrorEqualsThePapersRecursion) {
  Example example(5);
  const RaggedIds ids = example.ids(60, 0, 9);
  const Texts texts(ids);
  for (const bool center : {false, true}) {
    for (const Reading reading : {Reading::forward, Reading::backward}) {
      const auto laes =
          fitted(example, texts, {.hidden = 45, .direction = Options::Direction::both, .center = center});
      const std::vector<std::int64_t> sizes{1, 7, 20, 45};
      const std::vector<double> errors = laes->reconstruction_error(texts.sentences(), sizes, reading);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Autoencoder m = laes->autoencoder(reading)->truncated(sizes[i]);
        double wrong = 0, whole = 0;
        for (std::int64_t s = 0; s < ids.size(); ++s) {
          if (ids[s].empty()) continue;
          const Matrix x = example.x(ids[s], reading).cast<float>();
          const Matrix h = m.states(x);
          wrong += (m.decode(h.bottomRows(1).transpose(), x.rows()) - x).cast<double>().squaredNorm();
          whole += x.cast<double>().squaredNorm();
        }
        EXPECT_NEAR(errors[i], std::sqrt(wrong / whole), 1e-5);
      }
      EXPECT_LE(errors.back(), 1e-5) << "full rank";
    }
  }
}

TEST(Laes, StatesAndDecodingInBothDirections) {
  Example example(5);
  const RaggedIds ids = example.ids(40, 1, 9);
  const auto laes = fitted(example, Texts(ids), {.hidden = 45, .direction = Options::Direction::both});
  for (const Reading reading : {Reading::forward, Reading::backward}) {
    const Texts one{"w3 unknown w1 w4"};
    const Matrix h = laes->states(one.sentences(), reading);
    const MatrixD x = example.x(std::vector<std::int32_t>{3, 1, 4}, reading);
    ASSERT_EQ(h.rows(), 3);
    EXPECT_LE((laes->decode(h.bottomRows(1).transpose(), 3, reading).cast<double>() - x).norm(), 1e-4);
    EXPECT_EQ(laes->states(Texts{""}.sentences(), reading).rows(), 0);
  }
  EXPECT_THROW_WITH(laes->states(Texts{"w1", "w2"}.sentences(), Reading::forward), InvalidInput,
                    "expected one sentence");
}

TEST(Laes, DegenerateInput) {
  Example example(5);
  const Texts odd{"w1 w2", "", "unknown", "w2 w1 w3 w4 w5 w6 w7 w8"};
  for (const auto mode : {Options::Mode::hidden, Options::Mode::reconstruction, Options::Mode::residual}) {
    Laes laes(example.words(), {.hidden = 30, .mode = mode, .center = true, .max_length = 3});
    EXPECT_FALSE(laes.fitted());
    EXPECT_THROW_WITH(laes.encode(odd.sentences()), NotFitted, "LAES is not fitted yet");
    EXPECT_THROW_WITH(laes.solve(), NotFitted, "LAES is not fitted yet");
    laes.partial_fit(Texts{"", "unknown"}.sentences());
    EXPECT_THROW_WITH(laes.solve(), InvalidInput, "no sentence had a known word");
    laes.partial_fit(Texts{"w1 w2", "w1 w2", "w1 w2"}.sentences());  // equal sentences
    laes.solve();
    EXPECT_EQ(laes.autoencoder(Reading::forward)->rank, 2) << "two prefixes";
    EXPECT_EQ(laes.autoencoder(Reading::forward)->longest, 2);
    const Matrix e = laes.encode(odd.sentences());
    EXPECT_TRUE(e.allFinite());
    EXPECT_EQ(e.row(1).norm() + e.row(2).norm(), 0);
    EXPECT_GT(e.row(3).norm(), 0);
    if (mode == Options::Mode::residual) {
      EXPECT_EQ(e.row(0).norm(), 0) << "reconstructed exactly";
    }
    EXPECT_EQ(laes.encode(Texts(std::initializer_list<std::string_view>{}).sentences()).rows(), 0);
  }
}

/// Simulates Ctrl-C at the n-th poll, on one thread, so that this is always the same position.
class Interrupt {
 public:
  explicit Interrupt(int at) : threads_(num_threads()) {
    left_ = at;
    set_num_threads(1);
    set_interrupt_check([] { return --left_ == 0; });
  }
  ~Interrupt() {
    set_interrupt_check(nullptr);
    set_num_threads(threads_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  static inline int left_ = 0;
  int threads_;
};

/// Calls action() with Ctrl-C at the n-th poll, for every n, and check\(\) after each interrupt. Returns the
/// number of interrupts.
template <typename Action, typename Check>
int interrupt_everywhere(const Action& action, const Check& check) {
  for (int n = 1;; ++n) {
    bool interrupted = false;
    try {
      const Interrupt interrupt(n);
      action();
    } catch (const Interrupted&) {
      interrupted = true;
    }
    if (!interrupted) return n - 1;
    check();
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "interrupted at poll " << n;
      return n;
    }
  }
}

bool same(const PrefixGram::State& a, const PrefixGram::State& b) {
  return a.sentences == b.sentences && a.tokens == b.tokens && a.counts == b.counts &&
         a.waiting.ids == b.waiting.ids && a.waiting.offsets == b.waiting.offsets &&
         a.gram.rows() == b.gram.rows() && a.gram == b.gram && a.sums == b.sums;
}

/// The statistics after full batches, or all waiting sentences, were added to the sums.
std::vector<PrefixGram::State> absorbed_statistics(const Example& example, const Laes& laes,
                                                   bool batches_alone) {
  std::vector<PrefixGram::State> result;
  for (PrefixGram::State& state : laes.statistics()) {
    PrefixGram gram(std::move(state));  // refuses sums that contradict the counts
    batches_alone ? gram.absorb_batches(example.words()) : gram.absorb(example.words());
    result.push_back(gram.state());
  }
  return result;
}

/// Whether each direction is unchanged, at most with waiting sentences added to the sums.
bool unchanged(const Laes& laes, const std::vector<PrefixGram::State>& before,
               const std::vector<PrefixGram::State>& absorbed) {
  const auto now = laes.statistics();
  bool result = now.size() == before.size();
  for (std::size_t d = 0; d < now.size() && result; ++d) {
    result = same(now[d], before[d]) || same(now[d], absorbed[d]);
  }
  return result;
}

TEST(Laes, InterruptsAddWholeBlocksOrNothing) {
  Example example(2, 9);
  const Options options{.hidden = 3, .direction = Options::Direction::both};
  // Long sentences: few of them fill a batch, so that there are few polls.
  const Texts most(example.ids(PrefixGram::kWaiting / 62, 62, 64)), rest(example.ids(40, 60, 64));
  Laes laes(example.words(), options), expected(example.words(), options);
  laes.partial_fit(most.sentences());
  expected.partial_fit(most.sentences());
  expected.partial_fit(rest.sentences());
  auto before = laes.statistics(), absorbed = absorbed_statistics(example, laes, true);
  EXPECT_GT(interrupt_everywhere([&] { laes.partial_fit(rest.sentences()); },
                                 [&] { EXPECT_TRUE(unchanged(laes, before, absorbed)); }),
            100);
  before = laes.statistics();
  EXPECT_FALSE(before[1].counts.empty()) << "a batch should have been added to the sums";
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_TRUE(same(before[d], expected.statistics()[d]))
        << "the retry must have the same result as a single call";
  }

  absorbed = absorbed_statistics(example, laes, false);
  EXPECT_GT(interrupt_everywhere([&] { laes.solve(); },
                                 [&] {
                                   EXPECT_FALSE(laes.fitted());
                                   EXPECT_TRUE(unchanged(laes, before, absorbed));
                                 }),
            2);
  expected.solve();
  EXPECT_EQ(laes.encode(rest.sentences()), expected.encode(rest.sentences()));
}

TEST(Laes, EncodesWithOldParametersUntilSolved) {
  Example example(6);
  const Texts train(example.ids(200, 1, 9)), more(example.ids(200, 1, 9)), test(example.ids(20, 1, 8));
  Laes laes(example.words(), {.hidden = 4});
  laes.partial_fit(train.sentences());
  laes.solve();
  const Matrix before = laes.encode(test.sentences());
  laes.partial_fit(more.sentences());
  EXPECT_GT(interrupt_everywhere([&] { laes.solve(); },
                                 [&] {
                                   EXPECT_FALSE(laes.solved());
                                   EXPECT_EQ(laes.encode(test.sentences()), before);
                                 }),
            2);
  EXPECT_TRUE(laes.solved());
  EXPECT_NE(laes.encode(test.sentences()), before);
}

/// The poll for Ctrl-C may wait for threads that use the encoder, as Python threads hold the GIL.
TEST(Laes, EncodingDoesNotWaitForFitting) {
  static Laes* encoder = nullptr;
  static int polls = 0, late = 0;
  Example example(2, 9);
  const Texts most(example.ids(PrefixGram::kWaiting / 62, 62, 64)), rest(example.ids(40, 60, 64));
  Laes laes(example.words(), {.hidden = 3, .direction = Options::Direction::both});
  laes.partial_fit(rest.sentences());
  laes.solve();
  laes.partial_fit(most.sentences());
  encoder = &laes;
  set_interrupt_check([] {
    if (late > 0 || ++polls % 16 != 0) return false;
    const auto done = std::make_shared<std::promise<void>>();
    auto future = done->get_future();
    std::thread([done] {
      (void)encoder->tokens_seen();
      (void)encoder->statistics();
      (void)encoder->encode(Texts{"w1 w2"}.sentences());
      (void)encoder->to_bytes(false);
      done->set_value();
    }).detach();
    if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) ++late;
    return late > 0;
  });
  EXPECT_NO_THROW(laes.partial_fit(rest.sentences()));
  EXPECT_NO_THROW(laes.solve());
  set_interrupt_check(nullptr);
  EXPECT_GT(polls, 16);
  EXPECT_EQ(late, 0);
}

TEST(Laes, FitsAndEncodesConcurrently) {  // for ThreadSanitizer
  Example example(4);
  const RaggedIds ids = example.ids(120, 1, 9);
  const Texts texts(ids);
  const Options options{.hidden = 5, .direction = Options::Direction::both};
  Laes laes(example.words(), options);
  laes.partial_fit(texts.sentences());
  laes.solve();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) laes.partial_fit(texts.sentences());
    });
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        laes.solve();
        EXPECT_EQ(laes.encode(texts.sentences()).rows(), 120);
        EXPECT_EQ(laes.tokens_seen() % std::ssize(ids.ids), 0);
        EXPECT_EQ(laes.statistics()[0].tokens % std::ssize(ids.ids), 0);
        (void)laes.resized(3, Options::Direction::forward, Options::Combine::sum);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(laes.tokens_seen(), 21 * std::ssize(ids.ids)) << "all that was fitted to";
}

TEST(Laes, SignalHandlersCannotFitTheSameEncoder) {
  static Laes* fitted_to = nullptr;
  Example example(2, 9);
  const Texts most(example.ids(PrefixGram::kWaiting / 62, 62, 64));
  Laes laes(example.words(), {.hidden = 3});
  laes.partial_fit(most.sentences());
  fitted_to = &laes;
  set_interrupt_check([] {
    set_interrupt_check(nullptr);
    fitted_to->partial_fit(Texts{"w1"}.sentences());
    return false;
  });
  EXPECT_THROW_WITH(laes.solve(), InvalidInput, "a signal's handler cannot use what the signal interrupted");
  set_interrupt_check(nullptr);
  EXPECT_NO_THROW(laes.solve());
}

TEST(Laes, SplitsLongSentences) {
  // Longer than the words of one product, among short ones.
  Example example(3);
  RaggedIds ids = example.ids(30, 0, 9);
  const RaggedIds long_one = example.ids(1, 70'000, 70'000);
  ids.ids.insert(ids.ids.end(), long_one.ids.begin(), long_one.ids.end());
  ids.offsets.push_back(std::ssize(ids.ids));
  const Texts texts(ids);
  for (const auto state : {Options::State::recursive, Options::State::projection}) {
    const auto laes =
        fitted(example, Texts(example.ids(60, 1, 9)), {.hidden = 6, .center = true, .state = state});
    const Matrix actual = laes->encode(texts.sentences());
    for (const std::int64_t i : {std::int64_t{0}, ids.size() - 1}) {
      const Vector expected = slow_embedding(example, ids[i], *laes, Reading::forward);
      EXPECT_LE((actual.row(i).transpose() - expected).norm(), 1e-5 * (1 + expected.norm())) << i;
    }
    // The cosine of a sentence with itself is 1, however it was divided.
    const std::vector<std::int64_t> sizes{2, 6};
    const std::vector<double> errors = laes->reconstruction_error(texts.sentences(), sizes, Reading::forward);
    const auto small = laes->resized(2, Options::Direction::forward, Options::Combine::sum);
    const Matrix of_two = small->encode(texts.sentences());
    std::vector<double> gold, cosines(static_cast<std::size_t>(ids.size()));
    for (std::int64_t i = 0; i < ids.size(); ++i) gold.push_back(std::sin(static_cast<double>(i)));
    cosine_of_pairs(of_two, of_two.colwise().reverse().eval(), cosines);
    RaggedIds backwards;
    for (std::int64_t i = ids.size(); i-- > 0;) {
      backwards.ids.insert(backwards.ids.end(), ids[i].begin(), ids[i].end());
      backwards.offsets.push_back(std::ssize(backwards.ids));
    }
    const auto curves = laes->select(texts.sentences(), Texts(backwards).sentences(), gold, sizes);
    EXPECT_NEAR(curves[0].pearson[0], pearson(cosines, gold), 1e-4);
    EXPECT_GT(errors[0], errors[1]);
  }
}

TEST(Laes, RefusesInvalidOptions) {
  Example example(5);
  EXPECT_THROW_WITH(Laes(example.words(), {.hidden = 0}), InvalidInput, "hidden must be at least 1, got 0");
  EXPECT_THROW_WITH(Laes(example.words(), {.max_length = 0}), InvalidInput, "max_length must be 1 to 10000");
  const auto laes = fitted(example, Texts{"w1 w2", "w3"}, {.hidden = 2});
  EXPECT_THROW_WITH(laes->autoencoder(Reading::backward), InvalidInput, "it has no backward part");
  EXPECT_THROW_WITH(laes->resized(1, Options::Direction::both, Options::Combine::sum), InvalidInput,
                    "no backward part");
  const std::vector<double> gold{1};
  const std::vector<std::int64_t> sizes{1, 3};
  EXPECT_THROW_WITH(laes->select(Texts{"w1"}.sentences(), Texts{"w2"}.sentences(), gold, sizes), InvalidInput,
                    "hidden sizes must be 1 to 2, got 3");
}

}  // namespace
}  // namespace sentencode
