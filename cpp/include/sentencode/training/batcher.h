#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sentencode/io/scratch_file.h"
#include "sentencode/training/example_file.h"

namespace sentencode {

/// Which examples share a batch, by the lengths of some fields (`length_fields`).
enum class BatchMode {
  plain,          // as they come: shuffled or in order
  equal_length,   // all of one length in each of these fields: nothing is padded there
  buckets,        // in each of them lengths of one range
  sorted_buffer,  // some batches' worth of the shuffled order, sorted by length and cut
  token_budget,   // as many of similar length as fit into so many tokens of these fields, padding counted
};
std::string_view name_of(BatchMode mode);
BatchMode batch_mode_named(std::string_view name);  // InvalidInput names the choices

struct BatcherOptions {
  BatchMode mode = BatchMode::equal_length;
  std::vector<std::string> length_fields{};  // sorted by the first of them, then by the next; empty: the
                                             // file's first field
  std::int64_t batch_size = 64;              // examples; for token_budget the most there may be, 0: no bound
  std::vector<std::int64_t> bounds{};  // of buckets: the longest length of each, rising; longer examples are
                                       // in one more
  std::int64_t buffer_batches = 100;   // of sorted_buffer
  std::int64_t max_tokens = 0;         // of token_budget
  bool shuffle = true;
  bool drop_short = false;  // leaves out batches of less than batch_size, other examples in every epoch
  std::uint64_t seed = 0;
  std::int64_t pad = 0;              // the id behind an example's end
  std::int64_t rank = 0, world = 1;  // of several processes, this one
};

/// One field of a batch.
struct BatchField {
  std::vector<std::int64_t> ids;      // [B, T], padded to the longest here
  std::vector<std::int64_t> lengths;  // [B]
  std::int64_t width = 0;             // T
  std::int64_t tokens = 0;            // in the batch of all processes together, without padding
};

struct Batch {
  std::int64_t epoch = 0, step = 0;
  std::int64_t total = 0;                // examples in the batch of all processes together
  std::vector<std::int64_t> numbers;     // [B] of the examples here; none where there are more processes
  std::vector<BatchField> fields;        // in the order of the file
  std::vector<std::int64_t> int_labels;  // [B], or empty
  std::vector<float> float_labels;       // the like
};

/// Cuts examples into batches. Every example is in one batch of every epoch (but for drop_short), and which
/// one is a pure function of the seed, the epoch and the step: no state, so that a position is two integers;
/// no order in memory, which does not grow with the corpus. Safe to use from several threads.
///
/// Of w processes, the one of rank r takes every w-th example of each batch, from the r-th on: together they
/// see what one process would.
class Batcher {
 public:
  Batcher(std::shared_ptr<const ExampleFile> examples, BatcherOptions options);

  std::int64_t steps() const { return steps_; }  // in an epoch, at least 1
  Batch batch(std::int64_t epoch, std::int64_t step) const;
  /// The examples of the batch of all processes.
  std::vector<std::int64_t> numbers(std::int64_t epoch, std::int64_t step) const;

  const std::shared_ptr<const ExampleFile>& examples() const { return examples_; }
  const BatcherOptions& options() const { return options_; }

 private:
  /// Consecutive batches of one size; the last may be smaller. Places are those of an order of all examples:
  /// by length, or of the file.
  struct Run {
    std::int64_t first_step, begin, end, size;
  };
  struct Buffer {
    std::int64_t epoch = -1, index = -1;
    std::vector<std::uint32_t> numbers;
  };

  std::span<const std::uint32_t> order() const;
  std::weak_ordering compare(std::int64_t a, std::int64_t b) const;
  bool share_group(std::int64_t a, std::int64_t b) const;
  std::int64_t bucket(std::int64_t length) const;
  void sort_by_length();
  std::int64_t group_end(std::int64_t place) const;
  void add_run(std::int64_t begin, std::int64_t end, std::int64_t size);
  void plan_groups();
  void plan_budget();
  std::uint64_t key(std::int64_t epoch, std::uint64_t purpose) const;
  std::vector<std::int64_t> from_runs(std::int64_t epoch, std::int64_t step) const;
  std::vector<std::int64_t> from_buffer(std::int64_t epoch, std::int64_t step) const;
  std::shared_ptr<const Buffer> buffer(std::int64_t epoch, std::int64_t index) const;

  std::shared_ptr<const ExampleFile> examples_;
  BatcherOptions options_;
  std::vector<const ExampleField*> sorting_;      // the fields of `length_fields`
  std::unique_ptr<const ScratchFile> own_order_;  // u32 [n], where it is not the file's
  std::int64_t steps_ = 0;
  std::vector<Run> runs_;             // no more than there are lengths (of these fields together), twice
  std::vector<std::int64_t> groups_;  // where each begins whose examples change places among themselves
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Buffer> last_buffer_;  // sorting one serves all its batches
};

}  // namespace sentencode
