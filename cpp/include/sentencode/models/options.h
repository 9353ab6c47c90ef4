// Options of networks and heads. Each struct lists its members once, by a function
//   for_options(options, visit): visit(name, member, About) for each
// From these lists come files, checks, Python's signatures and the documentation.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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
};

constexpr About at_least(double low, const char* text) { return {text, low}; }
constexpr About probability(const char* text) { return {text, 0, 1}; }
constexpr About dropout_probability(const char* text) { return {text, 0, 1, true}; }

template <typename T, typename Options>
concept OptionsOf = std::same_as<std::remove_const_t<T>, Options>;

// Enumerations are options by their names: names(E) returns those of all enumerators, which count from 0.
template <typename E, std::size_t N>
std::array<std::string_view, N> names_by(std::string_view (*name)(E)) {
  std::array<std::string_view, N> all;
  for (std::size_t i = 0; i < N; ++i) all[i] = name(static_cast<E>(i));
  return all;
}
inline auto names(nn::Pooling) { return names_by<nn::Pooling, 4>(nn::pooling_name); }
inline auto names(nn::Activation) { return names_by<nn::Activation, 4>(nn::activation_name); }
inline auto names(nn::Cell) { return names_by<nn::Cell, 2>(nn::cell_name); }
inline auto names(nn::Shortcuts) { return names_by<nn::Shortcuts, 3>(nn::shortcuts_name); }
inline auto names(nn::Penalty) { return names_by<nn::Penalty, 4>(nn::penalty_name); }

template <typename E>
std::string_view name_of(E choice) {
  return names(choice)[static_cast<std::size_t>(choice)];
}

/// InvalidInput lists the names.
template <typename E>
void parse(const char* option, std::string_view name, E& choice) {
  const auto all = names(choice);
  std::string list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (name == all[i]) {
      choice = static_cast<E>(i);
      return;
    }
    list += concat(i == 0 ? "" : i + 1 < all.size() ? ", " : " or ", "'", all[i], "'");
  }
  throw InvalidInput(concat(option, " must be ", list, ", got '", name, "'"));
}

template <typename T>
void check_range(const char* name, const T& value, const About& about) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const auto number = static_cast<double>(value);
    const bool within = number >= about.low && (about.below ? number < about.high : number <= about.high);
    const std::string range = std::isfinite(about.high)
                                  ? concat("in [", about.low, ", ", about.high, about.below ? ")" : "]")
                              : std::isfinite(about.low) ? concat("at least ", about.low)
                                                         : std::string("finite");
    ST_CHECK(within && std::isfinite(number), InvalidInput, name, " must be ", range, ", got ", value);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_range(concat(name, "[", i, "]").c_str(), value[i], about);
    }
  }
}

/// The same options. InvalidInput names one that is out of range.
template <typename Options>
const Options& checked(const Options& options) {
  for_options(options, [](const char* name, const auto& value, const About& about) {
    check_range(name, value, about);
  });
  return options;
}

}  // namespace sentencode::models
