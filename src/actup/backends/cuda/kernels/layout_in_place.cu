// In-place epochs: edge by edge over matchings, then a capped repulsion; twice per epoch.
#include "layout.h"

using namespace actup;

namespace {

// One undirected edge; heads[e], tails[e] of colour after colour, those without a colour last.
struct Matchings {
  const int2* ends;
  const float* weights;
};

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

// Moves both ends of an edge, if it acts.
__device__ inline void pull(const Matchings& matchings, int64_t e, const PullRule& rule, Row* y) {
  const float r = matchings.weights[e];
  if (rule.sampling != Sampling::exhaustive && !acts(r, rule.epoch)) return;
  const float step = rule.rate * acting_weight(rule.sampling, r);
  const int2 ends = matchings.ends[e];
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

}  // namespace

// The edges begin ... end of one colour.
extern "C" __global__ void __launch_bounds__(kThreads)
    pull_colour(const Constants* constants, const State* state, const float* schedule, const int2* ends,
                const float* weights, int64_t begin, int64_t end, Row* y) {
  const int64_t e = begin + blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  if (e < end) pull({ends, weights}, e, pull_rule(*constants, schedule, state->epoch), y);
}

// The small colours of a half, one after the other in a single thread block, and then the edges without colour
// (overflow ... last), each after the other.
extern "C" __global__ void __launch_bounds__(1024)
    pull_small_colours(const Constants* constants, const State* state, const float* schedule, const int2* ends,
                       const float* weights, const int64_t* offsets, int first_colour, int colours,
                       int64_t overflow, int64_t last, Row* y) {
  const PullRule rule = pull_rule(*constants, schedule, state->epoch);
  const Matchings matchings{ends, weights};
  for (int colour = first_colour; colour < colours; colour += 2) {
    for (int64_t e = offsets[colour] + threadIdx.x; e < offsets[colour + 1]; e += blockDim.x)
      pull(matchings, e, rule, y);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    for (int64_t e = overflow; e < last; ++e) pull(matchings, e, rule, y);
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
