// Balance: whether a normalised map still expands, and where its middle is. By the virial theorem a map
// expands while its repulsion, projected on the places of the points, exceeds its attraction.
#pragma once

#include <array>
#include <cstdint>

#include "layout/points.hpp"

namespace actup {

class Balance {
 public:
  static constexpr int kAxes = 3;  // further dimensions are neither watched nor centred

  // attraction and repulsion: dimensions x 16, without the factors of the forces.
  void add_block(const Points& points, int64_t block, const float* attraction, const float* repulsion) {
    const int64_t row = block * kBlock;
    const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
    for (int c = 0; c < std::min(points.dimensions, kAxes); ++c) {
      const float* plane = points.plane(c) + row;
      Axis& axis = axes_[c];
      for (int lane = 0; lane < valid; ++lane) {
        const double y = plane[lane], a = attraction[c * kBlock + lane], r = repulsion[c * kBlock + lane];
        axis.place += y;
        axis.attraction += a;
        axis.repulsion += r;
        axis.attraction_work += a * y;
        axis.repulsion_work += r * y;
      }
    }
    points_ += valid;
  }

  void add(const Balance& other) {
    for (int c = 0; c < kAxes; ++c) {
      axes_[c].place += other.axes_[c].place;
      axes_[c].attraction += other.axes_[c].attraction;
      axes_[c].repulsion += other.axes_[c].repulsion;
      axes_[c].attraction_work += other.axes_[c].attraction_work;
      axes_[c].repulsion_work += other.axes_[c].repulsion_work;
    }
    points_ += other.points_;
  }

  // The factors turn the sums into forces; attraction_factor is negative.
  bool attraction_wins(float attraction_factor, float repulsion_factor) const {
    double work = 0;
    for (const Axis& axis : axes_) {
      const double middle = points_ ? axis.place / static_cast<double>(points_) : 0;
      work += attraction_factor * (axis.attraction_work - middle * axis.attraction) +
              repulsion_factor * (axis.repulsion_work - middle * axis.repulsion);
    }
    return work < 0;
  }

  double mean(int c) const {
    return c < kAxes && points_ ? axes_[c].place / static_cast<double>(points_) : 0;
  }

 private:
  struct Axis {
    double place = 0, attraction = 0, repulsion = 0, attraction_work = 0, repulsion_work = 0;
  };
  std::array<Axis, kAxes> axes_{};
  int64_t points_ = 0;
};

}  // namespace actup
