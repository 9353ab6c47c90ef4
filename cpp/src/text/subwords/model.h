#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/text/string_table.h"
#include "text/subwords/model_lists.h"

namespace sentencode {

class JsonFields;

/// Tokens and their ids, in both directions. Ids need not be consecutive.
class SubwordVocabulary {
 public:
  SubwordVocabulary() = default;
  /// Tokens must differ.
  explicit SubwordVocabulary(std::span<const std::pair<std::int32_t, std::string_view>> tokens);
  /// Unsupported if the token or the id is not unique, or the id too large for an array.
  void add(std::string_view token, std::int32_t id);
  void reserve(std::size_t tokens);
  std::int32_t id(std::string_view token) const;  // -1 if there is none
  static constexpr std::size_t kAtOnce = 128;
  /// ids[i] = id(tokens[i]) for up to kAtOnce tokens, whose accesses to memory overlap.
  void find(std::span<const std::string_view> tokens, std::span<std::int32_t> ids) const;
  std::string_view token(std::int32_t id) const;  // empty if there is none
  std::int32_t size() const { return static_cast<std::int32_t>(index_by_id_.size()); }  // largest id + 1
  std::int64_t count() const { return tokens_.size(); }
  const StringTable& tokens() const { return tokens_; }
  std::int32_t id_at(std::int32_t index) const {  // of tokens()
    return id_by_index_[static_cast<std::size_t>(index)];
  }

 private:
  StringTable tokens_;
  std::vector<std::int32_t> id_by_index_, index_by_id_;
};

/// The model of a subword tokenizer: splits a pre-token into tokens of its vocabulary. Thread-safe.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  virtual const SubwordVocabulary& vocabulary() const = 0;
  /// Id of the token for unknown text; -1 if there is none.
  virtual std::int32_t unknown_id() const = 0;
  /// Appends the ids of a pre-token.
  virtual void append_ids(std::string_view word, std::vector<std::int32_t>& ids) const = 0;
  /// The same for several; models may overlap their accesses to memory.
  virtual void append_ids(std::span<const std::string_view> words, std::vector<std::int32_t>& ids) const;
};

/// The field "vocab" of a model, an object {token: id}, in the order of ids; `ids` were read without a tree.
ModelLists::Ids tokens_of(const JsonFields& model, std::optional<ModelLists::Ids> ids);

// Models from the object "model" of tokenizer.json, and its large lists. FormatError names the invalid field,
// Unsupported the part that cannot be reproduced exactly.
std::unique_ptr<const SubwordModel> word_piece_model(const nlohmann::json& model, ModelLists&& lists = {});
std::unique_ptr<const SubwordModel> word_level_model(const nlohmann::json& model, ModelLists&& lists = {});
std::unique_ptr<const SubwordModel> unigram_model(const nlohmann::json& model, ModelLists&& lists = {});
std::unique_ptr<const SubwordModel> bpe_model(const nlohmann::json& model, ModelLists&& lists = {});

}  // namespace sentencode
