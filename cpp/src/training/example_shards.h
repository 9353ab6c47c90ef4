// Shards of a file of examples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/training/example_file.h"
#include "training/made_field.h"

namespace sentencode {

using Shards = std::vector<std::shared_ptr<const ExampleFile>>;

std::int64_t examples_in(const Shards& shards);

struct MadeLabels {
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
};

/// Writes the examples in `fields` to a file.
void write_shard(const std::string& path, const std::vector<MadeField>& fields, Labels kind,
                 const MadeLabels& labels, const std::string& config, const std::string& key);

/// Merges the examples of all shards into a file, in order and in constant memory.
void merge_shards(const std::string& path, const Shards& shards, const std::vector<MadeField>& fields,
                  Labels labels, const std::string& config, const std::string& key);

}  // namespace sentencode
