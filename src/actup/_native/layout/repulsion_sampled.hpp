// Sampled repulsion: what a run of consecutive points does to a block of 16 points, whose lanes share every
// load. With the whole set as the run it is the exact repulsion.
#pragma once

#include "common/random.h"
#include "layout/points.hpp"

namespace actup {

// Sums over a run, per point of the block. `second` and the kernel sums are filled in the normalised setting
// only.
struct RunSums {
  float16* force;   // per dimension: sum of repulsion(yi - yk)
  float16* second;  // per dimension: sum of slope q (normalised Frobenius)
  double q = 0;     // over the block's points, self pairs left out, as in the next two
  double q_squared = 0;
  int64_t samples = 0;
};

// The run [first, first + length) acts on the points of the block; point `lane` feels only its first
// counts[lane].
template <int D, Shape shape, Loss loss, bool normalized, bool counted>
inline void repel(const Points& points, int64_t block, int64_t first, int64_t length, const int32_t* counts,
                  const Settings& s, RunSums& sums) {
  constexpr int64_t piece = 1024;  // float sums over a piece, then added up: keeps long runs accurate
  constexpr bool two = normalized && loss == Loss::frobenius;
  const Dimensions<D> dimensions(points.dimensions);
  const Curve curve = s.curve;  // a copy, which no store can change
  const int64_t row = block * kBlock;
  const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
  int16 count = {};
  if constexpr (counted) std::memcpy(&count, counts, sizeof count);

  float16 q_lanes = {}, q2_lanes = {};
  for (int64_t begin = 0; begin < length; begin += piece) {
    const int64_t end = std::min(length, begin + piece);
    float16 force[D ? D : 1] = {}, second[D ? D : 1] = {};
    float16 q_sum = {}, q2_sum = {};
    for (int64_t k = begin; k < end; ++k) {
      float16 d2 = broadcast<float16>(kTiny);
      float16 delta[D ? D : 1];
      for (int c = 0; c < dimensions; ++c) {
        const float16 difference = load<float16>(points.plane(c) + row) - points.plane(c)[first + k];
        if constexpr (D > 0) delta[c] = difference;
        d2 += difference * difference;
      }
      float16 coefficient, other = {};
      if constexpr (normalized || loss == Loss::frobenius) {
        Kernel<float16> kernel_ = kernel<shape>(d2, curve);
        if constexpr (counted) {
          const int16 feels = count > static_cast<int32_t>(k);
          kernel_ = {where(feels, kernel_.q), where(feels, kernel_.slope)};
        }
        coefficient = repulsion<loss>(kernel_);
        if constexpr (normalized) q_sum += kernel_.q;
        if constexpr (two) {
          q2_sum += kernel_.q * kernel_.q;
          other = repulsion<Loss::kl>(kernel_);
        }
      } else {
        coefficient = umap_repulsion<shape>(d2, curve, s.repulsion_epsilon);
        if constexpr (counted) coefficient = where(count > static_cast<int32_t>(k), coefficient);
      }
      for (int c = 0; c < dimensions; ++c) {
        if constexpr (D > 0) {
          force[c] += coefficient * delta[c];
          if constexpr (two) second[c] += other * delta[c];
        } else {
          const float16 difference = load<float16>(points.plane(c) + row) - points.plane(c)[first + k];
          sums.force[c] += coefficient * difference;
          if constexpr (two) sums.second[c] += other * difference;
        }
      }
    }
    if constexpr (D > 0) {
      for (int c = 0; c < D; ++c) sums.force[c] += force[c];
      if constexpr (two)
        for (int c = 0; c < D; ++c) sums.second[c] += second[c];
    }
    q_lanes += q_sum;
    q2_lanes += q2_sum;
  }
  if constexpr (normalized) {
    const float self = kernel<shape>(broadcast<float16>(kTiny), curve).q[0];
    for (int lane = 0; lane < valid; ++lane) {
      const int64_t place = (row + lane - first + points.n) % points.n;
      const int64_t own_length = counted ? counts[lane] : length;
      const bool meets_itself = place < own_length;
      sums.samples += own_length - meets_itself;
      sums.q += static_cast<double>(q_lanes[lane]) - (meets_itself ? self : 0.0f);
      sums.q_squared += static_cast<double>(q2_lanes[lane]) - (meets_itself ? self * self : 0.0f);
    }
  }
}

// Where the run of a block starts.
inline int64_t run_start(const Settings& s, int64_t n, int epoch, int64_t block, int half) {
  if (s.repulsion != Repulsion::sampled) return 0;
  return random_below(random_bits(s.seed, static_cast<uint32_t>(epoch), static_cast<uint32_t>(block), half),
                      n);
}

}  // namespace actup
