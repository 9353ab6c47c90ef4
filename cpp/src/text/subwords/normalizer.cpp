#include "text/subwords/normalizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/precompiled.h"
#include "text/subwords/unicode.h"

namespace sentencode {
namespace {

using unicode::Form;

template <typename Visit>
void for_each_code(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    visit(point.code);
    text.remove_prefix(point.length);
  }
}

/// Nmt: removes control characters, and makes spaces of others.
void append_nmt(std::string_view text, std::string& out) {
  for_each_code(text, [&](char32_t code) {
    const bool removed = (code >= 1 && code <= 8) || code == 0xB || (code >= 0xE && code <= 0x1F) ||
                         code == 0x7F || code == 0x8F || code == 0x9F;
    const bool space = code == 9 || code == 0xA || code == 0xC || code == 0xD || code == 0x1680 ||
                       (code >= 0x200B && code <= 0x200F) || code == 0x2028 || code == 0x2029 ||
                       code == 0x2581 || code == 0xFEFF || code == 0xFFFD;
    if (!removed) unicode::append(space ? U' ' : code, out);
  });
}

void append_without_marks(std::string_view text, std::string& out) {
  for_each_code(text, [&](char32_t code) {
    if (!unicode::is(code, unicode::kMark)) unicode::append(code, out);
  });
}

std::string_view without_spaces(std::string_view text, bool left, bool right) {
  const auto is_space = [](char32_t code) { return unicode::is(code, unicode::kSpace); };
  while (left && !text.empty()) {
    const CodePoint first = decode_utf8(text);
    if (!is_space(first.code)) break;
    text.remove_prefix(first.length);
  }
  while (right && !text.empty()) {
    std::size_t last = text.size() - 1;
    while ((static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_space(decode_utf8(text.substr(last)).code)) break;
    text = text.substr(0, last);
  }
  return text;
}

void append_replaced(std::string_view text, std::string_view pattern, std::string_view content,
                     std::string& out) {
  for (std::size_t at = text.find(pattern); at != text.npos; at = text.find(pattern)) {
    out.append(text.substr(0, at)).append(content);
    text.remove_prefix(at + pattern.size());
  }
  out += text;
}

/// Replaces runs of at least `least` times the character by the content.
void append_runs_replaced(std::string_view text, char character, std::size_t least, std::string_view content,
                          std::string& out) {
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find(character), text.size());
    const std::size_t end = std::min(text.find_first_not_of(character, begin), text.size());
    out += text.substr(0, begin);
    out += end - begin >= least ? content : text.substr(begin, end - begin);
    text.remove_prefix(end);
  }
}

SubwordNormalizer replace(const JsonFields& fields) {
  const JsonFields pattern(fields.at("pattern"), fields.name_of("pattern"));
  std::string content = fields.text("content");
  if (pattern.has("String")) {
    std::string text = pattern.text("String");
    ST_CHECK(!text.empty(), Unsupported, "tokenizer.json: ", pattern.name_of("String"), " is empty");
    return
        [text, content](std::string_view in, std::string& out) { append_replaced(in, text, content, out); };
  }
  const std::string& regex = pattern.text("Regex");  // those that converters of models write
  const auto least = regex == " {2,}" ? 2U : regex == " +" ? 1U : 0U;
  ST_CHECK(least > 0, Unsupported, "tokenizer.json: ", pattern.name_of("Regex"), " '", regex,
           "' is none of the regular expressions that can be replaced: ' {2,}', ' +'");
  return [least, content](std::string_view in, std::string& out) {
    append_runs_replaced(in, ' ', least, content, out);
  };
}

SubwordNormalizer normal(Form form) {
  return [form](std::string_view in, std::string& out) { unicode::append_normal(in, form, out); };
}

BertOptions bert_options(const JsonFields& fields) {
  BertOptions options{fields.flag("clean_text"), fields.flag("handle_chinese_chars"), false,
                      fields.flag("lowercase")};
  options.strip_accents = fields.flag("strip_accents", options.lowercase);
  return options;
}

SubwordNormalizer step(const std::string& type, const JsonFields& fields) {
  if (type == "BertNormalizer") {
    return [options = bert_options(fields)](std::string_view in, std::string& out) {
      append_bert(options, in, out);
    };
  }
  if (type == "Lowercase") {
    return [](std::string_view in, std::string& out) {
      for_each_code(in, [&](char32_t code) { unicode::append_lowercase(code, out); });
    };
  }
  if (type == "StripAccents") return append_without_marks;
  if (type == "Nmt") return append_nmt;
  if (type == "NFC") return normal(Form::nfc);
  if (type == "NFD") return normal(Form::nfd);
  if (type == "NFKC") return normal(Form::nfkc);
  if (type == "NFKD") return normal(Form::nfkd);
  if (type == "Replace") return replace(fields);
  if (type == "Strip") {
    return [left = fields.flag("strip_left"), right = fields.flag("strip_right")](
               std::string_view in, std::string& out) { out += without_spaces(in, left, right); };
  }
  if (type == "Prepend") {
    return [prefix = fields.text("prepend")](std::string_view in, std::string& out) {
      if (!in.empty()) out.append(prefix).append(in);
    };
  }
  throw Unsupported(
      concat("tokenizer.json: ", fields.name(), " has the type '", type, "', which is not supported"));
}

/// How many times as long a step can make a text. Normal forms do not count: they are applied once in effect.
double growth_of(const std::string& type, const JsonFields& fields) {
  if (type == "BertNormalizer") return 2;
  if (type == "Prepend") return 1 + static_cast<double>(fields.text("prepend").size());
  if (type != "Replace") return 1;
  const auto& pattern = fields.at("pattern");
  const std::size_t least =
      pattern.contains("String") ? pattern["String"].get_ref<const std::string&>().size() : 1;
  return std::max(1.0, static_cast<double>(fields.text("content").size()) / static_cast<double>(least));
}

}  // namespace

void append_bert(const BertOptions& options, std::string_view text, std::string& out) {
  std::u32string codes;
  for_each_code(text, [&](char32_t code) {
    if (options.clean_text) {
      if (unicode::is(code, unicode::kControl)) return;
      if (unicode::is(code, unicode::kSpace)) code = U' ';
    }
    const bool spaced = options.handle_chinese_chars && unicode::is_chinese(code);
    if (spaced) codes += U' ';
    if (options.strip_accents) {
      unicode::append_decomposed(code, false, codes);
    } else {
      codes += code;
    }
    if (spaced) codes += U' ';
  });
  if (options.strip_accents) unicode::order_marks(codes);
  for (const char32_t code : codes) {
    if (options.strip_accents && unicode::is(code, unicode::kNonspacing)) continue;
    if (options.lowercase) {
      unicode::append_lowercase(code, out);
    } else {
      unicode::append(code, out);
    }
  }
}

SubwordNormalizers::SubwordNormalizers(const nlohmann::json& normalizer) {
  if (!normalizer.is_null()) add(normalizer, "normalizer", 0);
}

void SubwordNormalizers::add(const nlohmann::json& normalizer, const std::string& name, int depth) {
  const JsonFields fields(normalizer, name);
  const std::string& type = fields.text("type");
  if (type != "Sequence") {
    if (type == "Precompiled") {
      auto [map, growth] = precompiled_normalizer(fields);
      steps_.push_back(std::move(map));
      growth_ *= growth;
    } else {
      steps_.push_back(step(type, fields));
      growth_ *= growth_of(type, fields);
    }
    ST_CHECK(steps_.size() <= kMaxSubwordSteps, Unsupported, "tokenizer.json: normalizer has more than ",
             kMaxSubwordSteps, " steps");
    bert_.reset();
    if (steps_.size() == 1 && type == "BertNormalizer") bert_ = bert_options(fields);
    return;
  }
  fields.check_depth(depth);
  const auto& members = fields.array("normalizers");
  for (std::size_t i = 0; i < members.size(); ++i) {
    add(members[i], concat(fields.name_of("normalizers"), "[", i, "]"), depth + 1);
  }
}

std::string_view SubwordNormalizers::operator()(std::string_view text, std::string& buffer,
                                                std::string& other) const {
  for (const auto& step : steps_) {
    other.clear();
    step(text, other);
    std::swap(buffer, other);
    text = buffer;
  }
  return text;
}

}  // namespace sentencode
