// GrowingArray: memory that grows part by part and ends exactly as large as what was written. On Linux a
// large array grows by moving its pages, so that no second copy of it exists meanwhile, and goes back to the
// system at once when it is freed.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace actup {

template <class T>
class GrowingArray {
  static_assert(std::is_trivial_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { give_back(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t index) { return data_[index]; }
  const T& operator[](int64_t index) const { return data_[index]; }

  // Keeps what has been written.
  void resize(int64_t size) {
    const size_t bytes = size > 0 ? static_cast<size_t>(size) * sizeof(T) : 1;
#if defined(__linux__)
    if (mapped_ || bytes >= kLeastMapped) return resize_mapped(bytes);
#endif
    void* const grown = std::realloc(static_cast<void*>(data_), bytes);
    if (!grown) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    bytes_ = bytes;
  }

 private:
#if defined(__linux__)
  static constexpr size_t kLeastMapped = size_t{1} << 22;

  void resize_mapped(size_t bytes) {
    void* const grown =
        mapped_ ? mremap(data_, bytes_, bytes, MREMAP_MAYMOVE)
                : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) throw std::bad_alloc();
    if (!mapped_ && data_) {
      std::memcpy(grown, data_, std::min(bytes, bytes_));
      std::free(data_);
    }
    data_ = static_cast<T*>(grown);
    bytes_ = bytes;
    mapped_ = true;
  }
#endif

  void give_back() {
#if defined(__linux__)
    if (mapped_) {
      munmap(data_, bytes_);
      return;
    }
#endif
    std::free(data_);
  }

  void swap(GrowingArray& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
  }

  T* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;  // false: from the heap
};

}  // namespace actup
