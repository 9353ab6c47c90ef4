// Fields of examples that are being built.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sentencode/text/string_table.h"
#include "sentencode/training/example_options.h"

namespace sentencode {

constexpr std::int32_t kUnknownId = StringTable::kMissing;  // of unknown words and missing symbols

struct MadeField {
  FieldOptions options;
  std::string digest;  // of the vocabulary
  std::int64_t vocabulary_size = 0;
  std::map<std::string, std::int32_t> symbols;
  std::int32_t begin = kUnknownId, end = kUnknownId, unknown = kUnknownId;  // ids
  std::vector<std::int32_t> ids;                                            // of the current shard
  std::vector<std::int64_t> offsets{0};
};

/// Configuration of a field in a file of examples and in its key.
nlohmann::json config_of(const FieldOptions& options, const std::string& digest);

/// All fields of the file, those of the input first, then neighbours. Checks the options.
std::vector<MadeField> fields_of(const ExampleOptions& options);

}  // namespace sentencode
