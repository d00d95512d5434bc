// Rows of float32, float16, uint8 or int8, kept as the caller gave them, and how they are read as floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/vectors.h"

namespace actup {

enum class Scalar { float32, float16, uint8, int8 };

// A float16 as it lies in memory; the processor need not know the type.
struct Half {
  uint16_t bits;
};

// Row-major, `rows` times `columns`; finite values.
struct TypedRows {
  const void* data;
  Scalar scalar;
  int64_t rows;
  int64_t columns;

  // function(pointer to the first value, typed).
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

  TypedRows some(int64_t first, int64_t count) const {
    return typed([&](auto* values) { return TypedRows{values + first * columns, scalar, count, columns}; });
  }

  int64_t bytes() const {
    return typed([&](auto* values) { return rows * columns * static_cast<int64_t>(sizeof *values); });
  }

  // Some rows as floats, one after the other: as they lie, or converted into `room`.
  const float* floats(int64_t first, int64_t count, std::vector<float>& room) const;
};

constexpr int kWide = Traits<float16>::lanes;

// So many columns, up to the next multiple of kWide.
inline int64_t padded(int64_t columns) { return (columns + kWide - 1) / kWide * kWide; }

// kWide values as floats.
inline float16 load_wide(const float* from) { return load<float16>(from); }
// (By way of 16 bits: compilers widen by one step with one instruction, but take a jump apart.)
inline float16 load_wide(const uint8_t* from) {
  typedef uint8_t Bytes __attribute__((vector_size(kWide)));
  typedef uint16_t Words __attribute__((vector_size(2 * kWide)));
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const int16 wide = __builtin_convertvector(__builtin_convertvector(bytes, Words), int16);
  return __builtin_convertvector(wide, float16);
}
inline float16 load_wide(const int8_t* from) {
  typedef int8_t Bytes __attribute__((vector_size(kWide)));
  typedef int16_t Words __attribute__((vector_size(2 * kWide)));
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  const int16 wide = __builtin_convertvector(__builtin_convertvector(bytes, Words), int16);
  return __builtin_convertvector(wide, float16);
}
inline float16 load_wide(const Half* from) {
  typedef uint16_t Words __attribute__((vector_size(2 * kWide)));
  Words words;
  std::memcpy(&words, from, sizeof words);
  const int16 bits = __builtin_convertvector(words, int16);
  // The exponent's bias differs by 112; multiplying gets subnormal numbers right as well.
  const float16 magnitude = std::bit_cast<float16>((bits & 0x7FFF) << 13) * 0x1p112f;
  return std::bit_cast<float16>(std::bit_cast<int16>(magnitude) | (bits & 0x8000) << 16);
}

// The first `count` < kWide of them, then zeros; reads nothing beyond.
template <class T>
inline float16 load_some(const T* from, int64_t count) {
  T padded[kWide] = {};
  std::memcpy(padded, from, count * sizeof(T));
  return load_wide(padded);
}

// function(column, values) for all columns, kWide at a time; zeros stand in for columns beyond the last.
template <class T, class Function>
inline void for_each_wide(const T* row, int64_t columns, const Function& function) {
  int64_t column = 0;
  for (; column + kWide <= columns; column += kWide) function(column, load_wide(row + column));
  if (column < columns) function(column, load_some(row + column, columns - column));
}

inline const float* TypedRows::floats(int64_t first, int64_t count, std::vector<float>& room) const {
  if (scalar == Scalar::float32) return static_cast<const float*>(data) + first * columns;
  room.resize(count * columns + kWide);
  typed([&](auto* values) {
    for_each_wide(values + first * columns, count * columns,
                  [&](int64_t at, float16 wide) { store(room.data() + at, wide); });
  });
  return room.data();
}

}  // namespace actup
