#include "sentencode/vectors/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "vectors/tables.h"

namespace sentencode {
namespace {

/// The value of a stored number, by its definition.
double stored_value(const std::byte* row, Storage storage, std::int64_t i) {
  if (storage == Storage::float32) {
    float value;
    std::memcpy(&value, row + 4 * i, 4);
    return static_cast<double>(value);
  }
  if (storage == Storage::int8) return static_cast<double>(static_cast<signed char>(row[i]));
  std::uint16_t half;
  std::memcpy(&half, row + 2 * i, 2);
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return half >> 15 != 0 ? -magnitude : magnitude;
}

/// Rows that end with their memory, so that a sanitizer detects reads past the end.
struct StoredRows {
  StoredRows(std::int64_t n, std::int64_t dim, Storage stored, unsigned seed) : storage(stored) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<float> row(static_cast<std::size_t>(dim));
      for (float& x : row) x = normal(random);
      bytes.emplace_back(static_cast<std::size_t>(dim) * element_bytes(storage));
      float scale = 1.0F;
      EXPECT_TRUE(store_row(row, storage, bytes.back().data(), &scale));
      pointers.push_back(bytes.back().data());
      factors.push_back(scale * (1.0F + static_cast<float>(i) / 7.0F));
    }
  }
  double sum(std::int64_t column, bool weighted) const {
    double total = 0.0;
    for (std::size_t r = 0; r < bytes.size(); ++r) {
      total +=
          (weighted ? static_cast<double>(factors[r]) : 1.0) * stored_value(pointers[r], storage, column);
    }
    return total;
  }
  Storage storage;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<const std::byte*> pointers;
  std::vector<float> factors;
};

TEST(RowKernels, EqualTheReference) {
  for (const RowKernels& kernels : all_row_kernels()) {
    if (!kernels.supported) continue;
    for (const Storage storage : kStorages) {
      for (const std::int64_t dim :
           {1, 2, 3, 7, 8, 9, 15, 16, 17, 50, 97, 100, 128, 300, 320, 321, 639, 1000}) {
        for (const std::int64_t count : {0, 1, 2, 19}) {
          for (const bool weighted : {true, false}) {
            if (!weighted && storage == Storage::int8) continue;
            const StoredRows table(count, dim, storage, static_cast<unsigned>(dim));
            std::vector<float> out(static_cast<std::size_t>(dim), 1e9F);
            kernels.sum[static_cast<std::size_t>(storage)](
                table.pointers.data(), weighted ? table.factors.data() : nullptr, count, dim, out.data());
            for (std::int64_t i = 0; i < dim; ++i) {
              const double expected = table.sum(i, weighted);
              ASSERT_NEAR(static_cast<double>(out[static_cast<std::size_t>(i)]), expected, 1e-4)
                  << kernels.name << ' ' << name_of(storage) << " dim " << dim << " column " << i << " of "
                  << count;
            }
          }
        }
      }
    }
  }
}

TEST(RowKernels, AreBitIdenticalWithoutFactors) {
  const StoredRows table(37, 300, Storage::float16, 5);
  std::vector<float> first;
  for (const RowKernels& kernels : all_row_kernels()) {
    if (!kernels.supported) continue;
    std::vector<float> out(300);
    kernels.sum[1](table.pointers.data(), nullptr, 37, 300, out.data());
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << kernels.name;
  }
}

TEST(RowKernels, AreOrderedFromBestToPortable) {
  const auto all = all_row_kernels();
  EXPECT_EQ(all.back().name, "portable");
  EXPECT_TRUE(all.back().supported);
  for (const RowKernels& kernels : all) {
    if (!kernels.supported) continue;
    EXPECT_EQ(row_kernels().name, kernels.name) << "the first that is supported";
    break;
  }
}

TEST(StoreRow, HoldsEveryFloat16Exactly) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits >> 10 & 31) == 31) continue;  // infinity and NaN
    const auto half = static_cast<std::uint16_t>(bits);
    std::byte raw[2];
    std::memcpy(raw, &half, 2);
    const auto value = static_cast<float>(stored_value(raw, Storage::float16, 0));
    std::byte stored[2];
    ASSERT_TRUE(store_row({&value, 1}, Storage::float16, stored, nullptr));
    ASSERT_TRUE(std::memcmp(raw, stored, 2) == 0 || bits == 0x8000)
        << bits;  // the sign of zero does not matter
    const std::byte* pointer = stored;
    for (const RowKernels& kernels : all_row_kernels()) {
      if (!kernels.supported) continue;
      float back = 1.0F;
      kernels.sum[1](&pointer, nullptr, 1, 1, &back);
      ASSERT_EQ(back, value) << kernels.name;
    }
  }
}

TEST(StoreRow, RoundsToTheNearestFloat16) {
  std::mt19937 random(11);
  for (int i = 0; i < 200'000; ++i) {
    const int exponent = static_cast<int>(random() % 42) - 26;
    const float value = std::ldexp(static_cast<float>(random()) / 4294967296.0F - 0.5F, exponent);
    std::byte stored[2];
    ASSERT_TRUE(store_row({&value, 1}, Storage::float16, stored, nullptr));
    const double error = std::abs(stored_value(stored, Storage::float16, 0) - static_cast<double>(value));
    std::uint16_t half;
    std::memcpy(&half, stored, 2);
    for (const int step : {-1, 1}) {
      const auto neighbour = static_cast<std::uint16_t>(half + step);
      if ((neighbour >> 10 & 31) == 31 || (half & 0x7fff) == 0) continue;
      std::byte raw[2];
      std::memcpy(raw, &neighbour, 2);
      ASSERT_LE(error, std::abs(stored_value(raw, Storage::float16, 0) - static_cast<double>(value)))
          << value;
    }
  }
}

TEST(StoreRow, KeepsInt8WithinHalfAStep) {
  std::mt19937 random(13);
  std::vector<float> row(100);
  for (float& x : row) x = static_cast<float>(random()) / 4294967296.0F - 0.3F;
  std::vector<std::byte> stored(100);
  float scale = 0.0F;
  ASSERT_TRUE(store_row(row, Storage::int8, stored.data(), &scale));
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double steps = stored_value(stored.data(), Storage::int8, static_cast<std::int64_t>(i));
    EXPECT_NEAR(static_cast<double>(scale) * steps, static_cast<double>(row[i]),
                static_cast<double>(scale) * 0.5001);
  }
  const std::vector<float> zero(100, 0.0F), tiny(100, 1e-45F);
  EXPECT_TRUE(store_row(zero, Storage::int8, stored.data(), &scale));
  EXPECT_EQ(scale, 0.0F);
  EXPECT_TRUE(store_row(tiny, Storage::int8, stored.data(), &scale));
  EXPECT_TRUE(std::isfinite(scale));
}

TEST(StoreRow, RefusesNaNAndInfinity) {
  std::byte stored[8];
  float scale = 0.0F;
  for (const Storage storage : kStorages) {
    for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
      const float row[] = {1.0F, bad};
      EXPECT_FALSE(store_row(row, storage, stored, &scale));
    }
    const float large[] = {70000.0F, 0.0F};
    EXPECT_EQ(store_row(large, storage, stored, &scale), storage != Storage::float16);
  }
}

}  // namespace
}  // namespace sentencode
