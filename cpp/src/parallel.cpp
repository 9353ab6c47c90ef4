#include "sentencode/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "one_blas_thread.h"
#include "sentencode/error.h"
#include "sentencode/processors.h"

#if SENTENCODE_HAVE_OPENBLAS
#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)
#define ST_OPENBLAS(name) ST_JOIN(SENTENCODE_BLAS_PREFIX, name)
extern "C" {
int ST_OPENBLAS(openblas_get_num_threads)(void);
void ST_OPENBLAS(openblas_set_num_threads)(int);
char* ST_OPENBLAS(openblas_get_config)(void);
}
#endif

namespace sentencode {
namespace {

#if SENTENCODE_HAVE_OPENBLAS
// Maximum of threads of this OpenBLAS. It is the default, so that only lower counts are a user's choice.
int blas_capacity() {
  static const int capacity = [] {
    constexpr char kKey[] = "MAX_THREADS=";
    const char* config = ST_OPENBLAS(openblas_get_config)();
    const char* key = std::strstr(config, kKey);
    int value = INT_MAX;
    if (key != nullptr) std::from_chars(key + sizeof kKey - 1, config + std::strlen(config), value);
    return value;
  }();
  return capacity;
}

// Number of OneBlasThread objects, and OpenBLAS's thread count without them (0: there are none).
std::mutex alone_mutex;
int alone_users = 0;
std::atomic<int> alone_before{0};

// A count below the capacity was set by the user: through us, threadpoolctl or OpenBLAS's own variable.
int blas_limit() {
  const int before = alone_before, now = ST_OPENBLAS(openblas_get_num_threads)();
  const int threads = before > 0 && now == 1 ? before : now;
  return threads < blas_capacity() ? std::max(1, threads) : INT_MAX;
}

void set_blas_threads(int threads) {
  threads = std::min(threads, blas_capacity());
  const std::lock_guard lock(alone_mutex);
  if (alone_users > 0) {
    alone_before = threads;
  } else {
    ST_OPENBLAS(openblas_set_num_threads)(threads);
  }
}

// OpenBLAS counts processors and ignores a container's CPU quota. This runs before any product.
[[maybe_unused]] const bool kQuotaIsSet = [] {
  const int quota = processors();
  const bool less = quota < ST_OPENBLAS(openblas_get_num_threads)();
  if (less) set_blas_threads(quota);
  return less;
}();
#else
int blas_limit() { return INT_MAX; }
void set_blas_threads(int) {}
#endif

std::atomic<int>& requested_threads() {
  static std::atomic<int> threads{processors()};
  return threads;
}

std::atomic<InterruptCheck> interrupt_check{nullptr};

thread_local bool inside_parallel_for = false;  // nested calls run on one thread
thread_local bool is_worker = false;            // only the calling thread checks for signals

/// The pieces of one call; threads take the next one when they are free.
class Pieces {
 public:
  Pieces(std::int64_t begin, std::int64_t end, std::int64_t grain,
         const std::function<void(std::int64_t, std::int64_t)>& body)
      : begin_(begin), end_(end), grain_(grain), count_((end - begin - 1) / grain + 1), body_(body) {}

  std::int64_t count() const { return count_; }

  void work() noexcept {
    const bool nested = std::exchange(inside_parallel_for, true);
    try {
      for (std::int64_t i = next_++; i < count_; i = next_++) {
        poll_interrupt();
        const std::int64_t first = begin_ + i * grain_;
        body_(first, first + std::min(grain_, end_ - first));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      next_ = count_;
    }
    inside_parallel_for = nested;
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::int64_t begin_, end_, grain_, count_;
  const std::function<void(std::int64_t, std::int64_t)>& body_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

int num_threads() { return std::min(requested_threads().load(), blas_limit()); }

void set_num_threads(int threads) {
  ST_CHECK(threads >= 1, InvalidInput, "set_num_threads: threads must be at least 1, got ", threads);
  requested_threads() = threads;
  set_blas_threads(threads);
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  ST_CHECK(grain >= 1, InvalidInput, "parallel_for: grain must be at least 1, got ", grain);
  if (begin >= end) return;
  Pieces pieces(begin, end, grain, body);
  std::vector<std::jthread> workers;
  if (!inside_parallel_for) {
    const std::int64_t threads = std::min<std::int64_t>(num_threads(), pieces.count());
    try {
      for (std::int64_t i = 1; i < threads; ++i) {
        workers.emplace_back([&pieces] {
          is_worker = true;
          pieces.work();
        });
      }
    } catch (const std::system_error&) {
      // No more threads are available: the others do all the work.
    }
  }
  pieces.work();
  workers.clear();  // joins
  pieces.rethrow();
}

#if SENTENCODE_HAVE_OPENBLAS
OneBlasThread::OneBlasThread() {
  const std::lock_guard lock(alone_mutex);
  if (alone_users++ > 0) return;
  alone_before = ST_OPENBLAS(openblas_get_num_threads)();
  ST_OPENBLAS(openblas_set_num_threads)(1);
}

OneBlasThread::~OneBlasThread() {
  const std::lock_guard lock(alone_mutex);
  if (--alone_users > 0) return;
  // Any other count was set by someone else meanwhile.
  if (ST_OPENBLAS(openblas_get_num_threads)() == 1) ST_OPENBLAS(openblas_set_num_threads)(alone_before);
  alone_before = 0;
}
#else
OneBlasThread::OneBlasThread() = default;
OneBlasThread::~OneBlasThread() = default;
#endif

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

void poll_interrupt() {
  const InterruptCheck check = interrupt_check;
  if (!is_worker && check != nullptr && check()) throw Interrupted();
}

}  // namespace sentencode
