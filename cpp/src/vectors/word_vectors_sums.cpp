// Rows of a table and their sums: the hot loops of encoding.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {

void WordVectors::prefetch(std::int32_t id) const {
  if (id >= rows()) return;  // made just now
  const std::byte* start = row_of(kNoneMade, id);
  const std::size_t bytes = row_bytes();
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(start + i);
  __builtin_prefetch(start + bytes - 1);  // rows are not aligned to cache lines
}

void WordVectors::sum(std::span<const std::int32_t> ids, const float* weights, float* out) const {
  sum(kNoneMade, ids, weights, 1.0F, out);
}

void WordVectors::sum(const RaggedIds& of, std::span<const std::int32_t> ids, const float* weights,
                      float* out) const {
  sum(of, ids, weights, 1.0F, out);
}

void WordVectors::sum(const RaggedIds& of, std::span<const std::int32_t> ids, const float* weights,
                      float scale, float* out) const {
  constexpr std::size_t kRows = 64;  // summed per call
  if (ids.size() > kRows) {  // in halves: errors of rounding grow with the logarithm of the number of words
    const std::size_t half = std::bit_floor(ids.size() - 1);
    sum(of, ids.first(half), weights, scale, out);
    Vector rest(dim());
    sum(of, ids.subspan(half), weights, scale, rest.data());
    Eigen::Map<Vector>(out, dim()) += rest;
    return;
  }
  std::array<const std::byte*, kRows> rows;
  std::array<float, kRows> factors;
  const bool scaled = storage() == Storage::int8;
  const bool weighted = weights != nullptr || scaled || scale != 1.0F;
  const auto last =
      static_cast<std::int32_t>(this->rows() - 1);  // its weight is that of rows made of subwords
  for (std::size_t i = 0; i < ids.size(); ++i) {
    rows[i] = row_of(of, ids[i]);
    factors[i] = weights != nullptr ? scale * weights[std::min(ids[i], last)] : scale;
    if (scaled) factors[i] *= scale_of(of, ids[i]);
  }
  row_kernels().sum[static_cast<std::size_t>(storage())](rows.data(), weighted ? factors.data() : nullptr,
                                                         std::ssize(ids), dim(), out);
}

template <typename Scale>
void WordVectors::scaled_sums(const RaggedIds& sentences, const float* weights, const Scale& scale,
                              MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, "sums: out must be [",
           sentences.size(), ", ", dim(), "], is [", out.rows(), ", ", out.cols(), "]");
  // Rows are prefetched about a sentence ahead, which is late enough to stay in the L1 cache.
  constexpr std::size_t kAhead = 24;
  const std::span ids(sentences.ids);
  std::size_t prefetched = 0;
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    const auto needed = static_cast<std::size_t>(sentences.offsets[static_cast<std::size_t>(i) + 1]);
    for (const std::size_t end = std::min(ids.size(), needed + kAhead); prefetched < end; ++prefetched)
      prefetch(ids[prefetched]);
    const auto words = sentences[i];
    sum(sentences, words, weights, scale(words.size()), out.row(i).data());
  }
}

void WordVectors::sums(const RaggedIds& sentences, const float* weights, MatrixView out) const {
  scaled_sums(
      sentences, weights, [](std::size_t) { return 1.0F; }, out);
}

void WordVectors::means(const RaggedIds& sentences, const float* weights, MatrixView out) const {
  const auto share = [](std::size_t n) { return 1.0F / static_cast<float>(std::max<std::size_t>(1, n)); };
  scaled_sums(sentences, weights, share, out);
}

void WordVectors::row(std::int32_t id, float* out) const { sum({&id, 1}, nullptr, out); }

void WordVectors::row(const RaggedIds& of, std::int32_t id, float* out) const {
  sum(of, {&id, 1}, nullptr, out);
}

bool WordVectors::row_of_subwords(std::string_view word, float* out) const {
  RaggedIds lookup;
  const std::int32_t id = make_row(word, lookup);
  if (id >= 0) row(lookup, id, out);
  return id >= 0;
}

void WordVectors::matrix(float* out) const {
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(static_cast<std::int32_t>(i), out + i * dim());
  });
}

std::vector<std::pair<std::int32_t, float>> WordVectors::most_similar(
    const float* query, std::int64_t k, std::span<const std::int32_t> exclude) const {
  using Hit = std::pair<std::int32_t, float>;
  ST_CHECK(k >= 0, InvalidInput, "most_similar: the number of words must not be negative, got ", k);
  const Vector q = Eigen::Map<const Vector>(query, dim()).stableNormalized();
  const auto better = [](const Hit& a, const Hit& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  const auto keep_best = [&](std::vector<Hit>& hits) {
    const auto count = std::min(hits.size(), static_cast<std::size_t>(k));
    std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(count), hits.end(), better);
    hits.resize(count);
  };

  std::vector<std::vector<Hit>> pieces(
      static_cast<std::size_t>((size() + kRowsPerPiece - 1) / kRowsPerPiece));
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    auto& hits = pieces[static_cast<std::size_t>(begin / kRowsPerPiece)];
    Vector values(dim());
    for (auto i = static_cast<std::int32_t>(begin); i < end; ++i) {
      if (std::find(exclude.begin(), exclude.end(), i) != exclude.end()) continue;
      row(i, values.data());
      const auto length = static_cast<float>(std::sqrt(squared_length(values)));
      hits.emplace_back(i, length > 0.0F ? q.dot(values) / length : 0.0F);
    }
    keep_best(hits);
  });
  std::vector<Hit> best;
  for (const auto& piece : pieces) best.insert(best.end(), piece.begin(), piece.end());
  keep_best(best);
  return best;
}

}  // namespace sentencode
