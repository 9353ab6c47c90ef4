#include "sentencode/training/optimizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <cmath>

#include "sentencode/error.h"

namespace sentencode::training {
namespace {

/// Two parameters, and one that is not trained.
NamedTensors parameters() {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  NamedTensors tensors{{"a", torch::linspace(-1, 1, 5, options)}, {"b", torch::ones({2, 2}, options)}};
  for (auto& [name, tensor] : tensors) tensor.requires_grad_();
  tensors.emplace_back("frozen", torch::ones({3}, options));
  return tensors;
}

/// Gradients of a step, which depend on the parameters.
void fill_gradients(const NamedTensors& parameters, std::int64_t step) {
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    tensor.mutable_grad() = (tensor.detach() * 3 - 1).sin() + 0.1 * static_cast<double>(step);
  }
}

class EachOptimizer : public testing::TestWithParam<OptimizerOptions> {};

TEST_P(EachOptimizer, ResumesFromItsState) {
  const NamedTensors straight = parameters(), first = parameters();
  Optimizer whole(straight, GetParam()), half(first, GetParam());
  for (std::int64_t step = 0; step < 10; ++step) {
    fill_gradients(straight, step);
    whole.step(0.01);
  }
  for (std::int64_t step = 0; step < 5; ++step) {
    fill_gradients(first, step);
    half.step(0.01);
  }
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : half.state()) state[name] = tensor.clone();
  NamedTensors second = parameters();
  for (std::size_t i = 0; i < second.size(); ++i) second[i].second.detach().copy_(first[i].second.detach());
  Optimizer rest(second, GetParam());
  rest.restore(state);
  for (std::int64_t step = 5; step < 10; ++step) {
    fill_gradients(second, step);
    rest.step(0.01);
  }
  for (std::size_t i = 0; i < second.size(); ++i) {
    EXPECT_TRUE(at::equal(second[i].second, straight[i].second)) << second[i].first;
  }
  EXPECT_FALSE(at::equal(straight[0].second, parameters()[0].second));
  EXPECT_TRUE(at::equal(straight[2].second, parameters()[2].second));  // frozen
}

INSTANTIATE_TEST_SUITE_P(
    All, EachOptimizer,
    testing::Values(OptimizerOptions{.name = "adam"}, OptimizerOptions{.name = "adamw", .weight_decay = 0.1},
                    OptimizerOptions{.name = "sgd", .momentum = 0.9}, OptimizerOptions{.name = "sgd"},
                    OptimizerOptions{.name = "rmsprop", .momentum = 0.5},
                    OptimizerOptions{.name = "adagrad"}),
    [](const auto& tested) { return tested.param.name + (tested.param.momentum > 0 ? "Momentum" : ""); });

TEST(Optimizer, TakesTheStepsOfLibTorch) {
  namespace optim = torch::optim;
  const auto expect_equal = [](const OptimizerOptions& options, auto make) {
    const NamedTensors mine = parameters(), theirs = parameters();
    Optimizer optimizer(mine, options);
    const std::unique_ptr<optim::Optimizer> reference =
        make(std::vector<at::Tensor>{theirs[0].second, theirs[1].second});
    for (std::int64_t step = 0; step < 5; ++step) {
      fill_gradients(mine, step);
      fill_gradients(theirs, step);
      optimizer.step(0.01);
      reference->step();
    }
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(at::equal(mine[i].second, theirs[i].second)) << options.name;
  };
  for (const double momentum : {0.0, 0.9}) {
    expect_equal({.name = "sgd", .momentum = momentum, .weight_decay = 0.1}, [&](const auto& tensors) {
      return std::make_unique<optim::SGD>(tensors,
                                          optim::SGDOptions(0.01).momentum(momentum).weight_decay(0.1));
    });
    expect_equal({.name = "rmsprop", .momentum = momentum, .weight_decay = 0.1}, [&](const auto& tensors) {
      return std::make_unique<optim::RMSprop>(
          tensors, optim::RMSpropOptions(0.01).momentum(momentum).weight_decay(0.1));
    });
  }
  expect_equal({.name = "adagrad", .weight_decay = 0.1}, [](const auto& tensors) {
    return std::make_unique<optim::Adagrad>(tensors, optim::AdagradOptions(0.01).eps(1e-8).weight_decay(0.1));
  });
}

TEST(Optimizer, AdamIsThePapersFormula) {
  const NamedTensors parameters_ = parameters();
  const OptimizerOptions options{.name = "adam", .beta1 = 0.8, .beta2 = 0.98, .epsilon = 1e-6};
  Optimizer optimizer(parameters_, options);
  at::Tensor x = parameters_[0].second.detach().clone(), m = at::zeros_like(x), v = at::zeros_like(x);
  for (std::int64_t step = 0; step < 4; ++step) {
    const at::Tensor g = (x * 3 - 1).sin() + 0.1 * static_cast<double>(step);
    m = 0.8 * m + 0.2 * g;
    v = 0.98 * v + 0.02 * g * g;
    const auto t = static_cast<double>(step + 1);
    x = x - 0.05 * (m / (1 - std::pow(0.8, t))) / ((v / (1 - std::pow(0.98, t))).sqrt() + 1e-6);
    fill_gradients(parameters_, step);
    optimizer.step(0.05);
  }
  EXPECT_TRUE(at::allclose(parameters_[0].second.detach(), x, 1e-12, 1e-14));
}

TEST(Optimizer, DoesNotDependOnStrides) {
  for (const char* name : {"adam", "adamw"}) {
    const OptimizerOptions options{.name = name, .weight_decay = 0.1};
    const at::Tensor values = at::randn({3, 5}, at::kDouble), slope = at::randn({3, 5}, at::kDouble);
    const at::Tensor plain = values.clone().requires_grad_();
    const at::Tensor turned = values.t().contiguous().t().requires_grad_();
    ASSERT_FALSE(turned.is_contiguous());
    Optimizer one({{"x", plain}}, options), other({{"x", turned}}, options);
    for (int step = 0; step < 3; ++step) {
      plain.mutable_grad() = slope.t().contiguous().t();
      turned.mutable_grad() = slope.clone();
      one.step(0.05);
      other.step(0.05);
    }
    EXPECT_TRUE(at::equal(plain, turned)) << name;
    EXPECT_FALSE(at::allclose(plain, values));
  }
}

/// The gradient of a table of 4 rows: a step has read the last one, and some twice.
at::Tensor sparse_gradient(std::int64_t step) {
  const at::Tensor rows = torch::tensor({{3L, step % 3, 3L}});
  const at::Tensor values = at::arange(6, at::kDouble).view({3, 2}).sin() + 0.1 * static_cast<double>(step);
  return at::sparse_coo_tensor(rows, values, {4, 2});
}

TEST(Optimizer, UpdatesOnlyRowsThatWereRead) {
  for (const char* name : {"adam", "adamw"}) {
    const at::Tensor start = at::randn({4, 2}, at::kDouble);
    // A reference that treats each row as a parameter, with one step count for all.
    at::Tensor x = start.clone(), m = at::zeros_like(x), v = at::zeros_like(x);
    const at::Tensor table = start.clone().requires_grad_();
    const NamedTensors parameters_{{"table", table}};
    auto optimizer = std::make_unique<Optimizer>(
        parameters_, OptimizerOptions{.name = name, .epsilon = 1e-6, .sparse_rows = true});
    for (std::int64_t step = 0; step < 6; ++step) {
      const at::Tensor dense = sparse_gradient(step).to_dense();
      const auto t = static_cast<double>(step + 1);
      for (const std::int64_t row : {step % 3, std::int64_t{3}}) {
        const at::Tensor g = dense[row];
        m[row].copy_(0.9 * m[row] + 0.1 * g);
        v[row].copy_(0.999 * v[row] + 0.001 * g * g);
        const at::Tensor root = (v[row] / (1 - std::pow(0.999, t))).sqrt() + 1e-6;
        x[row].sub_(0.05 * (m[row] / (1 - std::pow(0.9, t))) / root);
      }
      table.mutable_grad() = sparse_gradient(step);
      optimizer->step(0.05);
      if (step != 2) continue;  // resume from its state
      std::map<std::string, at::Tensor> state;
      for (const auto& [key, tensor] : optimizer->state()) state[key] = tensor.clone();
      EXPECT_EQ(state.at("exp_avg.table").sizes(), table.sizes());
      optimizer = std::make_unique<Optimizer>(
          parameters_, OptimizerOptions{.name = name, .epsilon = 1e-6, .sparse_rows = true});
      optimizer->restore(state);
    }
    EXPECT_TRUE(at::allclose(table.detach(), x, 1e-12, 1e-14)) << name;
  }
}

TEST(Optimizer, SparseStepsOfSgdAndAdagradEqualDenseOnes) {
  for (const char* name : {"sgd", "adagrad"}) {
    const at::Tensor start = at::randn({4, 2}, at::kDouble);
    const at::Tensor sparse = start.clone().requires_grad_(), dense = start.clone().requires_grad_();
    Optimizer one({{"x", sparse}}, {.name = name, .sparse_rows = true}),
        other({{"x", dense}}, {.name = name});
    for (std::int64_t step = 0; step < 4; ++step) {
      sparse.mutable_grad() = sparse_gradient(step);
      dense.mutable_grad() = sparse_gradient(step).to_dense();
      const GradientScale scale{.divisor = at::scalar_tensor(3, at::kDouble)};
      one.step(0.1, scale);
      other.step(0.1, scale);
    }
    EXPECT_TRUE(at::allclose(sparse, dense, 1e-14, 1e-14)) << name;
    EXPECT_FALSE(at::allclose(sparse, start));
  }
}

TEST(Clip, AddsUpRepeatedRows) {
  for (const Clipping& clipping : {Clipping{.global_norm = 0.5}, Clipping{.each_norm = 0.25}}) {
    const NamedTensors sparse{{"a", torch::zeros({4, 2})}, {"b", torch::zeros({2})}};
    const NamedTensors dense{{"a", torch::zeros({4, 2})}, {"b", torch::zeros({2})}};
    sparse[0].second.mutable_grad() = sparse_gradient(1).to(at::kFloat);
    dense[0].second.mutable_grad() = sparse_gradient(1).to(at::kFloat).to_dense();
    for (const NamedTensors* of : {&sparse, &dense}) {
      (*of)[1].second.mutable_grad() = torch::tensor({1.0F, 2.0F});
    }
    const at::Tensor factor = at::scalar_tensor(2, at::kDouble);
    const Clipped mine = clip(sparse, factor, clipping), its = clip(dense, factor, clipping);
    EXPECT_TRUE(at::allclose(mine.norm, its.norm));
    EXPECT_TRUE(at::allclose(mine.divisor, its.divisor));
    EXPECT_TRUE(sparse[0].second.grad().is_coalesced());
    EXPECT_TRUE(at::allclose(sparse[0].second.grad().to_dense(), dense[0].second.grad()));
  }
}

TEST(Optimizer, IgnoresParametersWithoutGradient) {
  const NamedTensors parameters_ = parameters();
  Optimizer optimizer(parameters_, {.name = "adam"});
  fill_gradients(parameters_, 0);
  optimizer.zero_grad();
  EXPECT_FALSE(parameters_[0].second.grad().defined());
  optimizer.step(1.0);
  EXPECT_TRUE(at::equal(parameters_[0].second, parameters()[0].second));
  EXPECT_TRUE(optimizer.state().empty());
}

TEST(Optimizer, RefusesTheStateOfAnotherModel) {
  const NamedTensors parameters_ = parameters();
  Optimizer optimizer(parameters_, {.name = "adam"});
  fill_gradients(parameters_, 0);
  optimizer.step(0.1);
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : optimizer.state()) state[name] = tensor;
  auto more = state;
  more["exp_avg.c"] = at::zeros({1});
  EXPECT_THROW(optimizer.restore(more), FormatError);
  auto other = state;
  other["exp_avg.a"] = at::zeros({6}, at::kDouble);
  EXPECT_THROW(optimizer.restore(other), FormatError);
  EXPECT_THROW(Optimizer(parameters_, {.name = "sgd"}).restore(state), FormatError);
}

TEST(Optimizer, RefusesInvalidOptions) {
  EXPECT_THROW(OptimizerOptions{.name = "lion"}.check(), InvalidInput);
  EXPECT_THROW(OptimizerOptions{.beta2 = 1.0}.check(), InvalidInput);
  EXPECT_THROW(OptimizerOptions{.momentum = 0.5}.check(), InvalidInput);
  EXPECT_THROW((OptimizerOptions{.name = "rmsprop", .sparse_rows = true}.check()), InvalidInput);
  EXPECT_THROW((OptimizerOptions{.name = "sgd", .momentum = 0.5, .sparse_rows = true}.check()), InvalidInput);
  EXPECT_THROW((OptimizerOptions{.weight_decay = 0.1, .sparse_rows = true}.check()), InvalidInput);
  EXPECT_THROW(Optimizer({{"frozen", at::ones({2})}}, {}), InvalidInput);
}

TEST(Clip, LimitsTheNormsOfEachAndAll) {
  NamedTensors two{{"a", torch::zeros({2})}, {"b", torch::zeros({1})}, {"c", torch::zeros({1})}};
  const auto set = [&] {
    two[0].second.mutable_grad() = torch::tensor({3.0F, 4.0F});
    two[1].second.mutable_grad() = torch::tensor({12.0F});
  };
  const auto norm = [&](const Clipping& clipping, double factor = 1) {
    const Clipped clipped = clip(two, at::scalar_tensor(factor, at::kDouble), clipping);
    for (const auto& [name, tensor] : two) {
      if (tensor.grad().defined()) tensor.grad().div_(clipped.divisor);  // as an optimizer does
    }
    return clipped.norm.item<double>();
  };
  set();
  EXPECT_DOUBLE_EQ(norm({}), 13.0);
  EXPECT_TRUE(at::equal(two[0].second.grad(), torch::tensor({3.0F, 4.0F})));
  EXPECT_DOUBLE_EQ(norm({.global_norm = 6.5}), 13.0);
  EXPECT_TRUE(at::allclose(two[0].second.grad(), torch::tensor({1.5F, 2.0F})));
  EXPECT_TRUE(at::allclose(two[1].second.grad(), torch::tensor({6.0F})));
  set();
  EXPECT_DOUBLE_EQ(norm({.each_norm = 5}), 13.0);
  EXPECT_TRUE(at::allclose(two[0].second.grad(), torch::tensor({3.0F, 4.0F})));
  EXPECT_TRUE(at::allclose(two[1].second.grad(), torch::tensor({5.0F})));
  // Norms are those of the gradients times the factor.
  set();
  EXPECT_DOUBLE_EQ(norm({.each_norm = 5}, 0.5), 6.5);
  EXPECT_TRUE(at::allclose(two[0].second.grad(), torch::tensor({1.5F, 2.0F})));
  EXPECT_TRUE(at::allclose(two[1].second.grad(), torch::tensor({5.0F})));
  set();
  EXPECT_DOUBLE_EQ(norm({.global_norm = 1}, 2), 26.0);
  EXPECT_TRUE(at::allclose(two[1].second.grad(), torch::tensor({12.0F / 13})));
  set();
  two[1].second.mutable_grad() = torch::tensor({NAN});
  EXPECT_TRUE(std::isnan(norm({.global_norm = 1})));
}

TEST(Optimizer, ScalesAndSkips) {
  for (const OptimizerOptions& options :
       {OptimizerOptions{.name = "adam"}, OptimizerOptions{.name = "adamw"}, OptimizerOptions{.name = "sgd"},
        OptimizerOptions{.name = "sgd", .momentum = 0.9}, OptimizerOptions{.name = "rmsprop"},
        OptimizerOptions{.name = "rmsprop", .momentum = 0.9}, OptimizerOptions{.name = "adagrad"}}) {
    NamedTensors scaled{{"x", torch::ones({3})}}, plain{{"x", torch::ones({3})}};
    for (auto* of : {&scaled, &plain}) (*of)[0].second.requires_grad_();
    Optimizer one(scaled, options), other(plain, options);
    for (const double skip : {1.0, 0.0, 1.0, 0.0}) {
      scaled[0].second.mutable_grad() = skip == 1 ? torch::full({3}, NAN) : torch::tensor({2.F, 4.F, 6.F});
      plain[0].second.mutable_grad() = torch::tensor({1.F, 2.F, 3.F});
      one.step(0.1, {at::scalar_tensor(2, at::kDouble), at::scalar_tensor(skip, at::kFloat)});
      if (skip == 0) other.step(0.1);
    }
    EXPECT_TRUE(at::allclose(scaled[0].second, plain[0].second)) << options.name;
    EXPECT_FALSE(at::allclose(plain[0].second, at::ones({3})));
    const auto mine = one.state(), theirs = other.state();
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_TRUE(at::allclose(mine[i].second, theirs[i].second));
  }
}

}  // namespace
}  // namespace sentencode::training
