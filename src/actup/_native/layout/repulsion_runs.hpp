// Repulsion from runs of negatives: what a run of consecutive points does to a block of 16 points, whose
// lanes share every load. With the whole set as the run it is the exact repulsion.
#pragma once

#include "common/random.h"
#include "layout/losses.h"
#include "layout/points.hpp"

namespace actup {

// Sums over a run. `second` and the sums of the kernel are filled in the normalised setting only.
struct RunSums {
  float16* force;   // per dimension and point of the block: sum of repulsion (yi - yk)
  float16* second;  // the same for the loss's second force, if it has one
  double q = 0;     // over all points of the block, self pairs left out, as in the next two
  double q_squared = 0;
  int64_t samples = 0;
};

// The run [first, first + length) acts on the points of the block. If `counted`, point `lane` feels only the
// first counts[lane] points of the run.
template <int D, Shape shape, class LossPolicy, bool normalized, bool counted>
inline void repel_by_run(const Points& points, int64_t block, int64_t first, int64_t length,
                         const int32_t* counts, const Settings& s, RunSums& sums) {
  constexpr int64_t part = 1024;  // long runs stay accurate: float sums over a part, then over the parts
  constexpr bool has_second = normalized && LossPolicy::kHasSecondForce;
  const Dimensions<D> dimensions(points.dimensions);
  const Curve curve = s.curve;  // a copy, which no store can change
  const int64_t row = block * kBlock;
  const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
  int16 count = {};
  if constexpr (counted) std::memcpy(&count, counts, sizeof count);

  float16 q_lanes = {}, q2_lanes = {};
  for (int64_t begin = 0; begin < length; begin += part) {
    const int64_t end = std::min(length, begin + part);
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
      const auto mask = [&](float16 value) {
        return counted ? where(count > static_cast<int32_t>(k), value) : value;
      };
      const auto pair = pair_repulsion<LossPolicy, normalized, shape>(d2, curve, s.repulsion_epsilon, mask);
      if constexpr (normalized) q_sum += pair.q;
      if constexpr (has_second) q2_sum += pair.q * pair.q;
      for (int c = 0; c < dimensions; ++c) {
        if constexpr (D > 0) {
          force[c] += pair.coefficient * delta[c];
          if constexpr (has_second) second[c] += pair.second * delta[c];
        } else {
          const float16 difference = load<float16>(points.plane(c) + row) - points.plane(c)[first + k];
          sums.force[c] += pair.coefficient * difference;
          if constexpr (has_second) sums.second[c] += pair.second * difference;
        }
      }
    }
    if constexpr (D > 0) {
      for (int c = 0; c < D; ++c) sums.force[c] += force[c];
      if constexpr (has_second)
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
