// The kernel: the similarity q of two points of the map, and its slope. No other C++ or CUDA file
// computes it.
//
// Real is a float, or a vector of floats from vectors.h. d2 is the squared distance plus kTiny.
#pragma once

#if !defined(__CUDACC__)
#include <type_traits>
#endif

#include "common/vectors.h"
#include "layout/settings.h"

namespace actup {

constexpr float kTiny = 1e-12f;

// Which operations a curve needs. Loops are compiled for each shape; a GPU kernel for the one it is given.
#define ACTUP_SHAPES(VALUE) VALUE(unit) VALUE(powered) VALUE(tailed)
enum class Shape : int { ACTUP_SHAPES(ACTUP_ENUMERATOR) };

#if !defined(__CUDACC__)
inline Shape shape_of(Curve curve) {
  if (curve.dof != 1) return Shape::tailed;  // normalised setting only
  return curve.a != 1 || curve.b != 1 ? Shape::powered : Shape::unit;
}

// Calls choose(shape) with the curve's shape as a compile-time constant.
template <class Choose>
inline auto with_shape(Curve curve, const Choose& choose) {
  switch (shape_of(curve)) {
    case Shape::unit:
      return choose(std::integral_constant<Shape, Shape::unit>{});
    case Shape::powered:
      return choose(std::integral_constant<Shape, Shape::powered>{});
    default:
      return choose(std::integral_constant<Shape, Shape::tailed>{});
  }
}
#endif

// q = (1 + a d^2b / dof)^-dof and its slope d^(2b-2)/(1 + a d^2b / dof). For every curve
// dq/d(d2) = -ab slope q, so the forces have one form. Powered: dof = 1. Unit: a = b = dof = 1, where q and
// slope are both 1/(1 + d2).
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

}  // namespace actup
