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

/// Builds a file of examples from batches of rows, in constant memory. Finished shards are kept in the folder
/// `path`.parts until the file is complete, so a builder with the same key resumes after one that was killed.
/// Other builders of the same path wait.
class ExampleBuilder {
 public:
  /// With an empty key (unknown sources), it never resumes, and replaces a file at the path.
  ExampleBuilder(std::string path, ExampleOptions options, std::string key);
  ~ExampleBuilder();
  ExampleBuilder(const ExampleBuilder&) = delete;
  ExampleBuilder& operator=(const ExampleBuilder&) = delete;

  /// Whether the file exists already with the same key: then only finish() is left to do.
  bool done() const;
  /// Why an existing file is damaged and built again, or "".
  const std::string& damage() const;
  const ExampleOptions& options() const;
  /// First row that add() needs: those before it are in shards.
  std::int64_t first_row() const;

  struct Rows {
    std::vector<Sentences> fields;                       // one for each field, all of the same size
    const std::vector<bool>* starts_document = nullptr;  // for each row; null: a single document
    std::span<const std::int64_t> int_labels{};
    std::span<const float> float_labels{};
  };
  /// Adds the next rows. `meanwhile` runs on one of the threads that tokenize, to read the next batch.
  void add(const Rows& rows, const std::function<void()>& meanwhile = nullptr);

  /// Writes the file. InvalidInput where no example is left, with the reasons.
  std::shared_ptr<const ExampleFile> finish();

  /// Ends the work, finished or not, so that others that wait for the file continue. Nothing may follow it.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Called after each batch with the bytes of the files that were read, and all of them.
using BuildProgress = std::function<void(std::int64_t read, std::int64_t total)>;

/// Builds from text files, maybe compressed, one list of them for each field. With one field, each line is a
/// sentence and a blank line ends a document; with several, line i of each field makes example i.
std::shared_ptr<const ExampleFile> build_examples(ExampleBuilder& builder,
                                                  const std::vector<std::vector<std::string>>& files,
                                                  const BuildProgress& progress = nullptr);

}  // namespace sentencode
