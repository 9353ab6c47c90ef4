#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sentencode/sentences.h"
#include "sentencode/training/example_file.h"
#include "sentencode/training/example_options.h"

namespace sentencode {

/// Makes a file of examples from rows of input that come batch by batch, in constant memory. Finished shards
/// are kept beside the file, in the folder `path`.parts, until it is whole: so a second builder with the same
/// key goes on where one that was killed has stopped. While it lives, other builders of the same path wait.
class ExampleBuilder {
 public:
  /// An empty key: nothing is known about the sources, so that nothing is gone on with, and what lies at the
  /// path is replaced.
  ExampleBuilder(std::string path, ExampleOptions options, std::string key);
  ~ExampleBuilder();
  ExampleBuilder(const ExampleBuilder&) = delete;
  ExampleBuilder& operator=(const ExampleBuilder&) = delete;

  /// Whether the file is there already, from the same key: then only finish() is left to do.
  bool done() const;
  /// What was wrong with a file at the path that is made again; empty if nothing was.
  const std::string& damage() const;
  const ExampleOptions& options() const;
  /// The first row of input that has to be given: those before it are in shards.
  std::int64_t first_row() const;

  struct Rows {
    std::vector<Sentences> fields;                       // one for each field, all of the same size
    const std::vector<bool>* starts_document = nullptr;  // for each row; none: all is one document
    std::span<const std::int64_t> int_labels{};
    std::span<const float> float_labels{};
  };
  /// The rows that follow. Order is kept. `meanwhile` runs beside the tokenising, on one of its threads: it
  /// may read the next batch.
  void add(const Rows& rows, const std::function<void()>& meanwhile = nullptr);

  /// Writes the file. InvalidInput when no example is left; the message tells what became of all rows.
  std::shared_ptr<const ExampleFile> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sentencode
