#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sentencode {

/// The rows that classifiers are fitted to: embeddings, or what is made of pairs of them. Rows of pairs are
/// made block by block when they are used, so that half a million of them need no memory.
class Features {
 public:
  /// Embeddings [n, d], floating: their rows.
  explicit Features(at::Tensor embeddings);
  /// Row i is made of u = embeddings[first[i]] and v = embeddings[second[i]]; first and second int64 [n].
  /// `parts`, each "u", "v", "|u-v|" or "u*v", stand side by side.
  Features(at::Tensor embeddings, at::Tensor first, at::Tensor second, const std::vector<std::string>& parts);

  std::int64_t rows() const;
  std::int64_t dim() const;
  at::Device device() const { return embeddings_.device(); }
  /// [end - begin, dim], float32.
  at::Tensor block(std::int64_t begin, std::int64_t end) const;
  /// [index.size(0), dim], float32; index int64.
  at::Tensor rows_at(const at::Tensor& index) const;
  /// Some of the rows, of the same embeddings; index int64.
  Features part(const at::Tensor& index) const;

 private:
  enum class Part { first, second, difference, product };

  at::Tensor joined(const at::Tensor& first, const at::Tensor& second) const;

  at::Tensor embeddings_;      // [m, d]
  at::Tensor first_, second_;  // [n], undefined where rows are the embeddings', or no pairs
  std::vector<Part> parts_;
};

}  // namespace sentencode
