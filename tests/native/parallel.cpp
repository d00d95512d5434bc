// The thread pool under a sanitizer: every chunk once, nested use, callers side by side, exceptions, fork.
#include "common/parallel.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

using actup::parallel_chunks;
using actup::parallel_ranges;

void every_chunk_runs_once(int64_t count, int threads) {
  std::vector<int> seen(count, 0);  // plain integers: two threads on one chunk would be a race
  parallel_chunks(count, threads, [&](int64_t chunk) { ++seen[chunk]; });
  for (const int times : seen) CHECK(times == 1);
}

void ranges_cover_everything() {
  for (const int64_t size : {0, 1, 9, 10, 11, 1000}) {
    std::vector<int> seen(size, 0);
    parallel_ranges(size, 10, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[i];
    });
    for (const int times : seen) CHECK(times == 1);
  }
}

// Tasks so short that some workers come too late, find the next task, or sleep in between.
void short_tasks_in_a_row(int tasks) {
  int64_t sums[5] = {};
  for (int task = 0; task < tasks; ++task) {
    parallel_chunks(2 + task % 4, 2 + task % 3, [&](int64_t chunk) { sums[chunk] += task; });
    if (task % 512 == 0) usleep(200);  // long enough for workers to sleep
  }
  int64_t expected[5] = {};
  for (int task = 0; task < tasks; ++task)
    for (int chunk = 0; chunk < 2 + task % 4; ++chunk) expected[chunk] += task;
  for (int chunk = 0; chunk < 5; ++chunk) CHECK(sums[chunk] == expected[chunk]);
}

void nested_use_runs_alone() {
  std::vector<int> seen(8 * 8, 0);
  parallel_chunks(
      8, 4, [&](int64_t outer) { parallel_chunks(8, 4, [&](int64_t inner) { ++seen[outer * 8 + inner]; }); });
  for (const int times : seen) CHECK(times == 1);
}

void callers_side_by_side() {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([] {
      for (int repeat = 0; repeat < 200; ++repeat) every_chunk_runs_once(20, 3);
    });
  for (std::thread& caller : callers) caller.join();
}

void an_exception_reaches_the_caller(int threads) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::string message;
    try {
      parallel_chunks(20, threads, [](int64_t chunk) {
        if (chunk % 5 == 3) throw std::runtime_error("chunk");
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    CHECK(message == "chunk");
    every_chunk_runs_once(20, threads);  // the pool works on
  }
}

// A call that is interrupted at one of its checkpoints.
class InterruptedCall : public actup::LongCall {
 public:
  explicit InterruptedCall(int at) : LongCall(std::chrono::milliseconds(0)), left_(at) {}

  double reached = 0;

 protected:
  void look_up(double fraction) override {
    CHECK(fraction >= reached && fraction <= 1);
    reached = fraction;
    if (--left_ == 0) throw std::runtime_error("interrupted");
  }

 private:
  int left_;
};

void a_checkpoint_ends_the_loop(int threads) {
  for (const int64_t count : {2, 7, 100'000}) {
    std::atomic<int64_t> begun{0};
    bool interrupted = false;
    try {
      InterruptedCall call(1);
      parallel_chunks(count, threads, [&](int64_t) { ++begun; });
    } catch (const std::runtime_error&) {
      interrupted = true;
    }
    CHECK(interrupted || count < 100);  // workers may take the few chunks of a short loop
    CHECK(count < 100 || begun < count);
    every_chunk_runs_once(20, threads);
  }
}

// Chunks that would take for ever, but for the checkpoints inside.
void a_checkpoint_ends_long_chunks() {
  bool interrupted = false;
  try {
    InterruptedCall call(5);
    parallel_chunks(8, 4, [](int64_t) {
      for (;;) actup::checkpoint();
    });
  } catch (const std::runtime_error&) {
    interrupted = true;
  }
  CHECK(interrupted);
  CHECK(actup::LongCall::current() == nullptr);
}

void loops_say_how_far_they_are(int threads) {
  InterruptedCall call(-1);
  parallel_chunks(100, threads, [](int64_t) {});  // no range: does not count
  CHECK(call.reached == 0);
  actup::set_progress_range(0, 0.5);
  parallel_chunks(100, threads, [&](int64_t) { parallel_chunks(3, 2, [](int64_t) {}); });
  CHECK(call.reached > 0 && call.reached <= 0.5);
  actup::set_progress_range(0.5, 1);
  parallel_chunks(100, threads, [](int64_t) {});
  CHECK(call.reached > 0.5);
  {
    const actup::Uninterrupted silent;
    CHECK(actup::LongCall::current() == nullptr);
  }
  CHECK(actup::LongCall::current() == &call);
}

// Children of a process with a pool, one of them forked while the pool is at work.
void forked_children_have_a_pool_of_their_own() {
#if !defined(__SANITIZE_THREAD__)  // which cannot follow threads into a child
  std::atomic<bool> done{false};
  std::thread worker([&] {
    while (!done) every_chunk_runs_once(50, 3);
  });
  for (int child = 0; child < 10; ++child) {
    const pid_t id = fork();
    if (id == 0) {
      alarm(20);  // a pool that waits for threads it does not have would wait for ever
      every_chunk_runs_once(100, 3);
      _exit(0);
    }
    int status = -1;
    CHECK(waitpid(id, &status, 0) == id);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  done = true;
  worker.join();
#endif
}

}  // namespace

int main() {
  for (const int threads : {1, 2, 3, 8})
    for (const int64_t count : {0, 1, 2, 7, 1000}) every_chunk_runs_once(count, threads);
  every_chunk_runs_once((1 << 20) + 5, 3);  // more than one ticket holds
  ranges_cover_everything();
  short_tasks_in_a_row(30000);
  nested_use_runs_alone();
  callers_side_by_side();
  for (const int threads : {1, 2, 4}) a_checkpoint_ends_the_loop(threads);
  for (int repeat = 0; repeat < 20; ++repeat) a_checkpoint_ends_long_chunks();
  for (const int threads : {1, 3}) loops_say_how_far_they_are(threads);
  an_exception_reaches_the_caller(1);
  an_exception_reaches_the_caller(4);
  forked_children_have_a_pool_of_their_own();
}
