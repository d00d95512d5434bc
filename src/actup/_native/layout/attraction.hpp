// The attraction of a batch epoch: along the edges of one point, or of several points at once.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "layout/edge_rows.hpp"
#include "layout/edge_sampling.h"
#include "layout/epoch_state.hpp"
#include "layout/losses.h"
#include "layout/points.hpp"

namespace actup {

// Adds sum_j weight_j attraction_j (yi - yj) to force, the sum of those coefficients to stiffness, and
// sum_j weight_j q_j to weighted_q; the last two only if they are not null. Reads up to 7 ids beyond `count`,
// which must be valid.
template <int D, Shape shape, class LossPolicy>
inline void attract(const Points& points, int64_t i, const int32_t* ids, const float* weights, int64_t count,
                    Curve curve, float* force, float* stiffness, double* weighted_q) {
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
    const float8 coefficient = weight * LossPolicy::attraction(k);
    coefficients += coefficient;
    if (weighted_q) kernels += weight * k.q;
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
  if (weighted_q) *weighted_q += sum(kernels);
}

// The attractions of several rows of the graph at once. The long chain of operations from a distance to its
// coefficient runs over the edges of all rows, so that the processor always has independent work.
template <int D, Shape shape, class LossPolicy>
class RowsAttraction {
 public:
  static constexpr int64_t kEdgeCapacity = 1024;

  // How many rows from `row` on fit in the buffers together; 0 if not even one does.
  static int64_t rows_that_fit(const int64_t* offsets, int64_t row, int64_t end) {
    int64_t last = row;
    while (last < end && offsets[last + 1] - offsets[row] <= kEdgeCapacity) ++last;
    return last - row;
  }

  // Computes the coefficients of all edges of rows [begin, end); adds the sum of weight * q to weighted_q
  // unless that is null.
  void prepare(const Points& points, const int64_t* offsets, const int32_t* ids, const float* weights,
               int64_t begin, int64_t end, Curve curve, double* weighted_q) {
    const int64_t first = offsets[begin], count = offsets[end] - first;
    for (int64_t i = begin; i < end; ++i) measure(points, i, ids, offsets[i], offsets[i + 1], first);
    std::fill_n(squared_ + count, 16, 1.0f);
    float16 kernels = {};
    for (int64_t e = 0; e < count; e += 16) {
      const Kernel<float16> k = kernel<shape>(load<float16>(squared_ + e), curve);
      const float16 weight = load<float16>(weights + first + e);
      store(coefficient_ + e, weight * LossPolicy::attraction(k));
      if (weighted_q)
        kernels += where(lane_numbers<float16>() < static_cast<int32_t>(count - e), weight * k.q);
    }
    if (weighted_q) *weighted_q += sum(kernels);
  }

  // The force on a point whose edges are [begin, end), counted from the first prepared edge. Returns its
  // stiffness.
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
  // Differences to the neighbours of point i. Writes beyond its last edge; the next row overwrites that.
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

  float delta_[D][kEdgeCapacity + 16];
  float squared_[kEdgeCapacity + 16];
  float coefficient_[kEdgeCapacity + 16];
};

// Where the attraction of a block writes.
struct AttractionOutput {
  float* force;        // dimensions x 16
  float* stiffness;    // of the 16 points: the sums of their coefficients; null: not needed
  int32_t* counts;     // of the 16 points: the edges that act, at most n; null: not needed
  double* weighted_q;  // the sum of weight times q is added; null: not needed
};

class BatchAttraction {
 public:
  virtual ~BatchAttraction() = default;
  virtual void attract_block(const EpochState& state, int64_t block, const AttractionOutput& to) const = 0;
  virtual const EdgeRows& rows() const = 0;
};

template <int D, Shape shape, class LossPolicy>
class EdgeAttraction final : public BatchAttraction {
 public:
  explicit EdgeAttraction(EdgeRows rows) : rows_(std::move(rows)) {}

  const EdgeRows& rows() const override { return rows_; }

  // Takes several points at a time where the curve is expensive.
  void attract_block(const EpochState& state, int64_t block, const AttractionOutput& to) const override {
    const Dimensions<D> dimensions(state.points.dimensions);
    std::fill_n(to.force, kBlock * dimensions, 0.0f);
    const int64_t begin = block * kBlock, end = std::min(state.points.n, begin + kBlock);
    for (int64_t i = begin; i < end;) {
      int64_t together = 0;
      if constexpr (D > 0 && shape != Shape::unit) {
        if (state.settings.sampling == Sampling::exhaustive)
          together = RowsAttraction<D, shape, LossPolicy>::rows_that_fit(rows_.offsets.data(), i, end);
        if (together > 0) attract_rows(state, i, i + together, begin, to);
      }
      if (together == 0) attract_row(state, i, i - begin, to);
      i += std::max<int64_t>(together, 1);
    }
  }

 private:
  // The attraction on points [first, last) of the block that begins at `begin`; all edges act.
  void attract_rows(const EpochState& state, int64_t first, int64_t last, int64_t begin,
                    const AttractionOutput& to) const {
    if constexpr (D > 0) {
      const int64_t* offsets = rows_.offsets.data();
      RowsAttraction<D, shape, LossPolicy> rows;
      rows.prepare(state.points, offsets, rows_.ids.data(), rows_.weights.data(), first, last,
                   state.settings.curve, to.weighted_q);
      for (int64_t i = first; i < last; ++i) {
        float force[D];
        const float stiffness =
            rows.add_up(offsets[i] - offsets[first], offsets[i + 1] - offsets[first], force);
        for (int c = 0; c < D; ++c) to.force[c * kBlock + i - begin] = force[c];
        if (to.stiffness) to.stiffness[i - begin] = stiffness;
        if (to.counts)
          to.counts[i - begin] = static_cast<int32_t>(std::min(offsets[i + 1] - offsets[i], state.points.n));
      }
    }
  }

  // The attraction on point i, which is number `lane` of its block.
  void attract_row(const EpochState& state, int64_t i, int64_t lane, const AttractionOutput& to) const {
    const Dimensions<D> dimensions(state.points.dimensions);
    const int32_t* ids = &rows_.ids[rows_.offsets[i]];
    const float* weights = &rows_.weights[rows_.offsets[i]];
    const int64_t count = rows_.offsets[i + 1] - rows_.offsets[i];
    float* stiffness = to.stiffness ? to.stiffness + lane : nullptr;
    if (stiffness) *stiffness = 0;
    float stack[D ? D : 1] = {};
    std::vector<float> heap(D ? 0 : dimensions, 0.0f);
    float* force = D ? stack : heap.data();
    int64_t acting = count;
    if (state.settings.sampling == Sampling::exhaustive) {
      attract<D, shape, LossPolicy>(state.points, i, ids, weights, count, state.settings.curve, force,
                                    stiffness, to.weighted_q);
    } else {
      acting = attract_acting(state, i, ids, weights, count, force, stiffness, to.weighted_q);
    }
    for (int c = 0; c < dimensions; ++c) to.force[c * kBlock + lane] = force[c];
    if (to.counts) to.counts[lane] = static_cast<int32_t>(std::min(acting, state.points.n));
  }

  // Only the edges that act in this epoch, gathered into a small buffer first. Returns how many act.
  static int64_t attract_acting(const EpochState& state, int64_t i, const int32_t* ids, const float* weights,
                                int64_t count, float* force, float* stiffness, double* weighted_q) {
    constexpr int64_t capacity = 256;
    const Sampling sampling = state.settings.sampling;
    int32_t acting_ids[capacity + 8] = {};
    float acting_weights[capacity + 8];
    int64_t all = 0;
    for (int64_t begin = 0; begin < count; begin += capacity) {
      int64_t acting = 0;
      for (int64_t e = begin; e < std::min(count, begin + capacity); ++e) {
        acting_ids[acting] = ids[e];
        acting_weights[acting] = acting_weight(sampling, weights[e]);
        acting += acts(weights[e], state.epoch);
      }
      attract<D, shape, LossPolicy>(state.points, i, acting_ids, acting_weights, acting, state.settings.curve,
                                    force, stiffness, weighted_q);
      all += acting;
    }
    return all;
  }

  EdgeRows rows_;
};

inline std::unique_ptr<BatchAttraction> make_attraction(const Settings& s, int dimensions, EdgeRows rows) {
  std::unique_ptr<BatchAttraction> made;
  with_dimensions(dimensions, [&](auto d) {
    with_shape(s.curve, [&](auto shape) {
      with_loss(s.loss, [&](auto loss) {
        made = std::make_unique<EdgeAttraction<d(), shape(), decltype(loss)>>(std::move(rows));
      });
    });
  });
  return made;
}

}  // namespace actup
