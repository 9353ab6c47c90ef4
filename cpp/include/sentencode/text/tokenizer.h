#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/sentences.h"
#include "sentencode/text/subword_tokenizer.h"

namespace sentencode {

/// How a sentence is split into tokens.
enum class Split {
  whitespace,   // at white space (Unicode's): the text is already tokenised
  words,        // English as in the Penn Treebank: contractions, punctuation, numbers, hyphens
  punctuation,  // runs of letters and digits, and every other character by itself; numbers stay whole
  external,     // outside this library (a Python callable): accepts tokens only
  subwords,     // by a SubwordTokenizer
};
constexpr EnumNames<5> enum_names(Split) {
  return {"split", {"whitespace", "words", "punctuation", "external", "subwords"}};
}

/// How bytes that are not UTF-8 are handled.
enum class InvalidUtf8 {
  replace,  // each maximal invalid sequence becomes U+FFFD
  refuse,   // InvalidInput that names the byte
};
constexpr EnumNames<2> enum_names(InvalidUtf8) { return {"invalid", {"replace", "refuse"}}; }

/// Tokens of one or more sentences. They are views of the sentence, of the vocabulary of a SubwordTokenizer,
/// or of memory owned by this object if lower-casing or repair changed them: all must outlive the tokens.
class Tokens;

/// Splits sentences into tokens. Equal tokenizers behave the same; model files store them as JSON.
struct Tokenizer {
  Split split = Split::words;
  bool lowercase = false;  // Unicode's simple lower case
  InvalidUtf8 invalid = InvalidUtf8::replace;
  std::string name{};  // of the external tokenizer, or where the subwords are from; else empty
  std::shared_ptr<const SubwordTokenizer> subwords{};  // of Split::subwords; else null

  /// Appends the tokens of one sentence.
  void operator()(std::string_view sentence, Tokens& out) const;

  /// Appends the tokens of sentence i of a batch of texts or of token lists. Errors name the sentence.
  void operator()(const Sentences& sentences, std::int64_t i, Tokens& out) const;

  /// Appends the ids of a sentence's tokens, for Split::subwords.
  void append_ids(std::string_view sentence, Tokens& scratch, std::vector<std::int32_t>& ids) const;
  /// The same for sentence i of raw text. InvalidInput names it.
  void append_ids(const Sentences& sentences, std::int64_t i, Tokens& scratch,
                  std::vector<std::int32_t>& ids) const;
  /// A token of the vocabulary of `subwords`, lower-cased if this tokenizer lower-cases.
  std::string_view token(std::int32_t id, Tokens& scratch) const;

  /// Appends a token of a token list, lower-cased if this tokenizer lower-cases. `punctuation` splits it, so
  /// that it is found in tables without compounds; the others keep it whole.
  void append_token(std::string_view token, Tokens& out) const;

  bool operator==(const Tokenizer& other) const;
  std::string to_json() const;
  static Tokenizer from_json(std::string_view json);  // unknown keys are refused
};

class Tokens {
 public:
  const std::vector<std::string_view>& views() const { return views_; }
  std::size_t size() const { return views_.size(); }
  void clear();  // keeps the memory, for the next sentence

  void push(std::string_view token) { views_.push_back(token); }
  /// Memory of `bytes` bytes, valid until clear().
  char* scratch(std::size_t bytes);
  /// Returns the last `bytes` bytes of the last scratch().
  void give_back(std::size_t bytes) { used_ -= bytes; }
  SubwordTokenizer::Scratch& subwords() { return subwords_; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::vector<std::string_view> views_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  // the block in use
  std::size_t used_ = 0;   // bytes of it
  SubwordTokenizer::Scratch subwords_;
};

/// The tokens of a batch, one sentence after the other.
class TokenisedSentences {
 public:
  /// Tokenises on all threads. The texts of `sentences` must outlive this object.
  TokenisedSentences(const Tokenizer& tokenizer, const Sentences& sentences);

  Sentences sentences() const { return {tokens_, offsets_}; }

 private:
  std::vector<Tokens> blocks_;  // own the changed tokens
  std::vector<std::string_view> tokens_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace sentencode
