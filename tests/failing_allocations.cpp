// For LD_PRELOAD: fails large allocations when a test asks for it, as if memory had run out. A crash prints in
// which libraries it happened.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>

namespace {

std::atomic<long> seen{0};        // large allocations since the last call of fail_allocation()
std::atomic<long> failing{-1};    // which of them fails; -1: none
std::atomic<bool> and_later{false};
std::atomic<size_t> least{~size_t{0}};  // bytes of a large allocation
constexpr size_t kLeastMapped = size_t{1} << 21;  // Python's own arenas are smaller

bool fails(size_t bytes) {
  if (bytes < least.load(std::memory_order_relaxed)) return false;
  const long number = seen.fetch_add(1);
  const long chosen = failing.load();
  if (chosen < 0 || number < chosen || (number > chosen && !and_later.load())) return false;
  errno = ENOMEM;
  return true;
}

constexpr int kMostFrames = 64;
struct sigaction former[NSIG];

void print_stack(int signal_number) {
  void* frames[kMostFrames];
  const char head[] = "libraries on the stack, innermost first:\n";
  if (write(2, head, sizeof(head) - 1) > 0) backtrace_symbols_fd(frames, backtrace(frames, kMostFrames), 2);
  sigaction(signal_number, &former[signal_number], nullptr);
  raise(signal_number);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// The allocation of that number from now on that has at least so many bytes fails; with `later`, all after it
// fail as well. -1: none fails. Returns how many large ones there were since the last call.
long fail_allocation(long number, size_t bytes, int later) {
  failing = -1;
  least = bytes;
  and_later = later != 0;
  const long before = seen.exchange(0);
  failing = number;
  return before;
}

// Has crashes print in which libraries they happen, before what handles them now.
void print_crashes() {
  void* frame;
  backtrace(&frame, 1);  // loads what it needs while there is memory
  struct sigaction action = {};
  action.sa_handler = print_stack;
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS}) sigaction(number, &action, &former[number]);
}

void* malloc(size_t bytes) {
  static const auto real = next<void* (*)(size_t)>("malloc");
  return fails(bytes) ? nullptr : real(bytes);
}

void* realloc(void* memory, size_t bytes) {
  static const auto real = next<void* (*)(void*, size_t)>("realloc");
  return fails(bytes) ? nullptr : real(memory, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  static const auto real = next<void* (*)(size_t, size_t)>("aligned_alloc");
  return fails(bytes) ? nullptr : real(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  static const auto real = next<int (*)(void**, size_t, size_t)>("posix_memalign");
  return fails(bytes) ? ENOMEM : real(memory, alignment, bytes);
}

extern void* __libc_calloc(size_t, size_t);  // dlsym() itself allocates with calloc
void* calloc(size_t count, size_t size) { return fails(count * size) ? nullptr : __libc_calloc(count, size); }

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  static const auto real = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
  if (bytes >= kLeastMapped && (flags & MAP_ANONYMOUS) && fails(bytes)) return MAP_FAILED;
  return real(address, bytes, protection, flags, file, offset);
}

void* mremap(void* old, size_t old_bytes, size_t bytes, int flags, ...) {
  static const auto real = next<void* (*)(void*, size_t, size_t, int, ...)>("mremap");
  return fails(bytes) ? MAP_FAILED : real(old, old_bytes, bytes, flags);
}

}  // extern "C"
