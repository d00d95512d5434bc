// The formulas of the layout: the kernel, and the attraction and repulsion of each loss. Nowhere else in C++
// or CUDA.
//
// Everything is a template over Real: a float, or a vector of floats from vectors.h. d2 is the squared
// distance plus kTiny. The factors that are the same for all pairs (2ab, 4ab, ...) are in leading_factors().
#pragma once

#include "settings.h"
#include "vectors.h"

namespace actup {

constexpr float kTiny = 1e-12f;

// q = (1 + a d^2b / dof)^-dof and its slope d^(2b-2)/(1 + a d^2b / dof): dq/d(d2) = -ab slope q for all of
// them, so the forces have one form. Unit: a = b = dof = 1, where both are 1/(1 + d2).
template <class Real>
struct Kernel {
  Real q;
  Real slope;
};

template <bool Unit, class Real>
inline Kernel<Real> kernel(Real d2, const Curve& curve) {
  if constexpr (Unit) {
    const Real q = 1.0f / (1.0f + d2);
    return {q, q};
  } else {
    const Real pw = power(d2, curve.b);
    const Real base = 1.0f + curve.a / curve.dof * pw;
    const Real inverse = 1.0f / (d2 * base);
    if (curve.dof == 1) return {d2 * inverse, pw * inverse};
    return {power(base, -curve.dof), pw * inverse};
  }
}

// Attraction along (yi - yj), up to its leading factor: slope (KL) and slope q (Frobenius).
template <Loss loss, class Real>
inline Real attraction(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope : k.slope * k.q;
}

// Repulsion along (yi - yk) in the unnormalised KL setting, up to 2b: 1/((eps + d2)(1 + a d^2b)). dof is 1.
template <bool Unit, class Real>
inline Real umap_repulsion(Real d2, const Curve& curve, float epsilon) {
  if constexpr (Unit) {
    return 1.0f / ((epsilon + d2) * (1.0f + d2));
  } else {
    return 1.0f / ((epsilon + d2) * (1.0f + curve.a * power(d2, curve.b)));
  }
}

// Every other repulsion, up to its leading factor: slope q (normalised KL) and slope q^2 (Frobenius).
template <Loss loss, class Real>
inline Real repulsion(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope * k.q : k.slope * k.q * k.q;
}

struct LeadingFactors {
  float attraction;
  float repulsion;
};

inline LeadingFactors leading_factors(const Settings& s) {
  const float ab = s.curve.a * s.curve.b;
  if (s.normalized) {
    const float factor = s.loss == Loss::kl ? 4 * ab : 8 * ab;
    return {factor, factor};
  }
  return s.loss == Loss::kl ? LeadingFactors{2 * ab, 2 * s.curve.b} : LeadingFactors{4 * ab, 4 * ab};
}

}  // namespace actup
