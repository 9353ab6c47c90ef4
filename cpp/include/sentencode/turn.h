#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sentencode {

/// What threads take turns at where the work is long and asks for Ctrl-C on its way. Between two looks at the
/// hook (see parallel.h) no lock is held, by whoever works or waits: the hook may want Python's GIL, and run
/// code that comes back here. Nobody who holds the GIL may wait for a turn.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// The turn, until it goes out of scope.
  class Taken {
   public:
    explicit Taken(Turn& turn) : turn_(turn) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken();

   private:
    Turn& turn_;
  };

  /// Waits until nobody has it, and asks for Ctrl-C meanwhile. InvalidInput where this very thread has it: a
  /// signal's handler came back to what it interrupted.
  [[nodiscard]] Taken take();

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable free_;
  bool taken_ = false;
  std::thread::id owner_;
};

}  // namespace sentencode
