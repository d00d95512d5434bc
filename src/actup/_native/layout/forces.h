// The formulas of the layout: the kernel, and the attraction and repulsion of each loss. Nowhere else in C++
// or CUDA.
//
// Everything is a template over Real: a float, or a vector of floats from vectors.h. d2 is the squared
// distance plus kTiny. On a GPU each is compiled for one shape. The factors that are the same for all pairs
// (2ab, 4ab, ...) are in leading_factors().
#pragma once

#if !defined(__CUDACC__)
#include <type_traits>
#endif

#include "common/vectors.h"
#include "layout/settings.h"

namespace actup {

constexpr float kTiny = 1e-12f;

// What has to be computed of a curve: loops are compiled for each.
enum class Shape { unit, powered, tailed };

#if !defined(__CUDACC__)
// Calls choose(shape) with the curve's shape as a constant.
template <class Choose>
inline auto with_shape(Curve curve, const Choose& choose) {
  if (curve.dof != 1) return choose(std::integral_constant<Shape, Shape::tailed>{});
  if (curve.a != 1 || curve.b != 1) return choose(std::integral_constant<Shape, Shape::powered>{});
  return choose(std::integral_constant<Shape, Shape::unit>{});
}
#endif

// q = (1 + a d^2b / dof)^-dof and its slope d^(2b-2)/(1 + a d^2b / dof): dq/d(d2) = -ab slope q for all of
// them, so the forces have one form. Powered: dof = 1. Unit: a = b = dof = 1, where both are 1/(1 + d2).
template <class Real>
struct Kernel {
  Real q;
  Real slope;
};

template <Shape shape, class Real>
ACTUP_DEVICE ACTUP_INLINE Kernel<Real> kernel(Real d2, Curve curve) {
  if constexpr (shape == Shape::unit) {
    const Real q = 1.0f / (1.0f + d2);
    return {q, q};
  } else {
    const Real pw = power(d2, curve.b);
    const Real base = shape == Shape::tailed ? 1.0f + curve.a / curve.dof * pw : 1.0f + curve.a * pw;
    const Real inverse = 1.0f / (d2 * base);
    return {shape == Shape::tailed ? power(base, -curve.dof) : d2 * inverse, pw * inverse};
  }
}

// Attraction along (yi - yj), up to its leading factor: slope (KL) and slope q (Frobenius).
template <Loss loss, class Real>
ACTUP_DEVICE ACTUP_INLINE Real attraction(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope : k.slope * k.q;
}

// Repulsion along (yi - yk) in the unnormalised KL setting, up to 2b: 1/((eps + d2)(1 + a d^2b)). dof is 1.
template <Shape shape, class Real>
ACTUP_DEVICE ACTUP_INLINE Real umap_repulsion(Real d2, Curve curve, float epsilon) {
  if constexpr (shape == Shape::unit) {
    return 1.0f / ((epsilon + d2) * (1.0f + d2));
  } else {
    return 1.0f / ((epsilon + d2) * (1.0f + curve.a * power(d2, curve.b)));
  }
}

// Every other repulsion, up to its leading factor: slope q (normalised KL) and slope q^2 (Frobenius).
template <Loss loss, class Real>
ACTUP_DEVICE ACTUP_INLINE Real repulsion(const Kernel<Real>& k) {
  return loss == Loss::kl ? k.slope * k.q : k.slope * k.q * k.q;
}

struct LeadingFactors {
  float attraction;
  float repulsion;
};

ACTUP_DEVICE inline LeadingFactors leading_factors(Curve curve, bool normalized, Loss loss) {
  const float ab = curve.a * curve.b;
  if (normalized) {
    const float factor = loss == Loss::kl ? 4 * ab : 8 * ab;
    return {factor, factor};
  }
  return loss == Loss::kl ? LeadingFactors{2 * ab, 2 * curve.b} : LeadingFactors{4 * ab, 4 * ab};
}

// What the normalised Frobenius force is multiplied by instead of 1/Z in the unit of points.
constexpr double kFrobeniusShare = 0.1;

// Whether an edge of relative weight r acts in an epoch: a share r of all epochs, evenly spread.
ACTUP_DEVICE inline bool acts(float r, int epoch) {
  return static_cast<int>(static_cast<float>(epoch + 1) * r) >
         static_cast<int>(static_cast<float>(epoch) * r);
}

// The weight of an attraction that acts, before p_max.
ACTUP_DEVICE inline float acting_weight(Sampling sampling, float r) {
  return sampling == Sampling::scalar || sampling == Sampling::unbiased ? 1.0f : r;
}

}  // namespace actup
