// e^x for a register of doubles, as many as the processor level has, and for 16 floats.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "common/elementary.h"
#include "common/vectors.h"

namespace actup {

#if defined(__AVX512F__)
constexpr int kDoubles = 8;
#elif defined(__AVX__)
constexpr int kDoubles = 4;
#else
constexpr int kDoubles = 2;
#endif
constexpr int kDoubleLanes = 8;                        // of a sum, at every level
constexpr int kDoubleParts = kDoubleLanes / kDoubles;  // the registers of such a sum
typedef double doubles __attribute__((vector_size(8 * kDoubles)));
typedef int64_t longs __attribute__((vector_size(8 * kDoubles)));

inline doubles load_doubles(const double* from) {
  doubles v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// A sum in kDoubleLanes lanes, which are added from first to last: the same order at every level.
struct DoubleSum {
  doubles parts[kDoubleParts] = {};

  double total() const {
    double total = parts[0][0];
    for (int lane = 1; lane < kDoubleLanes; ++lane) total += parts[lane / kDoubles][lane % kDoubles];
    return total;
  }
};

// Constants of a floating-point type. Results below e^lowest would not be normal numbers; adding `magic`
// rounds to an integer; n * ln2_high is exact; e^r = 1 + r + r^2 times the polynomial `series`, lowest power
// first, for |r| <= ln(2)/2.
struct DoubleConstants {
  using Ints = longs;
  static constexpr double lowest = -708, magic = kRoundingMagic, log2e = kLog2E;
  static constexpr double ln2_high = kLn2High, ln2_low = kLn2Low;
  static constexpr const auto& series = kExponentialSeries;
  static constexpr int bias = 1023, mantissa = 52;
};
struct FloatConstants {
  using Ints = int16;
  static constexpr float lowest = -87, magic = 12582912.0f, log2e = 1.44269504f;
  static constexpr float ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
  static constexpr float series[] = {0.5f, 0.166665763f, 0.0416665524f, 0.00836324692f, 0.00139262679f};
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
  const Vector value = 1 + (r + r * r * polynomial(Constants::series, r));
  const Ints power = (std::bit_cast<Ints>(shifted) + Constants::bias) << Constants::mantissa;  // 2^n
  return value * std::bit_cast<Vector>(power);
}
inline doubles exponential(const doubles& x) { return exponential_by<DoubleConstants>(x); }
inline float16 exponential(const float16& x) { return exponential_by<FloatConstants>(x); }

}  // namespace actup
