// Names of an enumeration's values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sentencode/error.h"

namespace sentencode {

template <typename Enum>
struct Named {
  Enum value;
  std::string_view name;
};

/// The value called `name`. InvalidInput lists the choices: "padding must be 'valid' or 'same', got 'x'".
template <typename Enum, std::size_t N>
Enum parse_name(std::string_view what, const Named<Enum> (&choices)[N], std::string_view name) {
  std::string listed;
  for (std::size_t i = 0; i < N; ++i) {
    if (choices[i].name == name) return choices[i].value;
    listed += concat(i == 0 ? "" : i + 1 < N ? ", " : " or ", "'", choices[i].name, "'");
  }
  throw InvalidInput(concat(what, " must be ", listed, ", got '", name, "'"));
}

template <typename Enum, std::size_t N>
std::string_view name_of(const Named<Enum> (&choices)[N], Enum value) {
  for (const auto& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  throw InternalError("an enumeration's value has no name");
}

}  // namespace sentencode
