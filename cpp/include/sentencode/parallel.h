#pragma once

#include <cstdint>
#include <functional>

namespace sentencode {

/// How many threads every call of this library may use, the dense products included. Starts at the number of
/// processors this process may run on.
int num_threads();
void set_num_threads(int threads);

/// Calls body(begin, end) on consecutive pieces of [begin, end) of at most `grain` items, handed out as
/// threads get free. Threads live for the one call: nothing is left behind that a fork could inherit. With
/// one piece or one thread, body runs on the caller's. The first exception stops the others and is rethrown
/// here. Between pieces the caller's thread polls for Ctrl-C. Nested calls run on the calling thread alone.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

/// A hook that says whether the user wants to stop. The Python bindings install one that looks for signals.
using InterruptCheck = bool (*)();
void set_interrupt_check(InterruptCheck check);

/// Throws Interrupted when the hook says so. Long loops outside parallel_for call it, never under a lock.
void poll_interrupt();

}  // namespace sentencode
