// The heads and the trainer, compared with losses in double that follow the equations example by example, and
// with their differences.
#include "sentencode/linear/train_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "linear/example.h"
#include "sentencode/linear/trained_average.h"
#include "temporary_folder.h"

namespace sentencode::train_table {
namespace {

using Rows = std::vector<VectorD>;  // of the sentences of an example

double cosine(const VectorD& a, const VectorD& b) {
  return a.norm() > 0 && b.norm() > 0 ? a.dot(b) / (a.norm() * b.norm()) : 0;
}

/// s of the features of one example, by loops.
VectorD slow_scores(const TableHeadOptions& o, const VectorD& w, const Rows& u) {
  std::vector<double> x;
  const double s = o.sides == 2 ? o.pair_scale : 1;
  for (const VectorD& side : u) {
    for (const double value : side) x.push_back(s * value / o.unit);
  }
  for (Eigen::Index j = 0; j < o.dim && o.sides == 2; ++j) x.push_back(std::abs(u[0][j] - u[1][j]) / o.unit);
  for (Eigen::Index j = 0; j < o.dim && o.sides == 2; ++j) {
    x.push_back(s * u[0][j] * u[1][j] / (o.unit * o.unit));
  }
  const std::int64_t f = std::ssize(x), k = o.outputs;
  VectorD scores(k);
  for (std::int64_t c = 0; c < k; ++c) {
    scores[c] = w[k * f + c];
    for (std::int64_t j = 0; j < f; ++j) scores[c] += w[c * f + j] * x[static_cast<std::size_t>(j)];
  }
  return scores;
}

/// How much nearer the second embedding is to the first than the third is.
double nearer(const TableHeadOptions& o, const Rows& u) {
  if (o.distance == Distance::cosine) return cosine(u[0], u[1]) - cosine(u[0], u[2]);
  return (u[0] - u[2]).norm() - (u[0] - u[1]).norm();
}

/// Sum of the losses of examples, whose embeddings are u[example][side].
double slow_loss(const TableHeadOptions& o, const VectorD& w, const std::vector<Rows>& u, const MatrixD& y) {
  double sum = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    if (o.kind == HeadKind::cosine_regression) {
      sum += std::pow(cosine(u[i][0], u[i][1]) - y(row, 0), 2);
    } else if (o.kind == HeadKind::multiple_negatives) {
      double total = 0;
      for (const Rows& other : u) {
        for (std::size_t side = 1; side < other.size(); ++side) {
          total += std::exp(o.scale * cosine(u[i][0], other[side]));
        }
      }
      sum -= o.scale * cosine(u[i][0], u[i][1]) - std::log(total);
    } else if (o.kind == HeadKind::triplet) {
      sum += std::max(0.0, o.margin - nearer(o, u[i]));
    } else {
      const VectorD s = slow_scores(o, w, u[i]);
      if (o.kind == HeadKind::row_regression) {
        sum += (s - y.row(row).transpose()).squaredNorm() / static_cast<double>(o.outputs);
      } else {
        for (Eigen::Index c = 0; c < s.size(); ++c)
          sum -= y(row, c) * (s[c] - std::log(s.array().exp().sum()));
      }
    }
  }
  return sum;
}

/// The gradient of f at x, by central differences.
VectorD differences(const std::function<double(const VectorD&)>& f, VectorD x) {
  constexpr double kStep = 1e-5;
  VectorD g(x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    g[i] = f(x);
    x[i] = at - kStep;
    g[i] = (g[i] - f(x)) / (2 * kStep);
    x[i] = at;
  }
  return g;
}

double relative_error(const Vector& a, const VectorD& b) {
  return (a.cast<double>() - b).norm() / std::max(b.norm(), 1e-3);
}

struct Case {
  const char* name;
  TableHeadOptions options;
};

const Case kCases[] = {
    {"classes of sentences", {.dim = 5, .outputs = 3, .unit = 0.7}},
    {"classes of pairs", {.dim = 5, .sides = 2, .outputs = 2, .unit = 1.3, .pair_scale = 0.3}},
    {"cosines", {.kind = HeadKind::cosine_regression, .dim = 5, .sides = 2}},
    {"negatives", {.kind = HeadKind::multiple_negatives, .dim = 5, .sides = 2, .scale = 7}},
    {"negatives of triples", {.kind = HeadKind::multiple_negatives, .dim = 5, .sides = 3, .scale = 7}},
    {"triples by cosine", {.kind = HeadKind::triplet, .dim = 5, .sides = 3}},
    {"triples",
     {.kind = HeadKind::triplet, .dim = 5, .sides = 3, .margin = 0.5, .distance = Distance::euclidean}},
    {"rows", {.kind = HeadKind::row_regression, .dim = 5, .outputs = 4}}};

class Random {
 public:
  Matrix matrix(Eigen::Index rows, Eigen::Index cols) {
    return Matrix::NullaryExpr(rows, cols, [&] { return normal_(bits_); });
  }
  /// Labels of n examples.
  Matrix y(const TableHeadOptions& o, Eigen::Index n) {
    if (o.kind == HeadKind::multiple_negatives || o.kind == HeadKind::triplet) return Matrix(n, 0);
    if (o.kind != HeadKind::classifier) return matrix(n, o.has_weights() ? o.outputs : 1);
    Matrix y = Matrix::Zero(n, o.outputs);
    for (Eigen::Index i = 0; i < n; ++i) {
      y(i, static_cast<Eigen::Index>(bits_() % static_cast<unsigned>(o.outputs))) = i % 2 == 0 ? 1 : 0.3F;
    }
    return y;
  }
  /// A head with random weights.
  TableHead head(const TableHeadOptions& o) {
    TableHead head(o);
    if (o.has_weights()) head.weights() = 0.5F * matrix(1, o.size()).transpose();
    return head;
  }

 private:
  std::mt19937 bits_{7};
  std::normal_distribution<float> normal_;
};

std::vector<Rows> rows_of(const std::vector<Matrix>& u) {
  std::vector<Rows> rows(static_cast<std::size_t>(u[0].rows()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Matrix& side : u) {
      rows[i].push_back(side.row(static_cast<Eigen::Index>(i)).transpose().cast<double>());
    }
  }
  return rows;
}

TEST(TableHead, HasTheLossesOfTheEquationsAndTheirGradients) {
  Random random;
  for (const auto& [name, o] : kCases) {
    SCOPED_TRACE(name);
    const TableHead head = random.head(o);
    std::vector<Matrix> u, grad_u(static_cast<std::size_t>(o.sides));
    for (std::int64_t side = 0; side < o.sides; ++side) u.push_back(random.matrix(6, o.dim));
    const Matrix y = random.y(o, 6);
    Vector grad = Vector::Ones(head.weights().size());  // to be increased
    const double loss = head.loss(u, y, grad_u, &grad);
    const std::vector<Rows> rows = rows_of(u);
    const VectorD w = head.weights().cast<double>();
    const MatrixD targets = y.cast<double>();
    EXPECT_NEAR(loss, slow_loss(o, w, rows, targets), 1e-5 * std::abs(loss));
    EXPECT_DOUBLE_EQ(head.loss(u, y), loss);
    if (o.has_weights()) {
      EXPECT_LE(
          relative_error(grad - Vector::Ones(grad.size()),
                         differences([&](const VectorD& at) { return slow_loss(o, at, rows, targets); }, w)),
          1e-4);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t side = 0; side < u.size(); ++side) {
        const auto of_row = [&](const VectorD& row) {
          std::vector<Rows> changed = rows;
          changed[i][side] = row;
          return slow_loss(o, w, changed, targets);
        };
        EXPECT_LE(relative_error(grad_u[side].row(static_cast<Eigen::Index>(i)).transpose(),
                                 differences(of_row, rows[i][side])),
                  1e-4);
      }
    }
  }
}

TEST(TableHead, PredictsWhatItsLossCompares) {
  Random random;
  for (const auto& [name, o] : kCases) {
    SCOPED_TRACE(name);
    const TableHead head = random.head(o);
    std::vector<Matrix> u;
    for (std::int64_t side = 0; side < o.sides; ++side) u.push_back(random.matrix(6, o.dim));
    const Matrix predicted = head.predict(u);
    const std::vector<Rows> rows = rows_of(u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      VectorD expected(1);
      if (o.has_weights()) {
        expected = slow_scores(o, head.weights().cast<double>(), rows[i]);
        if (o.kind == HeadKind::classifier) expected = expected.array().exp() / expected.array().exp().sum();
      } else {
        expected[0] = o.kind == HeadKind::triplet ? nearer(o, rows[i]) : cosine(rows[i][0], rows[i][1]);
      }
      const double tolerance = o.kind == HeadKind::triplet ? 1e-4 : 1e-5;  // of a difference
      EXPECT_LE(relative_error(predicted.row(static_cast<Eigen::Index>(i)).transpose(), expected), tolerance);
    }
  }
}

TEST(TableHead, HasZeroGradientsForSentencesWithoutWords) {
  const std::vector<Matrix> zeros(3, Matrix::Zero(4, 3));
  for (const auto& [options, loss] :
       {std::pair<TableHeadOptions, double>({.kind = HeadKind::multiple_negatives, .sides = 2},
                                            std::log(4.0)),
        {{.kind = HeadKind::multiple_negatives, .sides = 3}, std::log(8.0)},
        {{.kind = HeadKind::triplet, .sides = 3}, 0.2},
        {{.kind = HeadKind::triplet, .sides = 3, .margin = 1, .distance = Distance::euclidean}, 1.0}}) {
    TableHeadOptions o = options;
    o.dim = 3;
    const TableHead head(o);
    const std::span<const Matrix> u(zeros.data(), static_cast<std::size_t>(o.sides));
    std::vector<Matrix> grad(u.size());
    EXPECT_NEAR(head.loss(u, Matrix(4, 0), grad), 4 * loss, 1e-6);
    for (const Matrix& g : grad) EXPECT_TRUE(g.isZero(0));
    EXPECT_TRUE(head.predict(u).isZero(0));
  }
}

TEST(TableHead, IsFittedToTheOptimumOfLogisticRegression) {
  Random random;
  const TableHeadOptions o{.dim = 4, .outputs = 3};
  const std::vector<Matrix> u{random.matrix(300, 4)};
  const Matrix y = random.y(o, 300);
  const double c = 0.5, n = 300;
  TableHead head(o);
  EXPECT_LT(head.fit(u, y, c), 100);
  const std::vector<Rows> rows = rows_of(u);
  const auto objective = [&](const VectorD& w) {
    return slow_loss(o, w, rows, y.cast<double>()) / n + w.head(12).squaredNorm() / (2 * c * n);
  };
  EXPECT_LE(differences(objective, head.weights().cast<double>()).cwiseAbs().maxCoeff(), 1.1e-4);
}

TEST(TableHead, RefusesOtherShapes) {
  EXPECT_THROW(TableHead({.dim = 3, .outputs = 1}), InvalidInput);
  EXPECT_THROW(TableHead({.kind = HeadKind::cosine_regression, .dim = 3}), InvalidInput);
  EXPECT_THROW(TableHead({.kind = HeadKind::row_regression, .dim = 3, .sides = 2, .outputs = 2}),
               InvalidInput);
  EXPECT_THROW(TableHead({.kind = HeadKind::triplet, .dim = 3, .sides = 2}), InvalidInput);
  EXPECT_THROW(TableHead({.kind = HeadKind::triplet, .dim = 3, .sides = 3, .margin = -1}), InvalidInput);
  const TableHead head({.dim = 3, .outputs = 2});
  EXPECT_THROW(head.predict(std::vector<Matrix>{Matrix(2, 4)}), InvalidInput);
  EXPECT_THROW(head.loss(std::vector<Matrix>{Matrix::Zero(2, 3)}, Matrix::Zero(2, 3)), InvalidInput);
}

/// Examples of words 0 to V - 1, whose labels the words decide.
std::shared_ptr<const TableExamples> examples_of(const TableHeadOptions& o, std::int64_t n,
                                                 std::int64_t words) {
  Random random;
  Example example(o.dim, words);
  auto examples = std::make_shared<TableExamples>();
  for (std::int64_t side = 0; side < o.sides; ++side) examples->sides.push_back(example.ids(n, 0, 7));
  examples->y = random.y(o, n);
  return examples;
}

std::vector<std::int64_t> first(std::int64_t n) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::int64_t>(i);
  return index;
}

TEST(TableTrainer, TakesAdamsStepFromTheGradientOfTheMeanLoss) {
  Random random;
  for (const auto& [name, o] : kCases) {
    for (const bool normalize : {false, true}) {
      SCOPED_TRACE(concat(name, normalize ? ", normalised" : ""));
      constexpr std::int64_t kExamples = 5, kWords = 12;
      const auto examples = examples_of(o, kExamples, kWords);
      const Matrix table = random.matrix(kWords - 1, o.dim);  // the last word has a zero row
      const TableHead head = random.head(o);
      TableTrainer trainer(examples, table, head,
                           {.learning_rate = 0.01,
                            .head_learning_rate = 0.002,
                            .batch_size = kExamples,
                            .warm_up = 0,
                            .normalize = normalize});
      const auto loss = [&](const VectorD& parameters) {
        std::vector<Rows> u(kExamples);
        for (const RaggedIds& side : examples->sides) {
          for (std::int64_t i = 0; i < kExamples; ++i) {
            VectorD mean = VectorD::Zero(o.dim);
            for (const std::int32_t id : side[i]) {
              if (id < kWords - 1) mean += parameters.segment(id * o.dim, o.dim);
            }
            if (!side[i].empty()) mean /= static_cast<double>(side[i].size());
            if (normalize && mean.norm() > 0) mean /= mean.norm();
            u[static_cast<std::size_t>(i)].push_back(mean);
          }
        }
        return slow_loss(o, parameters.tail(parameters.size() - table.size()), u,
                         examples->y.cast<double>()) /
               kExamples;
      };
      VectorD parameters(table.size() + head.weights().size());
      parameters << Eigen::Map<const Vector>(table.data(), table.size()).cast<double>(),
          head.weights().cast<double>();
      EXPECT_NEAR(trainer.mean_loss(first(kExamples)), loss(parameters), 1e-5);
      EXPECT_NEAR(trainer.epoch(first(kExamples)), loss(parameters), 1e-5);
      // Adam's first step is rate * g / (|g| + epsilon).
      const VectorD g = differences(loss, parameters);
      const double rms = std::sqrt(table.cast<double>().squaredNorm() / static_cast<double>(table.size()));
      VectorD after(parameters.size());
      after << Eigen::Map<const Vector>(trainer.table().data(), table.size()).cast<double>(),
          trainer.head().weights().cast<double>();
      for (Eigen::Index i = 0; i < g.size(); ++i) {
        const double rate = i < table.size() ? 0.01 * rms : 0.002;
        if (std::abs(g[i]) > 1e-4) {
          EXPECT_NEAR(after[i], parameters[i] - std::copysign(rate, g[i]), 0.01 * rate) << i << " " << g[i];
        } else if (std::abs(g[i]) < 1e-9 && i < table.size()) {
          EXPECT_LE(std::abs(after[i] - parameters[i]), 1.001 * rate) << i;
        }
      }
    }
  }
}

TEST(TableTrainer, LeavesRowsOfOtherWordsAlone) {
  const TableHeadOptions o{.dim = 4, .outputs = 2};
  Random random;
  const auto examples = examples_of(o, 40, 10);
  const Matrix table = random.matrix(15, 4);
  TableTrainer trainer(examples, table, random.head(o), {.word_dropout = 0.2, .batch_size = 8, .steps = 5});
  trainer.epoch(first(40));
  EXPECT_EQ(trainer.table().bottomRows(5), table.bottomRows(5));
  EXPECT_TRUE(((trainer.table() - table).topRows(10).rowwise().norm().array() > 0).all());
}

TEST(TableTrainer, LearnsAndIsReproducible) {
  // The class of a sentence is whether word 0 or word 1 is in it, which the initial vectors do not show.
  Example example(8, 40);
  auto examples = std::make_shared<TableExamples>();
  examples->sides = {example.ids(400, 3, 8)};
  examples->y = Matrix::Zero(400, 2);
  for (std::int64_t i = 0; i < 400; ++i) {
    auto& ids = examples->sides[0];
    const auto at = static_cast<std::size_t>(ids.offsets[static_cast<std::size_t>(i)]);
    for (auto word = at; word < static_cast<std::size_t>(ids.offsets[static_cast<std::size_t>(i) + 1]);
         ++word)
      ids.ids[word] = std::max(ids.ids[word], 2);
    ids.ids[at] = i % 2;
    examples->y(i, i % 2) = 1;
  }
  const auto run = [&](std::uint64_t seed, double anchor) {
    TableTrainer trainer(examples, Matrix::Constant(40, 8, 0.5F), TableHead({.dim = 8, .outputs = 2}),
                         {.learning_rate = 0.2,
                          .head_learning_rate = 0.01,
                          .anchor = anchor,
                          .word_dropout = 0.1,
                          .steps = 10 * 20,
                          .seed = seed});
    for (int epoch = 0; epoch < 20; ++epoch) trainer.epoch(first(300));
    return trainer;
  };
  const TableTrainer trainer = run(1, 0);
  std::vector<std::int64_t> others(100);
  for (std::size_t i = 0; i < 100; ++i) others[i] = static_cast<std::int64_t>(300 + i);
  const Matrix p = trainer.predict(others);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_GT(p(i, i % 2), 0.5F) << i;
  EXPECT_EQ(trainer.embeddings(others)[0].rows(), 100);
  EXPECT_EQ(run(1, 0).table(), trainer.table());
  EXPECT_NE(run(2, 0).table(), trainer.table());
  const Matrix initial = Matrix::Constant(40, 8, 0.5F);
  EXPECT_LT((run(1, 1).table() - initial).norm(), (trainer.table() - initial).norm());
}

TEST(TableTrainer, ReportsInvalidInputAndDivergence) {
  const TableHeadOptions o{.dim = 4, .outputs = 2};
  const auto examples = examples_of(o, 8, 10);
  Matrix table = Matrix::Ones(10, 4);
  EXPECT_THROW(TableTrainer(examples, table, TableHead(o), {.word_dropout = 1}), InvalidInput);
  EXPECT_THROW(TableTrainer(examples, table, TableHead(o), {.batch_size = 0}), InvalidInput);
  EXPECT_THROW(TableTrainer(examples, Matrix::Ones(10, 3), TableHead(o), {}), InvalidInput);
  EXPECT_THROW(TableTrainer(nullptr, table, TableHead(o), {}), InvalidInput);
  TableExamples damaged = *examples;
  damaged.sides[0].offsets[1] = 1'000'000'000;
  EXPECT_THROW(TableTrainer(std::make_shared<TableExamples>(damaged), table, TableHead(o), {}), InvalidInput);
  for (const std::int64_t index : {-1, 8}) {
    const std::vector<std::int64_t> absent{0, index};
    EXPECT_THROW(TableTrainer(examples, table, TableHead(o), {}).epoch(absent), InvalidInput);
    EXPECT_THROW(TableTrainer(examples, table, TableHead(o), {}).predict(absent), InvalidInput);
  }
  table(0, 0) = std::numeric_limits<float>::quiet_NaN();
  TableTrainer trainer(examples, table, TableHead(o), {.batch_size = 8});
  EXPECT_THROW(trainer.epoch(first(8)), DivergedError);
}

TEST(TrainedAverage, IsSavedWithItsHead) {
  Example example(4);
  Random random;
  const Texts texts(example.ids(50, 0, 9));
  const TemporaryFolder folder;
  for (const TableHeadOptions& o :
       {TableHeadOptions{.dim = 4, .outputs = 3, .unit = 0.3},
        {.dim = 4, .sides = 2, .outputs = 3, .pair_scale = 0.2},
        {.kind = HeadKind::multiple_negatives, .dim = 4, .sides = 2, .scale = 5},
        {.kind = HeadKind::triplet, .dim = 4, .sides = 3, .margin = 1, .distance = Distance::euclidean}}) {
    const TrainedAverage encoder(WeightedWords(example.vectors(), {.split = Split::whitespace}, {}),
                                 random.head(o), true);
    encoder.save(folder.path("trained"));
    const auto loaded = load_encoder(folder.path("trained"));
    const auto& again = dynamic_cast<const TrainedAverage&>(*loaded);
    EXPECT_EQ(again.encode(texts.sentences()), encoder.encode(texts.sentences()));
    EXPECT_EQ(again.head().weights(), encoder.head().weights());
    const std::vector<Matrix> u(static_cast<std::size_t>(o.sides), encoder.encode(texts.sentences()));
    EXPECT_EQ(again.head().predict(u), encoder.head().predict(u));
  }
  EXPECT_THROW(TrainedAverage(example.words(), TableHead({.dim = 3, .outputs = 2})), InvalidInput);
}

}  // namespace
}  // namespace sentencode::train_table
