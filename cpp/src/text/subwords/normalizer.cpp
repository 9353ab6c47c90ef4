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
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
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

/// Replaces each run of white space by the content.
void append_space_replaced(std::string_view text, std::string_view content, std::string& out) {
  bool in_space = false;
  std::size_t kept = 0;  // begin of what is not yet written
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text.substr(i));
    const bool space = unicode::is(point.code, unicode::kSpace);
    if (space && !in_space) out.append(text.substr(kept, i - kept)).append(content);
    in_space = space;
    i += point.length;
    if (space) kept = i;
  }
  out += text.substr(kept);
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
  if (regex == "\\s+") {
    return [content](std::string_view in, std::string& out) { append_space_replaced(in, content, out); };
  }
  const auto least = regex == " {2,}" ? 2U : regex == " +" ? 1U : 0U;
  ST_CHECK(least > 0, Unsupported, "tokenizer.json: ", pattern.name_of("Regex"), " '", regex,
           "' is none of the regular expressions that can be replaced: ' {2,}', ' +', '\\s+'");
  return [least, content](std::string_view in, std::string& out) {
    append_runs_replaced(in, ' ', least, content, out);
  };
}

/// The ASCII character that a step replaces; 0 if it does something else.
char replaced_character(const std::string& type, const JsonFields& fields) {
  if (type != "Replace" || !fields.at("pattern").contains("String")) return '\0';
  const std::string& text = JsonFields(fields.at("pattern"), fields.name_of("pattern")).text("String");
  return text.size() == 1 && static_cast<unsigned char>(text[0]) < 0x80 ? text[0] : '\0';
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
    const std::string& prefix = fields.text("prepend");
    // The package then splits some texts with ByteLevel otherwise.
    ST_CHECK(!prefix.empty(), Unsupported, "tokenizer.json: ", fields.name_of("prepend"), " is empty");
    return [prefix](std::string_view in, std::string& out) {
      if (!in.empty()) out.append(prefix).append(in);
    };
  }
  throw Unsupported(
      concat("tokenizer.json: ", fields.name(), " has the type '", type, "', which is not supported"));
}

/// Bytes of a text, also if a normal form is applied to it later.
double normal_size(std::string_view text) {
  std::string normal;
  unicode::append_normal(text, Form::nfkd, normal);
  return static_cast<double>(std::max(text.size(), normal.size()));
}

/// How many times as long a step can make a text. Normal forms do not count: they are applied once in effect.
double growth_of(const std::string& type, const JsonFields& fields) {
  if (type == "BertNormalizer") return 2;
  if (type == "Prepend") return 1 + normal_size(fields.text("prepend"));
  if (type != "Replace") return 1;
  const auto& pattern = fields.at("pattern");
  const std::size_t least =
      pattern.contains("String") ? pattern["String"].get_ref<const std::string&>().size() : 1;
  return std::max(1.0, normal_size(fields.text("content")) / static_cast<double>(least));
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
    const char character = replaced_character(type, fields);
    if (character == '\0') replaced_ = nullptr;
    if (type == "Precompiled") {
      auto [map, growth] = precompiled_normalizer(fields);
      steps_.push_back(std::move(map));
      growth_ *= growth;
    } else if (character != '\0') {
      add_replaced(character, fields.text("content"));
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

void SubwordNormalizers::add_replaced(char character, const std::string& content) {
  const auto of = [](char c) { return static_cast<std::size_t>(c); };
  const auto written = [&](const std::optional<std::string>& other) {
    return other && other->find(character) != other->npos;
  };
  if (replaced_ == nullptr || (*replaced_)[of(character)] || std::ranges::any_of(*replaced_, written)) {
    replaced_ = std::make_shared<Replacements>();
    replaced_growth_ = growth_;
    steps_.push_back([table = replaced_](std::string_view in, std::string& out) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < in.size(); ++i) {
        const auto byte = static_cast<unsigned char>(in[i]);
        if (byte >= 0x80 || !(*table)[byte]) continue;
        out.append(in.substr(begin, i - begin)).append(*(*table)[byte]);
        begin = i + 1;
      }
      out += in.substr(begin);
    });
  }
  (*replaced_)[of(character)] = content;
  growth_ = std::max(growth_, replaced_growth_ * normal_size(content));
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
