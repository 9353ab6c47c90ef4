#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentencode/training/example_builder.h"

namespace sentencode {

inline std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<std::string_view>& words) {
  StringTable table;
  std::vector<std::int64_t> counts;
  for (const std::string_view word : words) {
    table.insert(word);
    counts.push_back(static_cast<std::int64_t>(words.size() - counts.size()));
  }
  return std::make_shared<const Vocabulary>(table, counts);
}

inline FieldOptions field_of(std::string name, std::shared_ptr<const Vocabulary> vocabulary) {
  FieldOptions field;
  field.name = std::move(name);
  field.tokenizer = {.split = Split::whitespace};
  field.vocabulary = std::move(vocabulary);
  return field;
}

inline std::shared_ptr<const ExampleFile> build_examples(const std::string& path,
                                                         const std::vector<std::vector<std::string>>& files,
                                                         const ExampleOptions& options,
                                                         const std::string& key,
                                                         const BuildProgress& progress = nullptr) {
  ExampleBuilder builder(path, options, key);
  return build_examples(builder, files, progress);
}

inline std::vector<std::vector<std::int32_t>> ids_of(const ExampleFile& file, std::size_t field = 0) {
  std::vector<std::vector<std::int32_t>> all;
  for (std::int64_t i = 0; i < file.size(); ++i) {
    const auto ids = file.fields()[field][i];
    all.emplace_back(ids.begin(), ids.end());
  }
  return all;
}

}  // namespace sentencode
