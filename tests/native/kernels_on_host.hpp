// Runs CUDA kernels on the CPU, with the threads of a launch interleaved at random.
//
// A thread of the launch is a coroutine that gives up control before each access to memory that other threads
// write: __ldcg and the atomics. That is coarser than a GPU, but it shows every race between such accesses.
// Kernels must not synchronise the threads of a block.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#define __global__
#define __device__
#define __launch_bounds__(...)

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
static Index blockIdx, threadIdx, blockDim, gridDim;

struct alignas(16) float4 {
  float x, y, z, w;
};
template <class Number>
Number __shfl_xor_sync(unsigned, Number value, int) {
  return value;
}
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }

class Launch {
 public:
  // Calls the kernel once for every thread, of which `resident` are under way at a time.
  static void run(int64_t threads, int resident, uint64_t seed, const std::function<void()>& kernel) {
    Launch launch(threads, seed, kernel);
    launch.run_all(resident);
  }

  static void give_up_control() {
    Thread& own = *current_->running_;
    swapcontext(&own.context, &current_->scheduler_);
    own.set_index();
  }

 private:
  static constexpr int kBlock = 32, kStackBytes = 32 * 1024;

  struct Thread {
    int64_t number;
    bool done = false;
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(kStackBytes);
    void set_index() const {
      blockIdx.x = static_cast<unsigned>(number / kBlock);
      threadIdx.x = static_cast<unsigned>(number % kBlock);
      blockDim.x = kBlock;
    }
  };

  Launch(int64_t threads, uint64_t seed, const std::function<void()>& kernel)
      : threads_(threads), random_(seed), kernel_(kernel) {
    current_ = this;
  }

  void run_all(int resident) {
    std::vector<std::unique_ptr<Thread>> live;
    for (int64_t begun = 0; begun < threads_ || !live.empty();) {
      while (begun < threads_ && static_cast<int>(live.size()) < resident) live.push_back(begin(begun++));
      const size_t which = random_() % live.size();
      running_ = live[which].get();
      swapcontext(&scheduler_, &running_->context);
      if (!running_->done) continue;
      std::swap(live[which], live.back());
      live.pop_back();
    }
  }

  std::unique_ptr<Thread> begin(int64_t number) {
    auto thread = std::make_unique<Thread>();
    thread->number = number;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack.data();
    thread->context.uc_stack.ss_size = thread->stack.size();
    thread->context.uc_link = &scheduler_;
    makecontext(
        &thread->context,
        [] {
          current_->running_->set_index();
          current_->kernel_();
          current_->running_->done = true;
        },
        0);
    return thread;
  }

  inline static Launch* current_ = nullptr;
  const int64_t threads_;
  std::mt19937_64 random_;
  const std::function<void()>& kernel_;
  ucontext_t scheduler_;
  Thread* running_ = nullptr;
};

static inline int __ldcg(const int* address) {
  Launch::give_up_control();
  return *address;
}
static inline int atomicCAS(int* address, int expected, int wanted) {
  Launch::give_up_control();
  const int before = *address;
  if (before == expected) *address = wanted;
  return before;
}
static inline int atomicMin(int* address, int value) {
  Launch::give_up_control();
  const int before = *address;
  if (value < before) *address = value;
  return before;
}
static inline int atomicAdd(int* address, int value) {
  Launch::give_up_control();
  const int before = *address;
  *address += value;
  return before;
}
