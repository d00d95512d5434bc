// Vectors of floats, with the compiler's vector extensions, and functions on them.
//
// Sums over lanes use the same logical widths (8 and 16) at every processor level; the compiler splits them
// where registers are narrower. So the order of all sums is the same on every processor. GPU threads have no
// vectors: there this header only defines power() and logarithm() of a float.
#pragma once

#include "common/device.h"

#if defined(__CUDACC__)

namespace actup {

// log2 x for x > 0.
__device__ inline float logarithm(float x) { return __log2f(x); }

// x^b for x > 0, to about 5e-6.
__device__ inline float power(float x, float b) {
  float y = b * logarithm(x);
  if (b > 2.0f || b < 0) y = fminf(fmaxf(y, -126.0f), 126.0f);  // as in power() for CPUs
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(y));
  return y;
}

}  // namespace actup

#else

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

namespace actup {

typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
typedef float float16 __attribute__((vector_size(64)));
typedef int32_t int4 __attribute__((vector_size(16)));
typedef int32_t int8 __attribute__((vector_size(32)));
typedef int32_t int16 __attribute__((vector_size(64)));

template <class Vector>
struct Traits;
template <>
struct Traits<float4> {
  using Ints = int4;
  static constexpr int lanes = 4;
};
template <>
struct Traits<float8> {
  using Ints = int8;
  static constexpr int lanes = 8;
};
template <>
struct Traits<float16> {
  using Ints = int16;
  static constexpr int lanes = 16;
};

template <class Vector>
inline Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class Vector>
inline Vector load(const int32_t* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// As many integers as a register holds: for loops whose result does not depend on the width.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
using RegisterInts = int16;
#elif defined(__AVX2__)
using RegisterInts = int8;
#else
using RegisterInts = int4;
#endif
constexpr int kRegisterInts = sizeof(RegisterInts) / sizeof(int32_t);

// One bit per lane of a mask, of whose lanes all bits are set or none.
inline uint32_t lanes_set(RegisterInts mask) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  return _mm512_movepi32_mask(std::bit_cast<__m512i>(mask));
#elif defined(__AVX2__)
  return _mm256_movemask_ps(std::bit_cast<__m256>(mask));
#elif defined(__SSE2__)
  return _mm_movemask_ps(std::bit_cast<__m128>(mask));
#else
  const int4 bits = mask & int4{1, 2, 4, 8};
  return bits[0] | bits[1] | bits[2] | bits[3];
#endif
}

template <class Vector>
inline void store(float* to, Vector v) {
  std::memcpy(to, &v, sizeof v);
}

template <class Vector>
inline Vector broadcast(float value) {
  return value - Vector{};
}

// The vector (0, 1, 2, ...).
template <class Vector>
inline typename Traits<Vector>::Ints lane_numbers() {
  typename Traits<Vector>::Ints lanes;
  for (int i = 0; i < Traits<Vector>::lanes; ++i) lanes[i] = i;
  return lanes;
}

// v in lanes where the mask is set (all bits of the lane), 0 in others.
template <class Vector>
inline Vector where(typename Traits<Vector>::Ints mask, Vector v) {
  return std::bit_cast<Vector>(std::bit_cast<typename Traits<Vector>::Ints>(v) & mask);
}

// The sum of the lanes, pairwise in a fixed order.
inline float sum(float8 v) {
  const float4 four = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  const float4 two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return two[0] + two[1];
}

inline float8 low_half(float16 v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
inline float8 high_half(float16 v) { return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); }
inline float16 concatenated(float8 low, float8 high) {
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

inline float sum(float16 v) { return sum(low_half(v) + high_half(v)); }

// The sums of the lanes of four vectors.
inline float4 sums_of(const float4* v) {
  const float4 a =
      __builtin_shufflevector(v[0], v[1], 0, 1, 4, 5) + __builtin_shufflevector(v[0], v[1], 2, 3, 6, 7);
  const float4 b =
      __builtin_shufflevector(v[2], v[3], 0, 1, 4, 5) + __builtin_shufflevector(v[2], v[3], 2, 3, 6, 7);
  return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

template <class Vector>
inline Vector square_root(Vector v) {
  Vector root;
  for (int i = 0; i < Traits<Vector>::lanes; ++i) root[i] = __builtin_sqrtf(v[i]);
  return root;
}

// log2 x for x > 0, by a minimax polynomial.
template <class Vector>
ACTUP_INLINE Vector logarithm(Vector x) {
  using Ints = typename Traits<Vector>::Ints;
  const Ints bits = std::bit_cast<Ints>(x);
  const Ints exponent = (bits - 0x3F3504F3) >> 23;  // mantissa in [sqrt(1/2), sqrt(2))
  const Vector t = std::bit_cast<Vector>(bits - (exponent << 23)) - 1.0f;
  // Both polynomials are in Estrin's form: short dependency chains keep the pipelines busy.
  const Vector t2 = t * t;
  const Vector log = (1.44271348f - 0.721131848f * t) + t2 * (0.479348064f - 0.367490253f * t) +
                     (t2 * t2) * (0.322154318f - 0.206589886f * t);
  return log * t + __builtin_convertvector(exponent, Vector);
}

// x^b for x > 0, to about 5e-6: 2^(b log2 x), by another minimax polynomial.
template <class Vector>
ACTUP_INLINE Vector power(Vector x, float b) {
  using Ints = typename Traits<Vector>::Ints;
  Vector y = b * logarithm(x);
  if (b > 2.0f || b < 0) {  // only then can the result overflow or underflow
    y = y < -126.0f ? broadcast<Vector>(-126.0f) : y;
    y = y > 126.0f ? broadcast<Vector>(126.0f) : y;
  }

  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vector shifted = y + magic;
  const Vector r = y - (shifted - magic);
  const Ints whole = std::bit_cast<Ints>(shifted) - 0x4B400000;
  const Vector r2 = r * r;
  const Vector exp =
      (0.999999261f + 0.693121815f * r) + r2 * (0.24024745f + 0.0559178599f * r + 0.00957009666f * r2);
  return std::bit_cast<Vector>(std::bit_cast<Ints>(exp) + (whole << 23));
}

}  // namespace actup

#endif
