// Files of examples that are parts of a larger one.
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

struct MadeLabels {  // those of the kind that there is
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
};

/// Writes the examples that fields hold.
void write_shard(const std::string& path, const std::vector<MadeField>& fields, Labels kind,
                 const MadeLabels& labels, const std::string& config, const std::string& key);

/// Writes one file of the examples of all shards, in their order and in constant memory.
void merge_shards(const std::string& path, const Shards& shards, const std::vector<MadeField>& fields,
                  Labels labels, const std::string& config, const std::string& key);

}  // namespace sentencode
