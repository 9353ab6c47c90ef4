#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace sentencode {

/// The name of an option, and the names of its values in the order of the enumerators, as Python and files
/// have them. Specialised next to the enum, in namespace sentencode:
///   enum class Cell { gru, lstm };
///   template <>
///   inline constexpr EnumNames<2> kEnumNames<Cell>{"cell", {"gru", "lstm"}};
/// Then name_of(Cell::lstm) is "lstm", and parse_enum<Cell>("lstm") is Cell::lstm.
template <std::size_t n>
struct EnumNames {
  std::string_view option;
  std::array<std::string_view, n> values;
};
template <typename E>
inline constexpr EnumNames<0> kEnumNames{};

template <typename E>
concept NamedEnum = std::is_enum_v<E> && !kEnumNames<E>.values.empty();

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return kEnumNames<E>.values[static_cast<std::size_t>(value)];
}

/// Throws InvalidInput: "OPTION must be 'a', 'b' or 'c', got 'NAME'".
[[noreturn]] void refuse_name(std::string_view option, std::span<const std::string_view> values,
                              std::string_view name);

/// The value with this name. InvalidInput lists the names.
template <NamedEnum E>
E parse_enum(std::string_view name, std::string_view option = kEnumNames<E>.option) {
  const auto& values = kEnumNames<E>.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == name) return static_cast<E>(i);
  }
  refuse_name(option, values, name);
}

}  // namespace sentencode
