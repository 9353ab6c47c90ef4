// Options of networks and heads as JSON: {what: kind, option: value, ...}.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "sentencode/error.h"
#include "sentencode/models/options.h"

namespace sentencode::models {

/// Reads options from JSON: all keys must be there, except those added `later`, and no others.
class OptionsReader {
 public:
  OptionsReader(const char* what, const nlohmann::json& config, std::span<const std::string_view> later = {})
      : what_(what), left_(config), later_(later) {
    left_.erase(what);
  }

  template <typename T>
  void operator()(const char* name, T& value, const About& /*about*/) const {
    const auto entry = left_.find(name);
    if (entry == left_.end() && std::ranges::find(later_, name) != later_.end()) return;
    ST_CHECK(entry != left_.end(), InvalidInput, what_, ": ", name, " is missing");
    try {
      if constexpr (std::is_enum_v<T>) {
        value = parse_enum<T>(entry->template get<std::string>(), name);
      } else {
        // nlohmann::json would convert numbers to bools, and floats to integers.
        const bool fits = !std::is_arithmetic_v<T> || entry->is_boolean() == std::is_same_v<T, bool>;
        ST_CHECK(fits && (!std::is_integral_v<T> || !entry->is_number_float()), InvalidInput, what_, ": ",
                 name, " cannot be ", entry->dump());
        value = entry->template get<T>();
      }
    } catch (const nlohmann::json::exception&) {
      throw InvalidInput(concat(what_, ": ", name, " cannot be ", entry->dump()));
    }
    left_.erase(entry);
  }

  void finish() const {
    ST_CHECK(left_.empty(), InvalidInput, what_, ": unknown option '", left_.begin().key(), "'");
  }

 private:
  const char* what_;
  mutable nlohmann::json left_;
  std::span<const std::string_view> later_;
};

/// A JSON object whose key `what` names a kind. InvalidInput otherwise.
inline nlohmann::json parsed_options(const char* what, const std::string& text) {
  nlohmann::json config = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  ST_CHECK(config.is_object() && config.contains(what) && config[what].is_string(), InvalidInput, what,
           " must be a JSON object with the name of one, got ", text.substr(0, 60));
  return config;
}

template <typename Options>
Options read_options(const char* what, const nlohmann::json& config) {
  std::span<const std::string_view> later;
  if constexpr (requires { Options::kLater; }) later = Options::kLater;
  const OptionsReader read(what, config, later);
  Options options;
  for_options(options, read);
  read.finish();
  return options;
}

template <typename T>
nlohmann::json json_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return name_of(value);
  } else {
    return value;
  }
}

template <typename Options>
std::string written_options(const char* what, const char* kind, const Options& options) {
  nlohmann::json config{{what, kind}};
  for_options(options, [&](const char* name, const auto& value, const About& /*about*/) {
    config[name] = json_of(value);
  });
  return config.dump();
}

}  // namespace sentencode::models
