#include "sentencode/turn.h"

#include <chrono>

#include "sentencode/error.h"
#include "sentencode/parallel.h"

namespace sentencode {

Turn::Taken Turn::take() {
  constexpr std::chrono::milliseconds kPause(50);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      ST_CHECK(!taken_ || owner_ != std::this_thread::get_id(), InvalidInput,
               "a signal's handler cannot use what the signal interrupted");
      if (free_.wait_for(lock, kPause, [this] { return !taken_; })) {
        taken_ = true;
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
