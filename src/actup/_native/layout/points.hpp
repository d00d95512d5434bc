// Points: the coordinates of the layout, by row for gathers and by plane for runs, and how vectors are read
// from them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "common/vectors.h"
#include "layout/kernel.h"

namespace actup {

// A number of dimensions known to the compiler (2 and 3 are specialised), or only at run time (0).
template <int D>
struct Dimensions {
  int count;
  explicit Dimensions(int n) : count(D ? D : n) {}
  operator int() const { return D ? D : count; }
};

// Calls choose(D) with the number of dimensions as a compile-time constant, 0 if it is not specialised.
template <class Choose>
inline auto with_dimensions(int dimensions, const Choose& choose) {
  if (dimensions == 2) return choose(std::integral_constant<int, 2>{});
  if (dimensions == 3) return choose(std::integral_constant<int, 3>{});
  return choose(std::integral_constant<int, 0>{});
}

// Calls choose(flag) with the flag as a compile-time constant.
template <class Choose>
inline auto with_flag(bool flag, const Choose& choose) {
  return flag ? choose(std::true_type{}) : choose(std::false_type{});
}

// The number of points, rounded up to whole blocks.
inline int64_t padded_to_blocks(int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

struct Points {
  int64_t n = 0;
  int dimensions = 0;
  int64_t stride = 0;         // length of a plane: n, then the first `wrap` points again, then padding
  int64_t wrap = 0;           // a run of up to `wrap` points may extend beyond the last point
  std::vector<float> rows;    // n x dimensions
  std::vector<float> planes;  // dimensions x stride

  Points() = default;
  Points(int64_t n, int dimensions, int64_t wrap)
      : n(n),
        dimensions(dimensions),
        stride(n + std::max<int64_t>(wrap, kBlock) + kBlock),
        wrap(wrap),
        rows(n * dimensions + kBlock, 0.0f),
        planes(dimensions * stride, 0.0f) {}

  float* row(int64_t i) { return &rows[i * dimensions]; }
  const float* row(int64_t i) const { return &rows[i * dimensions]; }
  const float* plane(int c) const { return &planes[c * stride]; }

  void set_plane(int c, int64_t i, float value) {
    planes[c * stride + i] = value;
    if (i < wrap) planes[c * stride + n + i] = value;
  }

  void copy_rows_to_planes(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int c = 0; c < dimensions; ++c) set_plane(c, i, rows[i * dimensions + c]);
  }
};

// Coordinate c of as many points as a vector has lanes; their ids are `stride` apart.
template <class Vector, int stride = 1>
inline Vector gather(const float* rows, const int32_t* ids, int dimensions, int c) {
  Vector v;
  for (int lane = 0; lane < Traits<Vector>::lanes; ++lane)
    v[lane] = rows[static_cast<int64_t>(ids[stride * lane]) * dimensions + c];
  return v;
}

// Both coordinates at once in two dimensions: 64-bit loads are faster than gathers.
template <class Vector>
struct Pairs {
  Vector x, y;
};

template <int stride = 1>
inline Pairs<float8> gather_pairs(const float* rows, const int32_t* ids) {
  typedef double double4 __attribute__((vector_size(32)));
  const auto pair = [&](int lane) {
    double bits;  // carries two floats; never computed with
    std::memcpy(&bits, rows + 2 * static_cast<int64_t>(ids[stride * lane]), sizeof bits);
    return bits;
  };
  const float8 low = std::bit_cast<float8>(double4{pair(0), pair(1), pair(4), pair(5)});
  const float8 high = std::bit_cast<float8>(double4{pair(2), pair(3), pair(6), pair(7)});
  return {__builtin_shufflevector(low, high, 0, 2, 8, 10, 4, 6, 12, 14),
          __builtin_shufflevector(low, high, 1, 3, 9, 11, 5, 7, 13, 15)};
}

template <int stride>
inline void scatter_pairs(float* rows, const int32_t* ids, int count, const Pairs<float8>& p) {
  float buffer[16];
  store(buffer, __builtin_shufflevector(p.x, p.y, 0, 8, 1, 9, 4, 12, 5, 13));
  store(buffer + 8, __builtin_shufflevector(p.x, p.y, 2, 10, 3, 11, 6, 14, 7, 15));
  constexpr int place[8] = {0, 2, 8, 10, 4, 6, 12, 14};
  const auto put = [&](int lane) {
    std::memcpy(rows + 2 * static_cast<int64_t>(ids[stride * lane]), buffer + place[lane], 2 * sizeof(float));
  };
  if (count >= 8) {  // unrolled by hand: the compiler would turn a loop into a slower scatter instruction
    put(0), put(1), put(2), put(3), put(4), put(5), put(6), put(7);
  } else {
    for (int lane = 0; lane < count; ++lane) put(lane);
  }
}

}  // namespace actup
