#include "sentencode/text/subword_tokenizer.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "json_depth.h"
#include "sentencode/error.h"
#include "sentencode/text/tokenizer.h"
#include "sentencode/text/utf8.h"
#include "text/subwords/added_tokens.h"
#include "text/subwords/bert.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"
#include "text/subwords/normalizer.h"
#include "text/subwords/pre_tokenizer.h"
#include "text/subwords/unicode.h"

namespace sentencode {
namespace {

std::unique_ptr<const SubwordModel> model_of(const nlohmann::json& json, ModelLists&& lists) {
  const JsonFields fields(json, "model");
  // Early files have no type, which the package infers.
  ST_CHECK(fields.has("type"), Unsupported, "tokenizer.json: model.type is missing");
  const std::string& type = fields.text("type");
  if (type == "WordPiece") return word_piece_model(json, std::move(lists));
  if (type == "WordLevel") return word_level_model(json, std::move(lists));
  if (type == "Unigram") return unigram_model(json, std::move(lists));
  if (type == "BPE") return bpe_model(json, std::move(lists));
  throw Unsupported(concat("tokenizer.json: model has the type '", type, "', which is not supported"));
}

/// Checks that it changes only special tokens, which are not added.
void check_post_processor(const nlohmann::json& json, const std::string& name, int depth) {
  if (json.is_null()) return;
  const JsonFields fields(json, name);
  const std::string& type = fields.text("type");
  if (type == "Sequence") {
    fields.check_depth(depth);
    for (const nlohmann::json& one : fields.array("processors")) {
      check_post_processor(one, fields.name_of("processors"), depth + 1);
    }
  } else if (type == "TemplateProcessing") {
    const std::int64_t texts =
        fields.has("single")
            ? std::ranges::count_if(fields.array("single"),
                                    [](const auto& piece) { return piece.contains("Sequence"); })
            : 0;
    ST_CHECK(texts == 1, Unsupported, "tokenizer.json: ", fields.name_of("single"), " has the text ", texts,
             " times, which is not supported");
  }
}

/// Position of the character after the first `count` ones.
std::size_t end_of_characters(std::string_view text, std::int64_t count) {
  if (static_cast<std::uint64_t>(count) >= text.size()) return text.size();
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += decode_utf8(text.substr(at)).length;
  return at;
}

}  // namespace

struct SubwordTokenizer::Parts {
  static std::shared_ptr<const Parts> read(std::string text) {
    auto parts = without_tree(text);
    if (parts == nullptr) parts = std::make_shared<Parts>(parsed(text), ModelLists());
    parts->json = std::move(text);
    return parts;
  }
  /// Reads large lists without a tree. Null if the model has an error, which a tree describes.
  static std::shared_ptr<Parts> without_tree(std::string_view text) {
    ModelLists lists;
    const auto content = without_lists(text, lists);
    if (!content) return nullptr;
    // Most tokenizers that are not supported have another pre-tokenizer: this refuses them at once.
    SubwordPreTokenizers(content->value("pre_tokenizer", nlohmann::json()));
    try {
      return std::make_shared<Parts>(*content, std::move(lists));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return nullptr;
    }
  }
  Parts(const nlohmann::json& content, ModelLists&& lists)
      : normalizers(content.value("normalizer", nlohmann::json())),
        pre_tokenizers(content.value("pre_tokenizer", nlohmann::json())),
        model(model_of(JsonFields(content, "").at("model"), std::move(lists))),
        truncation(content.value("truncation", nlohmann::json()).dump()) {
    const JsonFields fields(content, "");
    check_post_processor(content.value("post_processor", nlohmann::json()), "post_processor", 0);
    fields.check(!fields.has("version") || fields.at("version") == "1.0", "version", "1.0");
    ST_CHECK(normalizers.empty() || !pre_tokenizers.needs_begin(), Unsupported,
             "tokenizer.json: Metaspace with prepend_scheme 'first' after a normalizer is not supported");
    constexpr double kMostGrowth = 100;
    const double growth = normalizers.growth() * pre_tokenizers.growth();
    ST_CHECK(growth <= kMostGrowth, Unsupported,
             "tokenizer.json: normalizer and pre_tokenizer could make a text ", growth, " times as long");
    if (fields.has("added_tokens")) add_tokens(fields.array("added_tokens"));
    size = model->vocabulary().size();
    if (!added.empty()) size = std::max(size, added.rbegin()->first + 1);
    if (normalizers.bert() && pre_tokenizers.bert() && normalized_tokens.empty()) {
      bert = BertSplitter(*normalizers.bert());
    }
  }

  /// Whether the vocabulary has all ids from 0 on, and all added tokens.
  bool complete() const { return model->vocabulary().count() == size; }

  static nlohmann::json parsed(std::string_view text) {
    check_json_depth(text, "tokenizer.json");
    try {
      auto content = nlohmann::json::parse(text);
      JsonFields(content, "");
      return content;
    } catch (const nlohmann::json::exception& error) {
      throw FormatError(concat("tokenizer.json: ", error.what()));
    }
  }

  /// Ids are those that the package tokenizers gives, whatever the file says.
  void add_tokens(const nlohmann::json& tokens) {
    auto next = static_cast<std::int32_t>(model->vocabulary().count());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const JsonFields fields(tokens[i], concat("added_tokens[", i, "]"));
      fields.whole("id", std::numeric_limits<std::uint32_t>::max());
      AddedToken token{fields.text("content"),     -1,
                       fields.flag("single_word"), fields.flag("lstrip"),
                       fields.flag("rstrip"),      fields.flag("normalized"),
                       fields.flag("special")};
      if (token.content.empty()) continue;
      token.id = model->vocabulary().id(token.content);
      if (const auto same = added_ids.find(token.content); same != added_ids.end()) token.id = same->second;
      if (token.id < 0) token.id = next++;
      added_ids[token.content] = token.id;
      added[token.id] = std::move(token);
    }
    std::string buffer, other;
    for (const auto& [id, token] : added) {
      if (token.normalized) {
        normalized_tokens.add(token, std::string(normalizers(token.content, buffer, other)));
      } else {
        plain_tokens.add(token, token.content);
      }
    }
  }

  std::string json;
  SubwordNormalizers normalizers;
  SubwordPreTokenizers pre_tokenizers;
  std::unique_ptr<const SubwordModel> model;
  std::string truncation;
  std::map<std::int32_t, AddedToken> added;
  std::map<std::string, std::int32_t, std::less<>> added_ids;
  AddedTokens plain_tokens, normalized_tokens;  // which are found before and after normalisation
  std::int32_t size = 0;
  std::optional<BertSplitter> bert;  // in place of both BERT's normalizer and its pre-tokenizer
};

struct SubwordTokenizer::Scratch::Memory {
  std::string buffer, other;                         // of normalizers
  std::vector<AddedTokens::Part> parts, normalised;  // between added tokens
  std::vector<SubwordPiece> pieces, more_pieces;
  std::vector<std::string_view> words;
  BertSplitter::Memory bert;
  Tokens texts;  // changed by pre-tokenizers
};

SubwordTokenizer::SubwordTokenizer(std::shared_ptr<const Parts> parts, const SubwordOptions& options)
    : parts_(std::move(parts)), options_(options) {
  for (const auto& [name, limit] :
       {std::pair{"max_tokens", options.max_tokens}, std::pair{"max_characters", options.max_characters}}) {
    ST_CHECK(limit >= 0, InvalidInput, name, " must not be negative, got ", limit);
  }
}

std::shared_ptr<const SubwordTokenizer> SubwordTokenizer::from_json(std::string json,
                                                                    const SubwordOptions& options) {
  return std::shared_ptr<const SubwordTokenizer>(new SubwordTokenizer(Parts::read(std::move(json)), options));
}

std::shared_ptr<const SubwordTokenizer> SubwordTokenizer::with_options(const SubwordOptions& options) const {
  return std::shared_ptr<const SubwordTokenizer>(new SubwordTokenizer(parts_, options));
}

std::int32_t SubwordTokenizer::size() const { return parts_->size; }

std::int32_t SubwordTokenizer::id(std::string_view token) const {
  const auto added = parts_->added_ids.find(token);
  return added != parts_->added_ids.end() ? added->second : parts_->model->vocabulary().id(token);
}

std::string_view SubwordTokenizer::token(std::int32_t id) const {
  const auto added = parts_->added.find(id);
  return added != parts_->added.end() ? added->second.content : parts_->model->vocabulary().token(id);
}

StringTable SubwordTokenizer::tokens() const {
  const StringTable& tokens = parts_->model->vocabulary().tokens();
  if (parts_->complete()) return StringTable::view(tokens.bytes(), tokens.offsets(), tokens.slots());
  StringTable table;
  table.reserve(size(), std::ssize(tokens.bytes()));
  for (std::int32_t id = 0; id < size(); ++id) {
    const std::int32_t index = table.insert(token(id));
    ST_CHECK(index == id && !token(id).empty(), FormatError, "tokenizer.json: no token has the id ", id);
  }
  return table;
}

std::int32_t SubwordTokenizer::missing_id() const {
  const SubwordVocabulary& vocabulary = parts_->model->vocabulary();
  for (std::int32_t id = 0; id < size(); ++id) {
    if ((parts_->complete() ? vocabulary.tokens()[id] : token(id)).empty()) return id;
  }
  return -1;
}

std::int64_t SubwordTokenizer::median_characters() const {
  const StringTable tokens = this->tokens();
  std::vector<std::int64_t> counts;  // of tokens by their number of characters
  for (std::int64_t id = 0; id < tokens.size(); ++id) {
    const auto length = static_cast<std::size_t>(
        std::ranges::count_if(tokens[id], [](char c) { return (c & 0xC0) != 0x80; }));
    if (length >= counts.size()) counts.resize(length + 1);
    ++counts[length];
  }
  const auto length_at = [&](std::int64_t i) {  // of the tokens in the order of lengths
    std::size_t length = 0;
    while (length < counts.size() && i >= counts[length]) i -= counts[length++];
    return static_cast<std::int64_t>(length);
  };
  return (length_at((tokens.size() - 1) / 2) + length_at(tokens.size() / 2)) / 2;
}

const std::string& SubwordTokenizer::truncation() const { return parts_->truncation; }
std::int32_t SubwordTokenizer::unknown_id() const { return parts_->model->unknown_id(); }
const std::string& SubwordTokenizer::json() const { return parts_->json; }

bool SubwordTokenizer::operator==(const SubwordTokenizer& other) const {
  return this == &other || (options() == other.options() && json() == other.json());
}

void SubwordTokenizer::encode(std::string_view text, Scratch& scratch, std::vector<std::int32_t>& ids) const {
  if (scratch.memory_ == nullptr) scratch.memory_ = std::make_shared<Scratch::Memory>();
  Scratch::Memory& memory = *scratch.memory_;
  const SubwordOptions& options = options_;
  const std::size_t before = ids.size();
  const std::size_t most = options.max_tokens > 0 ? before + static_cast<std::size_t>(options.max_tokens)
                                                  : std::numeric_limits<std::size_t>::max();
  if (options.max_characters > 0) text = text.substr(0, end_of_characters(text, options.max_characters));
  parts_->plain_tokens.split(text, memory.parts);
  for (const AddedTokens::Part& part : memory.parts) {
    if (ids.size() >= most) break;
    if (part.id >= 0) {
      ids.push_back(part.id);
    } else {
      encode_part(text.substr(part.begin, part.end - part.begin), part.begin == 0, most, memory, ids);
    }
  }
  if (ids.size() > most) ids.resize(most);
  if (!options.keep_unknown && unknown_id() >= 0) {
    ids.erase(std::remove(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end(), unknown_id()),
              ids.end());
  }
}

void SubwordTokenizer::encode_part(std::string_view text, bool at_begin, std::size_t most,
                                   Scratch::Memory& memory, std::vector<std::int32_t>& ids) const {
  const Parts& parts = *parts_;
  if (parts.bert) {
    if (const auto words = (*parts.bert)(text, memory.bert)) return encode_words(*words, most, ids);
  }
  const std::string_view normal = parts.normalizers(text, memory.buffer, memory.other);
  parts.normalized_tokens.split(normal, memory.normalised);
  for (const AddedTokens::Part& part : memory.normalised) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const SubwordPiece all{normal, at_begin ? decode_utf8(normal).length : 0};
    memory.pieces.assign(1, all.part(part.begin, part.end));
    memory.texts.clear();
    parts.pre_tokenizers(memory.pieces, memory.more_pieces, memory.texts);
    memory.words.clear();
    for (const SubwordPiece& piece : memory.pieces) memory.words.push_back(piece.text);
    encode_words(memory.words, most, ids);
  }
}

void SubwordTokenizer::encode_words(std::span<const std::string_view> words, std::size_t most,
                                    std::vector<std::int32_t>& ids) const {
  constexpr std::size_t kAtOnce = 256;
  while (!words.empty() && ids.size() < most) {
    const auto some = words.first(std::min(words.size(), kAtOnce));
    parts_->model->append_ids(some, ids);
    words = words.subspan(some.size());
  }
}

}  // namespace sentencode
