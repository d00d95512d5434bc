// Memory for large arrays: uninitialised, aligned to cache lines, in huge pages where the system has them,
// and given back to it at once when it is no longer needed. On Windows, where the heap gives large arrays
// back by itself, all of it comes from the heap.
#pragma once

#if !defined(_WIN32)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace actup {

template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(int64_t size) : size_(size) {
    const size_t bytes = std::max<size_t>(size * sizeof(T), 1);
    data_ = static_cast<T*>(bytes < 2 * kHugePage ? ::operator new[](bytes, kCacheLine) : map(bytes));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
#if !defined(_WIN32)
    if (mapped_) {
      munmap(mapped_, mapped_bytes_);
      return;
    }
#endif
    if (data_) ::operator delete[](data_, kCacheLine);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }
  void clear() { std::memset(data_, 0, size_ * sizeof(T)); }

 private:
  static constexpr std::align_val_t kCacheLine{64};
  static constexpr size_t kHugePage = size_t{1} << 21;

#if defined(_WIN32)
  void* map(size_t bytes) { return ::operator new[](bytes, kCacheLine); }
#else
  // Maps one huge page more than needed and returns the first huge-page boundary inside; the memory before it
  // is never touched.
  void* map(size_t bytes) {
    mapped_bytes_ = bytes + kHugePage;
    void* const mapped =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    mapped_ = mapped;
    const auto begin = (reinterpret_cast<uintptr_t>(mapped) + kHugePage - 1) / kHugePage * kHugePage;
#if defined(MADV_HUGEPAGE)
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_HUGEPAGE);
#endif
    return reinterpret_cast<void*>(begin);
  }
#endif

  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  void* mapped_ = nullptr;  // null for memory from the heap
  size_t mapped_bytes_ = 0;
};

}  // namespace actup
