// The fields of a line of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sentencode {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

/// Removes the last field of the text, with the blanks before it, and returns it.
std::string_view take_last_field(std::string_view& text);

std::int64_t count_fields(std::string_view line);

/// Parses a field that is a number. It must be padded for parse_float.
bool is_number(std::string_view field, float& value);

/// The beginning of a text in quotes, for messages.
std::string excerpt(std::string_view text);

}  // namespace sentencode
