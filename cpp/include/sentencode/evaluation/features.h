#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sentencode {

/// The input of classifiers: embeddings, or features of pairs of them. Those of pairs are computed block by
/// block when they are used, so that half a million pairs need no memory.
class Features {
 public:
  /// Embeddings [n, d], of a floating type.
  explicit Features(at::Tensor embeddings);
  /// Pairs u = embeddings[first[i]] and v = embeddings[second[i]]; first and second int64 [n]. Row i
  /// concatenates `parts`, each "u", "v", "|u-v|" or "u*v".
  Features(at::Tensor embeddings, at::Tensor first, at::Tensor second, const std::vector<std::string>& parts);

  std::int64_t rows() const;
  std::int64_t dim() const;
  at::Device device() const { return embeddings_.device(); }
  /// [end - begin, dim], float32.
  at::Tensor block(std::int64_t begin, std::int64_t end) const;
  /// [index.size(0), dim], float32; index int64.
  at::Tensor rows_at(const at::Tensor& index) const;
  /// The features of some rows; index int64.
  Features part(const at::Tensor& index) const;

 private:
  enum class Part { first, second, difference, product };

  at::Tensor joined(const at::Tensor& first, const at::Tensor& second) const;

  at::Tensor embeddings_;      // [m, d]
  at::Tensor first_, second_;  // [n], undefined if there are no pairs
  std::vector<Part> parts_;
};

}  // namespace sentencode
