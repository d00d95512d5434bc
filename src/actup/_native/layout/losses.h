// How the losses differ in the forces of the layout. One policy each, for CPU and GPU.
//
// To add a loss, add its policy here and its line to ACTUP_LOSSES of settings.h. A policy has
//   attraction(kernel)       of a pair along (yi - yj), up to the leading factor
//   UnnormalizedPotential    whose gradient is the repulsion in the unnormalised setting: see potentials.h
//   NormalizedPotential      the same in the normalised setting
//   leading_factors()        the factors of attraction and repulsion that are the same for all pairs
//   kSpecializesDimensions   whether transform has loops of its own for 2 and 3 dimensions
// and for the normalised setting
//   normalize_factors()      completes the factors of the forces from the sums over all points
//   kHasSecondForce          whether the repulsion has a second term, the gradient of SecondPotential
//   second_factor()          the factor of the second term on a new row; only if kHasSecondForce
//   kDividesByNegatives      whether a point's repulsion is divided by its number of negatives
//   kWatchesExpansion        whether optimizer "stiffness" watches when the map stops growing
// A loss fits if its attraction is the edge weight times a function of q, and its repulsion a function of q
// or d² alone; a Huber loss, which depends on p - q, does not. docs/layout.md, "Forces", is the
// specification.
#pragma once

#include "layout/potentials.h"

namespace actup {

struct LeadingFactors {
  float attraction;
  float repulsion;
};

// Sums over all points in one epoch, excluding pairs of a point with itself. The letters are those of
// docs/layout.md.
struct ForceSums {
  double q = 0;           // Z: over the repelling pairs
  double q_squared = 0;   // Q
  double weighted_q = 0;  // W: weight times q, over the edges that act
  double samples = 0;     // N: the number of repelling pairs

  ACTUP_DEVICE void add(const ForceSums& other) {
    q += other.q;
    q_squared += other.q_squared;
    weighted_q += other.weighted_q;
    samples += other.samples;
  }
};

// F_i = attraction A_i + c_i (repulsion R_i + second R'_i), where c_i is the point's own factor.
struct ForceFactors {
  float attraction = 0;
  float repulsion = 0;
  float second = 0;
};

// What the factors depend on, besides the sums.
struct ForceSettings {
  Curve curve;
  double n;           // points
  double run_length;  // negatives of a point
  double partition;   // Z is this times n^2 if it is not 0
  float p_max;  // the largest edge weight after all weights are scaled to sum to 1; 1 if they are not scaled
  float exaggeration;
  float attraction_repeats;  // 2 if both ends of an edge are pulled, else 1
  float non_edge_weight;
  float repulsion_rate;  // normalised: 1, unless the layout is steered
  bool rate_in_points;
};

struct KlLoss {
  using UnnormalizedPotential = UmapPotential;
  using NormalizedPotential = KernelPotential;
  using SecondPotential = KernelPotential;
  static constexpr bool kHasSecondForce = false;
  static constexpr bool kDividesByNegatives = false;
  static constexpr bool kWatchesExpansion = true;
  static constexpr bool kSpecializesDimensions = true;

  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real attraction(const Kernel<Real>& k) {
    return k.slope;
  }

  ACTUP_DEVICE static LeadingFactors leading_factors(Curve curve, bool normalized) {
    const float ab = curve.a * curve.b;
    if (normalized) return {4 * ab, 4 * ab};
    return {2 * ab, 2 * curve.b};
  }

  // A fixed Z belongs to all pairs. Runs of negatives contain the share run_length / n of them.
  ACTUP_DEVICE static void normalize_factors(const ForceSums& sums, const ForceSettings& s, float lead,
                                             ForceFactors& factors) {
    const double Z = s.partition > 0 ? s.partition * s.n * s.run_length : sums.q;
    factors.repulsion = static_cast<float>(lead / Z);
  }
};

struct FrobeniusLoss {
  using UnnormalizedPotential = KernelSquaredPotential;
  using NormalizedPotential = KernelSquaredPotential;
  using SecondPotential = KernelPotential;
  static constexpr bool kHasSecondForce = true;
  static constexpr bool kDividesByNegatives = true;
  static constexpr bool kWatchesExpansion = false;
  static constexpr bool kSpecializesDimensions = false;  // it is the rarer loss

  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real attraction(const Kernel<Real>& k) {
    return k.slope * k.q;
  }

  ACTUP_DEVICE static LeadingFactors leading_factors(Curve curve, bool normalized) {
    const float ab = curve.a * curve.b;
    if (normalized) return {8 * ab, 8 * ab};
    return {4 * ab, 4 * ab};
  }

  // The sums over samples are scaled up to all pairs.
  ACTUP_DEVICE static void normalize_factors(const ForceSums& sums, const ForceSettings& s, float lead,
                                             ForceFactors& factors) {
    const double pairs_per_sample = s.n * (s.n - 1) / sums.samples;
    const double Z = sums.q * pairs_per_sample, Q = sums.q_squared * pairs_per_sample;
    const double x = sums.weighted_q * s.p_max / Z - Q / (Z * Z);
    const double scale = s.rate_in_points ? kScaleInPoints : 1 / Z;
    factors.attraction = static_cast<float>(factors.attraction * scale);
    factors.repulsion = static_cast<float>(lead / Z * s.n * scale);
    factors.second = static_cast<float>(lead * x * s.n * scale);
  }

  // W/Z - Q/Z^2 of a new row.
  ACTUP_DEVICE static float second_factor(float W, float Q, float inverse_Z) {
    return (W - Q * inverse_Z) * inverse_Z;
  }

 private:
  static constexpr double kScaleInPoints = 0.1;  // instead of 1/Z, if the learning rate is in points
};

// The factors of all forces of an epoch.
template <class LossPolicy>
ACTUP_DEVICE inline ForceFactors force_factors(bool normalized, const ForceSums& sums,
                                               const ForceSettings& s) {
  const LeadingFactors lead = LossPolicy::leading_factors(s.curve, normalized);
  ForceFactors factors;
  factors.attraction = -lead.attraction * s.exaggeration * s.attraction_repeats * s.p_max;
  if (!normalized) {
    factors.repulsion = lead.repulsion * s.non_edge_weight * s.repulsion_rate;
  } else if (sums.q > 0) {
    LossPolicy::normalize_factors(sums, s, lead.repulsion, factors);
    factors.repulsion *= s.repulsion_rate;
    factors.second *= s.repulsion_rate;
  }
  return factors;
}

// What a pair contributes to the repulsion of a point.
template <class Real>
struct PairRepulsion {
  Real coefficient;  // of (yi - yk), up to the leading factor
  Real second;       // the same for the second force; 0 if there is none
  Real q;            // 0 in the unnormalised setting
};

// mask(value) is the value, or 0 where the pair does not count.
template <class LossPolicy, bool normalized, Shape shape, class Real, class Mask>
ACTUP_DEVICE ACTUP_INLINE PairRepulsion<Real> pair_repulsion(Real d2, Curve curve, float epsilon,
                                                             const Mask& mask) {
  if constexpr (!normalized) {
    using Potential = typename LossPolicy::UnnormalizedPotential;
    return {mask(repulsion_of_pair<Potential, shape>(d2, curve, epsilon)), Real{}, Real{}};
  } else {
    const Kernel<Real> all = kernel<shape>(d2, curve), k = {mask(all.q), mask(all.slope)};
    const Real coefficient = LossPolicy::NormalizedPotential::repulsion(k);
    if constexpr (LossPolicy::kHasSecondForce) {
      return {coefficient, LossPolicy::SecondPotential::repulsion(k), k.q};
    } else {
      return {coefficient, Real{}, k.q};
    }
  }
}

struct NoMask {
  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE Real operator()(Real value) const {
    return value;
  }
};

template <class LossPolicy, bool normalized, Shape shape, class Real>
ACTUP_DEVICE ACTUP_INLINE PairRepulsion<Real> pair_repulsion(Real d2, Curve curve, float epsilon) {
  return pair_repulsion<LossPolicy, normalized, shape>(d2, curve, epsilon, NoMask{});
}

template <class LossPolicy>
ACTUP_DEVICE constexpr PotentialKind potential_kind(bool normalized) {
  return normalized ? LossPolicy::NormalizedPotential::kKind : LossPolicy::UnnormalizedPotential::kKind;
}

#if !defined(__CUDACC__)
// Calls choose(policy) with the policy of a loss.
template <class Choose>
inline auto with_loss(Loss loss, const Choose& choose) {
#define ACTUP_CASE(name, policy) ACTUP_CHOOSE_POLICY(Loss, name, policy)
  switch (loss) { ACTUP_LOSSES(ACTUP_CASE) }
#undef ACTUP_CASE
  __builtin_unreachable();
}
#else
// The policy of a loss.
template <Loss>
struct PolicyOfLoss;
#define ACTUP_POLICY(name, policy)  \
  template <>                       \
  struct PolicyOfLoss<Loss::name> { \
    using Policy = policy;          \
  };
ACTUP_LOSSES(ACTUP_POLICY)
#undef ACTUP_POLICY
#endif

}  // namespace actup
