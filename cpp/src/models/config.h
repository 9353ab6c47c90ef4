// Options of networks as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "sentencode/models/options.h"

namespace sentencode::models {

/// {"network": kind, and every option of both}
template <typename Words, typename Own>
std::string config_of(const char* kind, const Words& words, const Own& own) {
  nlohmann::json config{{"network", kind}};
  const auto write = [&](const char* name, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
      config[name] = name_of(value);
    } else {
      config[name] = value;
    }
  };
  for_options(words, write);
  for_options(own, write);
  return config.dump();
}

}  // namespace sentencode::models
