#include "sentencode/vectors/word_vectors.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

#include "sentencode/error.h"
#include "sentencode/io/sha256.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "text/short_words.h"
#include "vectors/subwords.h"

namespace sentencode {
namespace {

constexpr std::int64_t kRandomRows = 256;  // that stand for unknown words under the policy `random`
constexpr std::int64_t kMaxWords = std::numeric_limits<std::int32_t>::max() - kRandomRows;
constexpr std::int64_t kRowsPerPiece = 1024;       // of work over the whole table
constexpr std::int64_t kSentencesPerPiece = 1024;  // of look-up
constexpr std::string_view kOovNames[] = {"skip", "zero", "mean", "random", "subwords"};
// Version 3 has checksums, with or without subwords. Memory has none, nor had files: version 2 had subwords,
// version 1 neither.
constexpr std::string_view kFormat = "sentencode.vectors", kVersion = "3", kWithSubwords = "2", kFirst = "1";

const RaggedIds kNoneMade;  // for ids that are all the table's

/// The memory of a table that is not mapped.
struct Owned {
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> rows;
  std::vector<float> scales;
  std::vector<std::int64_t> counts;
};

bool are_lengths(std::array<std::int32_t, 2> lengths) { return lengths[0] >= 0 && lengths[0] <= lengths[1]; }

/// Rows of subwords, and what the table that they were added to looks at.
struct WithSubwords {
  std::shared_ptr<const void> table;
  Owned rows;
};

/// The same strings in memory of their own: a frozen table may look at a file that goes away.
StringTable own(const StringTable& words) {
  if (!words.frozen()) return words;
  StringTable result;
  result.reserve(words.size(), static_cast<std::int64_t>(words.bytes().size()));
  for (std::int64_t i = 0; i < words.size(); ++i) result.insert(words[i]);
  return result;
}

/// Memory for rows: where they are many, of large pages, so that words from anywhere find their addresses
/// soon.
std::byte* allocate(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64, kLargePage = std::size_t{2} << 20;
  const std::size_t unit = bytes < 2 * kLargePage ? kCacheLine : kLargePage;
  const std::size_t size = (std::max<std::size_t>(1, bytes) + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, size);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == kLargePage) ::madvise(memory, size, MADV_HUGEPAGE);  // a wish: nothing is lost without it
#endif
  return static_cast<std::byte*>(memory);
}

/// A table whose rows `fill(first, last, rows, scales)` writes, called for pieces of it on all threads.
template <typename Fill>
WordVectors::Parts make_parts(StringTable words, std::int64_t dim, Storage storage,
                              std::span<const std::int64_t> counts, OutOfVocabulary oov, const Fill& fill) {
  const auto n = static_cast<std::size_t>(words.size());
  const std::size_t row_bytes = static_cast<std::size_t>(dim) * element_bytes(storage);
  auto owned = std::make_shared<Owned>();
  owned->rows.reset(allocate(n * row_bytes));
  if (storage == Storage::int8) owned->scales.resize(n);
  owned->counts.assign(counts.begin(), counts.end());
  parallel_for(0, words.size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    fill(begin, end, owned->rows.get() + static_cast<std::size_t>(begin) * row_bytes,
         owned->scales.empty() ? nullptr : owned->scales.data() + begin);
  });

  WordVectors::Parts parts;
  parts.rows = {owned->rows.get(), n * row_bytes};
  parts.scales = owned->scales;
  parts.counts = owned->counts;
  parts.keep = std::move(owned);
  parts.words = std::move(words);
  parts.dim = dim;
  parts.storage = storage;
  parts.oov = oov;
  return parts;
}

/// Stores one row, or says what is wrong with it.
void store_checked(std::span<const float> values, Storage storage, std::byte* row, float* scale,
                   std::string_view word) {
  if (store_row(values, storage, row, scale)) return;
  throw InvalidInput(why_not_stored(values, concat('\'', word, '\'')));
}

/// Adds rows for subwords, which `row(i, out)` gives, to a table.
template <typename Row>
void add_subwords(WordVectors::Parts& parts, std::array<std::int32_t, 2> lengths, std::int64_t buckets,
                  const Row& row) {
  const std::size_t row_bytes = static_cast<std::size_t>(parts.dim) * element_bytes(parts.storage);
  const auto n = static_cast<std::size_t>(buckets);
  auto both = std::make_shared<WithSubwords>();
  both->table = std::move(parts.keep);
  both->rows.rows.reset(allocate(n * row_bytes));
  if (parts.storage == Storage::int8) both->rows.scales.resize(n);
  parallel_for(0, buckets, kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(static_cast<std::size_t>(parts.dim));
    for (std::int64_t i = begin; i < end; ++i) {
      row(i, values.data());
      const auto at = static_cast<std::size_t>(i);
      store_checked(values, parts.storage, both->rows.rows.get() + at * row_bytes,
                    both->rows.scales.empty() ? nullptr : &both->rows.scales[at], concat("subword ", i));
    }
  });
  parts.subwords = {lengths, buckets, {both->rows.rows.get(), n * row_bytes}, both->rows.scales};
  parts.keep = std::move(both);
}

std::span<const float> checked_scales(const SafeTensors& file, const std::string& name, std::int64_t n) {
  const auto scales = file.values<float>(name, {n});
  ST_CHECK(std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale); }), FormatError,
           file.source(), ": tensor '", name, "' holds NaN or infinity");
  return scales;
}

/// SplitMix64: the next of a sequence of random bits.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

std::string_view name_of(OutOfVocabulary oov) { return kOovNames[static_cast<std::size_t>(oov)]; }

OutOfVocabulary oov_named(std::string_view name) {
  const auto place = std::find(std::begin(kOovNames), std::end(kOovNames), name);
  ST_CHECK(place != std::end(kOovNames), InvalidInput,
           "oov must be 'skip', 'zero', 'mean', 'random' or 'subwords', got '", name, "'");
  return static_cast<OutOfVocabulary>(place - std::begin(kOovNames));
}

struct WordVectors::Lazy {
  std::once_flag once;
  std::string fingerprint;
};

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
    // Sums of pieces, added in their order: the same on any number of threads.
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
        for (std::int64_t c = 0; c < dim(); ++c) {  // four uniform numbers make a bell that is round enough
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

std::shared_ptr<const WordVectors> WordVectors::from_array(const StringTable& words, ConstMatrixView rows,
                                                           std::span<const std::int64_t> counts,
                                                           Storage storage, OutOfVocabulary oov) {
  ST_CHECK(rows.rows() == words.size(), InvalidInput, "word vectors: ", rows.rows(), " rows for ",
           words.size(), " words");
  ST_CHECK(rows.cols() >= 1, InvalidInput, "word vectors: dim must be at least 1, got ", rows.cols());
  const std::int64_t dim = rows.cols();
  const std::size_t row_bytes = static_cast<std::size_t>(dim) * element_bytes(storage);
  return std::make_shared<WordVectors>(
      make_parts(own(words), dim, storage, counts, oov,
                 [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                   for (std::int64_t i = begin; i < end; ++i, out += row_bytes) {
                     store_checked({rows.row(i).data(), static_cast<std::size_t>(dim)}, storage, out,
                                   scales == nullptr ? nullptr : scales++, words[i]);
                   }
                 }));
}

std::shared_ptr<const WordVectors> WordVectors::with_oov(OutOfVocabulary oov) const {
  Parts parts = parts_;
  parts.oov = oov;
  auto result = std::make_shared<WordVectors>(std::move(parts));
  result->lazy_ = lazy_;
  return result;
}

std::shared_ptr<const WordVectors> WordVectors::with_storage(Storage storage) const {
  const auto columns = static_cast<std::size_t>(dim());
  Parts parts =
      make_parts(own(words()), dim(), storage, counts(), OutOfVocabulary::skip,
                 [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                   std::vector<float> values(columns);
                   for (std::int64_t i = begin; i < end; ++i, out += columns * element_bytes(storage)) {
                     row(static_cast<std::int32_t>(i), values.data());
                     store_checked(values, storage, out, scales == nullptr ? nullptr : scales++, words()[i]);
                   }
                 });
  const Subwords& pieces = subwords();
  if (pieces.buckets > 0) {
    const SumRows kernel = row_kernels().sum[static_cast<std::size_t>(this->storage())];
    add_subwords(parts, pieces.lengths, pieces.buckets, [&](std::int64_t i, float* out) {
      const std::byte* row = pieces.rows.data() + static_cast<std::size_t>(i) * row_bytes();
      kernel(&row, pieces.scales.empty() ? nullptr : &pieces.scales[static_cast<std::size_t>(i)], 1, dim(),
             false, out);
    });
  }
  parts.oov = oov();
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::with_subwords(std::array<std::int32_t, 2> lengths,
                                                              ConstMatrixView rows) const {
  ST_CHECK(rows.cols() == dim(), InvalidInput, "subwords: rows of ", rows.cols(),
           " numbers, those of words have ", dim());
  Parts parts = parts_;
  parts.path.clear();
  add_subwords(parts, lengths, rows.rows(),
               [&](std::int64_t i, float* out) { std::copy_n(rows.row(i).data(), dim(), out); });
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::select(std::span<const std::int32_t> ids) const {
  StringTable chosen;
  std::vector<std::int64_t> chosen_counts;
  for (const std::int32_t id : ids) {
    chosen.insert(words()[id]);
    if (!counts().empty()) chosen_counts.push_back(counts()[static_cast<std::size_t>(id)]);
  }
  Parts parts = make_parts(std::move(chosen), dim(), storage(), chosen_counts, oov(),
                           [&](std::int64_t begin, std::int64_t end, std::byte* out, float* scales) {
                             for (std::int64_t i = begin; i < end; ++i, out += row_bytes()) {
                               const std::int32_t id = ids[static_cast<std::size_t>(i)];
                               std::memcpy(out, row_of(kNoneMade, id), row_bytes());
                               if (scales != nullptr) *scales++ = scale_of(kNoneMade, id);
                             }
                           });
  if (subwords().buckets > 0) {  // shared, not copied
    parts.subwords = subwords();
    parts.keep = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(parts.keep), parts_.keep);
  }
  return std::make_shared<WordVectors>(std::move(parts));
}

std::shared_ptr<const WordVectors> WordVectors::only(const StringTable& keep) const {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (keep.find(words()[i]) != StringTable::kMissing) ids.push_back(static_cast<std::int32_t>(i));
  }
  return select(ids);
}

std::shared_ptr<const WordVectors> WordVectors::first(std::int64_t count) const {
  ST_CHECK(count >= 0, InvalidInput, "word vectors: cannot keep ", count, " words");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(count, size())));
  std::iota(ids.begin(), ids.end(), 0);
  return select(ids);
}

bool WordVectors::cased() const {
  constexpr std::int64_t kSample = 20'000;
  const std::int64_t step = size() / kSample + 1;
  std::int64_t seen = 0, upper = 0;
  std::string lower;
  for (std::int64_t i = 0; i < size(); i += step, ++seen) {
    const std::string text = repair_utf8(words()[i]);
    lower.resize(lowercase_bound(text.size()));
    lower.resize(lowercase_utf8(text, lower.data()));
    upper += lower != text;
  }
  return upper * 100 > seen;
}

bool WordVectors::compounds() const {
  constexpr std::int64_t kSample = 20'000;
  const std::int64_t step = size() / kSample + 1;
  // Text that was cut as the Penn Treebank is has these, and a part of such a table has them, too.
  if (words().find("n't") != StringTable::kMissing || words().find("'s") != StringTable::kMissing)
    return true;
  const Tokenizer cut{.split = Split::punctuation};
  std::int64_t seen = 0, several = 0;
  Tokens pieces;
  for (std::int64_t i = 0; i < size(); i += step, ++seen) {
    pieces.clear();
    cut(words()[i], pieces);
    several += pieces.size() > 1;
  }
  return several * 1000 > seen;
}

std::string WordVectors::fingerprint() const {
  std::call_once(lazy_->once, [this] {
    if (!lazy_->fingerprint.empty()) return;
    Sha256 hash;
    const std::string header = concat(kFormat, ' ', size(), ' ', dim(), ' ', name_of(storage()));
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

std::int32_t WordVectors::row_for(std::int32_t found, std::uint64_t hash) const {
  if (found != StringTable::kMissing) [[likely]]
    return found;
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
                                                         false, mean.data());
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
  std::array<std::uint8_t, kAtOnce> rare;  // the places of what is not among the short words
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
  // Words of some sentences are looked up together: while memory brings one, others are asked for.
  constexpr std::int64_t kTogether = 16;
  std::array<std::size_t, kTogether> ends;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(kTogether, end - i);
    scratch.clear();
    for (std::int64_t k = 0; k < count; ++k, ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (sentences.tokenised()) {
        const auto first = sentences.offsets[at], last = sentences.offsets[at + 1];
        for (auto token = first; token < last; ++token) {
          tokenizer.append_token(sentences.pieces[static_cast<std::size_t>(token)], scratch);
        }
      } else {
        tokenizer(sentences.pieces[at], scratch);
      }
      ends[static_cast<std::size_t>(k)] = scratch.size();
    }
    append_ids(scratch, std::span(ends).first(static_cast<std::size_t>(count)), max_tokens, out);
  }
}

void WordVectors::lookup(const Tokenizer& tokenizer, const Sentences& sentences, RaggedIds& out,
                         std::int64_t max_tokens) const {
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
    const auto place = static_cast<std::size_t>(*id - rows());
    *id = static_cast<std::int32_t>(rows() + static_cast<std::int64_t>(to.made.size() / row_bytes()));
    const auto row = from.made.begin() + static_cast<std::ptrdiff_t>(place * row_bytes());
    to.made.insert(to.made.end(), row, row + static_cast<std::ptrdiff_t>(row_bytes()));
    if (!from.made_scales.empty()) to.made_scales.push_back(from.made_scales[place]);
  }
}

void WordVectors::prefetch(std::int32_t id) const {
  if (id >= rows()) return;  // it was just made
  const std::byte* start = row_of(kNoneMade, id);
  const std::size_t bytes = row_bytes();
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(start + i);
  __builtin_prefetch(start + bytes - 1);  // rows need not begin where a cache line does
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
  constexpr std::size_t kRows = 64;  // whose addresses are gathered before their sum
  std::array<const std::byte*, kRows> rows;
  std::array<float, kRows> factors;
  const SumRows kernel = row_kernels().sum[static_cast<std::size_t>(storage())];
  const bool scaled = storage() == Storage::int8;
  const bool weighted = weights != nullptr || scaled || scale != 1.0F;
  const auto last =
      static_cast<std::int32_t>(this->rows() - 1);  // whose weight is that of rows that were made
  bool add = false;
  do {
    const auto piece = ids.first(std::min(ids.size(), kRows));
    for (std::size_t i = 0; i < piece.size(); ++i) {
      rows[i] = row_of(of, piece[i]);
      factors[i] = weights != nullptr ? scale * weights[std::min(piece[i], last)] : scale;
      if (scaled) factors[i] *= scale_of(of, piece[i]);
    }
    kernel(rows.data(), weighted ? factors.data() : nullptr, static_cast<std::int64_t>(piece.size()), dim(),
           std::exchange(add, true), out);
    ids = ids.subspan(piece.size());
  } while (!ids.empty());
}

template <typename Scale>
void WordVectors::scaled_sums(const RaggedIds& sentences, const float* weights, const Scale& scale,
                              MatrixView out) const {
  ST_CHECK(out.rows() == sentences.size() && out.cols() == dim(), InvalidInput, "sums: out must be [",
           sentences.size(), ", ", dim(), "], is [", out.rows(), ", ", out.cols(), "]");
  // Rows are asked for about a sentence before they are needed: late enough to stay in the nearest cache,
  // early enough to have arrived.
  constexpr std::size_t kAhead = 24;
  const std::span ids(sentences.ids);
  std::size_t asked = 0;
  for (std::int64_t i = 0; i < sentences.size(); ++i) {
    const auto needed = static_cast<std::size_t>(sentences.offsets[static_cast<std::size_t>(i) + 1]);
    for (const std::size_t end = std::min(ids.size(), needed + kAhead); asked < end; ++asked)
      prefetch(ids[asked]);
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
  RaggedIds made;
  const std::int32_t id = make_row(word, made);
  if (id >= 0) row(made, id, out);
  return id >= 0;
}

void WordVectors::matrix(float* out) const {
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(static_cast<std::int32_t>(i), out + i * dim());
  });
}

std::vector<std::pair<std::int32_t, float>> WordVectors::most_similar(
    const float* query, std::int64_t k, std::span<const std::int32_t> exclude) const {
  using Found = std::pair<std::int32_t, float>;
  ST_CHECK(k >= 0, InvalidInput, "most_similar: the number of words must not be negative, got ", k);
  const Vector q = Eigen::Map<const Vector>(query, dim()).stableNormalized();
  const auto better = [](const Found& a, const Found& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  };
  const auto keep_best = [&](std::vector<Found>& found) {
    const auto count = std::min(found.size(), static_cast<std::size_t>(k));
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(), better);
    found.resize(count);
  };

  std::vector<std::vector<Found>> pieces(
      static_cast<std::size_t>((size() + kRowsPerPiece - 1) / kRowsPerPiece));
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    auto& found = pieces[static_cast<std::size_t>(begin / kRowsPerPiece)];
    Vector values(dim());
    for (auto i = static_cast<std::int32_t>(begin); i < end; ++i) {
      if (std::find(exclude.begin(), exclude.end(), i) != exclude.end()) continue;
      row(i, values.data());
      const auto length = static_cast<float>(std::sqrt(squared_length(values)));
      found.emplace_back(i, length > 0.0F ? q.dot(values) / length : 0.0F);
    }
    keep_best(found);
  });
  std::vector<Found> best;
  for (const auto& piece : pieces) best.insert(best.end(), piece.begin(), piece.end());
  keep_best(best);
  return best;
}

void WordVectors::add_to(std::map<std::string, Tensor>& tensors, const std::string& prefix) const {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i8};
  tensors[prefix + "words"] = tensor_of(words().bytes(), {static_cast<std::int64_t>(words().bytes().size())});
  tensors[prefix + "offsets"] = tensor_of(words().offsets(), {size() + 1});
  tensors[prefix + "slots"] = tensor_of(words().slots(), {static_cast<std::int64_t>(words().slots().size())});
  tensors[prefix + "rows"] = {kTypes[static_cast<std::size_t>(storage())], {size(), dim()}, parts_.rows};
  if (!parts_.scales.empty()) tensors[prefix + "scales"] = tensor_of(parts_.scales, {size()});
  if (!counts().empty()) tensors[prefix + "counts"] = tensor_of(counts(), {size()});
  const Subwords& pieces = subwords();
  if (pieces.buckets == 0) return;
  tensors[prefix + "subwords.lengths"] = tensor_of(std::span<const std::int32_t>(pieces.lengths), {2});
  tensors[prefix + "subwords.rows"] = {
      kTypes[static_cast<std::size_t>(storage())], {pieces.buckets, dim()}, pieces.rows};
  if (!pieces.scales.empty())
    tensors[prefix + "subwords.scales"] = tensor_of(pieces.scales, {pieces.buckets});
}

std::shared_ptr<const WordVectors> WordVectors::from_tensors(std::shared_ptr<const SafeTensors> file,
                                                             const std::string& prefix,
                                                             std::optional<OutOfVocabulary> oov,
                                                             bool verify) {
  for (const char* name :
       {"words", "offsets", "slots", "scales", "counts", "subwords.lengths", "subwords.scales"})
    file->verify(prefix + name);
  for (const char* name : {"rows", "subwords.rows"}) {
    if (verify) file->verify(prefix + name);
  }
  Parts parts;
  try {
    parts.words = StringTable::view(file->values<char>(prefix + "words", {-1}),
                                    file->values<std::uint64_t>(prefix + "offsets", {-1}),
                                    file->values<std::uint64_t>(prefix + "slots", {-1}));
  } catch (const FormatError& error) {
    if (std::string_view(error.what()).starts_with(file->source())) throw;
    throw FormatError(concat(file->source(), ": ", error.what()));
  }
  const std::int64_t n = parts.words.size();
  const auto rows = file->tensors().find(prefix + "rows");
  const DType type = rows == file->tensors().end() ? DType::f32 : rows->second.dtype;
  parts.storage = type == DType::f16  ? Storage::float16
                  : type == DType::i8 ? Storage::int8
                                      : Storage::float32;
  const Tensor& table = file->tensor(prefix + "rows", parts.storage == Storage::float32 ? DType::f32 : type,
                                     std::array{n, std::int64_t{-1}});
  parts.dim = table.shape[1];
  parts.rows = table.bytes;
  ST_CHECK(parts.dim >= 1, FormatError, file->source(), ": tensor '", prefix, "rows' has no columns");
  if (parts.storage == Storage::int8) {
    parts.scales = checked_scales(*file, prefix + "scales", n);
  }
  if (file->has(prefix + "counts")) parts.counts = file->values<std::int64_t>(prefix + "counts", {n});
  if (file->has(prefix + "subwords.rows")) {
    Subwords& pieces = parts.subwords;
    const Tensor& rows_of =
        file->tensor(prefix + "subwords.rows", table.dtype, std::array{std::int64_t{-1}, parts.dim});
    const auto lengths = file->values<std::int32_t>(prefix + "subwords.lengths", {2});
    pieces = {{lengths[0], lengths[1]}, rows_of.shape[0], rows_of.bytes, {}};
    ST_CHECK(pieces.buckets >= 1 && are_lengths(pieces.lengths), FormatError, file->source(), ": ",
             pieces.buckets, " subwords of ", pieces.lengths[0], " to ", pieces.lengths[1], " characters");
    if (parts.storage == Storage::int8)
      pieces.scales = checked_scales(*file, prefix + "subwords.scales", pieces.buckets);
  }
  parts.oov = oov.value_or(parts.subwords.buckets > 0 ? OutOfVocabulary::subwords : OutOfVocabulary::skip);
  ST_CHECK(parts.oov != OutOfVocabulary::subwords || parts.subwords.buckets > 0, InvalidInput, file->source(),
           ": oov='subwords', but it holds none");
  parts.path = file->path();
  parts.prefix = prefix;
  parts.keep = file;
  auto result = std::make_shared<WordVectors>(std::move(parts));
  if (verify) result->check_finite(file->source());
  return result;
}

void WordVectors::check_finite(const std::string& source) const {
  if (storage() == Storage::int8) return;  // its scales were looked at
  // Rows in a file may lie anywhere: numbers are copied out of them, not pointed at.
  const auto all_finite = [&]<typename Bits>(Bits exponent, const std::byte* at) {
    Bits bad = 0;
    for (std::int64_t c = 0; c < dim(); ++c, at += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, at, sizeof bits);
      bad |= static_cast<Bits>((bits & exponent) == exponent);
    }
    return bad == 0;
  };
  const auto finite = [&](std::span<const std::byte> rows, std::int64_t i) {
    const std::byte* row = rows.data() + static_cast<std::size_t>(i) * row_bytes();
    return storage() == Storage::float16 ? all_finite(std::uint16_t{0x7c00}, row)
                                         : all_finite(std::uint32_t{0x7f800000}, row);
  };
  parallel_for(0, size(), kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ST_CHECK(finite(parts_.rows, i), FormatError, source, ": the vector of '", words()[i],
               "' holds NaN or infinity");
    }
  });
  parallel_for(0, subwords().buckets, kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ST_CHECK(finite(subwords().rows, i), FormatError, source, ": the vector of subword ", i,
               " holds NaN or infinity");
    }
  });
}

std::map<std::string, std::string> WordVectors::metadata(bool checksums) const {
  return {{"format", std::string(kFormat)},
          {"version", std::string(checksums                ? kVersion
                                  : subwords().buckets > 0 ? kWithSubwords
                                                           : kFirst)},
          {"fingerprint", fingerprint()}};
}

void WordVectors::save(const std::string& path) const {
  std::map<std::string, Tensor> tensors;
  add_to(tensors, "");
  write_safetensors(path, tensors, metadata(true));
}

std::string WordVectors::to_bytes() const {
  std::map<std::string, Tensor> tensors;
  add_to(tensors, "");
  SafeTensorsPieces pieces = safetensors_pieces(tensors, metadata(false));
  std::string bytes = std::move(pieces.header);
  std::size_t size = bytes.size();
  for (const auto piece : pieces.data) size += piece.size();
  bytes.reserve(size);
  for (const auto piece : pieces.data)
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return bytes;
}

std::shared_ptr<const WordVectors> WordVectors::open(const std::string& path,
                                                     std::optional<OutOfVocabulary> oov, bool verify) {
  return from_native(SafeTensors::open(path), oov, verify);
}

std::shared_ptr<const WordVectors> WordVectors::from_bytes(std::string bytes,
                                                           std::optional<OutOfVocabulary> oov) {
  const auto keep = std::make_shared<const std::string>(std::move(bytes));
  return from_native(SafeTensors::parse(keep, std::as_bytes(std::span(*keep)), "word vectors in memory"), oov,
                     false);
}

std::shared_ptr<const WordVectors> WordVectors::from_native(std::shared_ptr<const SafeTensors> file,
                                                            std::optional<OutOfVocabulary> oov, bool verify) {
  const auto& metadata = file->metadata();
  const auto value = [&](const char* key) {
    const auto place = metadata.find(key);
    return place == metadata.end() ? std::string() : place->second;
  };
  ST_CHECK(value("format") == kFormat, FormatError, file->source(),
           ": a safetensors file, but not one of word vectors");
  const std::string version = value("version"), known = value("fingerprint");
  const bool old = version == kFirst || version == kWithSubwords;
  ST_CHECK(old || version == kVersion, FormatError, file->source(), ": version ", version, " of the format ",
           kFormat, "; this library reads versions ", kFirst, " to ", kVersion);
  ST_CHECK(old || file->has_checksums(), FormatError, file->source(), ": has no checksums");
  auto result = from_tensors(std::move(file), "", oov, verify);
  if (known.size() == 64) result->lazy_->fingerprint = known;
  return result;
}

}  // namespace sentencode
