// The fields of examples while these are made.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sentencode/text/string_table.h"
#include "sentencode/training/example_options.h"

namespace sentencode {

constexpr std::int32_t kUnknownId = StringTable::kMissing;  // of a word or symbol that there is none for

/// One field on its way into a file.
struct MadeField {
  FieldOptions options;
  std::string digest;  // of the vocabulary
  std::int64_t vocabulary_size = 0;
  std::map<std::string, std::int32_t> symbols;
  std::int32_t begin = kUnknownId, end = kUnknownId, unknown = kUnknownId;  // ids
  std::vector<std::int32_t> ids;                                            // of the shard that is being made
  std::vector<std::int64_t> offsets{0};
};

/// What an example file says of a field, and what its key depends on.
nlohmann::json config_of(const FieldOptions& options, const std::string& digest);

/// All fields of the file: those that are read, then those that neighbours make. Checks the options.
std::vector<MadeField> fields_of(const ExampleOptions& options);

}  // namespace sentencode
