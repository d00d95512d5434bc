// Attraction: along the edges of one point (batch), and along single edges that move both ends (in place).
#pragma once

#include "matchings.hpp"
#include "points.hpp"

namespace actup {

// Adds sum_j weight_j * attraction(|yi - yj|) (yi - yj) to force, the sum of those coefficients to stiffness,
// and sum_j weight_j q_j to kernel_sum; the last two only if they are not null.
// Reads up to 7 ids beyond `count`; they must be valid.
template <int D, Shape shape, Loss loss>
inline void attract(const Points& points, int64_t i, const int32_t* ids, const float* weights, int64_t count,
                    Curve curve, float* force, float* stiffness, double* kernel_sum) {
  const Dimensions<D> dimensions(points.dimensions);
  const float* rows = points.rows.data();
  const float* self = points.row(i);
  const int8 lanes = lane_numbers<float8>();
  float8 total[D ? D : 1] = {};
  float8 kernels = {}, coefficients = {};
  for (int64_t e = 0; e < count; e += 8) {
    const int left = static_cast<int>(std::min<int64_t>(8, count - e));
    const float8 weight = where(lanes < left, load<float8>(weights + e));
    float8 delta[D ? D : 1];
    float8 d2 = broadcast<float8>(kTiny);
    if constexpr (D == 2) {
      const Pair8 other = gather_pairs(rows, ids + e);
      delta[0] = self[0] - other.x;
      delta[1] = self[1] - other.y;
      d2 += delta[0] * delta[0];
      d2 += delta[1] * delta[1];
    } else {
      for (int c = 0; c < dimensions; ++c) {
        const float8 difference = self[c] - gather(rows, ids + e, dimensions, c);
        if constexpr (D > 0) delta[c] = difference;
        d2 += difference * difference;
      }
    }
    const Kernel<float8> k = kernel<shape>(d2, curve);
    const float8 coefficient = weight * attraction<loss>(k);
    coefficients += coefficient;
    if (kernel_sum) kernels += weight * k.q;
    if constexpr (D > 0) {
      for (int c = 0; c < D; ++c) total[c] += coefficient * delta[c];
    } else {
      for (int c = 0; c < dimensions; ++c)
        force[c] += sum(coefficient * (self[c] - gather(rows, ids + e, dimensions, c)));
    }
  }
  if constexpr (D > 0) {
    for (int c = 0; c < D; ++c) force[c] += sum(total[c]);
  }
  if (stiffness) *stiffness += sum(coefficients);
  if (kernel_sum) *kernel_sum += sum(kernels);
}

// Moves both ends of up to eight edges that share no point, `repeats` times, by rate * weight * attraction.
template <int D, Shape shape, Loss loss>
inline void pull_together(Points& points, const int32_t* heads, const int32_t* tails, const float* weights,
                          int count, float rate, int repeats, Curve curve) {
  const float8 step = rate * load<float8>(weights);
  if constexpr (D == 2) {
    float* rows = points.rows.data();
    Pair8 head = gather_pairs(rows, heads), tail = gather_pairs(rows, tails);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const float8 dx = head.x - tail.x, dy = head.y - tail.y;
      const Kernel<float8> k = kernel<shape>(kTiny + dx * dx + dy * dy, curve);
      const float8 share = step * attraction<loss>(k);
      head.x -= share * dx;
      head.y -= share * dy;
      tail.x += share * dx;
      tail.y += share * dy;
    }
    scatter_pairs(rows, heads, count, head);
    scatter_pairs(rows, tails, count, tail);
  } else {
    const Dimensions<D> dimensions(points.dimensions);
    float* rows = points.rows.data();
    for (int repeat = 0; repeat < repeats; ++repeat) {
      float8 d2 = broadcast<float8>(kTiny);
      for (int c = 0; c < dimensions; ++c) {
        const float8 delta = gather(rows, heads, dimensions, c) - gather(rows, tails, dimensions, c);
        d2 += delta * delta;
      }
      const float8 share = step * attraction<loss>(kernel<shape>(d2, curve));
      for (int c = 0; c < dimensions; ++c) {
        const float8 head = gather(rows, heads, dimensions, c), tail = gather(rows, tails, dimensions, c);
        const float8 move = share * (head - tail);
        for (int lane = 0; lane < count; ++lane) {
          rows[static_cast<int64_t>(heads[lane]) * dimensions + c] = head[lane] - move[lane];
          rows[static_cast<int64_t>(tails[lane]) * dimensions + c] = tail[lane] + move[lane];
        }
      }
    }
  }
}

}  // namespace actup
