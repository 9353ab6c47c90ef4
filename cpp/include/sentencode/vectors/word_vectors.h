#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/dense.h"
#include "sentencode/enum_names.h"
#include "sentencode/io/safetensors.h"
#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/rows.h"

namespace sentencode {

/// How words that are not in the table are represented.
enum class OutOfVocabulary {
  skip,      // skipped, as if the sentence did not contain them
  zero,      // a zero row, which counts in the sentence's length
  mean,      // the mean of all rows
  random,    // one of a fixed set of random rows of the table's mean norm, chosen by the word's hash
  subwords,  // the mean of the rows of its subwords; `skip` if the word has none
};

constexpr EnumNames<5> enum_names(OutOfVocabulary) {
  return {"oov", {"skip", "zero", "mean", "random", "subwords"}};
}

class ShortWords;

/// Sentences as ids: those of sentence i are ids[offsets[i]] .. ids[offsets[i + 1] - 1]. Rows that were made
/// of subwords for unknown words are included; their ids follow those of the table.
struct RaggedIds {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> made{};  // rows of subwords, in the storage of the table
  std::vector<float> made_scales{};

  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::span<const std::int32_t> operator[](std::int64_t i) const {
    const auto first = offsets[static_cast<std::size_t>(i)], last = offsets[static_cast<std::size_t>(i) + 1];
    return std::span(ids).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  }
  void clear() {  // keeps the memory
    ids.clear();
    offsets.resize(1);
    made.clear();
    made_scales.clear();
  }
};

/// fastText's subwords, which represent unknown words: n-grams of lengths[0] to lengths[1] characters, hashed
/// into buckets, each with a row.
struct Subwords {
  std::array<std::int32_t, 2> lengths{};
  std::int64_t buckets = 0;         // 0: there are none
  std::span<const std::byte> rows;  // [buckets, dim], in the storage of the table
  std::span<const float> scales;    // [buckets] for int8, else empty
};

/// An immutable table of words and vectors, in memory or in a mapped file; shared, never copied. Ids are 0 to
/// rows() - 1: the words, then the rows of unknown words (none, one, or the random set). That of `subwords`
/// is zero; its weight is used for all rows made of subwords.
class WordVectors {
 public:
  struct Parts {
    std::shared_ptr<const void> keep;  // owner of the views below
    StringTable words;
    std::int64_t dim = 0;
    Storage storage = Storage::float32;
    std::span<const std::byte> rows;       // [n, dim] of storage's type
    std::span<const float> scales;         // [n] for int8, else empty
    std::span<const std::int64_t> counts;  // [n], or empty when unknown
    Subwords subwords{};
    OutOfVocabulary oov = OutOfVocabulary::skip;
    std::string path, prefix;  // of the mapped file, and of its tensors' names; else empty
  };
  explicit WordVectors(Parts parts);

  /// Copies and converts. Values must be finite; counts may be empty.
  static std::shared_ptr<const WordVectors> from_array(const StringTable& words, ConstMatrixView rows,
                                                       std::span<const std::int64_t> counts = {},
                                                       Storage storage = Storage::float32,
                                                       OutOfVocabulary oov = OutOfVocabulary::skip);
  /// The same table with rows of subwords [buckets, dim], which are copied and converted.
  std::shared_ptr<const WordVectors> with_subwords(std::array<std::int32_t, 2> lengths,
                                                   ConstMatrixView rows) const;
  /// The same table with another policy (shares the rows), or in another storage (converts).
  std::shared_ptr<const WordVectors> with_oov(OutOfVocabulary oov) const;
  std::shared_ptr<const WordVectors> with_storage(Storage storage) const;
  /// A table of these words (those that it has), in this table's order; or of the first `words` words.
  std::shared_ptr<const WordVectors> only(const StringTable& keep) const;
  std::shared_ptr<const WordVectors> first(std::int64_t words) const;

  std::int64_t size() const { return parts_.words.size(); }  // words
  std::int64_t rows() const { return size() + extra_rows_; }
  std::int64_t dim() const { return parts_.dim; }
  Storage storage() const { return parts_.storage; }
  OutOfVocabulary oov() const { return parts_.oov; }
  const StringTable& words() const { return parts_.words; }
  const Subwords& subwords() const { return parts_.subwords; }
  std::span<const std::int64_t> counts() const { return parts_.counts; }
  const std::string& path() const { return parts_.path; }
  const std::string& prefix() const { return parts_.prefix; }
  /// Whether text must not be lower-cased before it is looked up: more than 1 % of the words have an
  /// upper-case letter. A few markers (UNK, <S>) do not make a table cased.
  bool cased() const;
  /// Whether text must not be split at punctuation before it is looked up: "n't" or "'s" is a word, or more
  /// than 0.1 % of the words contain punctuation, such as "co-op".
  bool compounds() const;
  /// SHA-256 of words, rows and counts, computed at the first call.
  std::string fingerprint() const;

  /// The id of a token's row; -1 if the policy skips it, or makes a row of subwords.
  std::int32_t id(std::string_view token) const {
    const std::uint64_t hash = StringTable::hash(token);
    return row_for(words().find(token, hash), hash);
  }
  /// The ids of all sentences, on all threads. max_tokens: Maximum of ids per sentence; 0: no limit.
  void lookup(const Tokenizer& tokenizer, const Sentences& sentences, RaggedIds& out,
              std::int64_t max_tokens = 0) const;
  /// Appends the ids of sentences [begin, end), on the calling thread. With a few dozen sentences at a time,
  /// the ids and their rows stay in the cache.
  void lookup(const Tokenizer& tokenizer, const Sentences& sentences, std::int64_t begin, std::int64_t end,
              Tokens& scratch, RaggedIds& out, std::int64_t max_tokens = 0) const;

  /// Appends sentences [begin, end) of a lookup to another, with their rows of subwords.
  void append(const RaggedIds& from, std::int64_t begin, std::int64_t end, RaggedIds& to) const;

  /// A row as float. `of`: the lookup of the id, if it may be of a row made of subwords.
  void row(std::int32_t id, float* out) const;
  void row(const RaggedIds& of, std::int32_t id, float* out) const;
  /// The row of a word's subwords; false if the table or the word has none.
  bool row_of_subwords(std::string_view word, float* out) const;
  /// out [size(), dim]: The rows of all words.
  void matrix(float* out) const;
  /// out [dim] = sum_i weights[ids[i]] row(ids[i]), with weights [rows()], or null for all one. Terms are
  /// added in the order of ids, in blocks of 64, so that a sum depends on nothing else. The hot loop of
  /// encoding. `of`: the lookup, if it may have made rows of subwords, which have the weight of the table's
  /// last row.
  void sum(std::span<const std::int32_t> ids, const float* weights, float* out) const;
  void sum(const RaggedIds& of, std::span<const std::int32_t> ids, const float* weights, float* out) const;
  /// out [sentences.size(), dim]: row i is the same sum over sentences[i], faster because rows are
  /// prefetched.
  void sums(const RaggedIds& sentences, const float* weights, MatrixView out) const;
  /// The same, divided by the number of words; zero for sentences without words.
  void means(const RaggedIds& sentences, const float* weights, MatrixView out) const;
  /// Prefetches a row.
  void prefetch(std::int32_t id) const;

  /// The k nearest words of a query [dim] by cosine, best first.
  std::vector<std::pair<std::int32_t, float>> most_similar(const float* query, std::int64_t k,
                                                           std::span<const std::int32_t> exclude = {}) const;

  /// The native format: safetensors with words, hash table and rows, which are mapped in milliseconds. `open`
  /// verifies the checksums of all but the rows; with `verify` also those of the rows, which must be finite.
  void save(const std::string& path) const;
  /// oov: By default `subwords` if the file has them, else `skip`.
  static std::shared_ptr<const WordVectors> open(const std::string& path,
                                                 std::optional<OutOfVocabulary> oov = {},
                                                 bool verify = false);
  /// The content of the native file.
  std::string to_bytes() const;
  static std::shared_ptr<const WordVectors> from_bytes(std::string bytes, std::optional<OutOfVocabulary> oov);
  /// Adds views of this table as tensors with this prefix to a model's file.
  void add_to(std::map<std::string, Tensor>& tensors, const std::string& prefix) const;
  static std::shared_ptr<const WordVectors> from_tensors(std::shared_ptr<const SafeTensors> file,
                                                         const std::string& prefix,
                                                         std::optional<OutOfVocabulary> oov,
                                                         bool verify = false);
  /// The table of another library: a matrix of its file, of which row i is the vector of words[i], or row
  /// mapping[i] if there is a mapping. Rows of float32, float16 and int8 (whose scale is 1) are views of the
  /// mapped file, unless they are rearranged by a mapping or truncated to `columns` (0: all); float64 and
  /// bfloat16 are converted to float32. Rows after the last word are ignored. FormatError if there are fewer
  /// rows, or values that are not finite. Words that are a view are copied, unless their owner is passed.
  static std::shared_ptr<const WordVectors> from_matrix(std::shared_ptr<const SafeTensors> file,
                                                        const std::string& name, StringTable words,
                                                        std::span<const std::int64_t> mapping = {},
                                                        std::int64_t columns = 0,
                                                        std::shared_ptr<const void> owner = {});

 private:
  std::map<std::string, std::string> metadata(bool checksums) const;
  static std::shared_ptr<const WordVectors> from_native(std::shared_ptr<const SafeTensors> file,
                                                        std::optional<OutOfVocabulary> oov, bool verify);
  void check_finite(const std::string& source) const;
  struct Lazy;  // values computed at their first use; shared by tables with the same rows

  std::int32_t row_for(std::int32_t id, std::uint64_t hash) const;  // by oov, if id is kMissing
  /// Appends the ids of tokens; ends[i]: end of sentence i in `tokens`.
  void append_ids(const Tokens& tokens, std::span<const std::size_t> ends, std::int64_t max_tokens,
                  RaggedIds& out) const;
  void sum(const RaggedIds& of, std::span<const std::int32_t> ids, const float* weights, float scale,
           float* out) const;
  template <typename Scale>
  void scaled_sums(const RaggedIds& sentences, const float* weights, const Scale& scale,
                   MatrixView out) const;
  std::size_t row_bytes() const { return static_cast<std::size_t>(dim()) * element_bytes(storage()); }
  const std::byte* row_of(const RaggedIds& of, std::int32_t id) const {
    if (id < size()) [[likely]]
      return parts_.rows.data() + static_cast<std::size_t>(id) * row_bytes();
    return id < rows() ? extra_.data() + static_cast<std::size_t>(id - size()) * row_bytes()
                       : of.made.data() + static_cast<std::size_t>(id - rows()) * row_bytes();
  }
  float scale_of(const RaggedIds& of, std::int32_t id) const {
    return id < size()   ? parts_.scales[static_cast<std::size_t>(id)]
           : id < rows() ? extra_scales_[static_cast<std::size_t>(id - size())]
                         : of.made_scales[static_cast<std::size_t>(id - rows())];
  }
  void make_extra_rows();
  /// Makes a row of a word's subwords and returns its id; -1 if the word has none.
  std::int32_t make_row(std::string_view word, RaggedIds& out) const;
  std::shared_ptr<const WordVectors> select(std::span<const std::int32_t> ids) const;

  Parts parts_;
  std::shared_ptr<Lazy> lazy_;
  std::shared_ptr<const ShortWords> short_words_;
  std::int64_t extra_rows_ = 0;  // of unknown words, in the same storage
  std::vector<std::byte> extra_;
  std::vector<float> extra_scales_;
};

}  // namespace sentencode
