#include "text/subwords/pre_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/byte_level.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/patterns.h"
#include "text/subwords/unicode.h"

namespace sentencode {
namespace {

using unicode::Set;
using Pieces = std::vector<SubwordPiece>;

/// Splits at code points, each of which is a delimiter.
template <typename IsDelimiter>
void split_at(const SubwordPiece& piece, const IsDelimiter& is_delimiter, DelimiterBehavior behavior,
              Pieces& out) {
  thread_local std::vector<Stretch> stretches;
  stretches.clear();
  for (std::size_t at = 0; at < piece.text.size();) {
    const CodePoint point = decode_utf8(piece.text.substr(at));
    const bool delimiter = is_delimiter(point.code);
    if (delimiter || stretches.empty() || stretches.back().delimiter) {
      stretches.push_back({at, at, delimiter});
    }
    stretches.back().end = at += point.length;
  }
  append_parts(piece, stretches, behavior, out);
}

SubwordPreTokenizer at_set(Set set, DelimiterBehavior behavior) {
  return [set, behavior](const SubwordPiece& piece, Tokens&, Pieces& out) {
    split_at(
        piece, [&](char32_t code) { return unicode::is(code, set); }, behavior, out);
  };
}

SubwordPreTokenizer at_character(char32_t character, DelimiterBehavior behavior) {
  return [character, behavior](const SubwordPiece& piece, Tokens&, Pieces& out) {
    split_at(
        piece, [&](char32_t code) { return code == character; }, behavior, out);
  };
}

/// \w+|[^\w\s]+
void whitespace(const SubwordPiece& piece, Tokens&, Pieces& out) {
  constexpr int kBoth = unicode::kWord | unicode::kSpace;
  std::size_t begin = 0;
  int kind = unicode::kSpace;  // of the run that begins there
  for (std::size_t at = 0; at < piece.text.size();) {
    const CodePoint point = decode_utf8(piece.text.substr(at));
    if (const int next = unicode::sets_of(point.code) & kBoth; next != kind) {
      if (kind != unicode::kSpace) out.push_back(piece.part(begin, at));
      begin = at;
      kind = next;
    }
    at += point.length;
  }
  if (kind != unicode::kSpace) out.push_back(piece.part(begin, piece.text.size()));
}

SubwordPreTokenizer fixed_length(std::size_t characters) {
  return [characters](const SubwordPiece& piece, Tokens&, Pieces& out) {
    std::size_t begin = 0, count = 0;
    for (std::size_t at = 0; at < piece.text.size();) {
      at += decode_utf8(piece.text.substr(at)).length;
      if (++count < characters && at < piece.text.size()) continue;
      out.push_back(piece.part(begin, at));
      begin = at;
      count = 0;
    }
  };
}

enum class PrependScheme { first, never, always };
constexpr EnumNames<3> enum_names(PrependScheme) { return {"prepend_scheme", {"first", "never", "always"}}; }

/// Replaces spaces by a character, and splits before each.
struct Metaspace {
  char32_t character = 0;
  std::string replacement;
  PrependScheme scheme = PrependScheme::always;
  bool splits = true;

  void operator()(const SubwordPiece& piece, Tokens& memory, Pieces& out) const {
    const bool prefixed =
        !piece.text.starts_with(' ') && !piece.text.starts_with(replacement) &&
        (scheme == PrependScheme::always || (scheme == PrependScheme::first && piece.at_begin > 0));
    const auto spaces = static_cast<std::size_t>(std::ranges::count(piece.text, ' '));
    const std::size_t bytes = piece.text.size() + (spaces + 1) * replacement.size();
    char* const begin = memory.scratch(bytes);
    char* end = begin;
    SubwordPiece changed;
    const auto write = [&](std::string_view text) { end = std::ranges::copy(text, end).out; };
    if (prefixed) write(replacement);
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      write(piece.text[i] == ' ' ? std::string_view(replacement) : piece.text.substr(i, 1));
      if (i < piece.at_begin) changed.at_begin = static_cast<std::size_t>(end - begin);
    }
    changed.text = {begin, static_cast<std::size_t>(end - begin)};
    memory.give_back(bytes - changed.text.size());
    if (!splits) return out.push_back(changed);
    split_at(
        changed, [&](char32_t code) { return code == character; }, DelimiterBehavior::merged_with_next, out);
  }
};

char32_t character_in(const JsonFields& fields, std::string_view key) {
  const std::string& text = fields.text(key);
  const CodePoint point = text.empty() ? CodePoint{} : decode_utf8(text);
  fields.check(!text.empty() && point.length == text.size(), key, "one character");
  return point.code;
}

template <typename E>
E choice_in(const JsonFields& fields) {
  constexpr auto names = enum_names(E{});
  const auto name = std::ranges::find(names.values, fields.text(names.option));
  if (name == names.values.end()) {
    std::string expected;
    for (const std::string_view value : names.values)
      expected.append(expected.empty() ? "" : ", ").append(value);
    fields.check(false, names.option, "one of " + expected);
  }
  return static_cast<E>(name - names.values.begin());
}

Metaspace metaspace(const JsonFields& fields) {
  Metaspace step{character_in(fields, "replacement"), fields.text("replacement")};
  if (fields.has("prepend_scheme")) step.scheme = choice_in<PrependScheme>(fields);
  const bool contradiction = !fields.flag("add_prefix_space", true) && step.scheme != PrependScheme::never;
  ST_CHECK(!contradiction, FormatError, "tokenizer.json: ", fields.name_of("add_prefix_space"),
           " is false, which contradicts prepend_scheme");
  step.splits = fields.flag("split", true);
  return step;
}

}  // namespace

void append_parts(const SubwordPiece& piece, std::span<const Stretch> stretches, DelimiterBehavior behavior,
                  Pieces& out) {
  for (std::size_t i = 0; i < stretches.size();) {
    const Stretch& first = stretches[i++];
    std::size_t end = first.end;
    const auto next_is = [&](bool delimiter) {
      return i < stretches.size() && stretches[i].delimiter == delimiter;
    };
    switch (behavior) {
      case DelimiterBehavior::removed:
        if (first.delimiter) continue;
        break;
      case DelimiterBehavior::isolated:
        break;
      case DelimiterBehavior::merged_with_previous:
        if (!first.delimiter && next_is(true)) end = stretches[i++].end;
        break;
      case DelimiterBehavior::merged_with_next:
        if (first.delimiter && next_is(false)) end = stretches[i++].end;
        break;
      case DelimiterBehavior::contiguous:
        while (next_is(first.delimiter)) end = stretches[i++].end;
        break;
    }
    if (end > first.begin) out.push_back(piece.part(first.begin, end));
  }
}

SubwordPreTokenizers::SubwordPreTokenizers(const nlohmann::json& pre_tokenizer) {
  if (!pre_tokenizer.is_null()) add(pre_tokenizer, "pre_tokenizer", 0);
}

void SubwordPreTokenizers::add(const nlohmann::json& pre_tokenizer, const std::string& name, int depth) {
  const JsonFields fields(pre_tokenizer, name);
  const std::string& type = fields.text("type");
  bert_ = false;
  if (type == "Sequence") {
    fields.check_depth(depth);
    const auto& members = fields.array("pretokenizers");
    for (std::size_t i = 0; i < members.size(); ++i) {
      add(members[i], concat(fields.name_of("pretokenizers"), "[", i, "]"), depth + 1);
    }
  } else if (type == "BertPreTokenizer") {
    bert_ = steps_.empty();
    steps_.push_back(at_set(unicode::kSpace, DelimiterBehavior::removed));
    steps_.push_back(at_set(unicode::kPunctuation, DelimiterBehavior::isolated));
  } else if (type == "Whitespace") {
    steps_.emplace_back(whitespace);
  } else if (type == "WhitespaceSplit") {
    steps_.push_back(at_set(unicode::kSpace, DelimiterBehavior::removed));
  } else if (type == "Punctuation") {
    const bool has = fields.has("behavior");
    steps_.push_back(at_set(unicode::kPunctuation,
                            has ? choice_in<DelimiterBehavior>(fields) : DelimiterBehavior::isolated));
  } else if (type == "Digits") {
    const bool individual = fields.flag("individual_digits");
    steps_.push_back(
        at_set(unicode::kNumeric, individual ? DelimiterBehavior::isolated : DelimiterBehavior::contiguous));
  } else if (type == "CharDelimiterSplit") {
    steps_.push_back(at_character(character_in(fields, "delimiter"), DelimiterBehavior::removed));
  } else if (type == "FixedLength") {
    const auto length =
        fields.has("length") ? fields.whole("length", std::numeric_limits<std::int64_t>::max()) : 5;
    fields.check(length > 0, "length", "positive");
    steps_.push_back(fixed_length(static_cast<std::size_t>(length)));
  } else if (type == "ByteLevel") {
    steps_.push_back(byte_level_pre_tokenizer(fields));
    prefixes_ = prefixes_ || fields.flag("add_prefix_space");
    growth_ *= fields.flag("add_prefix_space") ? 4 : 2;
  } else if (type == "Split") {
    steps_.push_back(split_pre_tokenizer(fields, choice_in<DelimiterBehavior>(fields)));
  } else if (type == "Metaspace") {
    Metaspace step = metaspace(fields);
    needs_begin_ = needs_begin_ || step.scheme == PrependScheme::first;
    ST_CHECK(
        !prefixes_ || step.scheme != PrependScheme::first, Unsupported, "tokenizer.json: ", name,
        ": Metaspace with prepend_scheme 'first' after ByteLevel with add_prefix_space is not supported");
    growth_ *= 1 + static_cast<double>(step.replacement.size());
    steps_.emplace_back(std::move(step));
  } else {
    throw Unsupported(concat("tokenizer.json: ", name, " has the type '", type, "', which is not supported"));
  }
  ST_CHECK(steps_.size() <= kMaxSubwordSteps, Unsupported, "tokenizer.json: pre_tokenizer has more than ",
           kMaxSubwordSteps, " steps");
}

void SubwordPreTokenizers::operator()(Pieces& pieces, Pieces& other, Tokens& memory) const {
  for (const auto& step : steps_) {
    other.clear();
    for (const SubwordPiece& piece : pieces) step(piece, memory, other);
    std::swap(pieces, other);
  }
}

}  // namespace sentencode
