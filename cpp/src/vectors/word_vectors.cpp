#include "sentencode/vectors/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "text/short_words.h"
#include "vectors/word_vectors_shared.h"

namespace sentencode {
namespace {

constexpr std::int64_t kMaxWords = std::numeric_limits<std::int32_t>::max() - kRandomRows;

/// SplitMix64: random bits.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

void store_checked(std::span<const float> values, Storage storage, std::byte* row, float* scale,
                   std::string_view word) {
  if (store_row(values, storage, row, scale)) return;
  throw InvalidInput(why_not_stored(values, concat('\'', word, '\'')));
}

WordVectors::WordVectors(Parts parts) : parts_(std::move(parts)), lazy_(std::make_shared<Lazy>()) {
  const auto n = static_cast<std::size_t>(size());
  ST_CHECK(size() <= kMaxWords, InvalidInput, "word vectors: ", size(), " words; at most ", kMaxWords,
           " are possible");
  ST_CHECK(dim() >= 1, InvalidInput, "word vectors: dim must be at least 1, got ", dim());
  ST_CHECK(counts().empty() || counts().size() == n, InvalidInput, "word vectors: ", counts().size(),
           " counts for ", n, " words");
  ST_INVARIANT(parts_.rows.size() == n * row_bytes());
  ST_INVARIANT(parts_.scales.size() == (storage() == Storage::int8 ? n : 0));
  const Subwords& pieces = subwords();
  ST_INVARIANT(pieces.rows.size() == static_cast<std::size_t>(pieces.buckets) * row_bytes());
  ST_CHECK(pieces.buckets == 0 || are_lengths(pieces.lengths), InvalidInput, "word vectors: subwords of ",
           pieces.lengths[0], " to ", pieces.lengths[1], " characters");
  ST_CHECK(pieces.buckets > 0 || oov() != OutOfVocabulary::subwords, InvalidInput,
           "oov='subwords': these word vectors have no subwords; those of fastText's .bin files have");
  short_words_ = std::make_shared<const ShortWords>(words());
  make_extra_rows();
}

void WordVectors::make_extra_rows() {
  if (oov() == OutOfVocabulary::skip) return;
  const auto columns = static_cast<std::size_t>(dim());
  Matrix extra = Matrix::Zero(oov() == OutOfVocabulary::random ? kRandomRows : 1, dim());
  if ((oov() == OutOfVocabulary::mean || oov() == OutOfVocabulary::random) && size() > 0) {
    // Sums of pieces are added in order, so that the number of threads does not matter.
    const std::int64_t pieces = (size() - 1) / kRowsPerPiece + 1;
    MatrixD sums = MatrixD::Zero(pieces, dim());
    std::vector<double> norms(static_cast<std::size_t>(pieces));
    parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t piece = begin / kRowsPerPiece;
      Vector values(dim());
      for (std::int64_t i = begin; i < end; ++i) {
        row(static_cast<std::int32_t>(i), values.data());
        sums.row(piece) += values.transpose().cast<double>();
        norms[static_cast<std::size_t>(piece)] += std::sqrt(squared_length(values));
      }
    });
    if (oov() == OutOfVocabulary::mean) {
      extra.row(0) = (sums.colwise().sum() / static_cast<double>(size())).cast<float>();
    } else {
      const double norm = std::accumulate(norms.begin(), norms.end(), 0.0) / static_cast<double>(size());
      std::uint64_t state = 20181111;
      for (std::int64_t r = 0; r < extra.rows(); ++r) {
        for (std::int64_t c = 0; c < dim(); ++c) {  // approximately normal: a sum of four uniform numbers
          const std::uint64_t bits = next_random(state);
          extra(r, c) = static_cast<float>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
                                           (bits >> 48)) -
                        2 * 65535.0F;
        }
        extra.row(r) *= static_cast<float>(norm / std::max(1e-30, static_cast<double>(extra.row(r).norm())));
      }
    }
  }
  extra_.resize(static_cast<std::size_t>(extra.rows()) * row_bytes());
  extra_scales_.resize(static_cast<std::size_t>(extra.rows()));
  for (std::int64_t r = 0; r < extra.rows(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    store_checked({extra.row(r).data(), columns}, storage(), extra_.data() + i * row_bytes(),
                  &extra_scales_[i], "any unknown word");
  }
  extra_rows_ = extra.rows();
}

bool WordVectors::cased() const {
  constexpr std::int64_t kSample = 20'000;
  const std::int64_t step = size() / kSample + 1;
  std::int64_t sampled = 0, upper = 0;
  std::string lower;
  for (std::int64_t i = 0; i < size(); i += step, ++sampled) {
    const std::string text = repair_utf8(words()[i]);
    lower.resize(lowercase_bound(text.size()));
    lower.resize(lowercase_utf8(text, lower.data()));
    upper += lower != text;
  }
  return upper * 100 > sampled;
}

bool WordVectors::compounds() const {
  constexpr std::int64_t kSample = 20'000;
  const std::int64_t step = size() / kSample + 1;
  // Tokens of the Penn Treebank, which even small parts of such tables have.
  if (words().find("n't") != StringTable::kMissing || words().find("'s") != StringTable::kMissing)
    return true;
  const Tokenizer tokenizer{.split = Split::punctuation};
  std::int64_t sampled = 0, several = 0;
  Tokens pieces;
  for (std::int64_t i = 0; i < size(); i += step, ++sampled) {
    pieces.clear();
    tokenizer(words()[i], pieces);
    several += pieces.size() > 1;
  }
  return several * 1000 > sampled;
}

std::string WordVectors::fingerprint() const {
  std::call_once(lazy_->once, [this] {
    if (!lazy_->fingerprint.empty()) return;
    Sha256 hash;
    const std::string header = concat(kVectorsFormat, ' ', size(), ' ', dim(), ' ', name_of(storage()));
    hash.update(std::as_bytes(std::span(header)));
    hash.update(std::as_bytes(words().offsets()));
    hash.update(std::as_bytes(words().bytes()));
    hash.update(parts_.rows);
    hash.update(std::as_bytes(parts_.scales));
    hash.update(std::as_bytes(counts()));
    if (subwords().buckets > 0) {
      const std::string shape = concat(" subwords ", subwords().lengths[0], ' ', subwords().lengths[1]);
      hash.update(std::as_bytes(std::span(shape)));
      hash.update(subwords().rows);
      hash.update(std::as_bytes(subwords().scales));
    }
    lazy_->fingerprint = hash.hex();
  });
  return lazy_->fingerprint;
}

}  // namespace sentencode
