// PotentialTable: UMAP's potential, which has no closed form, as a table over d2. Serves CPU and GPU.
//
// There are 2^kBits knots per octave of d2, so that the leading bits of d2 are a knot's number.
#pragma once

#include "common/elementary.h"
#include "layout/potentials.h"
#if !defined(__CUDACC__)
#include <bit>
#include <cmath>
#endif

namespace actup {

struct PotentialTable {
  static constexpr int kBits = 7, kLowest = -40, kOctaves = 100;
  static constexpr int kKnots = kOctaves << kBits;  // the table has one value more

  ACTUP_DEVICE static double knot(int i) {
    constexpr int count = 1 << kBits;
    return ldexp(1 + static_cast<double>(i % count) / count, kLowest + i / count);
  }

  // The largest d2 at which power() stays in range: beyond it the potential is taken to be constant.
  ACTUP_DEVICE static float limit(float b) {
    return static_cast<float>(power(2.0, static_cast<double>(fminf(100.0f, 120.0f / b))));
  }

  // The integral of the force from s to infinity, where the force is s^(-1-b)/a.
  ACTUP_DEVICE static double tail(double s, Curve curve) {
    return power(s, -static_cast<double>(curve.b)) / (static_cast<double>(curve.a) * curve.b);
  }

#if defined(__CUDACC__)
  ACTUP_DEVICE static float look_up(const float* table, float d2) {
    const float s = d2 > 0x1p-40f ? d2 : 0x1p-40f;
    int32_t bits;
    memcpy(&bits, &s, sizeof bits);
    const int32_t knot = (bits >> (23 - kBits)) - ((127 + kLowest) << kBits);
    if (knot >= kKnots) return table[kKnots];
    constexpr int32_t mask = (1 << (23 - kBits)) - 1;
    const float part = static_cast<float>(bits & mask) / (mask + 1);
    return table[knot] + part * (table[knot + 1] - table[knot]);
  }
#else
  // The same for every lane. Beyond the last knot, both values are the last of the table.
  template <class Vector>
  static Vector look_up(const float* table, Vector d2) {
    using Ints = typename Traits<Vector>::Ints;
    const Vector s = d2 > 0x1p-40f ? d2 : broadcast<Vector>(0x1p-40f);
    const Ints bits = std::bit_cast<Ints>(s);
    const Ints knots = (bits >> (23 - kBits)) - ((127 + kLowest) << kBits);
    constexpr int32_t mask = (1 << (23 - kBits)) - 1;
    const Vector part = __builtin_convertvector(bits & mask, Vector) / static_cast<float>(mask + 1);
    Vector value, next;
    for (int lane = 0; lane < Traits<Vector>::lanes; ++lane) {
      const int32_t knot = knots[lane] < kKnots ? knots[lane] : kKnots;
      value[lane] = table[knot];
      next[lane] = table[knot < kKnots ? knot + 1 : kKnots];
    }
    return value + part * (next - value);
  }
#endif
};

}  // namespace actup
