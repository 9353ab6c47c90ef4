// Storages and words for tests of vectors.
#pragma once

#include <initializer_list>
#include <string_view>

#include "sentencode/text/string_table.h"
#include "sentencode/vectors/rows.h"

namespace sentencode {

inline constexpr Storage kStorages[] = {Storage::float32, Storage::float16, Storage::int8};

inline StringTable strings(std::initializer_list<std::string_view> words) {
  StringTable table;
  for (const auto word : words) table.insert(word);
  return table;
}

}  // namespace sentencode
