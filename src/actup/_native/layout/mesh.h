// The formulas of the mesh that do not depend on how its grid is stored: the best influence function, what a
// point feels of itself, and the table of a potential without closed form.
#pragma once

#include "layout/forces.h"
#include "layout/spline.h"
#if !defined(__CUDACC__)
#include <cmath>
#include <cstring>
#endif

namespace actup {

enum class PotentialKind : int { kernel, kernel_squared, umap };

// The force on a point is minus this times the gradient of the sum of the potential.
ACTUP_DEVICE inline float force_factor(PotentialKind kind, Curve curve) {
  if (kind == PotentialKind::umap) return 0.5f;
  return (kind == PotentialKind::kernel ? 0.5f : 0.25f) / (curve.a * curve.b);
}

// --- the influence function (see influence.hpp) ---

// One term of sum_m (k . k_m) W_m^2 R_m: k of the frequency, alias and weight W^2 of one of its aliases.
template <class Real>
ACTUP_DEVICE inline Real influence_term(float kx, float alias_x, float weight_x, Real ky, Real alias_y,
                                        Real weight_y, Real value) {
  return (kx * alias_x + ky * alias_y) * (weight_x * weight_y) * value;
}

// What the sum is divided by: sum_m W_m^2 sum_m k_m^2 W_m^2.
template <class Real>
ACTUP_DEVICE inline Real influence_norm(float sum_x, float slope_x, Real sum_y, Real slope_y) {
  return sum_x * sum_y * (slope_x * sum_y + sum_x * slope_y);
}

// --- what a point feels of itself: the sum of self[p][q] cos(2 pi p s) cos(2 pi q t) at place (s, t) ---

// Takes it off. Of its gradient half: one of the potential's two ends is what is differentiated.
template <class Real>
ACTUP_DEVICE inline void take_off_self(const float* self, const Real* cos_x, const Real* sin_x,
                                       const Real* cos_y, const Real* sin_y, Real& potential, Real& slope_x,
                                       Real& slope_y) {
  constexpr float pi = 3.14159265f;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 3; ++q) {
      potential -= self[3 * p + q] * cos_x[p] * cos_y[q];
      slope_x += pi * static_cast<float>(p) * self[3 * p + q] * sin_x[p] * cos_y[q];
      slope_y += pi * static_cast<float>(q) * self[3 * p + q] * cos_x[p] * sin_y[q];
    }
}

// --- the table of UMAP's potential: 2^kBits knots per octave of d2, so that a knot's number is in the
// leading bits of d2 ---

struct PotentialTable {
  static constexpr int kBits = 7, kLowest = -40, kOctaves = 100;
  static constexpr int kKnots = kOctaves << kBits;  // one more value than these

  ACTUP_DEVICE static double knot(int i) {
    constexpr int count = 1 << kBits;
    return ldexp(1 + static_cast<double>(i % count) / count, kLowest + i / count);
  }

  // The largest d2 at which power() stays in range: beyond it the potential is taken to be constant.
  ACTUP_DEVICE static float limit(float b) { return exp2f(fminf(100.0f, 120.0f / b)); }

  // The integral of the force from s on, where it is s^(-1-b)/a.
  ACTUP_DEVICE static double tail(double s, Curve curve) {
    return pow(s, -static_cast<double>(curve.b)) / (static_cast<double>(curve.a) * curve.b);
  }

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
};

}  // namespace actup
