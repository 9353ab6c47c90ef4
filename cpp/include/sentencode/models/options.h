// Options of networks and heads. Each struct lists its members once, by a function
//   for_options(options, visit): visit(name, member, About) for each
// From these lists come files, checks, Python's signatures and the documentation.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/error.h"
#include "sentencode/nn/generalized_pooling.h"
#include "sentencode/nn/linear.h"
#include "sentencode/nn/pooling.h"
#include "sentencode/nn/recurrent.h"

namespace sentencode::models {

/// Description and range of an option.
struct About {
  const char* text;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool below = false;  // whether `high` itself is excluded
  bool above = false;  // whether `low` itself is excluded
};

constexpr About at_least(double low, const char* text) { return {text, low}; }
constexpr About more_than(double low, const char* text) { return {.text = text, .low = low, .above = true}; }
constexpr About probability(const char* text) { return {text, 0, 1}; }
constexpr About dropout_probability(const char* text) { return {text, 0, 1, true}; }

template <typename T, typename Options>
concept OptionsOf = std::same_as<std::remove_const_t<T>, Options>;

template <typename T>
void check_range(const char* name, const T& value, const About& about) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto number = static_cast<double>(value);
    const bool within = (about.above ? number > about.low : number >= about.low) &&
                        (about.below ? number < about.high : number <= about.high);
    const std::string range =
        std::isfinite(about.high)  ? concat("in [", about.low, ", ", about.high, about.below ? ")" : "]")
        : std::isfinite(about.low) ? concat(about.above ? "more than " : "at least ", about.low)
                                   : std::string("finite");
    ST_CHECK(within && std::isfinite(number), InvalidInput, name, " must be ", range, ", got ", value);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_range(concat(name, "[", i, "]").c_str(), value[i], about);
    }
  }
}

/// Checks options that limit each other: those of structs with a member check().
template <typename Options>
void check_together(const Options& options) {
  if constexpr (requires { options.check(); }) options.check();
}

/// The same options. InvalidInput names one that is out of range.
template <typename Options>
const Options& checked(const Options& options) {
  for_options(options, [](const char* name, const auto& value, const About& about) {
    check_range(name, value, about);
  });
  check_together(options);
  return options;
}

}  // namespace sentencode::models
