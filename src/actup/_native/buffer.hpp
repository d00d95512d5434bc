// Memory for large arrays: uninitialised, aligned to cache lines, in huge pages where the system has them.
#pragma once

#include <sys/mman.h>

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
    const bool large = bytes >= 2 * kHugePage;
    alignment_ = large ? kHugePage : kCacheLine;
    data_ = static_cast<T*>(::operator new[](bytes, std::align_val_t{alignment_}));
#if defined(MADV_HUGEPAGE)
    if (large) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_) ::operator delete[](data_, std::align_val_t{alignment_});
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }
  void clear() { std::memset(data_, 0, size_ * sizeof(T)); }

 private:
  static constexpr size_t kCacheLine = 64, kHugePage = size_t{1} << 21;

  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(alignment_, other.alignment_);
  }

  T* data_ = nullptr;
  int64_t size_ = 0;
  size_t alignment_ = kCacheLine;
};

}  // namespace actup
