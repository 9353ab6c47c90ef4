#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/config.h"
#include "sentencode/error.h"
#include "sentencode/models/heads.h"
#include "sentencode/models/networks.h"

namespace sentencode::models {
namespace {

template <typename T>
const char* kind_of(const T& /*value*/) {
  if (std::is_same_v<T, bool>) return "bool";
  if (std::is_integral_v<T>) return "int";
  if (std::is_floating_point_v<T>) return "float";
  return std::is_same_v<T, std::vector<std::int64_t>> ? "ints" : "str";
}

/// JSON has no infinite numbers.
nlohmann::json bound(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); }

/// Not a template: compilers need seconds for each list of JSON.
nlohmann::json description(const char* name, const char* kind, nlohmann::json value, nlohmann::json choices,
                           const About& about) {
  return {{"name", name},
          {"kind", kind},
          {"default", std::move(value)},
          {"choices", std::move(choices)},
          {"low", bound(about.low)},
          {"high", bound(about.high)},
          {"below", about.below},
          {"above", about.above},
          {"text", about.text}};
}

template <typename Options>
nlohmann::json described(const Options& options) {
  nlohmann::json all;
  for_options(options, [&](const char* name, const auto& value, const About& about) {
    nlohmann::json choices = nlohmann::json::array();
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) choices = enum_names(value).values;
    all.push_back(description(name, kind_of(value), json_of(value), std::move(choices), about));
  });
  return all;
}

}  // namespace

std::string default_config(const std::string& network) {
  std::string config;
  for_networks([&](const auto& kind) {
    using Options = typename std::remove_cvref_t<decltype(kind)>::Options;
    if (network == kind.network) config = written_options("network", kind.network, Options{});
  });
  ST_CHECK(!config.empty(), InvalidInput, "there is no network named '", network, "'");
  return config;
}

std::string described_options(const std::string& name) {
  nlohmann::json all;
  for_networks([&](const auto& kind) {
    using Options = typename std::remove_cvref_t<decltype(kind)>::Options;
    if (name == kind.network) all = described(Options{});
  });
  for_heads([&](const auto& kind) {
    using Options = typename std::remove_cvref_t<decltype(kind)>::Options;
    if (name == kind.name) all = described(Options{});
  });
  ST_CHECK(!all.is_null(), InvalidInput, "there is no network or head named '", name, "'");
  return all.dump();
}

}  // namespace sentencode::models
