#include "sentencode/evaluation/logistic.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "sentencode/error.h"

namespace sentencode {
namespace {

TEST(Features, CombinePairs) {
  const auto embeddings = at::tensor({1.F, 2.F, 3.F, 5.F}).view({2, 2});
  const auto first = at::tensor({0, 1, 1}).to(at::kLong), second = at::tensor({1, 0, 1}).to(at::kLong);
  const Features features(embeddings, first, second, {"u", "v", "|u-v|", "u*v"});
  EXPECT_EQ(features.rows(), 3);
  EXPECT_EQ(features.dim(), 8);
  const auto expected = at::tensor({3.F, 5.F, 1.F, 2.F, 2.F, 3.F, 3.F, 10.F,  //
                                    3.F, 5.F, 3.F, 5.F, 0.F, 0.F, 9.F, 25.F})
                            .view({2, 8});
  EXPECT_TRUE(at::equal(features.block(1, 3), expected));
  EXPECT_TRUE(at::equal(Features(embeddings).block(1, 2), embeddings.slice(0, 1, 2)));
  EXPECT_THROW(Features(embeddings, first, second, {"u+v"}), InvalidInput);
}

// Two rows of each class at -1 and 1: the weight w solves w = 4 C / (1 + exp w), and the intercept is 0.
TEST(FitLogistic, FindsTheOptimum) {
  const auto x = at::tensor({-1.F, -1.F, 1.F, 1.F}).view({4, 1});
  LogisticProblems problems;
  problems.targets = at::tensor({0, 0, 1, 1}).to(at::kLong);
  problems.classes = 2;
  problems.folds = at::ones({1, 4}, at::kBool);
  problems.fold = at::zeros({2}, at::kLong);
  problems.penalties = at::tensor({1.0, 10.0}, at::kDouble);
  const LogisticSolutions solutions = fit_logistic(Features(x), problems);
  const auto w = solutions.weights.flatten().to(at::kDouble);
  EXPECT_TRUE(at::allclose(w, 4 * problems.penalties / (1 + w.exp()), 1e-3, 1e-3));
  EXPECT_TRUE(at::allclose(solutions.intercepts, at::zeros({2, 1}, at::kDouble), 0, 1e-4));
  EXPECT_TRUE(at::equal(solutions.predictions, at::tensor({0, 0, 1, 1}, at::kShort).expand({2, 4})));
  EXPECT_TRUE((solutions.gradients < 1e-5).all().item<bool>());
}

}  // namespace
}  // namespace sentencode
