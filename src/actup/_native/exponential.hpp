// e^x for as many doubles at a time as the processor level has room for in a register, and for floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "vectors.h"

namespace actup {

#if defined(__AVX512F__)
constexpr int kDoubles = 8;
#elif defined(__AVX__)
constexpr int kDoubles = 4;
#else
constexpr int kDoubles = 2;
#endif
typedef double doubles __attribute__((vector_size(8 * kDoubles)));
typedef int64_t longs __attribute__((vector_size(8 * kDoubles)));

inline doubles load_doubles(const double* from) {
  doubles v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// The sum of the lanes, first to last.
inline double sum(const doubles& v) {
  double total = v[0];
  for (int lane = 1; lane < kDoubles; ++lane) total += v[lane];
  return total;
}

// For x <= 0, to within two units in the last place; below -708, where normal doubles end, e^-708.
inline doubles exponential(const doubles& exponent) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double log2e = 1.4426950408889634;
  constexpr double ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723e-6;  // n * high is exact
  constexpr double taylor[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                               1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                               1.0 / 24,        1.0 / 6,        0.5,           1.0};
  const doubles x = exponent < -708.0 ? -708.0 - doubles{} : exponent;
  const doubles shifted = x * log2e + magic;
  const doubles n = shifted - magic;
  const doubles r = (x - n * ln2_high) - n * ln2_low;  // |r| <= ln(2)/2
  doubles series = r * (1.0 / 6227020800.0);           // the next term is below 1e-17
#pragma GCC unroll 16
  for (double coefficient : taylor) series = (series + coefficient) * r;
  const longs power = (std::bit_cast<longs>(shifted) + 1023) << 52;  // 2^n
  return (series + 1.0) * std::bit_cast<doubles>(power);
}

// The same of floats; below -87, where normal floats end, e^-87.
inline float16 exponential(const float16& exponent) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float log2e = 1.44269504f;
  constexpr float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;  // n * high is exact
  constexpr float taylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f};
  const float16 x = exponent < -87.0f ? -87.0f - float16{} : exponent;
  const float16 shifted = x * log2e + magic;
  const float16 n = shifted - magic;
  const float16 r = (x - n * ln2_high) - n * ln2_low;  // |r| <= ln(2)/2
  float16 series = r * (1.0f / 5040);                  // the next term is below 1e-8
#pragma GCC unroll 8
  for (float coefficient : taylor) series = (series + coefficient) * r;
  const int16 power = (std::bit_cast<int16>(shifted) + 127) << 23;  // 2^n
  return (series + 1.0f) * std::bit_cast<float16>(power);
}

}  // namespace actup
