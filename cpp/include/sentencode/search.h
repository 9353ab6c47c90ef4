#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"

namespace sentencode {

enum class Similarity { cosine, dot };  // the cosine with a zero row is 0
constexpr EnumNames<2> enum_names(Similarity) { return {"similarity", {"cosine", "dot"}}; }

/// Divides every row by its length. A zero row stays zero.
void normalize_rows(MutableRef<float> rows);

/// out [a.rows(), b.rows()]: the similarity of every row of `a` with every row of `b`.
void similarities(const ConstRef<float>& a, const ConstRef<float>& b, Similarity similarity,
                  MutableRef<float> out);

/// The rows of a stream that are most similar to each query. Memory holds one block of the stream at a time.
class NearestRows {
 public:
  /// k: At least 1. Copies the queries [q, dim].
  NearestRows(const ConstRef<float>& queries, std::int64_t k, Similarity similarity);

  /// Adds the next rows of the stream [n, dim]. Indices continue across calls.
  void add(const ConstRef<float>& rows);

  std::int64_t rows() const { return rows_; }  // added so far
  std::int64_t k() const { return k_; }
  std::int64_t queries() const { return queries_.rows(); }

  /// Both [q, min(k, rows())], best first; of equal similarities the earlier row. NaN comes last.
  void result(MutableRef<std::int64_t> indices, MutableRef<float> scores) const;

 private:
  struct Hit {
    float score;
    std::int64_t row;
  };
  static bool better(const Hit& a, const Hit& b);
  void keep(std::int64_t query, const float* scores, std::int64_t count, std::int64_t first);

  Matrix queries_;  // normalised for cosine
  std::int64_t k_;
  Similarity similarity_;
  std::int64_t rows_ = 0;
  std::vector<std::vector<Hit>> hits_;  // a heap for each query, the worst first
};

}  // namespace sentencode
