// Lookup of words in a table.
#include <algorithm>
#include <array>
#include <limits>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "text/short_words.h"
#include "vectors/subwords.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {
namespace {

constexpr std::int64_t kSentencesPerPiece = 1024;  // of lookup

}  // namespace

std::int32_t WordVectors::row_for(std::int32_t id, std::uint64_t hash) const {
  if (id != StringTable::kMissing) [[likely]]
    return id;
  switch (oov()) {
    case OutOfVocabulary::skip:
    case OutOfVocabulary::subwords:
      return -1;
    case OutOfVocabulary::zero:
    case OutOfVocabulary::mean:
      return static_cast<std::int32_t>(size());
    case OutOfVocabulary::random:
      return static_cast<std::int32_t>(size() + static_cast<std::int64_t>(hash % kRandomRows));
  }
  return -1;
}

std::int32_t WordVectors::make_row(std::string_view word, RaggedIds& out) const {
  const Subwords& pieces = subwords();
  std::vector<std::int64_t> buckets;
  subwords_of(word, pieces.lengths, pieces.buckets, buckets);
  if (buckets.empty()) return -1;
  std::vector<const std::byte*> rows;
  std::vector<float> factors;
  const float share = 1.0F / static_cast<float>(buckets.size());
  for (const std::int64_t bucket : buckets) {
    const auto at = static_cast<std::size_t>(bucket);
    rows.push_back(pieces.rows.data() + at * row_bytes());
    factors.push_back(pieces.scales.empty() ? share : share * pieces.scales[at]);
    __builtin_prefetch(rows.back());
  }
  std::vector<float> mean(static_cast<std::size_t>(dim()));
  row_kernels().sum[static_cast<std::size_t>(storage())](rows.data(), factors.data(), std::ssize(rows), dim(),
                                                         mean.data());
  const std::size_t before = out.made.size();
  const auto id = this->rows() + static_cast<std::int64_t>(before / row_bytes());
  ST_CHECK(id <= std::numeric_limits<std::int32_t>::max(), InvalidInput, "too many unknown words at once");
  out.made.resize(before + row_bytes());
  float scale = 0.0F;
  store_checked(mean, storage(), out.made.data() + before, &scale, word);
  if (storage() == Storage::int8) out.made_scales.push_back(scale);
  return static_cast<std::int32_t>(id);
}

void WordVectors::append_ids(const Tokens& tokens, std::span<const std::size_t> ends, std::int64_t max_tokens,
                             RaggedIds& out) const {
  constexpr std::size_t kAtOnce = 256;
  std::array<std::int32_t, kAtOnce> rows;
  std::array<std::uint64_t, kAtOnce> hashes;
  std::array<std::uint8_t, kAtOnce> rare;  // indices of tokens that are not in short_words_
  const std::int64_t most = max_tokens > 0 ? max_tokens : std::numeric_limits<std::int64_t>::max();
  const bool makes = oov() == OutOfVocabulary::subwords;
  std::span<const std::string_view> views(tokens.views());
  std::size_t token = 0;
  std::int64_t room = most;
  auto end = ends.begin();
  const auto close_sentences = [&] {
    for (; end != ends.end() && *end == token; ++end) {
      out.offsets.push_back(static_cast<std::int64_t>(out.ids.size()));
      room = most;
    }
  };
  close_sentences();
  while (!views.empty()) {
    const auto piece = views.first(std::min(views.size(), kAtOnce));
    std::size_t left = 0;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      rows[i] = short_words_->find(piece[i]);
      rare[left] = static_cast<std::uint8_t>(i);
      left += rows[i] == StringTable::kMissing;
    }
    words().find(piece, std::span(rare).first(left), hashes, rows);
    for (const std::uint8_t i : std::span(rare).first(left)) rows[i] = row_for(rows[i], hashes[i]);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (makes && rows[i] < 0 && room > 0) [[unlikely]]
        rows[i] = make_row(piece[i], out);
      if (rows[i] >= 0 && room > 0) {
        out.ids.push_back(rows[i]);
        --room;
      }
      ++token;
      close_sentences();
    }
    views = views.subspan(piece.size());
  }
}

void WordVectors::lookup(const Tokenizer& tokenizer, const Sentences& sentences, std::int64_t begin,
                         std::int64_t end, Tokens& scratch, RaggedIds& out, std::int64_t max_tokens) const {
  // Words of several sentences are looked up together, to overlap their memory accesses.
  constexpr std::int64_t kTogether = 16;
  std::array<std::size_t, kTogether> ends;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(kTogether, end - i);
    scratch.clear();
    for (std::int64_t k = 0; k < count; ++k, ++i) {
      tokenizer(sentences, i, scratch);
      ends[static_cast<std::size_t>(k)] = scratch.size();
    }
    append_ids(scratch, std::span(ends).first(static_cast<std::size_t>(count)), max_tokens, out);
  }
}

void WordVectors::lookup(const Tokenizer& tokenizer, const Sentences& sentences, RaggedIds& out,
                         std::int64_t max_tokens) const {
  sentences.check();
  const std::int64_t n = sentences.size();
  std::vector<RaggedIds> pieces(static_cast<std::size_t>((n + kSentencesPerPiece - 1) / kSentencesPerPiece));
  parallel_for(0, n, kSentencesPerPiece, [&](std::int64_t begin, std::int64_t end) {
    Tokens scratch;
    lookup(tokenizer, sentences, begin, end, scratch,
           pieces[static_cast<std::size_t>(begin / kSentencesPerPiece)], max_tokens);
  });
  std::size_t ids = out.ids.size();
  for (const auto& piece : pieces) ids += piece.ids.size();
  out.ids.reserve(ids);
  out.offsets.reserve(out.offsets.size() + static_cast<std::size_t>(n));
  for (const auto& piece : pieces) append(piece, 0, piece.size(), out);
}

void WordVectors::append(const RaggedIds& from, std::int64_t begin, std::int64_t end, RaggedIds& to) const {
  const auto first = from.offsets[static_cast<std::size_t>(begin)];
  const auto last = from.offsets[static_cast<std::size_t>(end)];
  const std::int64_t shift = std::ssize(to.ids) - first;
  const auto added = to.ids.insert(to.ids.end(), from.ids.begin() + first, from.ids.begin() + last);
  for (std::int64_t i = begin + 1; i <= end; ++i) {
    to.offsets.push_back(from.offsets[static_cast<std::size_t>(i)] + shift);
  }
  for (auto id = added; !from.made.empty() && id != to.ids.end(); ++id) {
    if (*id < rows()) continue;
    const auto index = static_cast<std::size_t>(*id - rows());
    *id = static_cast<std::int32_t>(rows() + static_cast<std::int64_t>(to.made.size() / row_bytes()));
    const auto row = from.made.begin() + static_cast<std::ptrdiff_t>(index * row_bytes());
    to.made.insert(to.made.end(), row, row + static_cast<std::ptrdiff_t>(row_bytes()));
    if (!from.made_scales.empty()) to.made_scales.push_back(from.made_scales[index]);
  }
}

}  // namespace sentencode
