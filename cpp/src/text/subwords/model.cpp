#include "text/subwords/model.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "sentencode/error.h"
#include "text/subwords/json_fields.h"

namespace sentencode {

void SubwordVocabulary::add(std::string_view token, std::int32_t id) {
  constexpr std::int32_t kLargest = 1 << 24;  // ids are indices of arrays
  ST_CHECK(id >= 0 && id < kLargest, Unsupported, "tokenizer.json: the token '", token, "' has the id ", id,
           "; expected at most ", kLargest - 1);
  const auto at = static_cast<std::size_t>(id);
  if (at >= index_by_id_.size()) index_by_id_.resize(at + 1, StringTable::kMissing);
  const std::int32_t index = tokens_.insert(token);
  if (index == std::ssize(id_by_index_)) {
    id_by_index_.push_back(id);
  } else if (id_by_index_[static_cast<std::size_t>(index)] == id) {
    return;
  }
  ST_CHECK(id_by_index_[static_cast<std::size_t>(index)] == id && index_by_id_[at] == StringTable::kMissing,
           Unsupported, "tokenizer.json: the token '", token, "' has the id ", id, ", which is not unique");
  index_by_id_[at] = index;
}

std::int32_t SubwordVocabulary::id(std::string_view token) const {
  const std::int32_t index = tokens_.find(token);
  return index < 0 ? -1 : id_by_index_[static_cast<std::size_t>(index)];
}

std::string_view SubwordVocabulary::token(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  const std::int32_t index = index_by_id_[static_cast<std::size_t>(id)];
  return index < 0 ? std::string_view{} : tokens_[index];
}

void SubwordModel::append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const {
  for (const std::string_view word : words) append_ids(word, ids);
}

SubwordVocabulary vocabulary_of(const nlohmann::json& tokens, std::string_view field) {
  std::vector<std::pair<std::int32_t, std::string_view>> by_id;  // frequent tokens often have small ids
  by_id.reserve(tokens.size());
  for (const auto& [token, id] : tokens.items()) {
    const bool good = id.is_number_unsigned() && id <= std::numeric_limits<std::int32_t>::max();
    ST_CHECK(good, FormatError, "tokenizer.json: ", field, "['", token, "'] must be a whole number, got ",
             JsonFields::shown(id));
    by_id.emplace_back(id.get<std::int32_t>(), token);
  }
  std::ranges::sort(by_id, {}, &std::pair<std::int32_t, std::string_view>::first);
  SubwordVocabulary vocabulary;
  for (const auto& [id, token] : by_id) vocabulary.add(token, id);
  return vocabulary;
}

}  // namespace sentencode
