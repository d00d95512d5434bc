// New rows on a finished map, which does not move; a warp per row. Sums meet in a fixed tree, so a row's
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
constexpr bool kTwo = kNormalized && kLoss == Loss::frobenius;

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
    float coefficient, beside = 0;
    if constexpr (kNormalized || kLoss == Loss::frobenius) {
      const Kernel<float> pair = kernel<kShape>(d2, s.curve);
      coefficient = repulsion<kLoss>(pair);
      beside = repulsion<Loss::kl>(pair);
      sums.q += pair.q;
      sums.q_squared += pair.q * pair.q;
    } else {
      coefficient = umap_repulsion<kShape>(d2, s.curve, s.epsilon);
    }
    sums.count += 1;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      force[c] += coefficient * delta[c];
      if constexpr (kTwo) second[c] += beside * delta[c];
    }
  }

  __device__ void meet() {
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      force[c] = total(force[c]);
      if constexpr (kTwo) second[c] = total(second[c]);
    }
    sums.count = total(sums.count);
    if constexpr (kNormalized) sums.q = total(sums.q);
    if constexpr (kTwo) sums.q_squared = total(sums.q_squared);
  }
};

struct Attracted {
  float force[kDimensions] = {};
  float stiffness = 0, kernel_sum = 0;
};

// A row's neighbours, dealt to the lanes of its warp.
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
      const float weight = weights[e] / scale, coefficient = weight * attraction<kLoss>(pair);
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) sums.force[c] += coefficient * delta[c];
      sums.stiffness += coefficient;
      sums.kernel_sum += weight * pair.q;
    }
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) sums.force[c] = total(sums.force[c]);
    sums.stiffness = total(sums.stiffness);
    if constexpr (kTwo) sums.kernel_sum = total(sums.kernel_sum);
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
      close.meet();
    }
    for (int draw = lane; draw < samples; draw += 32) {
      const int point = (int)sampled_point(s.seed, epoch, draw, n, samples);
      if (!near.has(point)) apart.add(y, map[point], s);
    }
    apart.meet();
    const PlacementFactors f = placement_factors<kLoss, kNormalized>(s, strength, k, n, attracted.kernel_sum,
                                                                     close.sums, apart.sums);
    const float fall = placement_fall(s, epoch), rate = placement_rate(s, f, attracted.stiffness, fall);
    float step[kDimensions], squared = 0;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      float force = f.attraction * attracted.force[c] + f.far * apart.force[c] + f.near * close.force[c];
      if constexpr (kTwo) force += f.near_second * close.second[c] + f.far_second * apart.second[c];
      step[c] = rate * force;
      squared += step[c] * step[c];
    }
    const float longest = s.step_cap * fall;
    const float shortened = squared > longest * longest ? longest / sqrtf(squared) : 1.0f;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) y.at[c] += shortened * step[c];
  }
  if (lane == 0) places[row] = y;
}
