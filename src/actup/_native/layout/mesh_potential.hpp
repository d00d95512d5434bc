// MeshPotential: any potential as a function of d2 that a mesh can sample, from its formula or from a table.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "layout/potential_table.h"

namespace actup {

class MeshPotential {
 public:
  MeshPotential(PotentialKind kind, const Curve& curve, float epsilon)
      : kind_(kind), curve_(curve), limit_(PotentialTable::limit(curve.b)) {
    if (!of_kernel()) tabulate(epsilon);
  }

  // The force on a point is -force_factor() times the gradient of the sum of U.
  float force_factor() const {
    return with_potential(kind_, [&](auto policy) { return policy.force_factor(curve_); });
  }

  // Whether U varies over lengths of 1 and more only: its spectrum then ends before that of a usual grid.
  bool smooth() const { return of_kernel() && shape_of(curve_) == Shape::unit; }

  template <class Vector>
  Vector operator()(Vector d2) const {
    d2 = d2 < limit_ ? d2 : broadcast<Vector>(limit_);  // power() needs its result in range
    if (!of_kernel()) return PotentialTable::look_up(table_.data(), d2);
    const Kernel<Vector> k =
        with_shape(curve_, [&](auto shape) { return kernel<shape()>(d2 + kTiny, curve_); });
    return with_potential(kind_, [&](auto policy) {
      if constexpr (decltype(policy)::kOfKernel) {
        return policy.value(k);
      } else {
        return Vector{};
      }
    });
  }

 private:
  bool of_kernel() const {
    return with_potential(kind_, [](auto policy) { return decltype(policy)::kOfKernel; });
  }

  // U(s) is the integral of 1/((epsilon + t)(1 + a t^b)) from s to infinity, by Simpson's rule between knots.
  void tabulate(float epsilon) {
    constexpr int knots = PotentialTable::kKnots;
    const auto point = [](int i) {  // the knots, and the middles between them
      return i % 2 ? 0.5 * (PotentialTable::knot(i / 2) + PotentialTable::knot(i / 2 + 1))
                   : PotentialTable::knot(i / 2);
    };
    std::vector<float> force(2 * knots + kBlock);
    for (int first = 0; first < 2 * knots + 1; first += kBlock) {
      float16 t;
      for (int lane = 0; lane < kBlock; ++lane) t[lane] = static_cast<float>(point(first + lane));
      store(&force[first], UmapPotential::repulsion<Shape::powered>(t, curve_, epsilon));
    }
    table_.resize(knots + 1);
    const double reach = std::min<double>(limit_, PotentialTable::knot(knots));
    double integral = PotentialTable::tail(reach, curve_);
    table_[knots] = static_cast<float>(integral);
    for (int i = knots - 1; i >= 0; --i) {
      const double low = PotentialTable::knot(i), high = PotentialTable::knot(i + 1);
      if (high <= reach)
        integral += (high - low) / 6 *
                    (static_cast<double>(force[2 * i]) + 4 * static_cast<double>(force[2 * i + 1]) +
                     static_cast<double>(force[2 * i + 2]));
      table_[i] = static_cast<float>(integral);
    }
  }

  PotentialKind kind_;
  Curve curve_;
  float limit_;
  std::vector<float> table_;  // of UMAP's potential
};

}  // namespace actup
