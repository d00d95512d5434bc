// Horizon: beyond some radii of the map, repulsion pushes no point farther out. A group of points that hardly
// an edge ties to the others would else drift off, and the rest of the map shrink in every picture of it.
#pragma once

#include <cmath>

#include "layout/points.hpp"

namespace actup {

class Horizon {
 public:
  Horizon() = default;
  // radii: how many root-mean-square radii of the map; chunks: how many shares of the points are measured.
  Horizon(float radii, int64_t chunks, int dimensions)
      : radii_(radii), width_(dimensions + 1), sums_(chunks * width_, 0.0), middle_(dimensions, 0.0f) {}

  bool active() const { return radii_ > 0; }

  // Places are measured from where the middle was, at first from a point: far from 0, squares would lose it.
  void prepare(const Points& points) {
    if (!settled_) std::copy_n(points.row(0), points.dimensions, middle_.begin());
    settled_ = true;
  }

  // Measures points [begin, end) of a chunk, in whole blocks but for the last point of all.
  void measure(int64_t chunk, const Points& points, int64_t begin, int64_t end) {
    double* sums = &sums_[chunk * width_];
    const int64_t whole = begin + (end - begin) / kBlock * kBlock;
    double squares = 0;
    for (int c = 0; c < points.dimensions; ++c) {
      const float* plane = points.plane(c);
      float16 sum_of = {}, square_of = {};
      for (int64_t i = begin; i < whole; i += kBlock) {
        const float16 y = load<float16>(plane + i) - middle_[c];
        sum_of += y;
        square_of += y * y;
      }
      sums[c] = sum(sum_of);
      squares += sum(square_of);
      for (int64_t i = whole; i < end; ++i) {
        const float y = plane[i] - middle_[c];
        sums[c] += y;
        squares += y * y;
      }
    }
    sums[points.dimensions] = squares;
  }

  // Once all chunks are measured: where the map's middle is, and how far its horizon.
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

  // Takes from the moves of a block (dimensions x 16) what leads farther out, where points are beyond.
  void hold(const Points& points, int64_t block, float16* moves) const {
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
  float limit_ = 0;            // squared distance from it
};

}  // namespace actup
