// Horizon: beyond some radii of the map, repulsion moves no point farther out. Without it, a group of points
// with few edges to the others drifts away, and the rest of the map shrinks in every picture.
#pragma once

#include <cmath>

#include "layout/points.hpp"
#include "layout/state_visitor.hpp"

namespace actup {

class Horizon {
 public:
  Horizon() = default;
  // radii: the horizon in root-mean-square radii of the map; chunks: how many times measure() is called.
  Horizon(float radii, int64_t chunks, int dimensions)
      : radii_(radii), width_(dimensions + 1), sums_(chunks * width_, 0.0), middle_(dimensions, 0.0f) {}

  bool active() const { return radii_ > 0; }

  // Places are measured relative to the last known middle, at first to a point: squares of coordinates far
  // from 0 would lose their last digits.
  void prepare(const Points& points) {
    if (!settled_) std::copy_n(points.row(0), points.dimensions, middle_.begin());
    settled_ = true;
  }

  // The middle, relative to which the next epoch measures.
  void visit_state(StateVisitor& visitor) {
    visitor.visit_number("horizon.settled", settled_, 0, 1);
    visitor.visit("horizon.middle", middle_);
  }

  // The points have been put somewhere else: the last known middle is not near them any more.
  void forget() { settled_ = false; }

  // Measures points [begin, end), which are chunk number `chunk`. Only the last chunk may end within a block.
  void measure(int64_t chunk, const Points& points, int64_t begin, int64_t end) {
    double* sums = &sums_[chunk * width_];
    const int64_t whole = begin + (end - begin) / kBlock * kBlock;
    double squares = 0;
    for (int c = 0; c < points.dimensions; ++c) {
      const float* plane = points.plane(c);
      float16 lane_sums = {}, lane_squares = {};
      for (int64_t i = begin; i < whole; i += kBlock) {
        const float16 y = load<float16>(plane + i) - middle_[c];
        lane_sums += y;
        lane_squares += y * y;
      }
      sums[c] = sum(lane_sums);
      squares += sum(lane_squares);
      for (int64_t i = whole; i < end; ++i) {
        const float y = plane[i] - middle_[c];
        sums[c] += y;
        squares += y * y;
      }
    }
    sums[points.dimensions] = squares;
  }

  // Computes the map's middle and the horizon's distance, once all chunks are measured.
  void settle(const Points& points) {
    const double n = static_cast<double>(points.n);
    double squares = 0;
    for (int c = 0; c < width_; ++c) {
      double mean = 0;
      for (size_t at = c; at < sums_.size(); at += width_) mean += sums_[at];
      mean /= n;
      if (c < points.dimensions) middle_[c] += static_cast<float>(mean);
      squares += c < points.dimensions ? -mean * mean : mean;
    }
    limit_ = static_cast<float>(radii_ * radii_ * std::max(0.0, squares));
  }

  // Removes the outward part of the moves of a block (dimensions x 16) for points beyond the horizon.
  void remove_outward(const Points& points, int64_t block, float16* moves) const {
    float16 squared = {}, outward = {};
    for (int c = 0; c < points.dimensions; ++c) {
      const float16 offset = load<float16>(points.plane(c) + block * kBlock) - middle_[c];
      squared += offset * offset;
      outward += offset * moves[c];
    }
    const float16 share = (squared > limit_) & (outward > 0.0f) ? outward / squared : float16{};
    for (int c = 0; c < points.dimensions; ++c)
      moves[c] -= share * (load<float16>(points.plane(c) + block * kBlock) - middle_[c]);
  }

 private:
  float radii_ = 0;
  bool settled_ = false;
  int width_ = 0;
  std::vector<double> sums_;   // chunks x (dimensions + 1): coordinates, then squares
  std::vector<float> middle_;  // of the map
  float limit_ = 0;            // squared distance of the horizon from the middle
};

}  // namespace actup
