#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sentencode/training/example_builder.h"

namespace sentencode {

/// Told after each batch: bytes of the files as they lie on disk, read and in all.
using BuildProgress = std::function<void(std::int64_t read, std::int64_t total)>;

/// Builds from files, one list of them for each field: of a single field, one sentence a line, and a blank
/// line ends a document; of several, the lines of all belong together, row by row. Files may be packed. A
/// file that was built of the same sources in the same way is opened, not built.
std::shared_ptr<const ExampleFile> build_examples(const std::string& path,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const ExampleOptions& options, const std::string& key,
                                                  const BuildProgress& progress = nullptr);
/// The same with a builder.
std::shared_ptr<const ExampleFile> build_examples(ExampleBuilder& builder,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const BuildProgress& progress = nullptr);

}  // namespace sentencode
