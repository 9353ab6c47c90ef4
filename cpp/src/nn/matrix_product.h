// Matrix products on plain memory, for kernels that go through few rows at a time, which may lie anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sentencode/nn/linear.h"

namespace sentencode::nn {

/// Rows of numbers that are `stride` apart; if there are places, row i is the one at places[i].
template <typename T>
struct RowsOf {
  T* data = nullptr;
  std::int64_t stride = 0;
  const std::int64_t* places = nullptr;

  T* operator[](std::int64_t i) const { return data + (places == nullptr ? i : places[i]) * stride; }
};

/// out = f(x y + b), or out += x y.
template <typename T>
struct MatrixProduct {
  std::int64_t rows = 0, columns = 0, depth = 0;  // m, n, k
  RowsOf<const T> x = {};                         // [m, k], or `x_transposed` [k, m]
  RowsOf<const T> y = {};                         // [k, n], or `y_transposed` [n, k]
  RowsOf<T> out = {};                             // [m, n]
  bool x_transposed = false, y_transposed = false;
  bool zeros = false;  // many of x's numbers may be zero: they are looked for
  bool add = false;
  const T* bias = nullptr;                   // [n]
  Activation activation = Activation::none;  // none, relu or tanh
};

/// On all threads. What a row of `out` becomes depends on its row of x and on y alone, not on the rows beside
/// it, nor on threads, nor on whether zeros are looked for, but for this: infinity or NaN in y that meets
/// only zeros may be left out. Libraries need the rows in one place, and reorder y for each few of them.
template <typename T>
void multiply_on_cpu(const MatrixProduct<T>& product, std::size_t version = 0);

/// How many versions for different processors there are that this one can run, of which 0 is the fastest.
std::size_t multiply_versions();

}  // namespace sentencode::nn
