#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sentencode/training/batcher.h"

namespace sentencode {

/// Prefetches batches in order, on its own threads. Several threads may call next(); each batch goes to one.
/// A forked child has none of the threads: there, next() throws and the destructor does nothing.
class BatchLoader {
 public:
  struct Position {
    std::int64_t epoch = 0, step = 0;
    bool operator==(const Position&) const = default;
  };

  /// Holds at most `ahead` batches, including those in progress.
  BatchLoader(std::shared_ptr<const Batcher> batcher, Position from, int threads = 1, std::int64_t ahead = 8);
  /// The same with batches from a thread-safe function, `steps` in an epoch.
  BatchLoader(std::function<Batch(Position)> make, std::int64_t steps, Position from, int threads = 1,
              std::int64_t ahead = 8);
  ~BatchLoader();  // waits for batches in progress
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch; epochs follow without end. Rethrows an exception of its thread, also in later calls.
  /// Waiting can be interrupted.
  Batch next();
  Position position() const;  // of the next batch

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sentencode
