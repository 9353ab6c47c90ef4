#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sentencode/error.h"

namespace sentencode {

constexpr std::size_t kMaxSubwordSteps = 64;  // of a normalizer or a pre-tokenizer
constexpr std::size_t kLongestToken = 4096;   // bytes; longer ones could take quadratic time

/// The fields of a JSON object in tokenizer.json. Errors name them: "model.unk_token must be a string, got
/// 3".
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string name) : object_(object), name_(std::move(name)) {
    ST_CHECK(object.is_object(), FormatError, label(), " must be an object, got ", shown(object));
  }

  const std::string& name() const { return name_; }
  std::string name_of(std::string_view key) const {
    return name_.empty() ? std::string(key) : concat(name_, ".", key);
  }
  bool has(std::string_view key) const {
    const auto field = object_.find(key);
    return field != object_.end() && !field->is_null();
  }
  const nlohmann::json& at(std::string_view key) const {
    const auto field = object_.find(key);
    ST_CHECK(field != object_.end(), FormatError, "tokenizer.json: ", name_of(key), " is missing");
    return *field;
  }
  const std::string& text(std::string_view key) const {
    check(at(key).is_string(), key, "a string");
    return at(key).get_ref<const std::string&>();
  }
  bool flag(std::string_view key) const {
    check(at(key).is_boolean(), key, "true or false");
    return at(key).get<bool>();
  }
  bool flag(std::string_view key, bool otherwise) const { return has(key) ? flag(key) : otherwise; }
  std::int64_t whole(std::string_view key, std::int64_t most) const {
    const auto& value = at(key);
    check(value.is_number_integer() && value >= 0 && value <= most, key,
          concat("a whole number from 0 to ", most));
    return value.get<std::int64_t>();
  }
  const nlohmann::json& array(std::string_view key) const {
    check(at(key).is_array(), key, "an array");
    return at(key);
  }
  const nlohmann::json& object(std::string_view key) const {
    check(at(key).is_object(), key, "an object");
    return at(key);
  }

  void check(bool good, std::string_view key, std::string_view expected) const {
    ST_CHECK(good, FormatError, "tokenizer.json: ", name_of(key), " must be ", expected, ", got ",
             shown(at(key)));
  }
  /// Checks the depth of nested sequences, as the package tokenizers does.
  void check_depth(int depth) const {
    constexpr int kDepth = 64;
    ST_CHECK(depth < kDepth, FormatError, label(), " is nested more than ", kDepth, " times");
  }
  static std::string shown(const nlohmann::json& value) {
    constexpr std::size_t kShown = 60;
    if (value.is_structured() && !value.empty()) return value.is_object() ? "{...}" : "[...]";
    return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, kShown);
  }

 private:
  std::string label() const { return concat("tokenizer.json: ", name_.empty() ? "its content" : name_); }

  const nlohmann::json& object_;
  const std::string name_;
};

}  // namespace sentencode
