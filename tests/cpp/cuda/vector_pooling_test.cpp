// The operator sentencode::vector_pooling, with the kernel of GPUs emulated as that of the CPU.
#include "cuda/emulation.h"

#define pool_vectors emulated_pool_vectors
#define pool_vectors_backward emulated_pool_vectors_backward
#include "cuda/generalized_pooling.cu"
#include "nn/ops/vector_pooling/kernel.h"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include "nn/ops/vector_pooling/op.h"

TORCH_LIBRARY_IMPL(sentencode, CPU, m) {
  m.impl("vector_pooling", [](const at::Tensor& scores, const at::Tensor& h, const at::Tensor& lengths) {
    return sentencode::nn::vector_pooling_op::forward_on(nullptr, scores, h, lengths);
  });
  m.impl(
      "vector_pooling_backward", [](const at::Tensor& grad_v, const at::Tensor& scores, const at::Tensor& h,
                                    const at::Tensor& lengths, const at::Tensor& v, const at::Tensor& norms) {
        return sentencode::nn::vector_pooling_op::backward_on(nullptr, grad_v, scores, h, lengths, v, norms);
      });
}

namespace sentencode::nn {
namespace {

using at::Tensor;

Tensor by_operators(const Tensor& scores, const Tensor& h, const Tensor& lengths) {
  const Tensor padding = at::arange(h.size(1)).unsqueeze(0).ge(lengths.unsqueeze(1)).unsqueeze(2);
  const Tensor a = scores.masked_fill(padding, -1e30).softmax(2).masked_fill(padding, 0);  // [I, B, T, d]
  return (a * h.masked_fill(padding, 0)).sum(2).transpose(0, 1);
}

TEST(VectorPooling, GradientsEqualThoseOfTorchOperators) {
  at::manual_seed(1);
  const Tensor lengths = at::tensor({4, 0, 7, 1}, at::kLong);
  // With gaps in memory, as transposed products have.
  const Tensor scores = at::randn({2, 4, 35, 7}, at::kDouble).transpose(2, 3).requires_grad_();
  const Tensor h = at::randn({4, 35, 7}, at::kDouble).transpose(1, 2).requires_grad_();
  const Tensor g = at::randn({4, 2, 35}, at::kDouble);
  const Tensor actual = vector_pooling(scores, h, lengths), expected = by_operators(scores, h, lengths);
  EXPECT_TRUE(at::allclose(actual, expected));
  const auto ours = torch::autograd::grad({actual}, {scores, h}, {g});
  const auto theirs = torch::autograd::grad({expected}, {scores, h}, {g});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(at::allclose(ours[i], theirs[i])) << i;
}

TEST(VectorPooling, EmptyBatches) {
  for (const auto& [batch, time] : {std::pair{0, 3}, {2, 0}, {0, 0}}) {
    const Tensor scores = at::randn({2, batch, time, 5}).requires_grad_(), h = at::randn({batch, time, 5});
    const Tensor v = vector_pooling(scores, h, at::zeros({batch}, at::kLong));
    EXPECT_TRUE(at::equal(v, at::zeros({batch, 2, 5})));
    v.sum().backward();
    EXPECT_EQ(scores.grad().sizes(), scores.sizes());
  }
}

TEST(VectorPooling, HasShapesWithoutData) {
  const auto on = at::TensorOptions().device(at::kMeta);
  const Tensor scores = at::empty({2, 4, 7, 5}, on).requires_grad_(), h = at::empty({4, 7, 5}, on);
  const Tensor v = vector_pooling(scores, h, at::empty({4}, on.dtype(at::kLong)));
  EXPECT_EQ(v.sizes(), (std::vector<std::int64_t>{4, 2, 5}));
  v.sum().backward();
  EXPECT_EQ(scores.grad().sizes(), scores.sizes());
  EXPECT_FALSE(has_vector_pooling(h));
  EXPECT_TRUE(has_vector_pooling(at::empty({1})));
}

TEST(VectorPooling, RefusesInvalidArguments) {
  const Tensor scores = at::randn({2, 4, 7, 5}), h = at::randn({4, 7, 5}),
               lengths = at::zeros({4}, at::kLong);
  EXPECT_THROW(vector_pooling(scores, h.to(at::kHalf), lengths), c10::ValueError);
  EXPECT_THROW(vector_pooling(scores.to(at::kDouble), h, lengths), c10::ValueError);
  EXPECT_THROW(vector_pooling(scores.narrow(2, 0, 6), h, lengths), c10::ValueError);
  EXPECT_THROW(vector_pooling(scores, h, lengths.to(at::kInt)), c10::ValueError);
  EXPECT_THROW(vector_pooling(scores, h, lengths.narrow(0, 0, 3)), c10::ValueError);
}

TEST(VectorPooling, CannotBeDifferentiatedTwice) {
  const Tensor scores = at::randn({2, 1, 3, 5}).requires_grad_();
  const Tensor v = vector_pooling(scores, at::randn({1, 3, 5}), at::full({1}, 3, at::kLong));
  EXPECT_THROW(torch::autograd::grad({v.sum()}, {scores}, {}, true, /*create_graph=*/true),
               c10::NotImplementedError);
}

}  // namespace
}  // namespace sentencode::nn
