// In-place epochs: edge by edge over matchings, then a capped repulsion; twice per epoch.
#include "layout.h"

using namespace actup;

namespace {

struct PullRule {
  float rate;
  int epoch, repeats;
  Sampling sampling;
  Curve curve;
};

__device__ inline PullRule pull_rule(const Constants& constants, const float* schedule, int epoch) {
  const auto scheduled = [&](int row) { return schedule[row * constants.epochs + epoch]; };
  const float lead = leading_factors(constants.curve, false, kLoss).attraction;
  return {scheduled(kLearningRate) * scheduled(kExaggeration) * lead, epoch,
          static_cast<int>(constants.repeats), static_cast<Sampling>(constants.sampling), constants.curve};
}

// Moves both ends of an edge, if it acts; ends are places in y, which is the points or a copy of some.
__device__ inline void pull(int2 ends, float r, const PullRule& rule, Row* y) {
  const float step = rule.rate * acting_weight(rule.sampling, r);
  Row head = y[ends.x], tail = y[ends.y];
  for (int repeat = 0; repeat < rule.repeats; ++repeat) {
    float delta[kDimensions];
    const float d2 = difference_of(head, tail, delta);
    const float share = step * attraction<kLoss>(kernel<kShape>(d2, rule.curve));
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      head.at[c] -= share * delta[c];
      tail.at[c] += share * delta[c];
    }
  }
  y[ends.x] = head;
  y[ends.y] = tail;
}

__device__ inline bool acts_now(float r, const PullRule& rule) {
  return rule.sampling == Sampling::exhaustive || acts(r, rule.epoch);
}

}  // namespace

// The edges begin ... end of one colour.
extern "C" __global__ void __launch_bounds__(kThreads)
    pull_colour(const Constants* constants, const State* state, const float* schedule, const int2* ends,
                const float* weights, int64_t begin, int64_t end, Row* y) {
  const int64_t e = begin + blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (e >= end) return;
  const PullRule rule = pull_rule(*constants, schedule, state->epoch);
  const float r = weights[e];
  if (acts_now(r, rule)) pull(ends[e], r, rule, y);
}

// The small colours of a half (first_colour, first_colour + 2, ...), one after the other in a single thread block
// that keeps their points: local_ends are places in the list of these. Then the edges without colour (overflow ...
// last), each after the other.
extern "C" __global__ void __launch_bounds__(1024)
    pull_small_colours(const Constants* constants, const State* state, const float* schedule, const int2* ends,
                       const float* weights, const int64_t* offsets, int first_colour, int colours,
                       const int2* local_ends, const int32_t* list, const int32_t* listed, int64_t overflow,
                       int64_t last, Row* y) {
  extern __shared__ Row kept[];
  const PullRule rule = pull_rule(*constants, schedule, state->epoch);
  const int count = *listed;
  for (int k = threadIdx.x; k < count; k += blockDim.x) kept[k] = y[list[k]];
  int64_t local = 0;  // local_ends hold the colours of this half alone
  for (int colour = first_colour; colour < colours; colour += 2) {
    const int64_t begin = offsets[colour], size = offsets[colour + 1] - begin;
    __syncthreads();
    for (int64_t e = threadIdx.x; e < size; e += blockDim.x) {
      const float r = weights[begin + e];
      if (acts_now(r, rule)) pull(local_ends[local + e], r, rule, kept);
    }
    local += size;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < count; k += blockDim.x) y[list[k]] = kept[k];
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int64_t e = overflow; e < last; ++e) {
    const float r = weights[e];
    if (acts_now(r, rule)) pull(ends[e], r, rule, y);
  }
}

// All points at once, from the positions now reached to a copy of them.
extern "C" __global__ void __launch_bounds__(kThreads)
    push(const Constants* all_constants, const State* state, const float* schedule, const float* mass, int sampled,
         int half, const Row* from, Row* to) {
  const Constants constants = *all_constants;
  const int epoch = state->epoch, lane = threadIdx.x % kLanes;
  const int64_t n = constants.n, i = blockIdx.x * static_cast<int64_t>(kPoints) + threadIdx.x / kLanes;
  const bool valid = i < n;
  Row self = from[valid ? i : n - 1];
  RunSums sums;
  const int64_t first = sampled ? run_start(constants, epoch, i, half) : 0;
  if (valid) repel<false>(from, self, i, first, constants.run_length, lane, constants, sums);
  float squared = 0;
  const float lead = leading_factors(constants.curve, false, kLoss).repulsion;
  const float share = schedule[kLearningRate * constants.epochs + epoch] * lead * constants.non_edge_weight *
                      constants.repulsion_rate / (2.0f * static_cast<float>(constants.run_length)) *
                      mass[valid ? i : n - 1];
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) {
    sums.force[c] = share * sum_of_lanes(sums.force[c]);
    squared += sums.force[c] * sums.force[c];
  }
  if (!valid || lane != 0) return;
  const float cap = schedule[kStepCap * constants.epochs + epoch];
  const float scale = squared > cap * cap ? cap / sqrtf(squared) : 1.0f;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) self.at[c] += scale * sums.force[c];
  to[i] = self;
}

extern "C" __global__ void count_epoch(State* state) { ++state->epoch; }
