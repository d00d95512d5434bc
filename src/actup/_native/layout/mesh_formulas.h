// The formulas of the mesh that do not depend on how its grid is stored: the best influence function, and the
// potential that a point exerts on itself. Serves CPU and GPU.
#pragma once

#include "common/device.h"

namespace actup {

// --- the influence function (see influence.hpp) ---

// One term of sum_m (k . k_m) W_m^2 R_m, for one alias k_m of the frequency k and its weight W_m^2.
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

// --- a point's potential at the point itself: the sum of self[p][q] cos(2 pi p s) cos(2 pi q t), where (s,
// t) is its place in its cell ---

// Subtracts it from the potential, and half of its gradient from the slopes: only one of the potential's two
// ends is differentiated.
template <class Real>
ACTUP_DEVICE inline void subtract_self(const float* self, const Real* cos_x, const Real* sin_x,
                                       const Real* cos_y, const Real* sin_y, Real& potential, Real& slope_x,
                                       Real& slope_y) {
  constexpr float pi = 3.14159265f;
  for (int p = 0; p < 3; ++p) {
    const float* const row = self + 3 * p;  // the cosine of 0 is 1, its sine 0
    const Real value = row[0] + row[1] * cos_y[1] + row[2] * cos_y[2];
    const Real slope = row[1] * sin_y[1] + 2.0f * row[2] * sin_y[2];
    if (p == 0) {
      potential -= value;
      slope_y += pi * slope;
    } else {
      potential -= value * cos_x[p];
      slope_x += pi * static_cast<float>(p) * (value * sin_x[p]);
      slope_y += pi * (slope * cos_x[p]);
    }
  }
}

}  // namespace actup
