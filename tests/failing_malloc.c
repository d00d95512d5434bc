/* Preloaded, makes memory run out in a process at a moment that another process chooses: faults.py says when.

   Allocations of at least `least` bytes fail in the process `process`: `left` of them, then none. They are those of
   Python, NumPy, C++ (operator new calls malloc) and anonymous mmap. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

struct Orders {
  volatile int64_t process, least, left, failed;
};

static struct Orders* orders;

__attribute__((constructor)) static void open_orders(void) {
  const char* path = getenv("ACTUP_FAULTS_ORDERS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof(struct Orders), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) orders = mapped;
}

static int fails(size_t bytes) {
  if (!orders || !orders->process || (int64_t)bytes < orders->least || orders->left <= 0) return 0;
  if (orders->process != getpid()) return 0;
  __sync_fetch_and_sub(&orders->left, 1);
  __sync_fetch_and_add(&orders->failed, 1);
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails(bytes) ? NULL : __libc_malloc(bytes); }

void* calloc(size_t count, size_t bytes) {
  return fails(count * bytes) ? NULL : __libc_calloc(count, bytes);
}

void* realloc(void* old, size_t bytes) { return fails(bytes) ? NULL : __libc_realloc(old, bytes); }

void* memalign(size_t alignment, size_t bytes) {
  return fails(bytes) ? NULL : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  void* found = memalign(alignment, bytes);
  if (!found) return ENOMEM;
  *result = found;
  return 0;
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) && fails(bytes)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}
