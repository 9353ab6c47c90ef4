#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/sentences.h"

namespace sentencode {

/// How a sentence is cut into tokens.
enum class Split {
  whitespace,   // the text is already tokenised: cut at white space (Unicode's) alone
  words,        // English as the Penn Treebank writes it: contractions, punctuation, numbers, hyphens
  punctuation,  // runs of letters and digits, and every other character by itself; numbers stay whole
  external,     // by something outside this library (a Python callable, a Hugging Face tokenizer): takes
                // tokens only
};

/// What is done with bytes that are not UTF-8.
enum class InvalidUtf8 {
  replace,  // each maximal bad piece becomes U+FFFD
  refuse,   // InvalidInput that names the byte
};

/// Their names in files and in Python; InvalidInput when a name is none of these.
std::string_view name_of(Split split);
std::string_view name_of(InvalidUtf8 invalid);
Split split_named(std::string_view name);
InvalidUtf8 invalid_named(std::string_view name);

/// Tokens of one or more sentences. Their text lives in the sentence itself, or here where lower-casing or
/// repair changed it: so neither the sentence nor this object may go away before the tokens do.
class Tokens;

/// A value: two tokenizers with the same members cut alike, and a model file holds them as JSON.
struct Tokenizer {
  Split split = Split::words;
  bool lowercase = false;  // Unicode's simple lower case
  InvalidUtf8 invalid = InvalidUtf8::replace;
  std::string name{};  // of the external one; else empty

  /// Appends the tokens of one sentence.
  void operator()(std::string_view sentence, Tokens& out) const;

  /// Appends the tokens of sentence i of a batch, be it raw text or tokens already. Errors name the sentence.
  void operator()(const Sentences& sentences, std::int64_t i, Tokens& out) const;

  /// Appends one token that came from outside, lower-cased where this tokenizer lower-cases. `punctuation`
  /// cuts it, for what no table of such tokens has must not be lost; the others keep it whole.
  void append_token(std::string_view token, Tokens& out) const;

  bool operator==(const Tokenizer&) const = default;
  std::string to_json() const;
  static Tokenizer from_json(std::string_view json);  // unknown keys are refused
};

class Tokens {
 public:
  const std::vector<std::string_view>& views() const { return views_; }
  std::size_t size() const { return views_.size(); }
  void clear();  // keeps the memory, for the next sentence

  void push(std::string_view token) { views_.push_back(token); }
  /// Room for `bytes` that stays where it is until clear().
  char* scratch(std::size_t bytes);
  /// The last so many bytes of the last room were not needed.
  void give_back(std::size_t bytes) { used_ -= bytes; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::vector<std::string_view> views_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0;  // the one in use
  std::size_t used_ = 0;   // of it
};

/// The tokens of a batch, one sentence after the other.
class TokenisedSentences {
 public:
  /// Cuts on all threads. The texts of `sentences` must outlive this object.
  TokenisedSentences(const Tokenizer& tokenizer, const Sentences& sentences);

  Sentences sentences() const { return {tokens_, offsets_}; }

 private:
  std::vector<Tokens> blocks_;  // where changed texts live
  std::vector<std::string_view> tokens_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace sentencode
