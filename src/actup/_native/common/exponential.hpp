// e^x for a register of doubles, as many as the processor level has, and for 16 floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "common/vectors.h"

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

// The sum of the lanes, from first to last.
inline double sum(const doubles& v) {
  double total = v[0];
  for (int lane = 1; lane < kDoubles; ++lane) total += v[lane];
  return total;
}

// Constants of a floating-point type. Results below e^lowest would not be normal numbers; adding `magic`
// rounds to an integer; n * ln2_high is exact; `first` and `series` are the coefficients of e^r, from the
// highest power down, which suffice for |r| <= ln(2)/2.
struct DoubleConstants {
  using Ints = longs;
  static constexpr double lowest = -708, magic = 6755399441055744.0, log2e = 1.4426950408889634;
  static constexpr double ln2_high = 0.693145751953125, ln2_low = 1.42860682030941723e-6;
  static constexpr double first = 1.0 / 6227020800.0;
  static constexpr double series[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                      1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                                      1.0 / 24,        1.0 / 6,        0.5,           1.0};
  static constexpr int bias = 1023, mantissa = 52;
};
struct FloatConstants {
  using Ints = int16;
  static constexpr float lowest = -87, magic = 12582912.0f, log2e = 1.44269504f;
  static constexpr float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
  static constexpr float first = 1.0f / 5040;
  static constexpr float series[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f};
  static constexpr int bias = 127, mantissa = 23;
};

// e^x for x <= 0, to within two units in the last place; e^lowest for x < lowest.
template <class Constants, class Vector>
inline Vector exponential_by(const Vector& exponent) {
  using Ints = typename Constants::Ints;
  const Vector x = exponent < Constants::lowest ? Constants::lowest - Vector{} : exponent;
  const Vector shifted = x * Constants::log2e + Constants::magic;
  const Vector n = shifted - Constants::magic;
  const Vector r = (x - n * Constants::ln2_high) - n * Constants::ln2_low;
  Vector series = r * Constants::first;
#pragma GCC unroll 16
  for (auto coefficient : Constants::series) series = (series + coefficient) * r;
  const Ints power = (std::bit_cast<Ints>(shifted) + Constants::bias) << Constants::mantissa;  // 2^n
  return (series + Constants::series[std::size(Constants::series) - 1]) * std::bit_cast<Vector>(power);
}
inline doubles exponential(const doubles& x) { return exponential_by<DoubleConstants>(x); }
inline float16 exponential(const float16& x) { return exponential_by<FloatConstants>(x); }

}  // namespace actup
