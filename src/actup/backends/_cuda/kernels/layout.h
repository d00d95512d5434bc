// What the kernels of the layout share: constants, state, and the forces on one point.
//
// Eight neighbouring threads work on one point. Their sums are added in a fixed tree, so a result depends on
// nothing but its inputs.
//
// DIMENSIONS  of the map
// SHAPE       of the curve: a number of Shape, kernel.h
// LOSS        a number of Loss, settings.h
// MOBILITY    whether each point's moves are multiplied by its mobility; points of mobility 0 keep their bits
#pragma once

#include "common/random.h"
#include "layout/edge_sampling.h"
#include "layout/losses.h"

#ifndef DIMENSIONS
#define DIMENSIONS 2
#endif
#ifndef SHAPE
#define SHAPE 0
#endif
#ifndef LOSS
#define LOSS 0
#endif
#ifndef MOBILITY
#define MOBILITY 0
#endif

namespace actup {

constexpr int kDimensions = DIMENSIONS;
constexpr Shape kShape = static_cast<Shape>(SHAPE);
using LossPolicy = PolicyOfLoss<static_cast<Loss>(LOSS)>::Policy;
constexpr int kLanes = POINT_LANES;  // threads per point
constexpr int kThreads = THREADS;    // per thread block of the kernels that work on points
constexpr int kPoints = kThreads / kLanes;
constexpr unsigned kAll = 0xFFFFFFFFu;  // the lanes of a warp

struct Constants {  // state.py has the same fields in the same order
  uint64_t seed;
  double partition;
  int32_t n, epochs, run_length, expansion_begin, expansion_end, sampling, rate_in_points;
  Curve curve;
  float repulsion_rate;  // times Steering::repulsion; normalised: 1 times it
  float repulsion_epsilon, force_scale, gradient_clip, momentum_after_stop, repeats, horizon;
  float p_max, non_edge_weight, mean_strength;  // from the graph: derive() in layout_graph.cu
};

struct Rule {  // of one epoch; state.py has as many fields
  ForceFactors factors;
  float learning_rate, momentum, cap, stiffness_scale, stiffness_floor, dilation;
  float middle[3];  // of the map, in its first three dimensions
  int32_t stop;     // whether all steps are set to 0 first
};

constexpr int kBoxAxes = BOX_AXES;  // the first axes, whose bounding box is known
// An entry of the box of no points.
__host__ __device__ constexpr int32_t empty_box(int entry) {
  return entry < kBoxAxes ? 0x7FFFFFFF : -0x7FFFFFFF - 1;
}

struct State {
  int32_t epoch, expansion_ended;
  Rule rule;
  // Smallest coordinates of kBoxAxes axes, then largest, as ordered(). Before epoch e the points' box is
  // box[e % 3]; the steps of an epoch write the next box, and the one after that is cleared meanwhile.
  int32_t box[3][2 * kBoxAxes];
};

// The schedule's rows.
enum { kLearningRate, kMomentum, kExaggeration, kStepCap, kStiffnessFloor, kDilation };

struct alignas(kDimensions == 2 ? 8 : kDimensions == 4 ? 16 : 4) Row {
  float at[kDimensions];
};

struct Edge {
  int32_t id;
  float weight;
};

__device__ inline Edge load_edge(const int2* edges, int e) {
  const int2 both = __ldg(edges + e);
  return {both.x, __int_as_float(both.y)};
}

// An integer that sorts as the float does. NaN sorts as the largest.
__device__ inline int32_t ordered(float value) {
  const int32_t bits = __float_as_int(value);
  return bits >= 0 ? bits : bits ^ 0x7FFFFFFF;
}
__device__ inline float from_ordered(int32_t bits) {
  return __int_as_float(bits >= 0 ? bits : bits ^ 0x7FFFFFFF);
}

// The sum over the eight threads of a point, in all of them.
template <class Number>
__device__ inline Number sum_of_lanes(Number value) {
  for (int other = kLanes / 2; other > 0; other /= 2) value += __shfl_xor_sync(kAll, value, other, kLanes);
  return value;
}

__device__ inline double sum_of_warp(double value) {
  for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(kAll, value, other);
  return value;
}

__device__ inline float difference_of(const Row& a, const Row& b, float (&delta)[kDimensions]) {
  float d2 = kTiny;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) {
    delta[c] = a.at[c] - b.at[c];
    d2 += delta[c] * delta[c];
  }
  return d2;
}

// --- attraction along the edges of one point ---

struct EdgeSums {
  float force[kDimensions] = {};
  float stiffness = 0;   // the sum of the coefficients
  float weighted_q = 0;  // the sum of weight times q
  int acting = 0;
};

constexpr int kEdgesInFlight = kDimensions <= 4 ? 4 : 1;  // per thread

// The next edges of this thread from `first` on; id -1 beyond the row's end.
__device__ inline void read_edges(const int2* row, int first, int count, Edge (&edge)[kEdgesInFlight]) {
#pragma unroll
  for (int u = 0; u < kEdgesInFlight; ++u) {
    const int e = first + u * kLanes;
    edge[u] = e < count ? load_edge(row, e) : Edge{-1, 0.0f};
  }
}

// This thread's part of the edges [begin, end) of a point. Edges are prefetched one round ahead of the points
// they lead to.
__device__ inline void attract(const Row* y, const Row& self, const int2* edges, int64_t begin, int64_t end,
                               int lane, const Constants& constants, int epoch, EdgeSums& sums) {
  const Sampling sampling = static_cast<Sampling>(constants.sampling);
  const int2* row = edges + begin;
  const int count = static_cast<int>(end - begin);
  Edge ahead[kEdgesInFlight];
  read_edges(row, lane, count, ahead);
  for (int first = lane; first < count; first += kEdgesInFlight * kLanes) {
    Edge edge[kEdgesInFlight];
    Row other[kEdgesInFlight];
#pragma unroll
    for (int u = 0; u < kEdgesInFlight; ++u) {
      edge[u] = ahead[u];
      if (sampling != Sampling::exhaustive) {
        if (!acts(edge[u].weight, epoch)) edge[u].id = -1;
        edge[u].weight = acting_weight(sampling, edge[u].weight);
      }
      if (edge[u].id >= 0) other[u] = y[edge[u].id];
    }
    read_edges(row, first + kEdgesInFlight * kLanes, count, ahead);
#pragma unroll
    for (int u = 0; u < kEdgesInFlight; ++u) {
      if (edge[u].id < 0) continue;
      float delta[kDimensions];
      const Kernel<float> k = kernel<kShape>(difference_of(self, other[u], delta), constants.curve);
      const float coefficient = edge[u].weight * LossPolicy::attraction(k);
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) sums.force[c] += coefficient * delta[c];
      sums.stiffness += coefficient;
      sums.weighted_q += edge[u].weight * k.q;
      ++sums.acting;
    }
  }
}

// --- repulsion from a run of points ---

struct RunSums {
  float force[kDimensions] = {};
  float second[kDimensions] = {};  // of the loss's second force
  float q = 0, q_squared = 0;
};

// This thread's part of the run first ... first + length - 1 (mod n) of point i.
template <bool normalized>
__device__ inline void repel_by_run(const Row* y, const Row& self, uint32_t i, uint32_t first,
                                    uint32_t length, int lane, const Constants& constants, RunSums& sums) {
  constexpr bool has_second = normalized && LossPolicy::kHasSecondForce;
  constexpr uint32_t part_length = 1024;  // long runs stay accurate: sums over a part, then over the parts
  const uint32_t n = constants.n;
  for (uint32_t begin = 0; begin < length; begin += part_length) {
    const uint32_t end = begin + part_length < length ? begin + part_length : length;
    RunSums part;
#pragma unroll 4
    for (uint32_t k = begin + lane; k < end; k += kLanes) {
      uint32_t other = first + k;
      if (other >= n) other -= n;
      float delta[kDimensions];
      const float d2 = difference_of(self, y[other], delta);
      const auto pair =
          pair_repulsion<LossPolicy, normalized, kShape>(d2, constants.curve, constants.repulsion_epsilon);
      if constexpr (normalized) part.q += other == i ? 0.0f : pair.q;
      if constexpr (has_second) part.q_squared += other == i ? 0.0f : pair.q * pair.q;
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) {
        part.force[c] += pair.coefficient * delta[c];
        if constexpr (has_second) part.second[c] += pair.second * delta[c];
      }
    }
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      sums.force[c] += part.force[c];
      sums.second[c] += part.second[c];
    }
    sums.q += part.q;
    sums.q_squared += part.q_squared;
  }
}

// Where the run of a point starts, if it is sampled.
__device__ inline int64_t run_start(const Constants& constants, int epoch, int64_t i, int half) {
  const auto block = static_cast<uint32_t>(i / kBlock);
  return random_below(random_bits(constants.seed, static_cast<uint32_t>(epoch), block, half), constants.n);
}

}  // namespace actup
