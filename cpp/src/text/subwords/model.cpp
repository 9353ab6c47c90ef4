#include "text/subwords/model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "sentencode/error.h"
#include "text/subwords/json_fields.h"

namespace sentencode {

SubwordVocabulary::SubwordVocabulary(std::span<const std::pair<std::int32_t, std::string_view>> tokens) {
  reserve(tokens.size());
  for (const auto& [id, token] : tokens) add(token, id);
  ST_CHECK(count() == std::ssize(tokens), Unsupported, "tokenizer.json: a token is repeated");
}

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

void SubwordVocabulary::reserve(std::size_t tokens) {
  constexpr std::size_t kBytes = 8;  // of a token
  tokens_.reserve(static_cast<std::int64_t>(tokens), static_cast<std::int64_t>(kBytes * tokens));
  id_by_index_.reserve(tokens);
  index_by_id_.reserve(tokens);
}

std::int32_t SubwordVocabulary::id(std::string_view token) const {
  const std::int32_t index = tokens_.find(token);
  return index < 0 ? -1 : id_by_index_[static_cast<std::size_t>(index)];
}

void SubwordVocabulary::find(std::span<const std::string_view> tokens, std::span<std::int32_t> ids) const {
  static constexpr auto kAll = [] {
    std::array<std::uint8_t, kAtOnce> all{};
    std::iota(all.begin(), all.end(), std::uint8_t{0});
    return all;
  }();
  std::array<std::uint64_t, kAtOnce> hashes;
  tokens_.find(tokens, std::span(kAll).first(tokens.size()), hashes, ids);
  for (std::int32_t& id : ids.first(tokens.size())) {
    if (id >= 0) id = id_by_index_[static_cast<std::size_t>(id)];
  }
}

std::string_view SubwordVocabulary::token(std::int32_t id) const {
  if (id < 0 || id >= size()) return {};
  const std::int32_t index = index_by_id_[static_cast<std::size_t>(id)];
  return index < 0 ? std::string_view{} : tokens_[index];
}

void SubwordModel::append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const {
  for (const std::string_view word : words) append_ids(word, ids);
}

ModelLists::Ids tokens_of(const JsonFields& model, std::optional<ModelLists::Ids> ids) {
  const nlohmann::json& tokens = model.object("vocab");
  ModelLists::Ids by_id = std::move(ids).value_or(ModelLists::Ids());
  for (const auto& [token, id] : tokens.items()) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    const bool good = id.is_number_unsigned() && id.get<std::uint64_t>() <= kMost;
    ST_CHECK(good, FormatError, "tokenizer.json: ", model.name_of("vocab"), "['", token,
             "'] must be a whole number, got ", JsonFields::shown(id));
    by_id.emplace_back(id.get<std::int32_t>(), token);
  }
  const auto id_of = &std::pair<std::int32_t, std::string_view>::first;
  if (!std::ranges::is_sorted(by_id, {}, id_of)) std::ranges::sort(by_id, {}, id_of);
  return by_id;
}

}  // namespace sentencode
