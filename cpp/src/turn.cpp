#include "sentencode/turn.h"

#include <unistd.h>

#include <chrono>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

Turn::Taken Turn::take() {
  constexpr std::chrono::milliseconds kPause(50);
  const pid_t process = ::getpid();
  const auto taken = [&] { return taken_ && process_ == process; };
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      ST_CHECK(!taken() || owner_ != std::this_thread::get_id(), InvalidInput,
               "a signal's handler cannot use what the signal interrupted");
      if (free_.wait_for(lock, kPause, [&] { return !taken(); })) {
        taken_ = true;
        process_ = process;
        owner_ = std::this_thread::get_id();
        return Taken(*this);
      }
    }
    poll_interrupt();
  }
}

Turn::Taken::~Taken() {
  {
    const std::lock_guard lock(turn_.mutex_);
    turn_.taken_ = false;
  }
  turn_.free_.notify_one();
}

}  // namespace sentencode
