// GrowingArray: memory that grows part by part and ends exactly as large as what was written. On Linux a
// large array grows by moving its pages, so that no second copy of it exists meanwhile.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace actup {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

template <class T>
class GrowingArray {
  static_assert(std::is_trivial_v<T>);

 public:
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](int64_t index) { return memory_[index]; }
  const T& operator[](int64_t index) const { return memory_[index]; }

  // Keeps what has been written.
  void resize(int64_t size) {
    const size_t bytes = size > 0 ? static_cast<size_t>(size) * sizeof(T) : 1;
    void* const grown = std::realloc(static_cast<void*>(memory_.get()), bytes);
    if (!grown) throw std::bad_alloc();
    (void)memory_.release();
    memory_.reset(static_cast<T*>(grown));
  }

  // Hands the memory over; std::free() gives it back.
  T* release() { return memory_.release(); }

 private:
  std::unique_ptr<T[], FreeMemory> memory_;
};

}  // namespace actup
