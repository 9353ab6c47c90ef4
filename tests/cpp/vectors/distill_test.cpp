#include "sentencode/vectors/distill.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <random>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "vectors/tables.h"

namespace sentencode {
namespace {

constexpr std::int64_t kTeacherDim = 19;  // more than one block of columns, the last one incomplete

/// Random sentences of the words a to h, and x, which has no row; the matrix A; and rows of T.
struct Problem {
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::vector<float> weights{1.0F, 0.5F, 0.25F, 1.0F, 0.75F, 0.5F, 1.0F, 0.9F};
  MatrixD a;
  Matrix rows;

  explicit Problem(std::int64_t n = 60) : a(MatrixD::Zero(n, 8)), rows(n, kTeacherDim) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    rows = Matrix::NullaryExpr(n, kTeacherDim, [&] { return 1 + normal(random); });
    for (std::int64_t i = 0; i < n; ++i) {
      std::string text = "x";
      const auto length = static_cast<int>(1 + random() % 6);
      for (int t = 0; t < length; ++t) {
        const auto word = static_cast<std::int64_t>(random() % 7);  // no sentence has h
        text += {' ', static_cast<char>('a' + word)};
        a(i, word) += static_cast<double>(weights[static_cast<std::size_t>(word)]) / length;
      }
      texts.push_back(text);
    }
    views.assign(texts.begin(), texts.end());
  }

  Distillation sums(std::int64_t begin, std::int64_t end) const {
    Distillation sums(strings({"a", "b", "c", "d", "e", "f", "g", "h"}), {.split = Split::whitespace},
                      weights, kTeacherDim);
    const ConstMatrixView view(rows.row(begin).data(), end - begin, kTeacherDim,
                               Eigen::OuterStride<>(kTeacherDim));
    sums.add(Sentences{views, {}}.slice(begin, end), view);
    return sums;
  }
  Distillation sums() const { return sums(0, rows.rows()); }
};

Matrix prior_of(unsigned seed = 2) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  return Matrix::NullaryExpr(8, kTeacherDim, [&] { return normal(random); });
}

TEST(Distillation, SolvesTheNormalEquations) {
  const Problem problem;
  const Distillation sums = problem.sums();
  const Matrix prior = prior_of();
  MatrixD t = problem.rows.cast<double>();
  t.rowwise() -= t.colwise().mean();
  for (const double penalty : {1e-3, 0.1, 100.0}) {
    MatrixD normal = problem.a.transpose() * problem.a;
    normal.diagonal().array() += penalty;
    const MatrixD expected = normal.llt().solve(problem.a.transpose() * t + penalty * prior.cast<double>());
    DistillOptions options;
    options.penalty = penalty;
    options.tolerance = 1e-7;
    const Distilled solution = sums.solve(prior, options);
    EXPECT_LE((solution.table.cast<double>() - expected).cwiseAbs().maxCoeff(),
              1e-4 * expected.cwiseAbs().maxCoeff());
    EXPECT_LE(solution.residual, 1e-7);
    const double error = (problem.a * expected - t).squaredNorm() / t.squaredNorm();
    EXPECT_NEAR(sums.error(solution.table, sums.mean()), error, 1e-5);
  }
}

TEST(Distillation, MapsThePriorToTheTeacher) {
  const Problem problem(200);
  const Distillation sums = problem.sums();
  MatrixD t = problem.rows.cast<double>();
  t.rowwise() -= t.colwise().mean();
  // Of 8 words the averages span 7 dimensions of 19: the others are determined by the ridge.
  for (const Matrix& prior : {Matrix(prior_of() + 3 * sums.solve(prior_of(), {}).table), prior_of(5)}) {
    const MatrixD averages = problem.a * prior.cast<double>();
    const double best = averages.cwiseProduct(t).sum() / averages.squaredNorm();
    const double alpha = best > 0 ? best : 1;
    const Moments moments = sums.moments(prior);
    for (const double ridge : {1e-2, 1.0, 1e9}) {
      const double weight = ridge * averages.squaredNorm() / kTeacherDim;
      MatrixD left = averages.transpose() * averages, right = averages.transpose() * t;
      left.diagonal().array() += weight;
      right.diagonal().array() += weight * alpha;
      const MatrixD expected = left.llt().solve(right);
      EXPECT_LE((moments.map(ridge) - expected).cwiseAbs().maxCoeff(), 1e-4 * expected.cwiseAbs().maxCoeff())
          << ridge;
    }
    EXPECT_LE((moments.map(1e9) - alpha * MatrixD::Identity(kTeacherDim, kTeacherDim)).cwiseAbs().maxCoeff(),
              1e-6);
    EXPECT_LT(sums.error(mapped(prior, moments.map(1e-6)), sums.mean()),
              sums.error(alpha * prior, sums.mean()));
    EXPECT_THROW(moments.map(0), InvalidInput);
  }
  EXPECT_EQ(sums.moments(Matrix::Zero(8, kTeacherDim)).map(1), MatrixD::Identity(kTeacherDim, kTeacherDim));
}

TEST(Distillation, PrincipalAxesExplainMostOfTheAverages) {
  const Problem problem;
  const Distillation sums = problem.sums();
  const Matrix table = sums.solve(prior_of(), {}).table;
  const MatrixD averages = problem.a * table.cast<double>();
  const Eigen::JacobiSVD<MatrixD> svd(averages, Eigen::ComputeThinV);
  const Moments moments = sums.moments(table);
  for (const std::int64_t count : {1, 3, 7}) {
    const MatrixD axes = moments.axes(count);
    EXPECT_LE((axes.transpose() * axes - MatrixD::Identity(count, count)).cwiseAbs().maxCoeff(), 1e-6);
    const double explained = (averages * axes).squaredNorm();
    EXPECT_NEAR(explained / svd.singularValues().head(count).squaredNorm(), 1, 1e-5) << count;
  }
  EXPECT_THROW(moments.axes(0), InvalidInput);
  EXPECT_THROW(moments.axes(kTeacherDim + 1), InvalidInput);
  EXPECT_THROW(mapped(table, MatrixD::Zero(3, 3)), InvalidInput);
}

TEST(Distillation, ShardsAreMergedAndThreadsChangeNothing) {
  const Problem problem;
  const Distillation whole = problem.sums();
  Distillation merged = problem.sums(0, 10);
  merged.merge(problem.sums(10, 45));
  merged.merge(problem.sums(45, 60));
  EXPECT_EQ(merged.sentences(), 60);
  EXPECT_EQ(merged.counts(), whole.counts());
  EXPECT_EQ(merged.counts().back(), 0);
  const Matrix prior = prior_of();
  const Matrix expected = whole.solve(prior, {}).table;
  EXPECT_LE((merged.solve(prior, {}).table - expected).cwiseAbs().maxCoeff(), 1e-4);
  const MatrixD map = whole.moments(prior).map(0.1);
  const Matrix many = prior.replicate(200, 1);
  const Matrix product = mapped(many, map);
  EXPECT_LE((product.cast<double>() - many.cast<double>() * map).cwiseAbs().maxCoeff(), 1e-5);
  const int threads = num_threads();
  for (const int count : {1, 2, 5}) {
    set_num_threads(count);
    EXPECT_EQ(problem.sums().solve(prior, {}).table, expected) << count;
    EXPECT_EQ(problem.sums().moments(prior).map(0.1), map) << count;
    EXPECT_EQ(mapped(many, map), product) << count;
  }
  set_num_threads(threads);
}

bool always() { return true; }

TEST(Distillation, RefusesToContinueAnInterruptedSum) {
  const Problem problem;
  Distillation sums = problem.sums(0, 30);
  const int threads = num_threads();
  set_num_threads(1);
  int calls = 0;
  set_interrupt_check(&always);
  try {
    const ConstMatrixView rows(problem.rows.data(), 30, kTeacherDim, Eigen::OuterStride<>(kTeacherDim));
    EXPECT_THROW(sums.add(Sentences{problem.views, {}}.slice(0, 30), rows), Interrupted);
    ++calls;
  } catch (...) {
  }
  set_interrupt_check(nullptr);
  set_num_threads(threads);
  EXPECT_EQ(calls, 1);
  // Interrupted before the sums: they are unchanged. Interrupted in between: they are not usable.
  try {
    const MatrixD gram = sums.moments(prior_of()).gram;
    EXPECT_EQ(gram, problem.sums(0, 30).moments(prior_of()).gram);
  } catch (const InvalidInput&) {
    EXPECT_THROW(sums.merge(problem.sums(30, 60)), InvalidInput);
  }
}

TEST(Distillation, ColumnsAreSolvedIndependently) {
  const Problem problem;
  const Distillation sums = problem.sums();
  const Matrix prior = prior_of();
  const std::vector<std::int64_t> which{0, 5, 18};
  const Matrix some = sums.columns(which).solve(prior(Eigen::all, which), {}).table;
  const Matrix all = sums.solve(prior, {}).table;
  EXPECT_LE((some - all(Eigen::all, which)).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_THROW(sums.columns({19}), InvalidInput);
}

TEST(Distillation, ATinyColumnDoesNotAffectOthers) {
  Problem problem;
  problem.rows.col(4) *= 1e-34F;
  problem.rows.col(7) *= 1e-3F;
  Matrix prior = prior_of();
  prior.col(4) *= 1e-34F;
  const Distilled solution = problem.sums().solve(prior, {});
  EXPECT_LE(solution.residual, 1e-5);
  EXPECT_LE(solution.table.col(4).cwiseAbs().maxCoeff(), 1e-32F);
  const Matrix alone = problem.sums().columns({7}).solve(prior.col(7), {}).table;
  EXPECT_LE((solution.table.col(7) - alone).cwiseAbs().maxCoeff(), 1e-4F * alone.cwiseAbs().maxCoeff());
}

TEST(Distillation, RefusesInvalidArguments) {
  const Problem problem;
  Distillation sums = problem.sums();
  const Matrix narrow = Matrix::Zero(60, 3);
  const ConstMatrixView view(narrow.data(), 60, 3, Eigen::OuterStride<>(3));
  EXPECT_THROW(sums.add({problem.views, {}}, view), InvalidInput);
  Matrix bad = problem.rows;
  bad(7, 2) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(
      sums.add({problem.views, {}}, {bad.data(), 60, kTeacherDim, Eigen::OuterStride<>(kTeacherDim)}),
      InvalidInput);
  EXPECT_EQ(sums.sentences(), 60);
  EXPECT_THROW(sums.solve(Matrix::Zero(8, 3), {}), InvalidInput);
  DistillOptions negative;
  negative.penalty = -1;
  EXPECT_THROW(sums.solve(prior_of(), negative), InvalidInput);
  EXPECT_THROW(Distillation(strings({"a"}), {}, {0.0F}, 3), InvalidInput);
  EXPECT_THROW(sums.merge(sums), InvalidInput);
  Distillation one(strings({"a"}), {}, {1.0F}, 3);
  EXPECT_THROW(one.merge(Distillation(strings({"b"}), {}, {1.0F}, 3)), InvalidInput);
  EXPECT_THROW(one.merge(Distillation(strings({"a"}), {}, {0.5F}, 3)), InvalidInput);
  EXPECT_THROW(Distillation(strings({"a"}), {}, {1.0F, 1.0F}, 3), InvalidInput);
}

}  // namespace
}  // namespace sentencode
