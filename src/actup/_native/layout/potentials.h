// Potentials: functions U(d2) of a pair whose gradient is a repulsion. One policy each.
//
// As dq/d(d2) = -ab slope q, the sum of slope q (yi - yk) over k is the gradient of the sum of q, times
// -1/(2ab), for any a, b and dof. In the same way q^2 gives slope q^2.
//
// A policy has
//   kOfKernel              whether repulsion() and value() are functions of the kernel
//   repulsion(...)         of a pair along (yi - yk), up to the loss's leading factor
//   value(kernel)          U of a pair; missing if kOfKernel is false, as U then has no closed form
//   force_factor(curve)    the repulsion is minus this times the gradient of the sum of U
#pragma once

#include "layout/kernel.h"

namespace actup {

#define ACTUP_POTENTIALS(VALUE)                 \
  VALUE(kernel, KernelPotential)                \
  VALUE(kernel_squared, KernelSquaredPotential) \
  VALUE(umap, UmapPotential)
enum class PotentialKind : int { ACTUP_POTENTIALS(ACTUP_ENUMERATOR) };

struct KernelPotential {
  static constexpr PotentialKind kKind = PotentialKind::kernel;
  static constexpr bool kOfKernel = true;
  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real repulsion(const Kernel<Real>& k) {
    return k.slope * k.q;
  }
  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real value(const Kernel<Real>& k) {
    return k.q;
  }
  ACTUP_DEVICE static float force_factor(Curve curve) { return 0.5f / (curve.a * curve.b); }
};

struct KernelSquaredPotential {
  static constexpr PotentialKind kKind = PotentialKind::kernel_squared;
  static constexpr bool kOfKernel = true;
  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real repulsion(const Kernel<Real>& k) {
    return k.slope * k.q * k.q;
  }
  template <class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real value(const Kernel<Real>& k) {
    return k.q * k.q;
  }
  ACTUP_DEVICE static float force_factor(Curve curve) { return 0.25f / (curve.a * curve.b); }
};

// UMAP's repulsion 1/((epsilon + d2)(1 + a d^2b)). dof is 1. A mesh reads U from a table: potential_table.h.
struct UmapPotential {
  static constexpr PotentialKind kKind = PotentialKind::umap;
  static constexpr bool kOfKernel = false;
  template <Shape shape, class Real>
  ACTUP_DEVICE ACTUP_INLINE static Real repulsion(Real d2, Curve curve, float epsilon) {
    if constexpr (shape == Shape::unit) {
      return 1.0f / ((epsilon + d2) * (1.0f + d2));
    } else {
      return 1.0f / ((epsilon + d2) * (1.0f + curve.a * power(d2, curve.b)));
    }
  }
  ACTUP_DEVICE static float force_factor(Curve) { return 0.5f; }
};

// The repulsion of a pair by any potential.
template <class Potential, Shape shape, class Real>
ACTUP_DEVICE ACTUP_INLINE Real repulsion_of_pair(Real d2, Curve curve, float epsilon) {
  if constexpr (Potential::kOfKernel) {
    return Potential::repulsion(kernel<shape>(d2, curve));
  } else {
    return Potential::template repulsion<shape>(d2, curve, epsilon);
  }
}

#if !defined(__CUDACC__)
// Calls choose(policy) with the policy of a kind of potential.
template <class Choose>
inline auto with_potential(PotentialKind kind, const Choose& choose) {
#define ACTUP_CASE(name, policy) ACTUP_CHOOSE_POLICY(PotentialKind, name, policy)
  switch (kind) { ACTUP_POTENTIALS(ACTUP_CASE) }
#undef ACTUP_CASE
  __builtin_unreachable();
}
#else
// The policy of a kind of potential.
template <PotentialKind>
struct PolicyOfPotential;
#define ACTUP_POLICY(name, policy)                \
  template <>                                     \
  struct PolicyOfPotential<PotentialKind::name> { \
    using Policy = policy;                        \
  };
ACTUP_POTENTIALS(ACTUP_POLICY)
#undef ACTUP_POLICY
#endif

}  // namespace actup
