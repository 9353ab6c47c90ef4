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
#include "sentencode/io/safetensors.h"
#include "sentencode/sentences.h"
#include "sentencode/text/string_table.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/vectors/rows.h"

namespace sentencode {

/// What stands for a word that the vectors do not hold.
enum class OutOfVocabulary {
  skip,      // nothing: the sentence is as if the word were not there
  zero,      // a zero row: it counts in the sentence's length
  mean,      // the mean of all rows
  random,    // one of a fixed set of random rows of the table's mean norm, chosen by the word's hash
  subwords,  // the mean of the rows of its subwords, where the table has such; where the word has none: skip
};

/// Its name in Python; InvalidInput when a name is none of these.
std::string_view name_of(OutOfVocabulary oov);
OutOfVocabulary oov_named(std::string_view name);

class ShortWords;

/// Sentences as rows of a table: ids of sentence i are ids[offsets[i]] .. ids[offsets[i + 1] - 1]. Rows that
/// were made for unknown words, of their subwords, come along; their ids go on behind the table's.
struct RaggedIds {
  std::vector<std::int32_t> ids;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> made{};  // stored as the table's
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

/// Rows for the pieces of words, from which fastText makes those of unknown ones: runs of lengths[0] to
/// lengths[1] characters, hashed into so many buckets, of which each has a row.
struct Subwords {
  std::array<std::int32_t, 2> lengths{};
  std::int64_t buckets = 0;         // 0: there are none
  std::span<const std::byte> rows;  // [buckets, dim], stored as the table's
  std::span<const float> scales;    // [buckets] for int8, else empty
};

/// A frozen table of words and their rows. Rows may lie in this object or in a mapped file. Shared, never
/// copied. Ids run from 0 to rows() - 1: the words, then the rows that stand for unknown words (none, one, or
/// the random set). The one of `subwords` is zero: it has the weight of all rows that are made for a word.
class WordVectors {
 public:
  struct Parts {
    std::shared_ptr<const void> keep;  // what the views below look at
    StringTable words;
    std::int64_t dim = 0;
    Storage storage = Storage::float32;
    std::span<const std::byte> rows;       // [n, dim] of storage's type
    std::span<const float> scales;         // [n] for int8, else empty
    std::span<const std::int64_t> counts;  // [n], or empty when unknown
    Subwords subwords{};
    OutOfVocabulary oov = OutOfVocabulary::skip;
    std::string path, prefix;  // of the file that is mapped and of the tensors' names in it, else empty
  };
  explicit WordVectors(Parts parts);

  /// Copies and converts. Every number must be finite; counts may be empty.
  static std::shared_ptr<const WordVectors> from_array(const StringTable& words, ConstMatrixView rows,
                                                       std::span<const std::int64_t> counts = {},
                                                       Storage storage = Storage::float32,
                                                       OutOfVocabulary oov = OutOfVocabulary::skip);
  /// The same words with rows for their pieces [buckets, dim], which are copied and converted.
  std::shared_ptr<const WordVectors> with_subwords(std::array<std::int32_t, 2> lengths,
                                                   ConstMatrixView rows) const;
  /// The same table with another policy (shares the rows), or another storage (converts).
  std::shared_ptr<const WordVectors> with_oov(OutOfVocabulary oov) const;
  std::shared_ptr<const WordVectors> with_storage(Storage storage) const;
  /// Only these words, in this table's order; words that it does not hold are ignored. Or the first so many.
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
  /// More than one word in a hundred holds an upper-case letter: then text must not be lower-cased to be
  /// looked up. A few markers (UNK, <S>) do not make a lower-cased table a cased one.
  bool cased() const;
  /// "n't" or "'s" is a word, or more than one in a thousand holds punctuation, as "co-op" does: then text
  /// must not be cut there to be looked up.
  bool compounds() const;
  /// SHA-256 over words, rows and counts, computed once when asked.
  std::string fingerprint() const;

  /// The id of a token's row; -1 when the policy is to skip it, or to make one.
  std::int32_t id(std::string_view token) const {
    const std::uint64_t hash = StringTable::hash(token);
    return row_for(words().find(token, hash), hash);
  }
  /// All sentences, on all threads. skip drops unknown tokens; max_tokens 0: no bound, else only the first so
  /// many kept tokens.
  void lookup(const Tokenizer& tokenizer, const Sentences& sentences, RaggedIds& out,
              std::int64_t max_tokens = 0) const;
  /// Appends those of sentences [begin, end), on the calling thread, for those who do more with the ids
  /// there. A few dozen sentences at a time keep the ids and the rows that they ask for in the cache.
  void lookup(const Tokenizer& tokenizer, const Sentences& sentences, std::int64_t begin, std::int64_t end,
              Tokens& scratch, RaggedIds& out, std::int64_t max_tokens = 0) const;

  /// Appends sentences [begin, end) of a lookup to another, with the rows that were made for them.
  void append(const RaggedIds& from, std::int64_t begin, std::int64_t end, RaggedIds& to) const;

  /// One row as float; for ids of a lookup that may have made rows, with it.
  void row(std::int32_t id, float* out) const;
  void row(const RaggedIds& of, std::int32_t id, float* out) const;
  /// The row that is made of a word's subwords; false where the table or the word has none.
  bool row_of_subwords(std::string_view word, float* out) const;
  /// The rows of all words, [size(), dim].
  void matrix(float* out) const;
  /// out [dim] = sum_i weights[ids[i]] row(ids[i]); no weights: all one. weights has rows() elements. Terms
  /// are added in the order of ids, so that a sum depends on nothing else. The hot loop of encoding. `of`:
  /// the lookup that may have made rows; they weigh what the last of the table's rows does.
  void sum(std::span<const std::int32_t> ids, const float* weights, float* out) const;
  void sum(const RaggedIds& of, std::span<const std::int32_t> ids, const float* weights, float* out) const;
  /// out [sentences.size(), dim], row i the sum over sentences[i]: the same numbers, faster, because rows are
  /// asked for from memory ahead of their use.
  void sums(const RaggedIds& sentences, const float* weights, MatrixView out) const;
  /// The like, divided by how many words a sentence has; zero where it has none.
  void means(const RaggedIds& sentences, const float* weights, MatrixView out) const;
  /// Asks for a row from memory, ahead of its use.
  void prefetch(std::int32_t id) const;

  /// The k nearest words of a query [dim] by cosine, best first.
  std::vector<std::pair<std::int32_t, float>> most_similar(const float* query, std::int64_t k,
                                                           std::span<const std::int32_t> exclude = {}) const;

  /// The native file: safetensors with words, hash table, rows; opens by mapping, in milliseconds. All but
  /// the rows is checked against the file's checksums; with `verify` they are read too, and must be finite.
  void save(const std::string& path) const;
  /// No policy: `subwords` where the file has them, else `skip`.
  static std::shared_ptr<const WordVectors> open(const std::string& path,
                                                 std::optional<OutOfVocabulary> oov = {},
                                                 bool verify = false);
  /// The native file's bytes, in memory.
  std::string to_bytes() const;
  static std::shared_ptr<const WordVectors> from_bytes(std::string bytes, std::optional<OutOfVocabulary> oov);
  /// The same as part of a model's file: tensors under `prefix`, whose memory this object owns.
  void add_to(std::map<std::string, Tensor>& tensors, const std::string& prefix) const;
  static std::shared_ptr<const WordVectors> from_tensors(std::shared_ptr<const SafeTensors> file,
                                                         const std::string& prefix,
                                                         std::optional<OutOfVocabulary> oov,
                                                         bool verify = false);

 private:
  std::map<std::string, std::string> metadata(bool checksums) const;
  static std::shared_ptr<const WordVectors> from_native(std::shared_ptr<const SafeTensors> file,
                                                        std::optional<OutOfVocabulary> oov, bool verify);
  void check_finite(const std::string& source) const;
  struct Lazy;  // what is computed when first asked for; shared by tables with the same rows

  std::int32_t row_for(std::int32_t found, std::uint64_t hash) const;  // by oov, where there is no such word
  /// Of the tokens of some sentences; `ends`: how many tokens there are when each ends.
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
  /// The id of the row that it makes of a word's subwords; -1 where there is none.
  std::int32_t make_row(std::string_view word, RaggedIds& out) const;
  std::shared_ptr<const WordVectors> select(std::span<const std::int32_t> ids) const;

  Parts parts_;
  std::shared_ptr<Lazy> lazy_;
  std::shared_ptr<const ShortWords> short_words_;
  std::int64_t extra_rows_ = 0;  // of unknown words, stored like the others
  std::vector<std::byte> extra_;
  std::vector<float> extra_scales_;
};

}  // namespace sentencode
