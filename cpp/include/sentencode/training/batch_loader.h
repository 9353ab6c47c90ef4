#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sentencode/training/batcher.h"

namespace sentencode {

/// Makes batches ahead of their use, on threads of its own, from a position on and in order. Each batch goes
/// to one of the threads that ask.
///
/// Its threads live as long as it does. A process that is forked meanwhile has none of them: there, next()
/// is refused and the destructor leaves everything as it is.
class BatchLoader {
 public:
  struct Position {
    std::int64_t epoch = 0, step = 0;
    bool operator==(const Position&) const = default;
  };

  /// `ahead` batches are held at most, those that are being made included.
  BatchLoader(std::shared_ptr<const Batcher> batcher, Position from, int threads = 1, std::int64_t ahead = 8);
  /// The like of batches that `make` makes, `steps` in an epoch: those of a batcher with something done to
  /// them, such as noise. It is called from all threads at once.
  BatchLoader(std::function<Batch(Position)> make, std::int64_t steps, Position from, int threads = 1,
              std::int64_t ahead = 8);
  ~BatchLoader();  // waits for what is being made
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// The next batch; epoch follows epoch without an end. What made it fail is thrown here, now and ever
  /// after. Waiting can be interrupted.
  Batch next();
  /// Of the batch that comes next.
  Position position() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sentencode
