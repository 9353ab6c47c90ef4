#pragma once

#include <cstddef>
#include <string_view>

#include "sentencode/error.h"

namespace sentencode {

/// FormatError if brackets are nested too deep: nlohmann copies and writes trees by recursion.
inline void check_json_depth(std::string_view text, std::string_view source) {
  constexpr int kMost = 512;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      i += c == '\\';
    } else if (c == '[' || c == '{') {
      ST_CHECK(++depth <= kMost, FormatError, source, ": its values are nested more than ", kMost, " times");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace sentencode
