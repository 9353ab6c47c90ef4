#include "nn/matrix_product.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace sentencode::nn {
namespace {

template <typename T>
std::vector<T> numbers(std::int64_t count, unsigned int seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> found(static_cast<std::size_t>(count));
  std::generate(found.begin(), found.end(), [&] { return static_cast<T>(normal(random)); });
  return found;
}

/// Rows, some of which lie between others, in an order of their own.
template <typename T>
struct Scattered {
  std::vector<T> data;
  std::vector<std::int64_t> places;
  std::int64_t stride;

  Scattered(std::int64_t rows, std::int64_t width, unsigned int seed)
      : data(numbers<T>((2 * rows + 1) * (width + 3), seed)),
        places(static_cast<std::size_t>(rows)),
        stride(width + 3) {
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937(seed));
    for (std::int64_t& place : places) place = 2 * place + 1;
  }
  RowsOf<const T> rows() const { return {data.data(), stride, places.data()}; }
  RowsOf<T> rows() { return {data.data(), stride, places.data()}; }
};

template <typename T>
void expect_equal_to_loops(std::int64_t m, std::int64_t n, std::int64_t k, bool x_transposed,
                           bool y_transposed, std::size_t version) {
  const Scattered<T> x(x_transposed ? k : m, x_transposed ? m : k, 1);
  const Scattered<T> y(y_transposed ? n : k, y_transposed ? k : n, 2);
  const std::vector<T> bias = numbers<T>(n, 3);
  for (const bool add : {false, true}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::tanh}) {
      if (add && activation != Activation::none) continue;
      Scattered<T> out(m, n, 4);
      const Scattered<T> before = out;
      MatrixProduct<T> product;
      product.rows = m;
      product.columns = n;
      product.depth = k;
      product.x = x.rows();
      product.y = y.rows();
      product.out = out.rows();
      product.x_transposed = x_transposed;
      product.y_transposed = y_transposed;
      product.add = add;
      product.bias = add ? nullptr : bias.data();
      product.activation = activation;
      multiply_on_cpu(product, version);
      std::vector<bool> written(out.data.size());
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = add ? before.rows()[i][j] : bias[static_cast<std::size_t>(j)], size = 1;
          for (std::int64_t l = 0; l < k; ++l) {
            const double one = double{x_transposed ? x.rows()[l][i] : x.rows()[i][l]} *
                               double{y_transposed ? y.rows()[j][l] : y.rows()[l][j]};
            sum += one;
            size += std::abs(one);
          }
          if (activation == Activation::relu) sum = std::max(sum, 0.0);
          if (activation == Activation::tanh) sum = std::tanh(sum);
          ASSERT_NEAR(out.rows()[i][j], sum, (sizeof(T) == 4 ? 1e-6 : 1e-14) * size)
              << m << " x " << n << " x " << k << " at " << i << ", " << j;
          written[static_cast<std::size_t>(out.rows()[i] + j - out.data.data())] = true;
        }
      }
      for (std::size_t i = 0; i < written.size(); ++i) {
        if (written[i]) continue;
        ASSERT_EQ(out.data[i], before.data[i]) << "what is beside the product was written";
      }
    }
  }
}

/// That zeros are left out changes no bit. Few rows for each thread, and columns, are not worth it.
template <typename T>
void expect_equal_without_zeros(std::int64_t m, std::int64_t n, std::int64_t k, double zeros,
                                bool x_transposed, bool y_transposed, std::size_t version) {
  Scattered<T> x(x_transposed ? k : m, x_transposed ? m : k, 1);
  std::mt19937 random(5);
  std::bernoulli_distribution is_zero(zeros), is_negative(0.1);
  for (T& number : x.data) number = is_zero(random) ? (is_negative(random) ? T(-0.0) : T(0)) : number;
  const Scattered<T> y(y_transposed ? n : k, y_transposed ? k : n, 2);
  const std::vector<T> bias = numbers<T>(n, 3);
  for (const Activation activation : {Activation::none, Activation::relu, Activation::tanh}) {
    Scattered<T> all(m, n, 4), some = all;
    MatrixProduct<T> product;
    product.rows = m;
    product.columns = n;
    product.depth = k;
    product.x = std::as_const(x).rows();
    if (activation != Activation::relu) product.x.places = nullptr;
    product.y = y.rows();
    product.out = all.rows();
    product.x_transposed = x_transposed;
    product.y_transposed = y_transposed;
    product.add = activation == Activation::none;
    product.bias = product.add ? nullptr : bias.data();
    product.activation = activation;
    multiply_on_cpu(product, version);
    product.out = some.rows();
    product.zeros = true;
    multiply_on_cpu(product, version);
    ASSERT_EQ(all.data, some.data) << m << " x " << n << " x " << k << ", zeros " << zeros;
  }
}

class MatrixProductTest : public testing::TestWithParam<std::tuple<bool, bool, std::size_t>> {};

TEST_P(MatrixProductTest, IsWhatLoopsCompute) {
  const auto [x_transposed, y_transposed, version] = GetParam();
  const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sizes = {
      {1, 1, 1},   {1, 50, 7},   {8, 48, 16}, {9, 49, 17},   {7, 15, 8},     {15, 33, 1},
      {31, 97, 5}, {64, 300, 9}, {5, 20, 0},  {3, 40, 1024}, {11, 65, 2100}, {300, 30, 24}};
  for (const auto& [m, n, k] : sizes) {
    expect_equal_to_loops<float>(m, n, k, x_transposed, y_transposed, version);
    expect_equal_to_loops<double>(m, n, k, x_transposed, y_transposed, version);
  }
}

TEST_P(MatrixProductTest, IsTheSameToTheLastBitWhereZerosAreLeftOut) {
  const auto [x_transposed, y_transposed, version] = GetParam();
  expect_equal_without_zeros<float>(200, 100, 70, 0.1, x_transposed, y_transposed, version);
  const int threads = at::get_num_threads();
  const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> sizes = {
      {16, 300, 1},   {100, 70, 64},  {97, 129, 65},  {290, 300, 63}, {17, 600, 128}, {100, 500, 0},
      {300, 65, 100}, {33, 64, 1030}, {99, 65, 1089}, {99, 65, 2100}, {1000, 100, 70}};
  for (const int some : {1, 3}) {
    at::set_num_threads(some);
    for (const auto& [m, n, k] : sizes) {
      for (const double zeros : {0.5, 1.0}) {
        expect_equal_without_zeros<float>(m, n, k, zeros, x_transposed, y_transposed, version);
        expect_equal_without_zeros<double>(m, n, k, zeros, x_transposed, y_transposed, version);
      }
    }
  }
  at::set_num_threads(threads);
}

INSTANTIATE_TEST_SUITE_P(Orders, MatrixProductTest,
                         testing::Combine(testing::Bool(), testing::Bool(),
                                          testing::Range<std::size_t>(0, multiply_versions())));

TEST(MatrixProduct, OfNothingWritesNothing) {
  for (const bool zeros : {false, true}) {
    MatrixProduct<float> product;
    product.zeros = zeros;
    product.columns = 4;
    multiply_on_cpu(product);
    product.rows = 4000;
    product.columns = 0;
    multiply_on_cpu(product);
  }
}

TEST(MatrixProduct, OfARowDoesNotDependOnThoseBesideIt) {
  constexpr std::int64_t kRows = 43, kColumns = 70, kDepth = 1300;
  const std::vector<float> x = numbers<float>(kRows * kDepth, 1), y = numbers<float>(kDepth * kColumns, 2);
  std::vector<float> together(kRows * kColumns), alone(kColumns);
  MatrixProduct<float> product;
  product.rows = kRows;
  product.columns = kColumns;
  product.depth = kDepth;
  product.x = {x.data(), kDepth};
  product.y = {y.data(), kColumns};
  product.out = {together.data(), kColumns};
  multiply_on_cpu(product);
  product.rows = 1;
  product.out = {alone.data(), kColumns};
  for (std::int64_t row = 0; row < kRows; ++row) {
    product.x.data = x.data() + row * kDepth;
    multiply_on_cpu(product);
    ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * kColumns)) << row;
  }
}

TEST(MatrixProduct, WithoutZerosKeepsWhatIsNoNumber) {
  constexpr std::int64_t kColumns = 600, kRows = 500;
  std::vector<float> x(3 * kRows);
  x[1] = NAN;
  x[5] = 2;
  const std::vector<float> y(3 * kColumns, 1);
  std::vector<float> out(kRows * kColumns);
  MatrixProduct<float> product;
  product.rows = kRows;
  product.columns = kColumns;
  product.depth = 3;
  product.x = {x.data(), 3};
  product.y = {y.data(), kColumns};
  product.out = {out.data(), kColumns};
  product.zeros = true;
  for (std::size_t version = 0; version < multiply_versions(); ++version) {
    multiply_on_cpu(product, version);
    for (std::size_t j = 0; j < kColumns; ++j) {
      ASSERT_TRUE(std::isnan(out[j]));
      ASSERT_EQ(out[kColumns + j], 2);
    }
  }
}

TEST(MatrixProduct, WhatIsNoNumberStaysNone) {
  const std::vector<float> x = {NAN, 1, 2, 3}, y = {1, 1};
  std::vector<float> out(2);
  MatrixProduct<float> product;
  product.rows = 2;
  product.columns = 1;
  product.depth = 2;
  product.x = {x.data(), 2};
  product.y = {y.data(), 1};
  product.out = {out.data(), 1};
  product.activation = Activation::relu;
  multiply_on_cpu(product);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], 5);
  product.activation = Activation::tanh;
  multiply_on_cpu(product);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_NEAR(out[1], std::tanh(5), 1e-6);
}

}  // namespace
}  // namespace sentencode::nn
