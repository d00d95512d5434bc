// New rows on a finished map, which does not move; a warp per row. Sums are added in a fixed tree, so a row's
// place depends on that row alone.
//
// NORMALIZED  whether similarities are normalised over all points; and the macros of layout.h
#ifndef NORMALIZED
#define NORMALIZED 0
#endif

#include "layout.h"
#include "transform/placement.h"

using namespace actup;

constexpr bool kNormalized = NORMALIZED;
constexpr bool kHasSecond = kNormalized && LossPolicy::kHasSecondForce;

__device__ inline float total(float value) {
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(kAll, value, apart);
  return value;
}

struct Repelled {
  float force[kDimensions] = {};
  float second[kDimensions] = {};
  KernelSums sums;

  __device__ void add(const Row& self, const Row& other, const Placement& s) {
    float delta[kDimensions];
    const float d2 = difference_of(self, other, delta);
    const auto pair = pair_repulsion<LossPolicy, kNormalized, kShape>(d2, s.curve, s.epsilon);
    if constexpr (kNormalized) {
      sums.q += pair.q;
      sums.q_squared += pair.q * pair.q;
    }
    sums.count += 1;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      force[c] += pair.coefficient * delta[c];
      if constexpr (kHasSecond) second[c] += pair.second * delta[c];
    }
  }

  __device__ void add_lanes() {
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      force[c] = total(force[c]);
      if constexpr (kHasSecond) second[c] = total(second[c]);
    }
    sums.count = total(sums.count);
    if constexpr (kNormalized) sums.q = total(sums.q);
    if constexpr (kHasSecond) sums.q_squared = total(sums.q_squared);
  }
};

struct Attracted {
  float force[kDimensions] = {};
  float stiffness = 0, weighted_q = 0;
};

// A row's neighbours, distributed over the lanes of its warp.
struct Neighborhood {
  const Row* map;
  const int* ids;
  const float* weights;
  int k, lane;
  float scale;  // what the weights are divided by

  // The place of the neighbour at which the weighted sum of log q is largest; of equal ones, the smallest id.
  __device__ Row start(const Placement& s) const {
    int best = -1;
    float highest = 0;
    for (int e = 0; e < k; ++e) {
      const Row at = map[ids[e]];
      float score = 0;
      for (int other = lane; other < k; other += 32) {
        float delta[kDimensions];
        const float d2 = difference_of(at, map[ids[other]], delta);
        score += weights[other] / scale * logarithm(kernel<kShape>(d2, s.curve).q);
      }
      score = total(score);
      if (best < 0 || score > highest || (score == highest && ids[e] < ids[best])) {
        best = e;
        highest = score;
      }
    }
    return map[ids[best]];
  }

  __device__ Attracted attract(const Row& self, const Placement& s) const {
    Attracted sums;
    for (int e = lane; e < k; e += 32) {
      float delta[kDimensions];
      const Kernel<float> pair = kernel<kShape>(difference_of(self, map[ids[e]], delta), s.curve);
      const float weight = weights[e] / scale, coefficient = weight * LossPolicy::attraction(pair);
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) sums.force[c] += coefficient * delta[c];
      sums.stiffness += coefficient;
      sums.weighted_q += weight * pair.q;
    }
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) sums.force[c] = total(sums.force[c]);
    sums.stiffness = total(sums.stiffness);
    if constexpr (kHasSecond) sums.weighted_q = total(sums.weighted_q);
    return sums;
  }

  __device__ bool has(int id) const {
    for (int e = 0; e < k; ++e)
      if (ids[e] == id) return true;
    return false;
  }
};

// ids, weights (rows, k): points of the map (n, dimensions). places (rows, dimensions).
extern "C" __global__ void __launch_bounds__(256)
    place_rows(const Row* __restrict__ map, long long n, const int* __restrict__ ids,
               const float* __restrict__ weights, int rows, int k, const Placement* __restrict__ settings,
               Row* __restrict__ places) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  const Placement s = *settings;
  Neighborhood near{map, ids + (size_t)row * k, weights + (size_t)row * k, k, lane, 0.0f};
  float sum = 0, largest = 0;
  for (int e = lane; e < k; e += 32) {
    sum += near.weights[e];
    largest = fmaxf(largest, near.weights[e]);
  }
  sum = total(sum);
  for (int apart = 16; apart > 0; apart /= 2) largest = fmaxf(largest, __shfl_xor_sync(kAll, largest, apart));
  near.scale = kNormalized ? sum : largest;
  const float strength = sum / near.scale;
  const long long samples = s.samples < n ? s.samples : n;

  Row y = near.start(s);
  for (int epoch = 0; epoch < s.epochs; ++epoch) {
    const Attracted attracted = near.attract(y, s);
    Repelled close, apart;
    if constexpr (kNormalized) {
      for (int e = lane; e < k; e += 32) close.add(y, map[near.ids[e]], s);
      close.add_lanes();
    }
    for (int draw = lane; draw < samples; draw += 32) {
      const int point = (int)sampled_point(s.seed, epoch, draw, n, samples);
      if (!near.has(point)) apart.add(y, map[point], s);
    }
    apart.add_lanes();
    const PlacementFactors f = placement_factors<LossPolicy, kNormalized>(
        s, strength, k, n, attracted.weighted_q, close.sums, apart.sums);
    const float decay = placement_decay(s, epoch), rate = placement_rate(s, f, attracted.stiffness, decay);
    float step[kDimensions], squared = 0;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      float force = f.attraction * attracted.force[c] + f.far * apart.force[c] + f.near * close.force[c];
      if constexpr (kHasSecond) force += f.near_second * close.second[c] + f.far_second * apart.second[c];
      step[c] = rate * force;
      squared += step[c] * step[c];
    }
    const float longest = s.step_cap * decay;
    const float shortened = squared > longest * longest ? longest / sqrtf(squared) : 1.0f;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) y.at[c] += shortened * step[c];
  }
  if (lane == 0) places[row] = y;
}
