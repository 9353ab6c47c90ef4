#pragma once

#include <cstdint>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"
#include "sentencode/quantization.h"

namespace sentencode {

enum class Similarity { cosine, dot };  // the cosine with a zero row is 0
constexpr EnumNames<2> enum_names(Similarity) { return {"similarity", {"cosine", "dot"}}; }

/// Divides every row by its length. A zero row stays zero.
void normalize_rows(MutableRef<float> rows);

/// out [a.rows(), b.rows()]: the similarity of every row of `a` with every row of `b`.
void similarities(const ConstRef<float>& a, const ConstRef<float>& b, Similarity similarity,
                  MutableRef<float> out);

/// out [queries, candidates]: the similarity, in double, of query i with row `candidates(i, j)` of `rows`.
/// Equal rows have equal similarities. NaN becomes -infinity.
void exact_similarities(const ConstRef<float>& queries, const ConstRef<float>& rows,
                        const ConstRef<std::int64_t>& candidates, Similarity similarity,
                        MutableRef<double> out);

/// The rows of a stream that are most similar to each query, in any precision. Memory holds one block of the
/// stream at a time. A score does not depend on threads, blocks or other queries.
class NearestRows {
 public:
  /// k: At least 1. Copies the queries [q, dim].
  NearestRows(const ConstRef<float>& queries, std::int64_t k, Similarity similarity);

  /// Adds the next rows of the stream [n, dim]. Indices continue across calls. Packed bits are the signs of
  /// the dimensions, +1 and -1, and so are queries compared with them: scores follow from the Hamming
  /// distance.
  void add(const StoredRows& rows);
  void add(const ConstRef<float>& rows) { add(stored_rows(rows)); }

  std::int64_t rows() const { return rows_; }  // added so far
  std::int64_t k() const { return k_; }
  std::int64_t queries() const { return queries_.rows(); }
  std::int64_t dim() const { return queries_.cols(); }

  /// Both [q, min(k, rows())], best first; of equal similarities the earlier row. NaN comes last.
  void result(MutableRef<std::int64_t> indices, MutableRef<float> scores) const;

 private:
  struct Hit {
    float score;
    std::int64_t row;
  };
  static bool better(const Hit& a, const Hit& b);
  void keep(std::int64_t query, const float* scores, std::int64_t count, std::int64_t first);
  /// out[i * stride + r - begin]: the score of query + i, i < some, with row r, begin <= r < end. Writes up
  /// to a whole panel and a whole group of queries.
  void scores(const StoredRows& rows, std::int64_t begin, std::int64_t end, std::int64_t query,
              std::int64_t some, float* out, std::int64_t stride) const;
  void scores_of_bits(const StoredRows& rows, std::int64_t begin, std::int64_t end, std::int64_t query,
                      std::int64_t some, float* out, std::int64_t stride) const;

  Matrix queries_;                    // normalised for cosine
  std::vector<float> packed_;         // groups of queries: [dim, group] each, the last with zeros
  RowMajor<std::uint64_t> positive_;  // bits of the queries, made for the first packed rows
  std::int64_t k_;
  Similarity similarity_;
  std::int64_t rows_ = 0;
  std::vector<std::vector<Hit>> hits_;  // a heap for each query, the worst first
};

}  // namespace sentencode
