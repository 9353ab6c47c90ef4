// An emulated GPU: runs kernels on the CPU, with grid, blocks, threads, shared memory and __syncthreads.
// Include the .cu file after this one; it calls launch(kernel, grid, block, stream, job).
//
// Blocks run one after the other. The threads of a block are fibers: each runs to its next barrier before the
// next thread runs. `order` sets the order of both: results that depend on it reveal a race, or a write to
// another block's elements. A barrier that only some threads reach is an error. Memory belongs to the test,
// so that AddressSanitizer detects accesses past its end.
#pragma once

#include <math.h>  // exp without std::, as on a GPU
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define __global__
#define __device__
#define __host__
#define __shared__ static

struct dim3 {
  unsigned int x, y, z;
  explicit dim3(unsigned int along_x, unsigned int along_y = 1, unsigned int along_z = 1)
      : x(along_x), y(along_y), z(along_z) {}
};
inline dim3 threadIdx(0, 0, 0), blockIdx(0, 0, 0), blockDim(0), gridDim(0);

namespace sentencode::emulation {

/// A function with a separate stack, which can pause.
class Fiber {
 public:
  void begin(const std::function<void()>& body) {
    body_ = body;
    ended_ = false;
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_.data();
    own_.uc_stack.ss_size = stack_.size();
    makecontext(&own_, &Fiber::run, 0);
  }
  /// Runs until it pauses or ends.
  void resume() {
    running_ = this;
    void* fake = nullptr;
    leave(&fake, stack_.data(), stack_.size());
    swapcontext(&caller_, &own_);
    arrive(fake, nullptr, nullptr);
  }
  bool ended() const { return ended_; }
  static void pause() { running_->back(); }

 private:
  static void run() {
    arrive(nullptr, &callers_stack_, &callers_size_);
    running_->body_();
    running_->ended_ = true;
    running_->back();
  }
  void back() {
    void* fake = nullptr;
    leave(ended_ ? nullptr : &fake, callers_stack_, callers_size_);
    swapcontext(&own_, &caller_);
    arrive(fake, &callers_stack_, &callers_size_);
  }
  // Reports the current stack to AddressSanitizer.
  static void leave([[maybe_unused]] void** fake, [[maybe_unused]] const void* stack,
                    [[maybe_unused]] std::size_t size) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(fake, stack, size);
#endif
  }
  static void arrive([[maybe_unused]] void* fake, [[maybe_unused]] const void** stack,
                     [[maybe_unused]] std::size_t* size) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, stack, size);
#endif
  }

  static inline Fiber* running_ = nullptr;
  static inline const void* callers_stack_ = nullptr;
  static inline std::size_t callers_size_ = 0;
  std::function<void()> body_;
  std::vector<char> stack_ = std::vector<char>(64 * 1024);
  ucontext_t own_, caller_;
  bool ended_ = false;
};

enum class Order { forward, reverse, random };
inline Order order = Order::forward;

/// Threads run to the next barrier, until all have ended. fibers[i] is the thread turn[i].
inline void run_block(std::vector<Fiber>& fibers, std::vector<unsigned int>& turn, std::mt19937& random) {
  for (std::size_t running = fibers.size(); running > 0;) {
    if (order == Order::random) std::shuffle(turn.begin(), turn.end(), random);
    for (const unsigned int i : turn) {
      threadIdx = dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y);
      fibers[i].resume();
      if (fibers[i].ended()) --running;
    }
    if (running > 0 && running < fibers.size()) throw std::logic_error("some threads do not reach a barrier");
  }
}

template <typename Job>
int launch(void (*kernel)(Job), const dim3& grid, const dim3& block, void*, const Job& job) {
  if (grid.y > 65535 || grid.z > 65535 || grid.x * grid.y * grid.z == 0)
    return 9;  // cudaErrorInvalidConfiguration
  gridDim = grid;
  blockDim = block;
  std::vector<Fiber> fibers(block.x * block.y * block.z);
  std::vector<unsigned int> turn(fibers.size());
  std::iota(turn.begin(), turn.end(), 0U);
  if (order == Order::reverse) std::reverse(turn.begin(), turn.end());
  std::mt19937 random(1);
  std::vector<unsigned int> blocks(grid.x * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), 0U);
  if (order == Order::reverse) std::reverse(blocks.begin(), blocks.end());
  if (order == Order::random) std::shuffle(blocks.begin(), blocks.end(), random);
  for (const unsigned int i : blocks) {
    blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
    for (Fiber& fiber : fibers) fiber.begin([&] { kernel(job); });
    run_block(fibers, turn, random);
  }
  return 0;
}

}  // namespace sentencode::emulation

inline void __syncthreads() { sentencode::emulation::Fiber::pause(); }
using sentencode::emulation::launch;
