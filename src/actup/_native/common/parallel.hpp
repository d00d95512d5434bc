// A small thread pool: loops over chunks. Every thread has a share of them, the same in each loop of as many
// chunks, so that it meets data which its core still has in its cache. Chunks are claimed one by one, and
// those of other shares when its own is done: a delayed thread delays only its chunk.
//
// Work is split into chunks by the caller, and a chunk writes only what is its own. Results are the same at
// any thread count: they do not depend on the order of chunks, nor on their size where a caller makes more of
// them for more threads. Idle workers spin briefly, then sleep. A caller that
// finds the pool busy (another Python thread is inside) runs its chunks alone. After fork() the child starts
// a new pool. The calling thread passes a checkpoint of its LongCall after each of its chunks; when a chunk
// or a checkpoint throws, chunks that have not begun are skipped.
#pragma once

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "common/long_call.hpp"

namespace actup {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class ThreadPool {
 public:
  static ThreadPool& instance() {
#if !defined(_WIN32)
    static std::once_flag fork_handler;
    std::call_once(fork_handler,
                   [] { pthread_atfork(nullptr, nullptr, [] { current() = new ThreadPool; }); });
#endif
    return *current();
  }

  // Calls body(chunk) for every chunk in [0, count), on at most `threads` threads including this one.
  template <class Body>
  void run(int64_t count, int threads, const Body& body) {
    run_chunks(count, threads, &body,
               [](const void* f, int64_t chunk) { (*static_cast<const Body*>(f))(chunk); });
  }

  // Inside a chunk that may take long: the calling thread passes a checkpoint, a worker stops if the loop has
  // failed elsewhere.
  static void check() {
    if (LongCall* const call = LongCall::current()) call->check();
    if (works_for() && works_for()->failed()) throw LoopFailed();
  }

 private:
  struct LoopFailed {};  // follows the failure that is reported

  using Call = void (*)(const void* body, int64_t chunk);

  // Not inlined: a copy of every loop's body next to the checkpoints would be slower code, and more of it.
  [[gnu::noinline]] void run_chunks(int64_t count, int threads, const void* body, Call call) {
    if (count <= 0) return;
    LoopProgress progress;
    if (count == 1 || threads <= 1 || busy_.exchange(true, std::memory_order_acquire)) {
      for (int64_t chunk = 0; chunk < count; ++chunk) {
        call(body, chunk);
        progress.pass(static_cast<double>(chunk + 1), static_cast<double>(count));
      }
      return;
    }
    while (base_ < count && !failed()) {  // a ticket holds at most kMaxCount chunks
      const int64_t batch = std::min<int64_t>(count - base_, kMaxCount);
      publish(batch, threads, body, call, [&](int64_t finished) {
        progress.pass(static_cast<double>(base_ + finished), static_cast<double>(count));
      });
      base_ += batch;
    }
    base_ = 0;
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    failed_.store(false, std::memory_order_relaxed);
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
  }

  // A ticket packs the generation of the task and the chunks [first, end) of a share that nobody has claimed
  // yet. The share's own thread claims from the front, all others from the back.
  static constexpr int kCountBits = 20;
  static constexpr uint64_t kMaxCount = (1u << kCountBits) - 1;
  static uint64_t ticket(uint64_t generation, uint64_t first, uint64_t end) {
    return generation << (2 * kCountBits) | first << kCountBits | end;
  }
  static uint64_t first_of(uint64_t t) { return t >> kCountBits & kMaxCount; }
  static uint64_t end_of(uint64_t t) { return t & kMaxCount; }

  static ThreadPool*& current() {
    static ThreadPool* pool = new ThreadPool;  // never destroyed: workers may outlive static destructors
    return pool;
  }

  // The pool of a worker; null on other threads.
  static ThreadPool*& works_for() {
    static thread_local ThreadPool* pool = nullptr;
    return pool;
  }

  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  void fail() {
    std::lock_guard guard(failing_);
    if (!failure_) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }

  // Runs `count` chunks; the calling thread calls checkpoint(finished chunks) after each of its own.
  template <class Checkpoint>
  void publish(int64_t count, int threads, const void* body, Call call, const Checkpoint& checkpoint) {
    hire(threads - 1);
    body_ = body;
    call_ = call;
    count_ = static_cast<uint32_t>(count);
    finished_.store(0, std::memory_order_relaxed);
    helpers_.store(threads - 1, std::memory_order_relaxed);
    const int64_t shares = std::min({int64_t{threads}, count, kMaxShares});
    share_count_.store(static_cast<int>(shares), std::memory_order_relaxed);
    ++generation_;
    for (int64_t share = 0; share < shares; ++share)
      shares_[share].ticket.store(ticket(generation_, count * share / shares, count * (share + 1) / shares),
                                  std::memory_order_release);
    signal_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) signal_.notify_all();
    const auto after_chunk = [&](int64_t done) {
      try {
        checkpoint(finished_.load(std::memory_order_relaxed) + done);
      } catch (...) {
        fail();
      }
    };
    work_on_shares(0, after_chunk);
    wait_for(count_);
  }

  // As many workers as the system grants; the caller takes what is left to do.
  void hire(int wanted) {
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this, id = workers_] { work(id); }).detach();
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  // A worker that another process keeps from its core can take over this one if the caller sleeps.
  void wait_for(uint32_t count) {
    for (int spins = 0; finished_.load(std::memory_order_acquire) < count && spins < kSpins; ++spins) relax();
    for (uint32_t done; (done = finished_.load(std::memory_order_acquire)) < count;)
      finished_.wait(done, std::memory_order_acquire);
  }

  // Runs chunks of the current task until none are left to claim, those of its own share first; calls
  // after_chunk(number of chunks that it has not reported yet) after each. A task stays alive until all of
  // its chunks are reported, which is done for some at a time: all threads write there.
  template <class AfterChunk>
  void work_on_shares(int own, const AfterChunk& after_chunk) {
    const int shares = share_count_.load(std::memory_order_relaxed);
    for (int step = 0; step < shares; ++step) {
      std::atomic<uint64_t>& share = shares_[(own + step) % shares].ticket;
      uint32_t unreported = 0, count = 0;
      for (uint64_t chunk = 0; claim_one(share, step == 0, chunk);) {
        count = count_;
        if (!failed()) {
          try {
            call_(body_, base_ + static_cast<int64_t>(chunk));
          } catch (...) {
            fail();
          }
        }
        after_chunk(static_cast<int64_t>(++unreported));
        if (unreported > count / kReportsPerTask) report(std::exchange(unreported, 0), count);
      }
      if (unreported > 0) report(unreported, count);
    }
  }

  static bool claim_one(std::atomic<uint64_t>& share, bool from_front, uint64_t& chunk) {
    uint64_t t = share.load(std::memory_order_acquire), rest;
    do {
      if (first_of(t) >= end_of(t)) return false;
      rest = from_front ? t + (uint64_t{1} << kCountBits) : t - 1;
    } while (!share.compare_exchange_weak(t, rest, std::memory_order_acq_rel, std::memory_order_acquire));
    chunk = from_front ? first_of(t) : end_of(t) - 1;
    return true;
  }

  void report(uint32_t chunks, uint32_t count) {
    if (finished_.fetch_add(chunks, std::memory_order_seq_cst) + chunks == count) finished_.notify_one();
  }

  void work(int id) {
    works_for() = this;
    uint32_t seen = 0;
    for (;;) {
      for (int spins = 0; signal_.load(std::memory_order_acquire) == seen && spins < kSpins; ++spins) relax();
      if (signal_.load(std::memory_order_seq_cst) == seen) {
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        signal_.wait(seen, std::memory_order_seq_cst);
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
      }
      seen = signal_.load(std::memory_order_acquire);
      if (id < helpers_.load(std::memory_order_relaxed)) work_on_shares(id + 1, [](int64_t) {});
    }
  }

  static constexpr int kSpins = 2000;              // some tens of microseconds
  static constexpr uint32_t kReportsPerTask = 64;  // of a thread, at most
  static constexpr int64_t kMaxShares = 64;

  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};
  };

  std::atomic<bool> busy_{false};
  int workers_ = 0;
  uint64_t generation_ = 0;
  int64_t base_ = 0;
  uint32_t count_ = 0;
  const void* body_ = nullptr;
  Call call_ = nullptr;
  std::mutex failing_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  Share shares_[kMaxShares];
  alignas(64) std::atomic<uint32_t> finished_{0};
  alignas(64) std::atomic<uint32_t> signal_{0};
  std::atomic<int> helpers_{0};
  std::atomic<int> share_count_{0};
  std::atomic<int> sleepers_{0};
};

// body(chunk) for every chunk in [0, count).
template <class Body>
void parallel_chunks(int64_t count, int threads, const Body& body) {
  ThreadPool::instance().run(count, threads, body);
}

// body(begin, end) over [0, size) in chunks of `grain`.
template <class Body>
void parallel_ranges(int64_t size, int64_t grain, int threads, const Body& body) {
  parallel_chunks((size + grain - 1) / grain, threads,
                  [&](int64_t chunk) { body(chunk * grain, std::min(size, (chunk + 1) * grain)); });
}

// Call inside a chunk that may take more than some hundredths of a second.
inline void checkpoint() { ThreadPool::check(); }

}  // namespace actup
