// Rows of float32, float16, uint8 or int8, in the caller's memory, and reading them as floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/vectors.h"

namespace actup {

enum class Scalar { float32, float16, uint8, int8 };

// A float16 in memory. Its conversion needs no float16 instructions.
struct Half {
  uint16_t bits;
};

// A row-major table of finite values.
struct TypedRows {
  const void* data;
  Scalar scalar;
  int64_t rows;
  int64_t columns;

  // Calls function(pointer to the first value) with the pointer's true type.
  template <class Function>
  auto typed(const Function& function) const {
    switch (scalar) {
      case Scalar::float16:
        return function(static_cast<const Half*>(data));
      case Scalar::uint8:
        return function(static_cast<const uint8_t*>(data));
      case Scalar::int8:
        return function(static_cast<const int8_t*>(data));
      default:
        return function(static_cast<const float*>(data));
    }
  }

  TypedRows slice(int64_t first, int64_t count) const {
    return typed([&](auto* values) { return TypedRows{values + first * columns, scalar, count, columns}; });
  }

  int64_t bytes() const {
    return typed([&](auto* values) { return rows * columns * static_cast<int64_t>(sizeof *values); });
  }

  // `count` contiguous rows as floats: the caller's own memory if it holds floats, otherwise converted into
  // `buffer`.
  const float* floats(int64_t first, int64_t count, std::vector<float>& buffer) const;
};

constexpr int kWideLanes = Traits<float16>::lanes;

// The next multiple of kWideLanes.
inline int64_t padded(int64_t columns) { return (columns + kWideLanes - 1) / kWideLanes * kWideLanes; }

// Reads kWideLanes values as floats.
inline float16 load_wide(const float* from) { return load<float16>(from); }
// Bytes are widened through 16 bits: compilers emit one instruction per doubling, but split larger steps.
inline float16 load_wide(const uint8_t* from) {
  typedef uint8_t Bytes __attribute__((vector_size(kWideLanes)));
  typedef uint16_t Words __attribute__((vector_size(2 * kWideLanes)));
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const int16 wide = __builtin_convertvector(__builtin_convertvector(bytes, Words), int16);
  return __builtin_convertvector(wide, float16);
}
inline float16 load_wide(const int8_t* from) {
  typedef int8_t Bytes __attribute__((vector_size(kWideLanes)));
  typedef int16_t Words __attribute__((vector_size(2 * kWideLanes)));
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const int16 wide = __builtin_convertvector(__builtin_convertvector(bytes, Words), int16);
  return __builtin_convertvector(wide, float16);
}
inline float16 load_wide(const Half* from) {
  typedef uint16_t Words __attribute__((vector_size(2 * kWideLanes)));
  Words words;
  std::memcpy(&words, from, sizeof words);
  const int16 bits = __builtin_convertvector(words, int16);
  // The exponent's bias differs by 112. Multiplying converts subnormal numbers correctly as well.
  const float16 magnitude = std::bit_cast<float16>((bits & 0x7FFF) << 13) * 0x1p112f;
  return std::bit_cast<float16>(std::bit_cast<int16>(magnitude) | (bits & 0x8000) << 16);
}

// Reads `count` < kWideLanes values and no memory beyond them; the other lanes are 0.
template <class T>
inline float16 load_partial(const T* from, int64_t count) {
  T padded[kWideLanes] = {};
  std::memcpy(padded, from, count * sizeof(T));
  return load_wide(padded);
}

// Calls function(column, values) for all columns, kWideLanes at a time, padded with zeros.
template <class T, class Function>
inline void for_each_wide(const T* row, int64_t columns, const Function& function) {
  int64_t column = 0;
  for (; column + kWideLanes <= columns; column += kWideLanes) function(column, load_wide(row + column));
  if (column < columns) function(column, load_partial(row + column, columns - column));
}

inline const float* TypedRows::floats(int64_t first, int64_t count, std::vector<float>& buffer) const {
  if (scalar == Scalar::float32) return static_cast<const float*>(data) + first * columns;
  buffer.resize(count * columns + kWideLanes);
  typed([&](auto* values) {
    for_each_wide(values + first * columns, count * columns,
                  [&](int64_t at, float16 wide) { store(buffer.data() + at, wide); });
  });
  return buffer.data();
}

}  // namespace actup
