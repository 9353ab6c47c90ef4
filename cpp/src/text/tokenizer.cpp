#include "sentencode/text/tokenizer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "json_depth.h"
#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "sentencode/text/utf8.h"
#include "words.h"

namespace sentencode {
namespace {

constexpr std::size_t kBlockBytes = 1 << 16;

std::string shown(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string string_in(const nlohmann::json& value, std::string_view key) {
  ST_CHECK(value.is_string(), FormatError, "tokenizer: ", key, " must be a string, got ", shown(value));
  return value.get<std::string>();
}

bool flag_in(const nlohmann::json& value, std::string_view key) {
  ST_CHECK(value.is_boolean(), FormatError, "tokenizer: ", key, " must be true or false, got ", shown(value));
  return value.get<bool>();
}

std::int64_t limit_in(const nlohmann::json& value, std::string_view key) {
  const bool good =
      value.is_number_integer() && value >= 0 && value <= std::numeric_limits<std::int64_t>::max();
  ST_CHECK(good, FormatError, "tokenizer: ", key, " must be a whole number, got ", shown(value));
  return value.get<std::int64_t>();
}

const SubwordTokenizer& subwords_of(const Tokenizer& tokenizer) {
  ST_CHECK(tokenizer.subwords != nullptr, InvalidInput, "the tokenizer splits into subwords, but has no ",
           "SubwordTokenizer");
  return *tokenizer.subwords;
}

std::string_view copy(std::string_view text, Tokens& out) {
  char* room = out.scratch(text.size());
  std::ranges::copy(text, room);
  return {room, text.size()};
}

/// Repairs UTF-8, or refuses it. Returns `text` if it is valid, else a copy in `out`.
std::string_view valid(std::string_view text, InvalidUtf8 invalid, Tokens& out) {
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string_view::npos) return text;
  ST_CHECK(invalid == InvalidUtf8::replace, InvalidInput, "byte ", bad, " is not UTF-8: 0x", std::hex,
           static_cast<int>(static_cast<unsigned char>(text[bad])));
  return copy(repair_utf8(text), out);
}

/// Calls f(); an InvalidInput names the sentence.
template <typename F>
void with_index(const Sentences& sentences, std::int64_t i, const F& f) {
  try {
    f();
  } catch (const InvalidInput& error) {
    throw InvalidInput(concat("sentences[", sentences.first + i, "]: ", error.what()));
  }
}

std::string_view lowercase(std::string_view text, Tokens& out) {
  char* room = out.scratch(lowercase_bound(text.size()));
  const std::size_t size = lowercase_utf8(text, room);
  out.give_back(lowercase_bound(text.size()) - size);
  return {room, size};
}

/// Repairs UTF-8, and if requested folds quotes and dashes to ASCII and lower-cases. Returns `text` if it is
/// unchanged, else a copy in `out`.
std::string_view clean(std::string_view text, const Tokenizer& tokenizer, bool fold, Tokens& out) {
  if (tokenizer.lowercase) {
    char* room = out.scratch(text.size());
    if (lowercase_ascii(text, room)) return {room, text.size()};
    out.give_back(text.size());
  } else if (is_ascii(text)) {
    return text;
  }
  text = valid(text, tokenizer.invalid, out);
  if (fold && has_typography(text)) {
    char* room = out.scratch(text.size());
    const std::size_t size = fold_typography(text, room);
    out.give_back(text.size() - size);
    text = {room, size};
  }
  return tokenizer.lowercase ? lowercase(text, out) : text;
}

/// Sets the high bit of each of eight bytes that may begin white space: up to ' ', or the first byte of a
/// character that is not ASCII. The byte after such a byte may be marked wrongly.
std::uint64_t maybe_space(const char* at) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return (((bytes - kOnes * (' ' + 1)) & ~bytes) | (bytes & bytes << 1)) & (kOnes * 0x80);
}

void split_whitespace(std::string_view text, Tokens& out) {
  static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
  std::size_t begin = 0;
  const auto look = [&](std::size_t i) {
    if (i < begin) return;  // inside a multi-byte white space character
    const std::size_t space = text[i] == ' ' ? 1 : whitespace_length(text.substr(i));
    if (space == 0) return;
    if (i > begin) out.push(text.substr(begin, i - begin));
    begin = i + space;
  };
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    for (std::uint64_t marks = maybe_space(text.data() + i); marks != 0; marks &= marks - 1) {
      look(i + static_cast<std::size_t>(std::countr_zero(marks)) / 8);
    }
  }
  for (; i < text.size(); ++i) look(i);
  if (begin < text.size()) out.push(text.substr(begin));
}

}  // namespace

void Tokens::clear() {
  views_.clear();
  block_ = 0;
  used_ = 0;
}

char* Tokens::scratch(std::size_t bytes) {
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const std::size_t size = std::max(kBlockBytes, bytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
  }
  char* room = blocks_[block_].bytes.get() + used_;
  used_ += bytes;
  return room;
}

void Tokenizer::operator()(std::string_view sentence, Tokens& out) const {
  ST_CHECK(split != Split::external, InvalidInput, "the tokenizer '", name,
           "' is not part of this library: give it the sentences first, then pass the lists of tokens");
  if (split == Split::subwords) {
    auto& ids = out.subwords().ids;
    ids.clear();
    append_ids(sentence, out, ids);
    for (const std::int32_t id : ids) out.push(token(id, out));
    return;
  }
  const std::string_view text = clean(sentence, *this, split != Split::whitespace, out);
  if (split == Split::words) {
    split_words(text, out);
  } else if (split == Split::punctuation) {
    split_punctuation(text, out);
  } else {
    split_whitespace(text, out);
  }
}

void Tokenizer::append_ids(std::string_view sentence, Tokens& scratch, std::vector<std::int32_t>& ids) const {
  if (!is_ascii(sentence)) sentence = valid(sentence, invalid, scratch);
  subwords_of(*this).encode(sentence, scratch.subwords(), ids);
}

std::string_view Tokenizer::token(std::int32_t id, Tokens& scratch) const {
  const std::string_view text = subwords_of(*this).token(id);
  return lowercase ? sentencode::lowercase(text, scratch) : text;
}

bool Tokenizer::operator==(const Tokenizer& other) const {
  if (split != other.split || lowercase != other.lowercase || invalid != other.invalid || name != other.name)
    return false;
  return subwords == other.subwords || (subwords && other.subwords && *subwords == *other.subwords);
}

void Tokenizer::append_token(std::string_view token, Tokens& out) const {
  if (split == Split::punctuation) {
    (*this)(token, out);
  } else {
    out.push(clean(token, *this, false, out));
  }
}

void Tokenizer::operator()(const Sentences& sentences, std::int64_t i, Tokens& out) const {
  const auto at = static_cast<std::size_t>(i);
  with_index(sentences, i, [&] {
    if (!sentences.tokenised()) return (*this)(sentences.pieces[at], out);
    for (std::int64_t t = sentences.offsets[at]; t < sentences.offsets[at + 1]; ++t) {
      append_token(sentences.pieces[static_cast<std::size_t>(t)], out);
    }
  });
}

void Tokenizer::append_ids(const Sentences& sentences, std::int64_t i, Tokens& scratch,
                           std::vector<std::int32_t>& ids) const {
  with_index(sentences, i, [&] { append_ids(sentences.pieces[static_cast<std::size_t>(i)], scratch, ids); });
}

std::string Tokenizer::to_json() const {
  nlohmann::json json = {{"split", name_of(split)}, {"lowercase", lowercase}, {"invalid", name_of(invalid)}};
  if (!name.empty()) json["name"] = name;
  if (split == Split::subwords) {
    const SubwordTokenizer& described = subwords_of(*this);
    const SubwordOptions& options = described.options();
    json["content"] = described.json();
    json["keep_unknown"] = options.keep_unknown;
    json["max_tokens"] = options.max_tokens;
    json["max_characters"] = options.max_characters;
  }
  return shown(json);
}

Tokenizer Tokenizer::from_json(std::string_view text) {
  check_json_depth(text, "tokenizer");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ST_CHECK(json.is_object(), FormatError, "tokenizer: expected a JSON object, got ", text.substr(0, 80));
  Tokenizer tokenizer;
  SubwordOptions options;
  std::string content;
  for (const auto& [key, value] : json.items()) {
    if (key == "split") {
      tokenizer.split = parse_enum<Split>(string_in(value, key));
    } else if (key == "lowercase") {
      tokenizer.lowercase = flag_in(value, key);
    } else if (key == "invalid") {
      tokenizer.invalid = parse_enum<InvalidUtf8>(string_in(value, key));
    } else if (key == "name") {
      tokenizer.name = string_in(value, key);
    } else if (key == "content") {
      content = string_in(value, key);
    } else if (key == "keep_unknown") {
      options.keep_unknown = flag_in(value, key);
    } else if (key == "max_tokens") {
      options.max_tokens = limit_in(value, key);
    } else if (key == "max_characters") {
      options.max_characters = limit_in(value, key);
    } else {
      throw FormatError(concat("tokenizer: unknown key '", key, "'"));
    }
  }
  const bool subwords = tokenizer.split == Split::subwords;
  ST_CHECK(
      subwords || (content.empty() && options == SubwordOptions{}), FormatError,
      "tokenizer: content, keep_unknown, max_tokens and max_characters are for the split 'subwords', not '",
      name_of(tokenizer.split), "'");
  if (subwords) tokenizer.subwords = SubwordTokenizer::from_json(std::move(content), options);
  return tokenizer;
}

TokenisedSentences::TokenisedSentences(const Tokenizer& tokenizer, const Sentences& sentences) {
  sentences.check();
  constexpr std::int64_t kGrain = 512;
  const std::int64_t size = sentences.size();
  blocks_.resize(static_cast<std::size_t>((size + kGrain - 1) / kGrain));
  offsets_.assign(static_cast<std::size_t>(size) + 1, 0);
  parallel_for(0, size, kGrain, [&](std::int64_t begin, std::int64_t end) {
    Tokens& out = blocks_[static_cast<std::size_t>(begin / kGrain)];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t before = out.size();
      tokenizer(sentences, i, out);
      offsets_[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(out.size() - before);
    }
  });
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
  tokens_.reserve(static_cast<std::size_t>(offsets_.back()));
  for (const Tokens& block : blocks_)
    tokens_.insert(tokens_.end(), block.views().begin(), block.views().end());
}

}  // namespace sentencode
