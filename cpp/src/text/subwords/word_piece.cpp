#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "sentencode/error.h"
#include "text/short_words.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"

namespace sentencode {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// What WordPiece and WordLevel share: a vocabulary in which most words are tokens.
class WordModel : public SubwordModel {
 public:
  explicit WordModel(const JsonFields& fields,
                     std::size_t most_characters = std::numeric_limits<std::size_t>::max())
      : most_characters_(most_characters),
        vocabulary_(vocabulary_of(fields.object("vocab"), fields.name_of("vocab"))),
        short_words_(vocabulary_.tokens()),
        unknown_(vocabulary_.id(fields.text("unk_token"))) {
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
    constexpr std::size_t kAtOnce = 256;
    std::array<std::int32_t, kAtOnce> found;
    std::array<std::uint64_t, kAtOnce> hashes;
    std::array<std::uint8_t, kAtOnce> rare;  // indices of words that are not in short_words_
    while (!words.empty()) {
      const auto piece = words.first(std::min(words.size(), kAtOnce));
      std::size_t left = 0;
      for (std::size_t i = 0; i < piece.size(); ++i) {
        found[i] = short_words_.find(piece[i]);
        rare[left] = static_cast<std::uint8_t>(i);
        left += found[i] == StringTable::kMissing;
      }
      vocabulary_.tokens().find(piece, std::span(rare).first(left), hashes, found);
      for (std::size_t i = 0; i < piece.size(); ++i) {
        if (!is_short(piece[i])) [[unlikely]] {
          ids.push_back(unknown_);
        } else if (found[i] != StringTable::kMissing) [[likely]] {
          ids.push_back(vocabulary_.id_at(found[i]));
        } else {
          append_parts(piece[i], ids);
        }
      }
      words = words.subspan(piece.size());
    }
  }

 private:
  /// Appends the ids of a word that is not in the vocabulary.
  virtual void append_parts(std::string_view word, std::vector<std::int32_t>& ids) const = 0;

  bool is_short(std::string_view word) const {
    return word.size() <= most_characters_ ||
           static_cast<std::size_t>(std::ranges::count_if(word, begins_character)) <= most_characters_;
  }

  const std::size_t most_characters_;  // longer words are unknown
  const SubwordVocabulary vocabulary_;
  const ShortWords short_words_;
  const std::int32_t unknown_;
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
  explicit WordPiece(const JsonFields& fields)
      : WordModel(fields, static_cast<std::size_t>(fields.whole("max_input_chars_per_word",
                                                                std::numeric_limits<std::int64_t>::max()))) {
    const std::string& prefix = fields.text("continuing_subword_prefix");
    const StringTable& tokens = vocabulary().tokens();
    for (std::int32_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      longest_token_ = std::max(longest_token_, token.size());
      if (!token.starts_with(prefix) || token.size() == prefix.size()) continue;
      continuing_.add(token.substr(prefix.size()), vocabulary().id_at(i));
      longest_continuing_ = std::max(longest_continuing_, token.size() - prefix.size());
    }
  }

 private:
  void append_parts(std::string_view word, std::vector<std::int32_t>& ids) const override {
    const std::size_t before = ids.size();
    for (std::size_t begin = 0; begin < word.size();) {
      const SubwordVocabulary& pieces = begin == 0 ? vocabulary() : continuing_;
      std::size_t size = std::min(word.size() - begin, begin == 0 ? longest_token_ : longest_continuing_);
      std::int32_t id = -1;
      for (; size > 0; --size) {
        if (begin + size < word.size() && !begins_character(word[begin + size])) continue;
        if (id = pieces.id(word.substr(begin, size)); id >= 0) break;
      }
      if (id < 0) {
        ids.resize(before);
        return ids.push_back(unknown_id());
      }
      ids.push_back(id);
      begin += size;
    }
  }

  SubwordVocabulary continuing_;  // without their prefix
  std::size_t longest_token_ = 0, longest_continuing_ = 0;
};

}  // namespace

std::unique_ptr<const SubwordModel> word_piece_model(const nlohmann::json& model) {
  return std::make_unique<const WordPiece>(JsonFields(model, "model"));
}

std::unique_ptr<const SubwordModel> word_level_model(const nlohmann::json& model) {
  return std::make_unique<const WordLevel>(JsonFields(model, "model"));
}

}  // namespace sentencode
