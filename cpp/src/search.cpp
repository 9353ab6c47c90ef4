#include "sentencode/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/stored_kernels.h"

namespace sentencode {
namespace {

constexpr std::int64_t kTile = 1 << 20;  // scores between the products and the search in them
constexpr std::int64_t kQueryFloats =
    1 << 17;  // of the queries that are multiplied with a panel: they stay cached
constexpr std::int64_t kMostQueries = 4096;  // of a tile
constexpr std::int64_t kPanels = 8;          // that a thread takes at a time

/// In double: squares of numbers below 1e-19 or above 1e19 do not fit a float.
template <typename Row>
double length_of(const Row& row) {
  return std::sqrt(row.template cast<double>().squaredNorm());
}

/// Products of rows whose lengths are not between these, or inverse lengths, may be out of float's range.
constexpr double kLeastLength = 1e-9, kMostLength = 1e9;

/// The inverse length of each row, 0 for a zero row. False if rows must be normalised first.
bool inverse_lengths(const ConstRef<float>& rows, float* out) {
  std::atomic<bool> usual{true};
  parallel_for(0, rows.rows(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double length = length_of(rows.row(i));
      if (length > 0 && !(length >= kLeastLength && length <= kMostLength)) usual = false;
      out[i] = length > 0 ? static_cast<float>(1 / length) : 0.0F;
    }
  });
  return usual;
}

/// Factors [32] that make scores of a panel's rows cosines: inverse lengths. Very short or long rows are
/// normalised in the panel.
void normalize_panel(const StoredKernels& kernels, PanelOf<float>& panel, float* factors) {
  const auto dim = std::ssize(panel);
  double squares[kPanelRows];
  kernels.squares(panel.data(), dim, squares);
  for (std::int64_t i = 0; i < kPanelRows; ++i) {
    const double length = std::sqrt(squares[i]);
    factors[i] = static_cast<float>(1 / length);
    if (length >= kLeastLength && length <= kMostLength) continue;
    using Lane = Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<kPanelRows>>;
    Lane lane(panel.data()->rows + i, dim);
    const double exact = length_of(lane);
    factors[i] = exact > 0 ? 1.0F : 0.0F;
    if (exact > 0) lane = (lane.cast<double>() / exact).cast<float>();
  }
}

/// Queries that are faster one by one than as a part of a group.
constexpr std::int64_t few_queries(std::int64_t group) { return (group + 2) / 3; }

/// Bits of up to 32 packed rows, 64 in a column.
void load_bits(const StoredRows& rows, std::int64_t first, std::int64_t count,
               PanelOf<std::uint64_t>& panel) {
  const std::int64_t bytes = stored_bytes(rows.precision, rows.dim), whole = bytes / 8;
  const std::uint64_t offsets = byte_offset(rows.precision) * 0x0101010101010101U;
  const auto left = static_cast<unsigned>(bytes % 8);  // bytes of the last column
  const std::uint64_t kept = left == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * left);
  // Bits of the last byte beyond the dimensions must be 0.
  const unsigned beyond = rows.dim % 8 == 0 ? 0 : 255U >> (rows.dim % 8);
  unsigned extra = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* row = rows.row(first + i);
    for (std::int64_t w = 0; w < whole; ++w) {
      std::uint64_t word;
      std::memcpy(&word, row + 8 * w, 8);
      panel[static_cast<std::size_t>(w)].rows[i] = word ^ offsets;
    }
    if (left > 0) {
      std::uint64_t word = 0;
      for (unsigned b = 0; b < left; ++b) {
        word |= std::to_integer<std::uint64_t>(row[8 * whole + b]) << (8 * b);
      }
      panel[static_cast<std::size_t>(whole)].rows[i] = word ^ (offsets & kept);
    }
    if (beyond != 0)
      extra |= (std::to_integer<unsigned>(row[bytes - 1]) ^ byte_offset(rows.precision)) & beyond;
  }
  ST_CHECK(extra == 0, InvalidInput, "corpus: a packed row has bits beyond the ", rows.dim,
           " dimensions of the queries");
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
    const bool usual = inverse_lengths(a, by_row.data());
    if (!inverse_lengths(b, by_column.data()) || !usual) {
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

void exact_similarities(const ConstRef<float>& queries, const ConstRef<float>& rows,
                        const ConstRef<std::int64_t>& candidates, Similarity similarity,
                        MutableRef<double> out) {
  ST_CHECK(queries.cols() == rows.cols(), InvalidInput, "queries of ", queries.cols(),
           " dimensions and rows of ", rows.cols());
  parallel_for(0, queries.rows(), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const VectorD query = queries.row(i).cast<double>();
      for (std::int64_t j = 0; j < candidates.cols(); ++j) {
        const VectorD row = rows.row(candidates(i, j)).cast<double>();
        const double lengths = similarity == Similarity::cosine ? query.norm() * row.norm() : 1.0;
        const double score = lengths == 0.0 ? 0.0 : query.dot(row) / lengths;
        out(i, j) = std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
      }
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
  const std::int64_t group = stored_kernels().group, dim = queries_.cols();
  packed_.resize(static_cast<std::size_t>((NearestRows::queries() + group - 1) / group * group * dim));
  for (std::int64_t i = 0; i < NearestRows::queries(); ++i) {
    float* out = packed_.data() + i / group * group * dim + i % group;
    for (std::int64_t j = 0; j < dim; ++j) out[j * group] = queries_(i, j);
  }
}

void NearestRows::add(const StoredRows& rows) {
  const std::int64_t dim = queries_.cols();
  ST_CHECK(rows.dim == dim, InvalidInput, "semantic_search: queries of ", dim,
           " dimensions and corpus rows of ", rows.dim);
  ST_CHECK(rows.ranges == nullptr || rows.ranges->least.size() == dim, InvalidInput,
           "semantic_search: queries of ", dim, " dimensions and ranges of ",
           rows.ranges == nullptr ? 0 : rows.ranges->least.size());
  ST_CHECK(!has_ranges(rows.precision) || rows.ranges != nullptr, InvalidInput, "semantic_search: rows of ",
           name_of(rows.precision), " need their ranges");
  if (is_packed(rows.precision) && positive_.size() == 0) {
    positive_.setZero(queries(), (dim + 63) / 64);
    quantize(queries_, Precision::ubinary, nullptr, reinterpret_cast<std::byte*>(positive_.data()),
             8 * positive_.cols(), "queries");
  }
  // Few queries have long tiles, so that few threads are started; of many, some stay in the cache.
  const std::int64_t group = stored_kernels().group;
  const std::int64_t most = std::clamp(kQueryFloats / std::max<std::int64_t>(dim, 1), group, kMostQueries);
  const std::int64_t at_once = std::min(queries(), most / group * group);
  const std::int64_t padded = at_once <= few_queries(group) ? std::max<std::int64_t>(at_once, 1)
                                                            : (at_once + group - 1) / group * group;
  const std::int64_t width = std::min(kTile / padded, rows.rows + kPanelRows - 1) / kPanelRows * kPanelRows;
  Matrix tile(padded, width);
  for (std::int64_t first = 0; first < rows.rows; first += width) {
    const std::int64_t count = std::min(width, rows.rows - first);
    for (std::int64_t query = 0; query < queries(); query += at_once) {
      const std::int64_t some = std::min(at_once, queries() - query);
      parallel_for(0, count, kPanels * kPanelRows, [&](std::int64_t begin, std::int64_t end) {
        const auto scores = is_packed(rows.precision) ? &NearestRows::scores_of_bits : &NearestRows::scores;
        (this->*scores)(rows, first + begin, first + end, query, some, tile.data() + begin, width);
      });
      parallel_for(0, some, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) keep(query + i, tile.row(i).data(), count, rows_ + first);
      });
    }
  }
  rows_ += rows.rows;
}

void NearestRows::scores(const StoredRows& rows, std::int64_t begin, std::int64_t end, std::int64_t query,
                         std::int64_t some, float* out, std::int64_t stride) const {
  const StoredKernels& kernels = stored_kernels();
  const std::int64_t group = kernels.group, dim = rows.dim;
  PanelOf<float> panel(static_cast<std::size_t>(dim));
  float factors[kPanelRows];
  std::fill_n(factors, kPanelRows, 1.0F);
  for (std::int64_t first = begin; first < end; first += kPanelRows, out += kPanelRows) {
    kernels.load[static_cast<std::size_t>(rows.precision)](rows, first, std::min(kPanelRows, end - first),
                                                           panel.data());
    if (similarity_ == Similarity::cosine) normalize_panel(kernels, panel, factors);
    std::int64_t i = 0;
    for (; some - i > few_queries(group); i += group) {
      kernels.scores(packed_.data() + (query + i) * dim, panel.data(), dim, factors, out + i * stride,
                     stride);
    }
    for (; i < some; ++i) {
      kernels.score(queries_.row(query + i).data(), panel.data(), dim, factors, out + i * stride, stride);
    }
  }
}

void NearestRows::scores_of_bits(const StoredRows& rows, std::int64_t begin, std::int64_t end,
                                 std::int64_t query, std::int64_t some, float* out,
                                 std::int64_t stride) const {
  // Signs that differ change the product of +1 and -1 in all dimensions by -2.
  const auto dim = static_cast<float>(rows.dim);
  const float same = similarity_ == Similarity::cosine ? 1.0F : dim;
  const float each = similarity_ == Similarity::cosine ? -2.0F / dim : -2.0F;
  PanelOf<std::uint64_t> panel(static_cast<std::size_t>(positive_.cols()));
  for (std::int64_t first = begin; first < end; first += kPanelRows, out += kPanelRows) {
    load_bits(rows, first, std::min(kPanelRows, end - first), panel);
    for (std::int64_t i = 0; i < some; ++i) {
      stored_kernels().hamming(positive_.row(query + i).data(), panel.data(), positive_.cols(), same, each,
                               out + i * stride);
    }
  }
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
