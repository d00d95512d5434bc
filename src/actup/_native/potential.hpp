// Potentials: radial functions U(d2) whose gradient is a repulsion, so that one field gives force and sums.
//
// As dq/d(d2) = -ab slope q, the sum of slope q (yi - yk) over k is the gradient of the sum of q, times
// -1/(2ab), for any a, b and dof; in the same way q^2 gives slope q^2 (Frobenius).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "forces.h"
#include "vectors.h"

namespace actup {

enum class PotentialKind : int { kernel, kernel_squared, umap };

class Potential {
 public:
  Potential(PotentialKind kind, const Curve& curve, float epsilon)
      : kind_(kind), curve_(curve), limit_(std::exp2(std::min(100.0f, 120.0f / curve.b))) {
    if (kind == PotentialKind::umap) tabulate(epsilon);
  }

  // The force on a point is -force_factor() times the gradient of the sum of U.
  float force_factor() const {
    if (kind_ == PotentialKind::umap) return 0.5f;
    return (kind_ == PotentialKind::kernel ? 0.5f : 0.25f) / (curve_.a * curve_.b);
  }

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
  // The table has 2^kBits knots per octave of d2, so that a knot's number is in the leading bits of d2.
  static constexpr int kBits = 7, kLowest = -40, kOctaves = 100;
  static constexpr int32_t kFirstKnot = (127 + kLowest) << kBits;

  // U(s) = integral of 1/((epsilon + t)(1 + a t^b)) from s on, by Simpson's rule between knots.
  void tabulate(float epsilon) {
    const int knots = kOctaves << kBits;
    const auto force = [&](double t) {
      return static_cast<double>(
          umap_repulsion<Shape::powered>(broadcast<float4>(static_cast<float>(t)), curve_, epsilon)[0]);
    };
    table_.resize(knots + 1);
    const double end = knot(knots);
    const double reach = std::min<double>(limit_, end);
    double integral = std::pow(reach, -curve_.b) /
                      (static_cast<double>(curve_.a) * curve_.b);  // the tail, where f = t^(-1-b)/a
    table_[knots] = static_cast<float>(integral);
    for (int i = knots - 1; i >= 0; --i) {
      const double low = knot(i), high = knot(i + 1);
      if (high <= reach)
        integral += (high - low) / 6 * (force(low) + 4 * force(0.5 * (low + high)) + force(high));
      table_[i] = static_cast<float>(integral);
    }
  }

  static double knot(int i) {
    constexpr int count = 1 << kBits;
    return std::ldexp(1 + static_cast<double>(i % count) / count, kLowest + i / count);
  }

  template <class Vector>
  Vector look_up(Vector d2) const {
    Vector u;
    for (int lane = 0; lane < Traits<Vector>::lanes; ++lane) {
      const float s = std::max(d2[lane], 0x1p-40f);
      const int32_t bits = std::bit_cast<int32_t>(s), knot = (bits >> (23 - kBits)) - kFirstKnot;
      if (knot >= kOctaves << kBits) {
        u[lane] = table_.back();
        continue;
      }
      constexpr int32_t mask = (1 << (23 - kBits)) - 1;
      const float part = static_cast<float>(bits & mask) / (mask + 1);
      u[lane] = table_[knot] + part * (table_[knot + 1] - table_[knot]);
    }
    return u;
  }

  PotentialKind kind_;
  Curve curve_;
  float limit_;
  std::vector<float> table_;
};

}  // namespace actup
