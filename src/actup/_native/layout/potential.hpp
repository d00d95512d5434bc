// Potentials: radial functions U(d2) whose gradient is a repulsion, so that one field gives force and sums.
//
// As dq/d(d2) = -ab slope q, the sum of slope q (yi - yk) over k is the gradient of the sum of q, times
// -1/(2ab), for any a, b and dof; in the same way q^2 gives slope q^2 (Frobenius).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "layout/mesh.h"

namespace actup {

class Potential {
 public:
  Potential(PotentialKind kind, const Curve& curve, float epsilon)
      : kind_(kind), curve_(curve), limit_(PotentialTable::limit(curve.b)) {
    if (kind == PotentialKind::umap) tabulate(epsilon);
  }

  // The force on a point is -force_factor() times the gradient of the sum of U.
  float force_factor() const { return actup::force_factor(kind_, curve_); }

  // Whether U varies over lengths of 1, not less: its spectrum then ends before a usual grid's does.
  bool smooth() const {
    return kind_ != PotentialKind::umap &&
           with_shape(curve_, [](auto shape) { return shape() == Shape::unit; });
  }

  template <class Vector>
  Vector operator()(Vector d2) const {
    d2 = d2 < limit_ ? d2 : broadcast<Vector>(limit_);  // power() needs its result in range
    if (kind_ == PotentialKind::umap) return look_up(d2);
    const Vector q = with_shape(curve_, [&](auto shape) { return kernel<shape()>(d2 + kTiny, curve_).q; });
    return kind_ == PotentialKind::kernel ? q : q * q;
  }

 private:
  // U(s) = integral of 1/((epsilon + t)(1 + a t^b)) from s on, by Simpson's rule between knots.
  void tabulate(float epsilon) {
    constexpr int knots = PotentialTable::kKnots;
    const auto force = [&](double t) {
      return static_cast<double>(
          umap_repulsion<Shape::powered>(broadcast<float4>(static_cast<float>(t)), curve_, epsilon)[0]);
    };
    table_.resize(knots + 1);
    const double reach = std::min<double>(limit_, PotentialTable::knot(knots));
    double integral = PotentialTable::tail(reach, curve_);
    table_[knots] = static_cast<float>(integral);
    for (int i = knots - 1; i >= 0; --i) {
      const double low = PotentialTable::knot(i), high = PotentialTable::knot(i + 1);
      if (high <= reach)
        integral += (high - low) / 6 * (force(low) + 4 * force(0.5 * (low + high)) + force(high));
      table_[i] = static_cast<float>(integral);
    }
  }

  template <class Vector>
  Vector look_up(Vector d2) const {
    Vector u;
    for (int lane = 0; lane < Traits<Vector>::lanes; ++lane)
      u[lane] = PotentialTable::look_up(table_.data(), d2[lane]);
    return u;
  }

  PotentialKind kind_;
  Curve curve_;
  float limit_;
  std::vector<float> table_;
};

}  // namespace actup
