// e^x for eight doubles at a time: the same operations in the same order on every processor level.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace actup {

typedef double double8 __attribute__((vector_size(64)));
typedef int64_t long8 __attribute__((vector_size(64)));

inline double8 load8(const double* from) {
  double8 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// The sum of the lanes, in a fixed tree.
inline double sum(const double8& v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// For x <= 0, to a few units in the last place; below -708, where normal doubles end, e^-708.
inline double8 exponential(const double8& exponent) {
  constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double log2e = 1.4426950408889634;
  constexpr double ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723e-6;  // n * high is exact
  constexpr double taylor[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
      1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  const double8 x = exponent < -708.0 ? -708.0 - double8{} : exponent;
  const double8 shifted = x * log2e + magic;
  const double8 n = shifted - magic;
  const double8 r = (x - n * ln2_high) - n * ln2_low;  // |r| <= ln(2)/2
  double8 series = r * (1.0 / 6227020800.0);           // the next term is below 1e-17
#pragma GCC unroll 16
  for (int i = 0; i < 12; ++i) series = (series + taylor[i]) * r;
  const long8 power = (std::bit_cast<long8>(shifted) + 1023) << 52;  // 2^n
  return (series + 1.0) * std::bit_cast<double8>(power);
}

}  // namespace actup
