#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sentencode/enum_names.h"
#include "sentencode/io/scratch_file.h"
#include "sentencode/training/example_file.h"

namespace sentencode {

/// How examples are grouped into batches, by the lengths of `length_fields`.
enum class BatchMode {
  plain,          // not grouped
  equal_length,   // one length in each of these fields: no padding
  buckets,        // lengths of one range in each of these fields
  sorted_buffer,  // similar lengths: `buffer_batches` batches of the shuffled order are sorted by length
  token_budget,   // similar lengths: as many examples as fit into `max_tokens`
};
constexpr EnumNames<5> enum_names(BatchMode) {
  return {"mode", {"plain", "equal_length", "buckets", "sorted_buffer", "token_budget"}};
}

struct BatcherOptions {
  BatchMode mode = BatchMode::equal_length;
  std::vector<std::string> length_fields{};  // sort keys, the first one first; empty: the first field
  std::int64_t batch_size = 64;              // token_budget: maximum, 0: unlimited
  std::vector<std::int64_t> bounds{};        // buckets: their maximum lengths, ascending, without the last
  std::int64_t buffer_batches = 100;         // sorted_buffer
  std::int64_t max_tokens = 0;               // token_budget: in these fields, including padding
  bool shuffle = true;
  bool drop_short = false;  // drops batches of less than batch_size; other examples in each epoch
  std::uint64_t seed = 0;
  std::int64_t pad = 0;                  // id of padding
  std::int64_t rank = 0, world = 1;      // of this process
  std::vector<std::uint32_t> numbers{};  // indices of the examples, ascending; empty: all
};

/// One field of a batch.
struct BatchField {
  std::vector<std::int64_t> ids;      // [B, T], padded to the longest example
  std::vector<std::int64_t> lengths;  // [B]
  std::int64_t width = 0;             // T
  std::int64_t tokens = 0;            // in all processes, without padding
};

struct Batch {
  std::int64_t epoch = 0, step = 0;
  std::int64_t total = 0;                // examples in all processes
  std::vector<std::int64_t> numbers;     // indices [B] of the examples in this process, maybe none
  std::vector<BatchField> fields;        // in the order of the file
  std::vector<std::int64_t> int_labels;  // [B], or empty
  std::vector<float> float_labels;       // [B], or empty
};

/// Groups examples into batches. Every example is in one batch of every epoch (except for drop_short). A
/// batch is a pure function of the seed, the epoch and the step: a position is two integers, and no order of
/// the corpus is in memory. Thread-safe.
///
/// The process of rank r gets every world-th example of each batch, from the r-th on: together, processes see
/// the batches of a single one.
class Batcher {
 public:
  Batcher(std::shared_ptr<const ExampleFile> examples, BatcherOptions options);

  std::int64_t steps() const { return steps_; }  // batches in an epoch, at least 1
  Batch batch(std::int64_t epoch, std::int64_t step) const;
  /// Indices of the examples of a batch, in all processes.
  std::vector<std::int64_t> numbers(std::int64_t epoch, std::int64_t step) const;

  const std::shared_ptr<const ExampleFile>& examples() const { return examples_; }
  const BatcherOptions& options() const { return options_; }
  /// SHA-256 of `numbers`, or "" for all examples.
  std::string part() const;

 private:
  /// Consecutive batches of one size (the last may be smaller), as positions in the order of all examples: by
  /// length, or of the file.
  struct Run {
    std::int64_t first_step, begin, end, size;
  };
  struct Buffer {
    std::int64_t epoch = -1, index = -1;
    std::vector<std::uint32_t> numbers;
  };

  std::int64_t size() const;                         // examples of an epoch
  std::int64_t number(std::int64_t position) const;  // index of the example there, unsorted
  std::span<const std::uint32_t> order() const;
  std::weak_ordering compare(std::int64_t a, std::int64_t b) const;
  bool is_before(std::int64_t a, std::int64_t b) const;
  bool share_group(std::int64_t a, std::int64_t b) const;
  std::int64_t bucket(std::int64_t length) const;
  void sort_by_length();
  std::int64_t group_end(std::int64_t position) const;
  void add_run(std::int64_t begin, std::int64_t end, std::int64_t size);
  void plan_groups();
  void plan_budget();
  std::uint64_t key(std::int64_t epoch, std::uint64_t purpose) const;
  std::vector<std::int64_t> from_runs(std::int64_t epoch, std::int64_t step) const;
  std::vector<std::int64_t> from_buffer(std::int64_t epoch, std::int64_t step) const;
  std::shared_ptr<const Buffer> buffer(std::int64_t epoch, std::int64_t index) const;

  std::shared_ptr<const ExampleFile> examples_;
  BatcherOptions options_;
  std::vector<const ExampleField*> sort_fields_;
  std::unique_ptr<const ScratchFile> sorted_;  // u32 [n], unless the file's order is used
  std::int64_t steps_ = 0;
  std::vector<Run> runs_;
  std::vector<std::int64_t> groups_;  // first positions of groups, within which examples are shuffled
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Buffer> last_buffer_;  // cache
};

}  // namespace sentencode
