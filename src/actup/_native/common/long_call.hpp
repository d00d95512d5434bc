// A long call from Python: it can be interrupted, and says how far it has come.
//
// The bindings open a LongCall around compiled work. The thread that Python called passes a checkpoint
// between the chunks of every parallel loop, and inside a chunk that may take long. There, every 50 ms, it
// runs pending signal handlers (Ctrl-C) and reports progress. An exception raised by either ends the call on
// all threads.
#pragma once

#include <algorithm>
#include <chrono>

namespace actup {

class LongCall {
 public:
  explicit LongCall(std::chrono::milliseconds interval = std::chrono::milliseconds(50))
      : outer_(current()), interval_(interval), next_(Clock::now() + interval) {
    current() = this;
  }
  virtual ~LongCall() { current() = outer_; }
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  // The call that this thread works for; null on threads that Python did not call.
  static LongCall*& current() {
    static thread_local LongCall* call = nullptr;
    return call;
  }

  void check() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    look_up(reached_);
    next_ = Clock::now() + interval_;
  }

 protected:
  // Runs signal handlers and reports the share of the call that is done; throws to end the call.
  virtual void look_up(double fraction) = 0;

 private:
  friend class LoopProgress;
  friend void set_progress_range(double begin, double end);

  using Clock = std::chrono::steady_clock;

  LongCall* const outer_;
  const std::chrono::milliseconds interval_;
  Clock::time_point next_;
  bool in_loop_ = false;
  double begin_ = 0, end_ = 0, reached_ = 0;
};

// No checkpoint is passed during its lifetime: what is begun inside is completed.
class Uninterrupted {
 public:
  Uninterrupted() : call_(LongCall::current()) { LongCall::current() = nullptr; }
  ~Uninterrupted() { LongCall::current() = call_; }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  LongCall* const call_;
};

// The loops that follow take the progress of the call from `begin` to `end`. Without it, loops do not count.
inline void set_progress_range(double begin, double end) {
  if (LongCall* const call = LongCall::current()) {
    call->begin_ = begin;
    call->end_ = end;
  }
}

// Counts the chunks of one loop on the calling thread. Loops inside another loop do not count.
class LoopProgress {
 public:
  LoopProgress() : call_(LongCall::current()), counts_(call_ && !call_->in_loop_) {
    if (counts_) call_->in_loop_ = true;
  }
  ~LoopProgress() {
    if (counts_) call_->in_loop_ = false;
  }
  LoopProgress(const LoopProgress&) = delete;
  LoopProgress& operator=(const LoopProgress&) = delete;

  // Passes a checkpoint with `done` of `count` chunks finished.
  void pass(double done, double count) {
    if (!call_) return;
    if (counts_) {
      call_->reached_ =
          std::max(call_->reached_, call_->begin_ + (call_->end_ - call_->begin_) * done / count);
    }
    call_->check();
  }

 private:
  LongCall* const call_;
  const bool counts_;
};

}  // namespace actup
