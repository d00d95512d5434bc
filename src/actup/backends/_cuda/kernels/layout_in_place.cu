// In-place epochs: edge by edge over matchings, then a capped repulsion; twice per epoch.
//
// HORIZON  whether repulsion moves no point farther out that is beyond some radii of the map
#ifndef HORIZON
#define HORIZON 0
#endif

#include "layout.h"

using namespace actup;

namespace {

constexpr int kMeasures = kDimensions + 1;

// Sums over points that give the map's middle and radius: coordinates, then squares.
struct Measures {
  double at[kMeasures] = {};

  __device__ void add(const Row& y) {
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      const double value = y.at[c];
      at[c] += value;
      at[kDimensions] += value * value;
    }
  }

  // The sums of a thread block, in a fixed order.
  __device__ void write(double* to) const {
    __shared__ double of_warps[2][32];  // two buffers in turn: no warp overwrites what another still reads
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int c = 0; c < kMeasures; ++c) {
      const double own = sum_of_warp(at[c]);
      if (lane == 0) of_warps[c % 2][warp] = own;
      __syncthreads();
      if (warp != 0) continue;
      const double all = sum_of_warp(lane < blockDim.x / 32 ? of_warps[c % 2][lane] : 0.0);
      if (lane == 0) to[c] = all;
    }
  }
};

// Measures the points that are not marked. Block `block` of `blocks` takes every blocks-th part of them.
__device__ inline void measure_points(const Row* y, const int32_t* marks, int64_t n, int block, int blocks,
                                      double* to) {
  Measures own;
  for (int64_t i = block * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<int64_t>(blocks) * blockDim.x)
    if (!marks || !marks[i]) own.add(y[i]);
  own.write(to);
}

struct Horizon {
  float middle[kDimensions];
  float limit;  // squared distance from the middle

  // From the sums over all points.
  __device__ void settle(const double* sums, double n, float radii) {
    double squares = sums[kDimensions] / n;
    for (int c = 0; c < kDimensions; ++c) {
      const double mean = sums[c] / n;
      middle[c] = static_cast<float>(mean);
      squares -= mean * mean;
    }
    limit = static_cast<float>(static_cast<double>(radii) * radii * squares);
  }

  // Removes the outward component of a move if the point is beyond the horizon.
  __device__ void hold(const Row& y, float* move) const {
    float offset[kDimensions], squared = 0, outward = 0;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      offset[c] = y.at[c] - middle[c];
      squared += offset[c] * offset[c];
      outward += offset[c] * move[c];
    }
    if (!(squared > limit && outward > 0)) return;
    const float share = outward / squared;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) move[c] -= share * offset[c];
  }
};

struct PullRule {
  float rate;
  int epoch, repeats;
  Sampling sampling;
  Curve curve;
};

__device__ inline PullRule pull_rule(const Constants& constants, const float* schedule, int epoch) {
  const auto scheduled = [&](int row) { return schedule[row * constants.epochs + epoch]; };
  const float lead = LossPolicy::leading_factors(constants.curve, false).attraction;
  return {scheduled(kLearningRate) * scheduled(kExaggeration) * lead, epoch,
          static_cast<int>(constants.repeats), static_cast<Sampling>(constants.sampling), constants.curve};
}

// Moves both ends of an edge. Ends are positions in y, which is all points or a copy of the listed ones.
__device__ inline void pull(int2 ends, float r, const PullRule& rule, Row* y, const int32_t* list,
                            const float* mobility) {
#if MOBILITY
  const float of_head = mobility[list ? list[ends.x] : ends.x];
  const float of_tail = mobility[list ? list[ends.y] : ends.y];
#endif
  const float step = rule.rate * acting_weight(rule.sampling, r);
  Row head = y[ends.x], tail = y[ends.y];
  for (int repeat = 0; repeat < rule.repeats; ++repeat) {
    float delta[kDimensions];
    const float d2 = difference_of(head, tail, delta);
    const float share = step * LossPolicy::attraction(kernel<kShape>(d2, rule.curve));
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
#if MOBILITY
      if (of_head > 0) head.at[c] -= of_head * (share * delta[c]);
      if (of_tail > 0) tail.at[c] += of_tail * (share * delta[c]);
#else
      head.at[c] -= share * delta[c];
      tail.at[c] += share * delta[c];
#endif
    }
  }
  y[ends.x] = head;
  y[ends.y] = tail;
}

__device__ inline bool acts_now(float r, const PullRule& rule) {
  return rule.sampling == Sampling::exhaustive || acts(r, rule.epoch);
}

}  // namespace

// The edges [begin, end) of one colour.
extern "C" __global__ void __launch_bounds__(kThreads)
    pull_colour(const Constants* constants, const State* state, const float* schedule, const int2* ends,
                const float* weights, int64_t begin, int64_t end, Row* y, const float* mobility) {
  const int64_t e = begin + blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (e >= end) return;
  const int2 both = ends[e];  // loaded before it is known whether the edge acts
  const float r = weights[e];
  const PullRule rule = pull_rule(*constants, schedule, state->epoch);
  if (acts_now(r, rule)) pull(both, r, rule, y, nullptr, mobility);
}

namespace {

constexpr int kChunksAhead = 8;  // chunks whose edges are prefetched

struct Chunks {
  float r[kChunksAhead];  // negative where there is no edge
  int2 ends[kChunksAhead];

  __device__ void read(const int2* all_ends, const float* weights, const int32_t* stops, int first,
                       int count) {
#pragma unroll
    for (int u = 0; u < kChunksAhead; ++u) {
      const int chunk = first + u, e = (chunk < count ? stops[chunk] : 0) + threadIdx.x;
      const bool inside = chunk < count && e < stops[chunk + 1];
      r[u] = inside ? weights[e] : -1.0f;
      ends[u] = inside ? all_ends[e] : int2{0, 0};
    }
  }
};

}  // namespace

// Small groups of edges, one after the other in a single thread block. A group is cut into chunks of at most
// as many edges as there are threads. The block keeps the listed points in shared memory, and ends are
// positions in the list; without a list it works on the points themselves. With a horizon, further blocks
// measure the other points, those that are not marked, at the same time.
extern "C" __global__ void __launch_bounds__(IN_PLACE_THREADS)
    pull_small_colours(const Constants* constants, const State* state, const float* schedule,
                       const int2* ends, const float* weights, const int32_t* stops, int chunk_count,
                       const int32_t* list, const int32_t* listed, Row* y, const int32_t* marks,
                       double* measured, const float* mobility) {
  extern __shared__ Row memory[];
  if (HORIZON && blockIdx.x > 0) {
    measure_points(y, marks, constants->n, blockIdx.x - 1, gridDim.x - 1, measured + blockIdx.x * kMeasures);
    return;
  }
  Row* const kept = list ? memory : y;
  const PullRule rule = pull_rule(*constants, schedule, state->epoch);
  const int count = list ? *listed : 0;
  Chunks next;
  next.read(ends, weights, stops, 0, chunk_count);
#pragma unroll 8
  for (int k = threadIdx.x; k < count; k += blockDim.x) kept[k] = y[list[k]];
  for (int first = 0; first < chunk_count; first += kChunksAhead) {
    const Chunks now = next;
    next.read(ends, weights, stops, first + kChunksAhead, chunk_count);
#pragma unroll
    for (int u = 0; u < kChunksAhead; ++u) {
      __syncthreads();
      if (now.r[u] >= 0 && acts_now(now.r[u], rule))
        pull(now.ends[u], now.r[u], rule, kept, list, mobility);
    }
  }
  __syncthreads();
#pragma unroll 8
  for (int k = threadIdx.x; k < count; k += blockDim.x) y[list[k]] = kept[k];
  if (HORIZON && gridDim.x > 1) {
    Measures own;
    for (int k = threadIdx.x; k < count; k += blockDim.x) own.add(kept[k]);
    own.write(measured);
  }
}

// Measures all points, where pull_small_colours does not.
extern "C" __global__ void __launch_bounds__(IN_PLACE_THREADS)
    measure(const Constants* constants, const Row* y, double* measured) {
  measure_points(y, nullptr, constants->n, blockIdx.x, gridDim.x, measured + blockIdx.x * kMeasures);
}

// All points at once, from the positions now reached to a copy of them.
extern "C" __global__ void __launch_bounds__(kThreads, kDimensions <= 2 ? 8 : 1)
    push(const Constants* all_constants, const State* state, const float* schedule, const float* mass,
         int sampled, int half, const Row* from, Row* to, const double* measured, int shares,
         const float* mobility) {
  const Constants constants = *all_constants;
#if HORIZON
  __shared__ double sums_of_map[kMeasures];
  __shared__ Horizon horizon;
  for (int c = threadIdx.x / 32; c < kMeasures; c += kThreads / 32) {
    double sum = 0;
    for (int share = threadIdx.x % 32; share < shares; share += 32) sum += measured[share * kMeasures + c];
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums_of_map[c] = sum;
  }
#endif
  const int epoch = state->epoch, lane = threadIdx.x % kLanes;
  const int64_t n = constants.n, i = blockIdx.x * static_cast<int64_t>(kPoints) + threadIdx.x / kLanes;
  const bool valid = i < n;
  Row self = from[valid ? i : n - 1];
  RunSums sums;
  const int64_t first = sampled ? run_start(constants, epoch, i, half) : 0;
  if (valid) repel_by_run<false>(from, self, i, first, constants.run_length, lane, constants, sums);
  float squared = 0;
  const float lead = LossPolicy::leading_factors(constants.curve, false).repulsion;
  const float share = schedule[kLearningRate * constants.epochs + epoch] * lead * constants.non_edge_weight *
                      constants.repulsion_rate / (2.0f * static_cast<float>(constants.run_length)) *
                      mass[valid ? i : n - 1];
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) {
    sums.force[c] = share * sum_of_lanes(sums.force[c]);
    squared += sums.force[c] * sums.force[c];
  }
#if HORIZON
  __syncthreads();
  if (threadIdx.x == 0) horizon.settle(sums_of_map, static_cast<double>(n), constants.horizon);
  __syncthreads();
#endif
  if (!valid || lane != 0) return;
  const float cap = schedule[kStepCap * constants.epochs + epoch];
  const float scale = squared > cap * cap ? cap / sqrtf(squared) : 1.0f;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) sums.force[c] *= scale;
#if HORIZON
  horizon.hold(self, sums.force);
#endif
#if MOBILITY
  const float own_mobility = mobility[i];
  if (own_mobility > 0) {
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) self.at[c] += own_mobility * sums.force[c];
  }
#else
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) self.at[c] += sums.force[c];
#endif
  to[i] = self;
}

extern "C" __global__ void count_epoch(State* state) { ++state->epoch; }
