#include "sentencode/linear/aligned_sentences.h"

#include <algorithm>
#include <numeric>

#include "sentencode/parallel.h"

namespace sentencode {

AlignedSentences::AlignedSentences(const RaggedIds& sentences, std::int64_t begin, std::int64_t end,
                                   Reading reading, End at)
    : sentences_(&sentences), from_back_((reading == Reading::forward) == (at == End::last)) {
  order_.resize(static_cast<std::size_t>(end - begin));
  std::iota(order_.begin(), order_.end(), begin);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](auto a, auto b) { return sentences[a].size() > sentences[b].size(); });
  if (order_.empty()) return;
  size_at_.resize(words_of(0).size());
  for (std::int64_t row = 0, k = longest(); k-- > 0;) {
    while (row < size() && length(row) > k) ++row;
    size_at_[static_cast<std::size_t>(k)] = row;
  }
}

Matrix AlignedSentences::words(const WeightedWords& words, const Vector& centre, std::int64_t first,
                               std::int64_t last, Matrix* sum) const {
  std::vector<std::int64_t> start{0};  // begins of the rows of positions first, first + 1, ...
  for (std::int64_t k = first; k < last; ++k) start.push_back(start.back() + size_at(k));
  Matrix x(start.back(), words.dim());
  parallel_for(0, size_at(first), 64, [&](std::int64_t row_begin, std::int64_t row_end) {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const auto ids = words_of(row);
      const std::int64_t end = std::min<std::int64_t>(last, std::ssize(ids));
      const auto id_at = [&](std::int64_t k) {
        return ids[static_cast<std::size_t>(from_back_ ? std::ssize(ids) - 1 - k : k)];
      };
      for (std::int64_t k = first; k < end; ++k) words.vectors()->prefetch(id_at(k));
      for (std::int64_t k = first; k < end; ++k) {
        auto out = x.row(start[static_cast<std::size_t>(k - first)] + row);
        words.row(*sentences_, id_at(k), out.data());
        if (centre.size() > 0) out -= centre.transpose();
        if (sum != nullptr) sum->row(row) += out;
      }
    }
  });
  return x;
}

}  // namespace sentencode
