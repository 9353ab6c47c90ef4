#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "sentencode/parallel.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"
#include "text/subwords/word_table.h"

namespace sentencode {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// What WordPiece and WordLevel share: a vocabulary in which most words are tokens.
class WordModel : public SubwordModel {
 public:
  WordModel(const JsonFields& fields, ModelLists&& lists,
            std::size_t most_characters = std::numeric_limits<std::size_t>::max(),
            std::optional<std::string_view> prefix = {})
      : most_characters_(most_characters) {
    const auto tokens = tokens_of(fields, std::move(lists.ids));
    parallel_for(0, 2, 1, [&](std::int64_t table, std::int64_t) {
      if (table == 0) {
        vocabulary_ = SubwordVocabulary(tokens);
      } else {
        fill_tables(tokens, prefix);
      }
    });
    unknown_ = vocabulary_.id(fields.text("unk_token"));
    ST_CHECK(unknown_ >= 0, Unsupported, "tokenizer.json: ", fields.name_of("unk_token"), " '",
             fields.text("unk_token"), "' is not in ", fields.name_of("vocab"),
             ", so that unknown words would be errors");
  }

  const SubwordVocabulary& vocabulary() const override { return vocabulary_; }
  std::int32_t unknown_id() const override { return unknown_; }

  void append_ids(std::string_view word, std::vector<std::int32_t>& ids) const override {
    append_ids(std::span(&word, 1), ids);
  }

  void append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const override {
    constexpr std::size_t kAtOnce = 64;
    std::array<WordTable::Key, kAtOnce> keys;
    while (!words.empty()) {
      const auto some = words.first(std::min(words.size(), kAtOnce));
      for (std::size_t i = 0; i < some.size(); ++i) {
        keys[i] = WordTable::key_of(some[i]);
        table_.prefetch(keys[i]);
      }
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (some[i].size() > most_characters_ && is_long(some[i])) [[unlikely]] {
          ids.push_back(unknown_);
        } else if (const std::int32_t id = table_.id(some[i], keys[i]); id >= 0) [[likely]] {
          ids.push_back(id);
        } else {
          append_parts(some[i], ids);
        }
      }
      words = words.subspan(some.size());
    }
  }

 protected:
  const WordTable& table() const { return table_; }
  const WordTable& continuing() const { return continuing_; }
  std::size_t most_characters() const { return most_characters_; }

 private:
  /// Appends the ids of a word that is not in the vocabulary.
  virtual void append_parts(std::string_view word, std::vector<std::int32_t>& ids) const = 0;

  bool is_long(std::string_view word) const {
    return static_cast<std::size_t>(std::ranges::count_if(word, begins_character)) > most_characters_;
  }

  void fill_tables(std::span<const std::pair<std::int32_t, std::string_view>> tokens,
                   std::optional<std::string_view> prefix) {
    const auto continues = [prefix](std::string_view token) {
      return prefix && token.size() > prefix->size() && token.starts_with(*prefix);
    };
    table_ = WordTable(std::ssize(tokens));
    continuing_ = WordTable(std::ranges::count_if(
        tokens, [&](const auto& id_and_token) { return continues(id_and_token.second); }));
    for (const auto& [id, token] : tokens) {
      if (!token.empty()) table_.add(token, id);
      if (continues(token)) continuing_.add(token.substr(prefix->size()), id);
    }
  }

  const std::size_t most_characters_;  // longer words are unknown
  SubwordVocabulary vocabulary_;
  WordTable table_{0}, continuing_{0};  // `continuing_`: tokens with the prefix, without it
  std::int32_t unknown_ = -1;
};

class WordLevel final : public WordModel {
 public:
  using WordModel::WordModel;

 private:
  void append_parts(std::string_view, std::vector<std::int32_t>& ids) const override {
    ids.push_back(unknown_id());
  }
};

/// Greedy longest match: a word is the longest token that it begins with, followed by the longest tokens that
/// continue it. A word without such a split is unknown.
class WordPiece final : public WordModel {
 public:
  WordPiece(const JsonFields& fields, ModelLists&& lists)
      : WordModel(fields, std::move(lists),
                  static_cast<std::size_t>(
                      fields.whole("max_input_chars_per_word", std::numeric_limits<std::int64_t>::max())),
                  fields.text("continuing_subword_prefix")) {
    // A word is split in at most as many steps as it has characters times those of the longest token.
    constexpr double kMostSteps = 1 << 22;
    const double steps = static_cast<double>(most_characters()) * static_cast<double>(table().longest());
    ST_CHECK(steps <= kMostSteps, Unsupported, "tokenizer.json: ", fields.name_of("max_input_chars_per_word"),
             " is ", most_characters(), " and the longest token has ", table().longest(),
             " bytes, so that words could take quadratic time");
  }

 private:
  void append_parts(std::string_view word, std::vector<std::int32_t>& ids) const override {
    const std::size_t before = ids.size();
    for (std::size_t begin = 0; begin < word.size();) {
      const WordTable& tokens = begin == 0 ? table() : continuing();
      std::size_t size = std::min(word.size() - begin, tokens.longest());
      std::int32_t id = -1;
      for (; size > 0; --size) {
        if (begin + size < word.size() && !begins_character(word[begin + size])) continue;
        if (id = tokens.id(word.substr(begin, size)); id >= 0) break;
      }
      if (id < 0) {
        ids.resize(before);
        return ids.push_back(unknown_id());
      }
      ids.push_back(id);
      begin += size;
    }
  }
};

}  // namespace

std::unique_ptr<const SubwordModel> word_piece_model(const nlohmann::json& model, ModelLists&& lists) {
  return std::make_unique<const WordPiece>(JsonFields(model, "model"), std::move(lists));
}

std::unique_ptr<const SubwordModel> word_level_model(const nlohmann::json& model, ModelLists&& lists) {
  return std::make_unique<const WordLevel>(JsonFields(model, "model"), std::move(lists));
}

}  // namespace sentencode
