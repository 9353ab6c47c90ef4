#include "sentencode/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {
namespace {

// A tile of similarities fits the caches between the product and the search.
constexpr std::int64_t kQueries = 512;
constexpr std::int64_t kRows = 2048;

/// In double: squares of numbers below 1e-19 or above 1e19 do not fit a float.
template <typename Row>
double length_of(const Row& row) {
  return std::sqrt(row.template cast<double>().squaredNorm());
}

/// The inverse length of each row, 0 for a zero row. False if products of the rows, or the inverse lengths,
/// may be out of float's range: then rows must be normalised first.
bool inverse_lengths(const ConstRef<float>& rows, std::int64_t first, std::int64_t count, float* out) {
  constexpr double kLeast = 1e-9, kMost = 1e9;
  std::atomic<bool> usual{true};
  parallel_for(0, count, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double length = length_of(rows.row(first + i));
      if (length > 0 && !(length >= kLeast && length <= kMost)) usual = false;
      out[i] = length > 0 ? static_cast<float>(1 / length) : 0.0F;
    }
  });
  return usual;
}

}  // namespace

void normalize_rows(MutableRef<float> rows) {
  parallel_for(0, rows.rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double length = length_of(rows.row(i));
      if (length > 0) rows.row(i) = (rows.row(i).cast<double>() / length).cast<float>();
    }
  });
}

void similarities(const ConstRef<float>& a, const ConstRef<float>& b, Similarity similarity,
                  MutableRef<float> out) {
  ST_CHECK(a.cols() == b.cols(), InvalidInput, "similarity: rows of ", a.cols(), " and of ", b.cols(),
           " dimensions");
  Vector by_row(a.rows()), by_column(b.rows());
  if (similarity == Similarity::cosine) {
    const bool usual = inverse_lengths(a, 0, a.rows(), by_row.data());
    if (!inverse_lengths(b, 0, b.rows(), by_column.data()) || !usual) {
      Matrix unit_a = a, unit_b = b;
      normalize_rows(unit_a);
      normalize_rows(unit_b);
      return similarities(unit_a, unit_b, Similarity::dot, out);
    }
  }
  constexpr std::int64_t kPiece = 4096;  // rows between two polls for Ctrl-C
  for (std::int64_t first = 0; first < a.rows(); first += kPiece) {
    poll_interrupt();
    const std::int64_t count = std::min(kPiece, a.rows() - first);
    gemm(Op::none, Op::transpose, 1.0F, a.middleRows(first, count), b, 0.0F, out.middleRows(first, count));
  }
  if (similarity == Similarity::dot) return;
  parallel_for(0, out.rows(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      out.row(i).array() *= by_row[i] * by_column.transpose().array();
    }
  });
}

bool NearestRows::better(const Hit& a, const Hit& b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

NearestRows::NearestRows(const ConstRef<float>& queries, std::int64_t k, Similarity similarity)
    : queries_(queries), k_(k), similarity_(similarity), hits_(static_cast<std::size_t>(queries.rows())) {
  ST_CHECK(k >= 1, InvalidInput, "top_k must be at least 1, got ", k);
  if (similarity == Similarity::cosine) {
    normalize_rows(queries_);
  }
}

void NearestRows::add(const ConstRef<float>& rows) {
  ST_CHECK(rows.cols() == queries_.cols(), InvalidInput, "semantic_search: queries of ", queries_.cols(),
           " dimensions and corpus rows of ", rows.cols());
  Matrix tile(std::min(kQueries, queries()), std::min<std::int64_t>(kRows, rows.rows()));
  Vector scale(tile.cols());
  Matrix unit;  // normalised rows, if needed
  for (std::int64_t first = 0; first < rows.rows(); first += kRows) {
    const std::int64_t count = std::min<std::int64_t>(kRows, rows.rows() - first);
    if (similarity_ == Similarity::cosine && !inverse_lengths(rows, first, count, scale.data())) {
      unit = rows.middleRows(first, count);
      normalize_rows(unit);
      scale.head(count).setOnes();
    } else {
      unit.resize(0, 0);
    }
    const ConstRef<float> some_rows =
        unit.rows() > 0 ? ConstRef<float>(unit) : ConstRef<float>(rows.middleRows(first, count));
    for (std::int64_t query = 0; query < queries(); query += kQueries) {
      const std::int64_t some = std::min(kQueries, queries() - query);
      gemm(Op::none, Op::transpose, 1.0F, queries_.middleRows(query, some), some_rows, 0.0F,
           tile.topLeftCorner(some, count));
      parallel_for(0, some, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          auto scores = tile.row(i).head(count);
          if (similarity_ == Similarity::cosine) scores.array() *= scale.head(count).transpose().array();
          keep(query + i, scores.data(), count, rows_ + first);
        }
      });
    }
  }
  rows_ += rows.rows();
}

void NearestRows::keep(std::int64_t query, const float* scores, std::int64_t count, std::int64_t first) {
  std::vector<Hit>& heap = hits_[static_cast<std::size_t>(query)];
  std::int64_t i = 0;
  for (; i < count && static_cast<std::int64_t>(heap.size()) < k_; ++i) {
    heap.push_back({std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i], first + i});
    std::push_heap(heap.begin(), heap.end(), better);
  }
  // Nearly all scores are worse than the worst hit: compare many at once.
  constexpr std::int64_t kAtOnce = 32;
  while (i < count) {
    const std::int64_t end = std::min(count, i + kAtOnce);
    const float worst = heap.front().score;
    int any = 0;
    for (std::int64_t j = i; j < end; ++j) any |= static_cast<int>(scores[j] > worst);
    for (std::int64_t j = i; any != 0 && j < end; ++j) {
      if (!(scores[j] > heap.front().score)) continue;
      std::pop_heap(heap.begin(), heap.end(), better);
      heap.back() = {scores[j], first + j};
      std::push_heap(heap.begin(), heap.end(), better);
    }
    i = end;
  }
}

void NearestRows::result(MutableRef<std::int64_t> indices, MutableRef<float> scores) const {
  parallel_for(0, queries(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::vector<Hit> sorted = hits_[static_cast<std::size_t>(i)];
      std::sort(sorted.begin(), sorted.end(), better);
      for (std::size_t j = 0; j < sorted.size(); ++j) {
        indices(i, static_cast<Eigen::Index>(j)) = sorted[j].row;
        scores(i, static_cast<Eigen::Index>(j)) = sorted[j].score;
      }
    }
  });
}

}  // namespace sentencode
