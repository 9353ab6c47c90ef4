#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sentencode {

/// A mutex for long computations that poll for Ctrl-C (see parallel.h). The hook may take Python's GIL and
/// run code that comes back here, so no std::mutex is held while it is called. Threads that hold the GIL must
/// not wait for a turn. In a forked process, the turns of threads that are not there are free.
class Turn {
 public:
  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Holds the turn until it goes out of scope.
  class Taken {
   public:
    explicit Taken(Turn& turn) : turn_(turn) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken();

   private:
    Turn& turn_;
  };

  /// Waits for the turn, and polls for Ctrl-C meanwhile. InvalidInput if this thread already has it: a signal
  /// handler called what it had interrupted.
  [[nodiscard]] Taken take();

 private:
  std::mutex mutex_;  // guards the members below
  std::condition_variable free_;
  bool taken_ = false;
  std::thread::id owner_;
  pid_t process_ = 0;  // of the owner
};

}  // namespace sentencode
