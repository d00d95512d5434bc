// Batch epochs: all forces, their sums, then all steps.
//
// NORMALIZED  whether similarities are normalised over all points
// COUNTED     whether a point has as many negatives as edges that act
// MESH        whether repulsion comes from the mesh
// TREE        whether layout_tree.cu has computed it before; else it comes from runs of points, which may be
// all of
//             them
// SAMPLED     whether a run starts at a random point; else it is all points
// OPTIMIZER   a number of Optimizer, settings.h
// BLOCKS      thread blocks that a multiprocessor works on at a time
#ifndef NORMALIZED
#define NORMALIZED 0
#endif
#ifndef COUNTED
#define COUNTED 0
#endif
#ifndef MESH
#define MESH 0
#endif
#ifndef TREE
#define TREE 0
#endif
#ifndef OPTIMIZER
#define OPTIMIZER 0
#endif
#ifndef SAMPLED
#define SAMPLED 1
#endif
#ifndef BLOCKS
#define BLOCKS 4
#endif

#include "layout.h"
#include "mesh_view.h"

using namespace actup;

namespace {

constexpr bool kNormalized = NORMALIZED;
constexpr bool kHasSecond = kNormalized && LossPolicy::kHasSecondForce;
constexpr Optimizer kOptimizer = static_cast<Optimizer>(OPTIMIZER);
constexpr bool kCentred = kOptimizer == Optimizer::stiffness;
constexpr bool kWatched = kCentred && kNormalized && LossPolicy::kWatchesExpansion;  // see balance.hpp
constexpr int kAxes = kDimensions < 3 ? kDimensions : 3;

// Sums over all points.
enum {
  kQ,
  kQSquared,
  kWeightedQ,
  kSamples,
  kPlace,
  kAttractionSum = kPlace + 3,
  kRepulsionSum = kAttractionSum + 3,
  kAttractionWork = kRepulsionSum + 3,
  kRepulsionWork,
  kSums
};
static_assert(kSums == BATCH_SUMS);

__device__ constexpr bool used(int sum) {
  if (sum == kQ) return kNormalized;
  if (sum <= kSamples) return kHasSecond;
  if (sum < kPlace + 3) return kCentred && sum - kPlace < kAxes;
  return kWatched && (sum >= kAttractionWork || (sum - kPlace) % 3 < kAxes);
}

// The sums over the points of this thread block. All eight threads of a point know its contribution, so each
// thread keeps two of the sums.
struct Totals {
  double at[(kSums + kLanes - 1) / kLanes] = {};

  __device__ void add(int sum, int lane, double value) {
    if (used(sum) && lane == sum % kLanes) at[sum / kLanes] += value;
  }

  __device__ void write(double* partials) const {
    __shared__ double of_warp[kThreads / 32][kSums];
#pragma unroll
    for (int slot = 0; slot < (kSums + kLanes - 1) / kLanes; ++slot) {
      double value = at[slot];
      for (int other = 16; other >= kLanes; other /= 2) value += __shfl_xor_sync(kAll, value, other);
      const int sum = slot * kLanes + threadIdx.x % 32;
      if (threadIdx.x % 32 < kLanes && sum < kSums) of_warp[threadIdx.x / 32][sum] = value;
    }
    __syncthreads();
    if (threadIdx.x >= kSums || !used(threadIdx.x)) return;
    double all = 0;
    for (const auto& sums : of_warp) all += sums[threadIdx.x];
    partials[threadIdx.x * gridDim.x + blockIdx.x] = all;
  }
};

using MainPotential = PolicyOfPotential<potential_kind<LossPolicy>(kNormalized)>::Policy;

// Two cells of the grid around a point, loaded before they are needed.
struct MeshReading {
  MeshPlace at;
  float first, next;
};

__device__ inline MeshReading load_mesh(const Row& self, const MeshView& mesh, const State& state, int lane) {
  const MeshPlace at = mesh_place(self, mesh, state);
  const int64_t row = at.row - 1 + lane / 2;
  const float* cells = mesh.potential + row * 2 * mesh.columns + at.column - 1 + lane % 2 * 2;
  return {at, cells[0], cells[1]};
}

// cos and sin of 0, 2 pi t and 4 pi t, for 0 <= t < 1.
__device__ inline void harmonics(float t, float* cosine, float* sine) {
  cosine[0] = 1;
  sine[0] = 0;
  __sincosf(6.28318531f * t - 3.14159265f, &sine[1], &cosine[1]);  // is most accurate around 0
  cosine[1] = -cosine[1];
  sine[1] = -sine[1];
  cosine[2] = 2 * cosine[1] * cosine[1] - 1;
  sine[2] = 2 * cosine[1] * sine[1];
}

// The potential of all other points at a point, and the force that follows from its slopes.
template <class Potential>
__device__ inline float read_mesh(const MeshReading& reading, const MeshView& mesh, int lane, Curve curve,
                                  float* force) {
  const MeshPlace& at = reading.at;
  const bool right = lane % 2;
  float wx[2], dx[2], wy = 0, dy = 0;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    wx[k] = right ? spline_weight(at.s, k + 2) : spline_weight(at.s, k);
    dx[k] = right ? spline_slope(at.s, k + 2) : spline_slope(at.s, k);
  }
#pragma unroll
  for (int line = 0; line < 4; ++line)
    if (lane / 2 == line) {
      wy = spline_weight(at.t, line);
      dy = spline_slope(at.t, line);
    }
  const float value = wx[0] * reading.first + wx[1] * reading.next;
  const float slope = dx[0] * reading.first + dx[1] * reading.next;
  float potential = sum_of_lanes(wy * value);
  float slope_x = sum_of_lanes(wy * slope), slope_y = sum_of_lanes(dy * value);
  float cos_x[3], sin_x[3], cos_y[3], sin_y[3];
  harmonics(at.s, cos_x, sin_x);
  harmonics(at.t, cos_y, sin_y);
  subtract_self(mesh.self, cos_x, sin_x, cos_y, sin_y, potential, slope_x, slope_y);
  const float factor = -Potential::force_factor(curve) / mesh.spacing;
  if (kDimensions == 2) force[0] = factor * slope_x;
  force[kDimensions == 2 ? 1 : 0] = factor * slope_y;
  return potential;
}

// Adds the contribution of one point to the sums over all points.
__device__ inline void add_point(const Row& self, const EdgeSums& attracted, const RunSums& repelled,
                                 int samples, int lane, Totals& totals) {
  totals.add(kQ, lane, repelled.q);
  totals.add(kQSquared, lane, repelled.q_squared);
  totals.add(kWeightedQ, lane, attracted.weighted_q);
  totals.add(kSamples, lane, samples);
#pragma unroll
  for (int c = 0; c < kAxes; ++c) {
    const double y = self.at[c], a = attracted.force[c], r = repelled.force[c];
    totals.add(kPlace + c, lane, y);
    totals.add(kAttractionSum + c, lane, a);
    totals.add(kRepulsionSum + c, lane, r);
    totals.add(kAttractionWork, lane, a * y);
    totals.add(kRepulsionWork, lane, r * y);
  }
}

}  // namespace

// A_i, R_i, R'_i and the stiffness of every point, and the sums of each thread block (sums x blocks). If a
// tree has computed R_i and R'_i, `potential` and `second_potential` have the sums of q and q^2 of every
// point.
extern "C" __global__ void __launch_bounds__(kThreads, kDimensions <= 3 ? BLOCKS : 1)
    forces(const Constants* all_constants, const State* state, const Row* y, const int64_t* offsets,
           const int2* edges, Row* attraction, Row* repulsion, Row* second, float* stiffness, int32_t* counts,
           double* partials, const float* potential, const float* self_potential,
           const float* second_potential, const float* second_self, float spacing, int rows, int columns) {
  const Constants constants = *all_constants;
  const int epoch = state->epoch, lane = threadIdx.x % kLanes;
  const int64_t n = constants.n, groups = (n + kPoints - 1) / kPoints;
  Totals totals;
  int64_t next = blockIdx.x * static_cast<int64_t>(kPoints) + threadIdx.x / kLanes;
  int64_t next_begin = offsets[next < n ? next : n], next_end = offsets[next < n ? next + 1 : n];
  for (int64_t group = blockIdx.x; group < groups; group += gridDim.x) {
    const int64_t i = next, begin = next_begin, end = next_end;
    next += static_cast<int64_t>(gridDim.x) * kPoints;  // its row is prefetched
    next_begin = offsets[next < n ? next : n];
    next_end = offsets[next < n ? next + 1 : n];
    const bool valid = i < n;
    const Row self = y[valid ? i : n - 1];
    const MeshView mesh{potential, self_potential, spacing, rows, columns};
    const MeshView second_mesh{second_potential, second_self, spacing, rows, columns};
    MeshReading reading, second_reading;
    if (MESH) reading = load_mesh(self, mesh, *state, lane);
    if (MESH && kHasSecond) second_reading = load_mesh(self, second_mesh, *state, lane);
    EdgeSums attracted;
    attract(y, self, edges, begin, end, lane, constants, epoch, attracted);
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) attracted.force[c] = sum_of_lanes(attracted.force[c]);
    attracted.stiffness = sum_of_lanes(attracted.stiffness);
    if (kHasSecond) attracted.weighted_q = sum_of_lanes(attracted.weighted_q);

    RunSums repelled;
    int64_t length = constants.run_length;
    bool meets_itself = true;
    if (MESH) {
      const float sum = read_mesh<MainPotential>(reading, mesh, lane, constants.curve, repelled.force);
      repelled.q = sum;
      if (kHasSecond) {
        repelled.q_squared = sum;
        repelled.q = read_mesh<LossPolicy::SecondPotential>(second_reading, second_mesh, lane,
                                                            constants.curve, repelled.second);
      }
    } else if (TREE) {
      const int64_t own = valid ? i : n - 1;
      for (int c = 0; c < kDimensions; ++c) repelled.force[c] = repulsion[own].at[c];
      if (kNormalized) repelled.q = potential[own];
      if (kHasSecond) {
        repelled.q_squared = second_potential[own];
        for (int c = 0; c < kDimensions; ++c) repelled.second[c] = second[own].at[c];
      }
    } else {
      if (COUNTED) {
        const int acting = sum_of_lanes(attracted.acting);
        length = acting < n ? acting : n;
      }
      const int64_t first = SAMPLED ? run_start(constants, epoch, i, 0) : 0;
      if (valid) repel_by_run<kNormalized>(y, self, i, first, length, lane, constants, repelled);
      meets_itself = (i - first + n) % n < length;
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) {
        repelled.force[c] = sum_of_lanes(repelled.force[c]);
        if (kHasSecond) repelled.second[c] = sum_of_lanes(repelled.second[c]);
      }
      if (kNormalized) repelled.q = sum_of_lanes(repelled.q);
      if (kHasSecond) repelled.q_squared = sum_of_lanes(repelled.q_squared);
    }
    if (!valid) continue;
    add_point(self, attracted, repelled, static_cast<int>(length) - meets_itself, lane, totals);
    if (lane != 0) continue;
    Row of_edges, of_run, of_second;
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      of_edges.at[c] = attracted.force[c];
      of_run.at[c] = repelled.force[c];
      of_second.at[c] = repelled.second[c];
    }
    attraction[i] = of_edges;
    if (!TREE) repulsion[i] = of_run;
    if (!TREE && kHasSecond) second[i] = of_second;
    if (kCentred) stiffness[i] = attracted.stiffness;
    if (COUNTED) counts[i] = static_cast<int32_t>(length);
  }
  totals.write(partials);
}

namespace {

// By the virial theorem a map expands while its repulsion, projected on the places of the points, exceeds its
// attraction.
__device__ inline bool attraction_wins(const double* sums, const ForceFactors& factors, double n) {
  double work = factors.attraction * sums[kAttractionWork] + factors.repulsion * sums[kRepulsionWork];
  for (int c = 0; c < kAxes; ++c)
    work -= sums[kPlace + c] / n *
            (factors.attraction * sums[kAttractionSum + c] + factors.repulsion * sums[kRepulsionSum + c]);
  return work < 0;
}

__device__ inline ForceFactors factors_of(const double* sums, const Constants& constants,
                                          float exaggeration) {
  const bool scalar = static_cast<Sampling>(constants.sampling) == Sampling::scalar;
  const ForceSums force_sums{sums[kQ], sums[kQSquared], sums[kWeightedQ], sums[kSamples]};
  const ForceSettings settings{constants.curve,
                               static_cast<double>(constants.n),
                               static_cast<double>(constants.run_length),
                               constants.partition,
                               kNormalized && !scalar ? constants.p_max : 1.0f,
                               exaggeration,
                               constants.repeats,
                               constants.non_edge_weight,
                               constants.repulsion_rate,
                               constants.rate_in_points != 0};
  return force_factors<LossPolicy>(kNormalized, force_sums, settings);
}

}  // namespace

// Adds up the sums of all blocks in a fixed order, makes the rule of this epoch's steps, and counts the
// epoch. One thread block, with a warp for each sum.
extern "C" __global__ void __launch_bounds__(32 * kSums)
    sum_up(const Constants* all_constants, const float* schedule, const double* partials, int blocks,
           State* state) {
  __shared__ double sums[kSums];
  const int sum = threadIdx.x / 32;
  double value = 0;
  if (used(sum))
    for (int block = threadIdx.x % 32; block < blocks; block += 32) value += partials[sum * blocks + block];
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) sums[sum] = value;
  __syncthreads();
  if (threadIdx.x != 0) return;

  const Constants constants = *all_constants;
  const int epoch = state->epoch, epochs = constants.epochs;
  const auto scheduled = [&](int row) { return schedule[row * epochs + epoch]; };
  Rule rule;
  rule.factors = factors_of(sums, constants, scheduled(kExaggeration));
  rule.learning_rate = scheduled(kLearningRate);
  rule.momentum = scheduled(kMomentum);
  rule.cap = scheduled(kStepCap);
  rule.stiffness_scale = -rule.factors.attraction;
  rule.stiffness_floor =
      scheduled(kStiffnessFloor) * rule.stiffness_scale / (scheduled(kExaggeration) * constants.repeats);
  const bool expanding = epoch >= constants.expansion_begin && epoch < constants.expansion_end;
  rule.stop =
      kWatched && expanding && !state->expansion_ended && attraction_wins(sums, rule.factors, constants.n);
  if (rule.stop) state->expansion_ended = 1;
  rule.dilation = state->expansion_ended ? 0.0f : scheduled(kDilation);
  if (expanding && state->expansion_ended) rule.momentum = constants.momentum_after_stop;
  for (int c = 0; c < 3; ++c)
    rule.middle[c] = kCentred && c < kAxes ? static_cast<float>(sums[kPlace + c] / constants.n) : 0.0f;
  state->rule = rule;
  for (int c = 0; c < 2 * kBoxAxes; ++c) state->box[(epoch + 2) % 3][c] = empty_box(c);
  state->epoch = epoch + 1;
}

namespace {

// The point's own factor of its repulsion: g_i/repulsion_rate, or 1/m_i.
__device__ inline float repulsion_scale(const Constants& constants, const float* mass, const int32_t* counts,
                                        int64_t i) {
  if (!kNormalized) return COUNTED ? 1.0f : mass[i] / static_cast<float>(constants.run_length);
  if (!LossPolicy::kDividesByNegatives) return 1.0f;
  const int m = COUNTED ? counts[i] : constants.run_length;
  return m > 0 ? 1.0f / static_cast<float>(m) : 0.0f;
}

// step <- momentum step + rate F, shortened to the cap.
__device__ inline void advance_capped(Row& step, const Row& force, float rate, const Rule& rule) {
  float squared = 0;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) {
    step.at[c] = rule.momentum * step.at[c] + rate * force.at[c];
    squared += step.at[c] * step.at[c];
  }
  if (!(squared > rule.cap * rule.cap)) return;
  const float scale = rule.cap / sqrtf(squared);
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) step.at[c] *= scale;
}

// What the optimisers keep of every point, besides the steps.
struct OptimizerArrays {
  const float* full_stiffness;
  const float* stiffness;
  Row* gains;
};

// The next step of point i: one policy per optimiser, as in _native/layout/optimizers.hpp.
struct StepOptimizer {
  __device__ static void advance(Row& step, const Row& force, int64_t, const OptimizerArrays&,
                                 const Constants&, const Rule& rule) {
    advance_capped(step, force, rule.learning_rate, rule);
  }
};

struct GainsOptimizer {
  __device__ static void advance(Row& step, const Row& force, int64_t i, const OptimizerArrays& arrays,
                                 const Constants& constants, const Rule& rule) {
    Row gain = arrays.gains[i];
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      const float adapted = force.at[c] * step.at[c] > 0 ? gain.at[c] + 0.2f : gain.at[c] * 0.8f;
      gain.at[c] = fminf(fmaxf(adapted, 0.01f), 1000.0f);
      const float scaled = constants.force_scale * force.at[c] * gain.at[c];
      const float clipped = fminf(fmaxf(scaled, -constants.gradient_clip), constants.gradient_clip);
      step.at[c] = rule.learning_rate * clipped + rule.momentum * step.at[c];
    }
    arrays.gains[i] = gain;
  }
};

struct StiffnessOptimizer {
  __device__ static void advance(Row& step, const Row& force, int64_t i, const OptimizerArrays& arrays,
                                 const Constants& constants, const Rule& rule) {
    const float least =
        rule.stiffness_floor * (kNormalized ? constants.mean_strength : arrays.full_stiffness[i]);
    const float used = fmaxf(rule.stiffness_scale * arrays.stiffness[i], least);
    advance_capped(step, force, rule.learning_rate / fmaxf(used, 1e-24f), rule);
  }
};

template <Optimizer>
struct PolicyOfOptimizer;
#define ACTUP_POLICY(name, policy)            \
  template <>                                 \
  struct PolicyOfOptimizer<Optimizer::name> { \
    using Policy = policy;                    \
  };
ACTUP_OPTIMIZERS(ACTUP_POLICY)
#undef ACTUP_POLICY

// Smallest and largest coordinates, of the block and then of all points: the order of blocks does not matter.
__device__ inline void grow_box(const Row& y, bool valid, State* state) {
  __shared__ int32_t box[2 * kBoxAxes];
  if (threadIdx.x < 2 * kBoxAxes) box[threadIdx.x] = empty_box(threadIdx.x);
  __syncthreads();
#pragma unroll
  for (int c = 0; c < (kDimensions < kBoxAxes ? kDimensions : kBoxAxes); ++c) {
    int32_t low = valid ? ordered(y.at[c]) : 0x7FFFFFFF, high = valid ? ordered(y.at[c]) : -0x7FFFFFFF - 1;
    for (int other = 16; other > 0; other /= 2) {
      low = min(low, __shfl_xor_sync(kAll, low, other));
      high = max(high, __shfl_xor_sync(kAll, high, other));
    }
    if (threadIdx.x % 32 == 0) {
      atomicMin(&box[c], low);
      atomicMax(&box[c + kBoxAxes], high);
    }
  }
  __syncthreads();
  int32_t* of_all = state->box[state->epoch % 3];
  if (threadIdx.x < kBoxAxes) atomicMin(&of_all[threadIdx.x], box[threadIdx.x]);
  if (threadIdx.x >= kBoxAxes && threadIdx.x < 2 * kBoxAxes)
    atomicMax(&of_all[threadIdx.x], box[threadIdx.x]);
}

// How far a step moves a coordinate in a map that is kept centred and dilated.
__device__ inline float centred_move(float place, float step, const Rule& rule, int c) {
  const float middle = rule.middle[c < 3 ? c : 0];
  return step - middle + rule.dilation * (place - middle);
}

}  // namespace

// Moves every point by its step; one thread per point.
extern "C" __global__ void __launch_bounds__(kThreads)
    step(const Constants* all_constants, State* state, const float* mass, const float* full_stiffness,
         const int32_t* counts, const Row* attraction, const Row* repulsion, const Row* second,
         const float* stiffness, Row* steps, Row* gains, const float* mobility, Row* y) {
  const Constants constants = *all_constants;
  const int64_t i = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x;
  const bool valid = i < constants.n;
  Row moved = {};
  if (valid) {
    const Rule rule = state->rule;
    const float scale = repulsion_scale(constants, mass, counts, i);
    Row force, own_step = steps[i];
    const Row of_edges = attraction[i], of_run = repulsion[i];
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      force.at[c] = rule.factors.attraction * of_edges.at[c] + rule.factors.repulsion * scale * of_run.at[c];
      if (kHasSecond) force.at[c] += rule.factors.second * scale * second[i].at[c];
      if (rule.stop) own_step.at[c] = 0;
    }
    PolicyOfOptimizer<kOptimizer>::Policy::advance(own_step, force, i, {full_stiffness, stiffness, gains},
                                                   constants, rule);
    steps[i] = own_step;
    moved = y[i];
#if MOBILITY  // the map is not centred: its pinned points say where it is
    const float own_mobility = mobility[i];
    if (own_mobility > 0) {
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) moved.at[c] += own_mobility * own_step.at[c];
    }
#else
#pragma unroll
    for (int c = 0; c < kDimensions; ++c)
      moved.at[c] += kCentred && c < 3 ? centred_move(moved.at[c], own_step.at[c], rule, c) : own_step.at[c];
#endif
    y[i] = moved;
  }
  if (MESH) grow_box(moved, valid, state);
}
