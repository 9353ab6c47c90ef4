// Options of networks and heads as JSON: {what: kind, and every option}.
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

/// Takes options out of JSON: every one has to be there, but for those that were added `later`, and nothing
/// else.
class OptionsReader {
 public:
  OptionsReader(const char* what, const nlohmann::json& config, std::span<const std::string_view> later = {})
      : what_(what), left_(config), later_(later) {
    left_.erase(what);
  }

  template <typename T>
  void operator()(const char* name, T& value) const {
    const auto place = left_.find(name);
    if (place == left_.end() && std::ranges::find(later_, name) != later_.end()) return;
    ST_CHECK(place != left_.end(), InvalidInput, what_, ": ", name, " is missing");
    try {
      if constexpr (std::is_enum_v<T>) {
        parse(place->template get<std::string>(), value);
      } else {
        // JSON would make a truth of a number, and a whole number of any.
        const bool fits = !std::is_arithmetic_v<T> || place->is_boolean() == std::is_same_v<T, bool>;
        ST_CHECK(fits && (!std::is_integral_v<T> || !place->is_number_float()), InvalidInput, what_, ": ",
                 name, " cannot be ", place->dump());
        value = place->template get<T>();
      }
    } catch (const nlohmann::json::exception&) {
      throw InvalidInput(concat(what_, ": ", name, " cannot be ", place->dump()));
    }
    left_.erase(place);
  }

  void finish() const {
    ST_CHECK(left_.empty(), InvalidInput, what_, ": unknown option '", left_.begin().key(), "'");
  }

 private:
  const char* what_;
  mutable nlohmann::json left_;
  std::span<const std::string_view> later_;
};

/// JSON that names a kind. InvalidInput where it does not.
inline nlohmann::json parsed_options(const char* what, const std::string& config) {
  nlohmann::json given = nlohmann::json::parse(config, nullptr, /*allow_exceptions=*/false);
  ST_CHECK(given.is_object() && given.contains(what) && given[what].is_string(), InvalidInput, what,
           " must be a JSON object with the name of one, got ", config.substr(0, 60));
  return given;
}

template <typename Options>
Options read_options(const char* what, const nlohmann::json& given) {
  std::span<const std::string_view> later;
  if constexpr (requires { Options::kLater; }) later = Options::kLater;
  const OptionsReader read(what, given, later);
  Options options;
  for_options(options, read);
  read.finish();
  return options;
}

template <typename Options>
std::string written_options(const char* what, const char* kind, const Options& options) {
  nlohmann::json config{{what, kind}};
  for_options(options, [&](const char* name, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      config[name] = name_of(value);
    } else {
      config[name] = value;
    }
  });
  return config.dump();
}

}  // namespace sentencode::models
