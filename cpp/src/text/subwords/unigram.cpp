#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/parallel.h"
#include "text/subwords/byte_tokens.h"
#include "text/subwords/json_fields.h"
#include "text/subwords/model.h"
#include "text/subwords/prefix_trie.h"
#include "text/subwords/word_cache.h"

namespace sentencode {
namespace {

constexpr double kUnknownPenalty = 10;

/// The number that the package `tokenizers` reads where a file has this one in its shortest decimal form.
double as_read_by_serde(double number) {
  char text[32] = {};
  std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  std::uint64_t digits = 0;
  int exponent = 0;
  const char* c = text;
  for (bool fraction = false; *c != 'e'; ++c) {
    if (*c == '.') fraction = true;
    if (*c < '0' || *c > '9') continue;
    digits = 10 * digits + static_cast<std::uint64_t>(*c - '0');
    if (fraction) --exponent;
  }
  exponent += std::atoi(c + 1);
  return serde_number(digits, exponent, std::signbit(number)).value_or(number);
}

/// The most probable segmentation (Kudo 2018): maximises the sum of the tokens' log probabilities.
class Unigram final : public CachedModel {
 public:
  Unigram(const JsonFields& fields, ModelLists&& lists) {
    const nlohmann::json& array = fields.array("vocab");
    ScoredTokens given = lists.scores ? std::move(*lists.scores) : scores_in(array, fields.name_of("vocab"));
    const std::vector<std::string_view>& tokens = given.tokens;
    scores_ = std::move(given.scores);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      ST_CHECK(tokens[i].size() <= kLongestToken, Unsupported, "tokenizer.json: ", fields.name_of("vocab"),
               "[", i, "] has ", tokens[i].size(), " bytes; expected at most ", kLongestToken);
    }
    const double lowest =
        scores_.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(scores_);
    unknown_score_ = lowest - kUnknownPenalty;
    parallel_for(0, 2, 1, [&](std::int64_t part, std::int64_t) {
      if (part == 0) {
        trie_ = PrefixTrie(tokens);
        return;
      }
      vocabulary_.reserve(tokens.size());
      std::int32_t id = 0;
      for (const std::string_view token : tokens) vocabulary_.add(token, id++);
    });
    if (fields.has("unk_id"))
      unknown_id_ = static_cast<std::int32_t>(fields.whole("unk_id", std::ssize(scores_) - 1));
    if (fields.flag("byte_fallback", false)) bytes_ = ByteTokens(vocabulary_);
  }

  const SubwordVocabulary& vocabulary() const override { return vocabulary_; }
  std::int32_t unknown_id() const override { return unknown_id_; }

 private:
  static ScoredTokens scores_in(const nlohmann::json& array, const std::string& field) {
    ScoredTokens all;
    for (const nlohmann::json& entry : array) {
      ST_CHECK(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number() &&
                   std::isfinite(entry[1].get<double>()),
               FormatError, "tokenizer.json: ", field, "[", all.tokens.size(),
               "] must be a token and its finite score, got ", JsonFields::shown(entry));
      all.tokens.push_back(entry[0].get_ref<const std::string&>());
      all.scores.push_back(as_read_by_serde(entry[1].get<double>()));
    }
    return all;
  }

  void split(std::string_view word, std::vector<std::int32_t>& ids) const override {
    constexpr std::size_t kShort = 128;
    if (word.size() < kShort) {
      std::array<Best, kShort> best;
      split(word, std::span(best).first(word.size() + 1), ids);
    } else {
      std::vector<Best> best(word.size() + 1);
      split(word, best, ids);
    }
  }

  /// The best segmentation of the text up to some position: its score and its last token.
  struct Best {
    double score = 0;
    std::int32_t id = 0;
    std::uint32_t bytes = 0;  // of the last token; 0: there is no segmentation
  };

  static std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    return std::min<std::size_t>(text.size(), lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4);
  }

  /// Scores are added from left to right and the first of equal candidates remains, as in the package
  /// `tokenizers`: rounding and ties are the same.
  void split(std::string_view text, std::span<Best> best, std::vector<std::int32_t>& ids) const {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::string_view rest = text.substr(begin);
      const double score = best[begin].score;
      const std::size_t character = character_length(rest);
      const auto propose = [&](std::size_t bytes, double candidate, std::int32_t id) {
        Best& end = best[begin + bytes];
        if (end.bytes == 0 || candidate > end.score) end = {candidate, id, static_cast<std::uint32_t>(bytes)};
      };
      bool known = false;
      trie_.for_each_prefix(rest, [&](std::size_t bytes, std::int32_t id) {
        propose(bytes, scores_[static_cast<std::size_t>(id)] + score, id);
        known = known || bytes == character;
      });
      if (!known) {
        propose(character, unknown_score_ + score, unknown_id_);
        ST_CHECK(unknown_id_ >= 0 || best[begin + character].id >= 0, InvalidInput,
                 "the tokenizer has no token for '", rest.substr(0, character),
                 "', and model.unk_id is null");
      }
      begin += character;
    }

    const std::size_t first = ids.size();
    for (std::size_t end = text.size(); end > 0;) {
      std::size_t begin = end - best[end].bytes;
      const std::int32_t id = best[end].id;
      if (id != unknown_id_) {
        ids.push_back(id);
      } else {
        // Adjacent unknown tokens are one.
        while (begin > 0 && best[begin].id == unknown_id_) begin -= best[begin].bytes;
        append_unknown(text.substr(begin, end - begin), ids);
      }
      end = begin;
    }
    std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  }

  /// In reverse order.
  void append_unknown(std::string_view text, std::vector<std::int32_t>& ids) const {
    if (const std::int32_t id = vocabulary_.id(text); id >= 0) {
      ids.push_back(id);
    } else if (bytes_.has_all(text)) {
      for (std::size_t i = text.size(); i-- > 0;) ids.push_back(bytes_[text[i]]);
    } else {
      ids.push_back(unknown_id_);
    }
  }

  SubwordVocabulary vocabulary_;
  PrefixTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::int32_t unknown_id_ = -1;
  ByteTokens bytes_;
};

}  // namespace

std::unique_ptr<const SubwordModel> unigram_model(const nlohmann::json& model, ModelLists&& lists) {
  return std::make_unique<const Unigram>(JsonFields(model, "model"), std::move(lists));
}

}  // namespace sentencode
