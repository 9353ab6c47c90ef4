#pragma once

#include <cstdint>
#include <functional>

namespace sentencode {

/// Number of threads that a call of this library may use, including dense products. Initially the number of
/// processors that this process may use.
int num_threads();
void set_num_threads(int threads);

/// Calls body(begin, end) on consecutive pieces of [begin, end) of at most `grain` items, scheduled
/// dynamically. Threads end with the call, so that a fork inherits none. With one piece or one thread, body
/// runs on the calling thread. The first exception stops the others and is rethrown. Between pieces the
/// calling thread polls for Ctrl-C. Nested calls run on one thread.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

/// A hook that returns whether the user wants to stop. The Python bindings install one that checks signals.
using InterruptCheck = bool (*)();
void set_interrupt_check(InterruptCheck check);

/// Throws Interrupted if the hook returns true. Long loops outside parallel_for call it, never under a lock.
void poll_interrupt();

}  // namespace sentencode
