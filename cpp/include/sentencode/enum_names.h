#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace sentencode {

/// The name of an option, and the names of its values in the order of the enumerators, as Python and files
/// have them. A function next to the enum returns them:
///   enum class Cell { gru, lstm };
///   constexpr EnumNames<2> enum_names(Cell) { return {"cell", {"gru", "lstm"}}; }
/// Then name_of(Cell::lstm) is "lstm", and parse_enum<Cell>("lstm") is Cell::lstm.
template <std::size_t n>
struct EnumNames {
  std::string_view option;
  std::array<std::string_view, n> values;
};

template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return enum_names(value).values[static_cast<std::size_t>(value)];
}

/// Throws InvalidInput: "OPTION must be 'a', 'b' or 'c', got 'NAME'".
[[noreturn]] void refuse_name(std::string_view option, std::span<const std::string_view> values,
                              std::string_view name);

/// The value with this name. InvalidInput lists the names.
template <NamedEnum E>
E parse_enum(std::string_view name, std::string_view option = enum_names(E{}).option) {
  constexpr auto values = enum_names(E{}).values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == name) return static_cast<E>(i);
  }
  refuse_name(option, values, name);
}

}  // namespace sentencode
