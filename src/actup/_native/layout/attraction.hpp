// Attraction: along the edges of one point (batch), and along single edges that move both ends (in place).
#pragma once

#include "layout/matchings.hpp"
#include "layout/points.hpp"

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
      const Pairs<float8> other = gather_pairs(rows, ids + e);
      delta[0] = self[0] - other.x;
      delta[1] = self[1] - other.y;
      d2 += delta[0] * delta[0];
      d2 += delta[1] * delta[1];
    } else {
      for (int c = 0; c < dimensions; ++c) {
        const float8 difference = self[c] - gather<float8>(rows, ids + e, dimensions, c);
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
        force[c] += sum(coefficient * (self[c] - gather<float8>(rows, ids + e, dimensions, c)));
    }
  }
  if constexpr (D > 0) {
    for (int c = 0; c < D; ++c) force[c] += sum(total[c]);
  }
  if (stiffness) *stiffness += sum(coefficients);
  if (kernel_sum) *kernel_sum += sum(kernels);
}

// The attractions of several rows of the graph at once. The long chain of operations from a distance to its
// coefficient runs over the edges of all of them, so that a processor always has independent work.
template <int D, Shape shape, Loss loss>
class RowsAttraction {
 public:
  static constexpr int64_t kCapacity = 1024;  // edges

  // Rows from `row` on that fit together; 0 if not even one does.
  static int64_t rows_that_fit(const int64_t* offsets, int64_t row, int64_t end) {
    int64_t last = row;
    while (last < end && offsets[last + 1] - offsets[row] <= kCapacity) ++last;
    return last - row;
  }

  // Computes the coefficients of all edges of rows [begin, end); adds sum weight * q to kernel_sum unless
  // null.
  void prepare(const Points& points, const int64_t* offsets, const int32_t* ids, const float* weights,
               int64_t begin, int64_t end, Curve curve, double* kernel_sum) {
    const int64_t first = offsets[begin], count = offsets[end] - first;
    for (int64_t i = begin; i < end; ++i) measure(points, i, ids, offsets[i], offsets[i + 1], first);
    std::fill_n(squared_ + count, 16, 1.0f);
    float16 kernels = {};
    for (int64_t e = 0; e < count; e += 16) {
      const Kernel<float16> k = kernel<shape>(load<float16>(squared_ + e), curve);
      const float16 weight = load<float16>(weights + first + e);
      store(coefficient_ + e, weight * attraction<loss>(k));
      if (kernel_sum)
        kernels += where(lane_numbers<float16>() < static_cast<int32_t>(count - e), weight * k.q);
    }
    if (kernel_sum) *kernel_sum += sum(kernels);
  }

  // The force on a row whose edges are [begin, end) after the first prepared one, and its stiffness.
  float add_up(int64_t begin, int64_t end, float* force) const {
    const int8 lanes = lane_numbers<float8>();
    float8 total[D] = {}, stiffness = {};
    for (int64_t e = begin; e < end; e += 8) {
      const float8 coefficient = where(lanes < static_cast<int32_t>(end - e), load<float8>(coefficient_ + e));
      for (int c = 0; c < D; ++c) total[c] += coefficient * load<float8>(delta_[c] + e);
      stiffness += coefficient;
    }
    for (int c = 0; c < D; ++c) force[c] = sum(total[c]);
    return sum(stiffness);
  }

 private:
  // Differences to the neighbours of point i. Writes beyond its last edge, which the next row mends.
  void measure(const Points& points, int64_t i, const int32_t* ids, int64_t begin, int64_t end,
               int64_t first) {
    const float* rows = points.rows.data();
    const float* self = points.row(i);
    for (int64_t e = begin; e < end; e += 8) {
      float8 difference[D];
      if constexpr (D == 2) {
        const Pairs<float8> other = gather_pairs(rows, ids + e);
        difference[0] = self[0] - other.x;
        difference[1] = self[1] - other.y;
      } else {
        for (int c = 0; c < D; ++c) difference[c] = self[c] - gather<float8>(rows, ids + e, D, c);
      }
      float8 d2 = broadcast<float8>(kTiny);
      for (int c = 0; c < D; ++c) {
        d2 += difference[c] * difference[c];
        store(delta_[c] + (e - first), difference[c]);
      }
      store(squared_ + (e - first), d2);
    }
  }

  float delta_[D][kCapacity + 16];
  float squared_[kCapacity + 16];
  float coefficient_[kCapacity + 16];
};

inline Pairs<float16> gather_ends(const float* rows, const int32_t* ids) {
  const Pairs<float8> low = gather_pairs<2>(rows, ids), high = gather_pairs<2>(rows, ids + 16);
  return {joined(low.x, high.x), joined(low.y, high.y)};
}

inline void scatter_ends(float* rows, const int32_t* ids, int count, const Pairs<float16>& p) {
  scatter_pairs<2>(rows, ids, count, {low_half(p.x), low_half(p.y)});
  if (count > 8) scatter_pairs<2>(rows, ids + 16, count - 8, {high_half(p.x), high_half(p.y)});
}

// Moves both ends of up to 16 edges that share no point, `repeats` times, by rate * weight * attraction.
// Reads 16 edges and weights; those beyond `count` must be valid.
template <int D, Shape shape, Loss loss>
inline void pull_together(Points& points, const Edge* edges, const float* weights, int count, float rate,
                          int repeats, Curve curve) {
  const float16 step = rate * load<float16>(weights);
  const int32_t *heads = &edges->head, *tails = &edges->tail;  // every other number
  float* rows = points.rows.data();
  if constexpr (D == 2) {
    Pairs<float16> head = gather_ends(rows, heads), tail = gather_ends(rows, tails);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const float16 dx = head.x - tail.x, dy = head.y - tail.y;
      const Kernel<float16> k = kernel<shape>(kTiny + dx * dx + dy * dy, curve);
      const float16 share = step * attraction<loss>(k);
      head.x -= share * dx;
      head.y -= share * dy;
      tail.x += share * dx;
      tail.y += share * dy;
    }
    scatter_ends(rows, heads, count, head);
    scatter_ends(rows, tails, count, tail);
  } else {
    const Dimensions<D> dimensions(points.dimensions);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      float16 d2 = broadcast<float16>(kTiny);
      for (int c = 0; c < dimensions; ++c) {
        const float16 delta =
            gather<float16, 2>(rows, heads, dimensions, c) - gather<float16, 2>(rows, tails, dimensions, c);
        d2 += delta * delta;
      }
      const float16 share = step * attraction<loss>(kernel<shape>(d2, curve));
      for (int c = 0; c < dimensions; ++c) {
        const float16 head = gather<float16, 2>(rows, heads, dimensions, c);
        const float16 tail = gather<float16, 2>(rows, tails, dimensions, c);
        const float16 move = share * (head - tail);
        for (int lane = 0; lane < count; ++lane) {
          rows[static_cast<int64_t>(edges[lane].head) * dimensions + c] = head[lane] - move[lane];
          rows[static_cast<int64_t>(edges[lane].tail) * dimensions + c] = tail[lane] + move[lane];
        }
      }
    }
  }
}

}  // namespace actup
