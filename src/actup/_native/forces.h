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

// q = 1/(1 + a d^2b) and d^(2b-2) q. Unit: a = b = 1.
template <class Real>
struct Kernel {
  Real q;
  Real slope;
};

template <bool Unit, class Real>
inline Kernel<Real> kernel(Real d2, float a, float b) {
  if constexpr (Unit) {
    const Real q = 1.0f / (1.0f + d2);
    return {q, q};
  } else {
    const Real pw = power(d2, b);
    const Real inverse = 1.0f / (d2 * (1.0f + a * pw));
    return {d2 * inverse, pw * inverse};
  }
}

// Attraction along (yi - yj), up to its leading factor: paper eq. for KL (p q) and Frobenius (p q^2).
template <Loss loss, class Real>
inline Real attraction(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope : k.slope * k.q;
}

// Repulsion along (yi - yk) in the unnormalised KL setting, up to 2b: 1/((eps + d2)(1 + a d^2b)).
template <bool Unit, class Real>
inline Real umap_repulsion(Real d2, float a, float b, float epsilon) {
  if constexpr (Unit) {
    return 1.0f / ((epsilon + d2) * (1.0f + d2));
  } else {
    return 1.0f / ((epsilon + d2) * (1.0f + a * power(d2, b)));
  }
}

// Every other repulsion, up to its leading factor: c q^2 (normalised KL) and c q^3 (Frobenius).
template <Loss loss, class Real>
inline Real repulsion(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope * k.q : k.slope * k.q * k.q;
}

struct LeadingFactors {
  float attraction;
  float repulsion;
};

inline LeadingFactors leading_factors(const Settings& s) {
  const float ab = s.a * s.b;
  if (s.normalized) {
    const float factor = s.loss == Loss::kl ? 4 * ab : 8 * ab;
    return {factor, factor};
  }
  return s.loss == Loss::kl ? LeadingFactors{2 * ab, 2 * s.b} : LeadingFactors{4 * ab, 4 * ab};
}

}  // namespace actup
