#include "sentencode/quantization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/half.h"
#include "sentencode/stored_kernels.h"

namespace sentencode {
namespace {

constexpr std::int64_t kDims[] = {1, 3, 4, 7, 8, 9, 31, 64, 65, 148, 300};

Matrix random_rows(std::int64_t rows, std::int64_t dim) {
  std::mt19937 generator(static_cast<unsigned>(dim));
  std::normal_distribution<float> normal;
  return Matrix::NullaryExpr(rows, dim, [&] { return normal(generator); });
}

Matrix ranges_of(const Matrix& rows) {
  Matrix ranges(2, rows.cols());
  ranges << 0.9F * rows.colwise().minCoeff(), 0.9F * rows.colwise().maxCoeff();
  return ranges;
}

/// Rows in a precision, with a gap after each, which end with their memory.
struct Stored {
  Stored(const Matrix& values, Precision precision)
      : ranges(ranges_of(values)), size(stored_bytes(precision, values.cols())), stride(size + 4) {
    bytes.resize(static_cast<std::size_t>((values.rows() - 1) * stride + size), std::byte{77});
    const Ranges* used = has_ranges(precision) ? &ranges : nullptr;
    quantize(values, precision, used, bytes.data(), stride);
    view = {bytes.data(), values.rows(), values.cols(), stride, precision, used};
  }
  Ranges ranges;
  std::int64_t size, stride;
  std::vector<std::byte> bytes;
  StoredRows view;
};

int byte_of(const StoredRows& rows, std::int64_t i, std::int64_t j) {
  return (std::to_integer<int>(rows.row(i)[j]) + byte_offset(rows.precision)) % 256;
}

TEST(Quantize, StoresStepsAndBits) {
  for (const std::int64_t dim : kDims) {
    Matrix rows = random_rows(37, dim);
    rows.row(3).setZero();
    const Matrix ranges = ranges_of(rows);
    for (const auto precision : {Precision::int8, Precision::uint8, Precision::binary, Precision::ubinary}) {
      const Stored stored(rows, precision);
      for (std::int64_t i = 0; i < rows.rows(); ++i) {
        for (std::int64_t j = 0; j < stored.size; ++j) {
          int expected = 0;
          if (has_ranges(precision)) {
            const float step = (ranges(1, j) - ranges(0, j)) / 255.0F;
            expected = static_cast<int>(
                std::clamp(std::floor((rows(i, j) - ranges(0, j)) / (step == 0 ? 1 : step)), 0.0F, 255.0F));
          } else {
            for (std::int64_t bit = 0; bit < 8 && 8 * j + bit < dim; ++bit) {
              expected |= static_cast<int>(rows(i, 8 * j + bit) > 0) << (7 - bit);
            }
          }
          ASSERT_EQ(byte_of(stored.view, i, j), expected) << name_of(precision) << ' ' << dim;
        }
        ASSERT_TRUE(i + 1 == rows.rows() || stored.view.row(i)[stored.size] == std::byte{77});
      }
    }
  }
}

TEST(Quantize, OfConstantDimensionsInfinityAndNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Ranges ranges((Matrix(2, 2) << 3, -1, 3, 1).finished());
  Matrix rows(3, 2);
  rows << 3, 0, 2, kInfinity, 7, -kInfinity;
  std::vector<std::byte> out(6);
  quantize(rows, Precision::uint8, &ranges, out.data(), 2);
  EXPECT_EQ(out, (std::vector<std::byte>{std::byte{0}, std::byte{127}, std::byte{0}, std::byte{255},
                                         std::byte{4}, std::byte{0}}));
  rows(1, 1) = rows(2, 0) = std::numeric_limits<float>::quiet_NaN();
  for (const auto precision : {Precision::int8, Precision::ubinary}) {
    try {
      quantize(rows, precision, has_ranges(precision) ? &ranges : nullptr, out.data(), 2);
      FAIL();
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find("row 1 holds NaN"), std::string::npos) << error.what();
    }
  }
}

TEST(Quantize, RefusesInvalidRanges) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(Ranges(Matrix::Zero(3, 2)), InvalidInput);
  EXPECT_THROW(Ranges((Matrix(2, 2) << 0, 1, 1, 0).finished()), InvalidInput);
  EXPECT_THROW(Ranges((Matrix(2, 1) << kNaN, 0).finished()), InvalidInput);
  EXPECT_THROW(Ranges((Matrix(2, 1) << 0, std::numeric_limits<float>::infinity()).finished()), InvalidInput);
  const Ranges ranges(Matrix::Zero(2, 3));
  std::vector<std::byte> out(16);
  EXPECT_THROW(quantize(Matrix::Zero(1, 4), Precision::int8, &ranges, out.data(), 4), InvalidInput);
  EXPECT_THROW(quantize(Matrix::Zero(1, 4), Precision::int8, nullptr, out.data(), 4), InvalidInput);
  EXPECT_THROW(quantize(Matrix::Zero(1, 3), Precision::float32, &ranges, out.data(), 12), InvalidInput);
}

TEST(Half, RoundsLikeTheDefinition) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      EXPECT_EQ(std::isinf(value), fraction == 0);
      if (fraction != 0) continue;
    } else {
      EXPECT_EQ(std::abs(value),
                static_cast<float>(exponent == 0 ? std::ldexp(fraction, -24)
                                                 : std::ldexp(1024 + fraction, exponent - 25)));
    }
    EXPECT_EQ(std::signbit(value), half >> 15 != 0);
    EXPECT_EQ(float_to_half(value), half);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(nan))));
  EXPECT_EQ(float_to_half(1e30F), 0x7c00);
}

class StoredKernelsTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (!kernels().supported) GTEST_SKIP() << kernels().name << " is not supported by this processor";
  }
  const StoredKernels& kernels() const { return all_stored_kernels()[GetParam()]; }
};

TEST_P(StoredKernelsTest, StoreTheSameBytes) {
  const StoredKernels& portable = all_stored_kernels().back();
  for (const std::int64_t dim : kDims) {
    const Matrix rows = random_rows(20, dim);
    const Ranges ranges(ranges_of(rows));
    for (std::size_t p = 0; p < 6; ++p) {
      const auto bytes = static_cast<std::size_t>(stored_bytes(static_cast<Precision>(p), dim));
      for (std::int64_t i = 0; i < rows.rows(); ++i) {
        std::vector<std::byte> actual(bytes), expected(bytes);
        kernels().store[p](rows.row(i).data(), dim, &ranges, actual.data());
        portable.store[p](rows.row(i).data(), dim, &ranges, expected.data());
        ASSERT_EQ(actual, expected) << name_of(static_cast<Precision>(p)) << ' ' << dim;
      }
    }
  }
}

TEST_P(StoredKernelsTest, LoadPanels) {
  for (const std::int64_t dim : kDims) {
    const Matrix rows = random_rows(40, dim);
    for (std::size_t p = 0; p < 4; ++p) {
      const Stored stored(rows, static_cast<Precision>(p));
      for (const auto& [first, count] :
           {std::pair<std::int64_t, std::int64_t>{0, 32}, {8, 32}, {39, 1}, {33, 7}}) {
        PanelOf<float> panel(static_cast<std::size_t>(dim), {{9.0F}});
        kernels().load[p](stored.view, first, count, panel.data());
        for (std::int64_t i = 0; i < kPanelRows; ++i) {
          for (std::int64_t j = 0; j < dim; ++j) {
            float expected = i < count ? rows(first + i, j) : 0.0F;
            if (p == 1) expected = half_to_float(float_to_half(expected));
            if (p >= 2 && i < count) {
              expected = stored.ranges.middle[j] +
                         stored.ranges.step[j] * static_cast<float>(byte_of(stored.view, first + i, j));
            }
            ASSERT_NEAR(panel[static_cast<std::size_t>(j)].rows[i], expected, p >= 2 ? 1e-6 : 0.0)
                << p << ' ' << dim;
          }
        }
      }
    }
  }
}

TEST_P(StoredKernelsTest, MultiplyTheSameForOneQueryAsForMany) {
  const std::int64_t group = kernels().group;
  for (const std::int64_t dim : kDims) {
    const Matrix rows = random_rows(kPanelRows, dim), queries = random_rows(group, dim) * 2;
    PanelOf<float> panel(static_cast<std::size_t>(dim));
    kernels().load[0](stored_rows(rows), 0, kPanelRows, panel.data());
    double squares[kPanelRows];
    kernels().squares(panel.data(), dim, squares);
    std::vector<float> factors(kPanelRows, 0.5F);
    const Matrix interleaved = queries.transpose();
    Matrix scores(group, kPanelRows + 3), one(1, kPanelRows);
    kernels().scores(interleaved.data(), panel.data(), dim, factors.data(), scores.data(), kPanelRows + 3);
    for (std::int64_t i = 0; i < group; ++i) {
      kernels().score(queries.row(i).data(), panel.data(), dim, factors.data(), one.data(), kPanelRows);
      for (std::int64_t r = 0; r < kPanelRows; ++r) {
        ASSERT_EQ(one(0, r), scores(i, r));
        const double exact = queries.row(i).cast<double>().dot(rows.row(r).cast<double>()) / 2;
        ASSERT_NEAR(static_cast<double>(scores(i, r)), exact, 1e-3);
      }
    }
    for (std::int64_t r = 0; r < kPanelRows; ++r) {
      ASSERT_NEAR(squares[r] / rows.row(r).cast<double>().squaredNorm(), 1, 1e-6);
    }
  }
}

TEST_P(StoredKernelsTest, CountBits) {
  std::mt19937_64 random(3);
  for (const std::size_t words : {1U, 2U, 3U, 16U}) {
    std::vector<std::uint64_t> query(words);
    PanelOf<std::uint64_t> panel(words);
    for (std::size_t w = 0; w < words; ++w) {
      query[w] = random();
      for (auto& bits : panel[w].rows) bits = random();
    }
    float out[kPanelRows];
    kernels().hamming(query.data(), panel.data(), static_cast<std::int64_t>(words), 7.0F, -2.0F, out);
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      int count = 0;
      for (std::size_t w = 0; w < words; ++w) count += std::popcount(query[w] ^ panel[w].rows[r]);
      ASSERT_EQ(out[r], static_cast<float>(7 - 2 * count));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoredKernelsTest, testing::Range(std::size_t{0}, all_stored_kernels().size()));

}  // namespace
}  // namespace sentencode
