#include "sentencode/training/batch_loader.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

struct BatchLoader::State {
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr failure;
  };

  std::function<Batch(Position)> make;
  std::int64_t steps = 0;
  Position from;
  pid_t process = ::getpid();
  std::mutex mutex;
  std::condition_variable room, ready;
  std::vector<Slot> slots;            // batch i is in slot i % size
  std::int64_t begun = 0, taken = 0;  // numbers of batches
  bool stop = false;
  std::vector<std::thread> threads;

  Position position(std::int64_t batch) const {
    const std::int64_t step = from.step + batch;
    return {from.epoch + step / steps, step % steps};
  }
  Slot& slot(std::int64_t batch) {
    return slots[static_cast<std::size_t>(batch % static_cast<std::int64_t>(slots.size()))];
  }
  void work();
  void join();
};

void BatchLoader::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    room.wait(lock, [&] { return stop || begun - taken < std::ssize(slots); });
    if (stop) return;
    const std::int64_t index = begun++;
    lock.unlock();
    Slot filled;
    try {
      filled.batch = make(position(index));
    } catch (...) {
      filled.failure = std::current_exception();
    }
    lock.lock();
    slot(index) = std::move(filled);
    ready.notify_all();
  }
}

void BatchLoader::State::join() {
  {
    const std::lock_guard lock(mutex);
    stop = true;
  }
  room.notify_all();
  for (std::thread& thread : threads) thread.join();
}

BatchLoader::BatchLoader(std::shared_ptr<const Batcher> batcher, Position from, int threads,
                         std::int64_t ahead)
    : BatchLoader([batcher](Position at) { return batcher->batch(at.epoch, at.step); },
                  batcher != nullptr ? batcher->steps() : 0, from, threads, ahead) {}

BatchLoader::BatchLoader(std::function<Batch(Position)> make, std::int64_t steps, Position from, int threads,
                         std::int64_t ahead)
    : state_(std::make_unique<State>()) {
  ST_CHECK(steps >= 1, InvalidInput, "an epoch needs at least one step, got ", steps);
  ST_CHECK(from.epoch >= 0 && from.step >= 0 && from.step < steps, InvalidInput,
           "position: expected a step from 0 to ", steps - 1, ", got epoch ", from.epoch, ", step ",
           from.step);
  ST_CHECK(threads >= 1, InvalidInput, "threads must be at least 1, got ", threads);
  ST_CHECK(ahead >= 1, InvalidInput, "ahead must be at least 1, got ", ahead);
  State& s = *state_;
  s.make = std::move(make);
  s.steps = steps;
  s.from = from;
  s.slots.resize(static_cast<std::size_t>(ahead));
  try {
    for (int i = 0; i < threads; ++i) s.threads.emplace_back([&s] { s.work(); });
  } catch (...) {
    s.join();
    throw;
  }
}

BatchLoader::~BatchLoader() {
  if (state_->process == ::getpid()) {
    state_->join();
  } else {
    static_cast<void>(state_.release());  // a forked child has no threads to join
  }
}

Batch BatchLoader::next() {
  State& s = *state_;
  ST_CHECK(s.process == ::getpid(), Unsupported,
           "this loader belongs to the process that this one was forked from: make a new one here");
  std::unique_lock lock(s.mutex);
  // Reads `taken` each time, because another thread may take the batch that this one waits for.
  const auto is_ready = [&] { return s.slot(s.taken).batch.has_value() || s.slot(s.taken).failure; };
  while (!s.ready.wait_for(lock, std::chrono::milliseconds(100), is_ready)) {
    lock.unlock();
    poll_interrupt();
    lock.lock();
  }
  State::Slot& slot = s.slot(s.taken);
  if (slot.failure) std::rethrow_exception(slot.failure);
  Batch batch = *std::exchange(slot.batch, std::nullopt);
  ++s.taken;
  s.room.notify_one();
  return batch;
}

BatchLoader::Position BatchLoader::position() const {
  ST_CHECK(state_->process == ::getpid(), Unsupported,
           "this loader belongs to the process that this one was forked from: make a new one here");
  const std::lock_guard lock(state_->mutex);
  return state_->position(state_->taken);
}

}  // namespace sentencode
