// Repulsion by Barnes and Hut's tree, in one to three dimensions: a distant group of points acts as one point
// at its centre.
//
// Points are sorted along a Morton curve, so that consecutive ones are near each other: a leaf is a run of
// TREE_LEAF points, and every other node has TREE_CHILDREN consecutive nodes of the level below as its
// children. Nodes are boxes around the places that the points have now, so an order that is some epochs old
// only makes them wider. The nodes of a level are padded to whole families with empty ones.
//
// NORMALIZED  whether similarities are normalised over all points
#ifndef NORMALIZED
#define NORMALIZED 0
#endif

#include "layout.h"

using namespace actup;

namespace {

constexpr bool kNormalized = NORMALIZED;
constexpr bool kHasSecond = kNormalized && LossPolicy::kHasSecondForce;
constexpr int kLeaf = TREE_LEAF, kChildren = TREE_CHILDREN;
constexpr int kWarps = TREE_WARPS;            // per thread block, each with 32 consecutive points
constexpr int kMaxSources = 32 + 32 * kLeaf;  // of the nodes that a warp looks at together
// Nodes that wait to be looked at: a warp takes 32 at a time, the last ones first, and each may be replaced
// by its children, once per level.
constexpr int kStack = 32 + 32 * (kChildren - 1) * TREE_LEVELS;

struct Node {
  float centre[3];
  float count;  // of its points; 0: an empty node
  float low[3], high[3];
  float width_squared;  // of its box; 0 if all points coincide
};

__device__ inline int64_t thread_number() {
  return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

// The node of some places, each with a number of points: add() each, then finish().
struct Gathered {
  double sum[kDimensions] = {};
  Node node = {};

  __device__ void add(const float* centre, const float* low, const float* high, float count) {
    for (int c = 0; c < kDimensions; ++c) {
      sum[c] += static_cast<double>(count) * centre[c];
      node.low[c] = node.count > 0 ? fminf(node.low[c], low[c]) : low[c];
      node.high[c] = node.count > 0 ? fmaxf(node.high[c], high[c]) : high[c];
    }
    node.count += count;
  }

  __device__ Node finish() {
    float width = 0;
    for (int c = 0; c < kDimensions; ++c) {
      width = fmaxf(width, node.high[c] - node.low[c]);
      node.centre[c] = node.high[c] > node.low[c] ? static_cast<float>(sum[c] / node.count) : node.low[c];
    }
    node.width_squared = width * width;
    return node;
  }
};

}  // namespace

// A thread per leaf, also for the empty ones that pad the level.
extern "C" __global__ void make_leaves(const Row* y, int64_t n, int leaves, Node* nodes) {
  const int64_t leaf = thread_number();
  if (leaf >= leaves) return;
  Gathered all;
  for (int64_t i = leaf * kLeaf; i < min((leaf + 1) * kLeaf, n); ++i)
    all.add(y[i].at, y[i].at, y[i].at, 1.0f);
  nodes[leaf] = all.finish();
}

// The nodes of a level, from those of the level below; a thread per node, as above.
extern "C" __global__ void make_parents(const Node* below, int families, int count, Node* nodes) {
  const int64_t family = thread_number();
  if (family >= count) return;
  Gathered all;
  for (int child = 0; child < kChildren && family < families; ++child) {
    const Node& node = below[family * kChildren + child];
    if (node.count > 0) all.add(node.centre, node.low, node.high, node.count);
  }
  nodes[family] = all.finish();
}

namespace {

// Points, or nodes that stand for their points.
struct alignas(16) Source {  // is loaded at once
  float at[kDimensions];
  float count;
};

struct Workspace {  // of a warp, in shared memory
  Source points[32];
  Source sources[kMaxSources];
  int stack[kStack];
};
static_assert(kChildren * kLeaf == 32, "the points of a warp are those of a node above leaves");

// The number of the node of a level above leaves that contains the points of a warp.
__device__ inline int ancestor_of(int group, int level) {
  for (int above = 1; above < level; ++above) group /= kChildren;
  return group;
}

__device__ inline float squared_distance(const float* a, const float* b) {
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

}  // namespace

// R_i and R'_i of every point, and the sums of q and q^2 over its pairs. `level_begins` has the first node of
// every level, leaves first, and after them the number of all nodes; nodes of the last level have no parents.
//
// The 32 points of a warp walk together: a node is opened if one of them is in it, or nearer than its width
// divided by theta.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    walk(const Constants* all_constants, const Row* y, const Node* nodes, const int* level_begins, int levels,
         float theta, Row* repulsion, Row* second, float* q, float* q_squared) {
  extern __shared__ Workspace workspaces[];
  const Constants constants = *all_constants;
  const int lane = threadIdx.x % 32;
  Workspace& own = workspaces[threadIdx.x / 32];
  const int64_t n = constants.n, i = thread_number();
  if (i - lane >= n) return;
  const int group = static_cast<int>(i / 32);
  const Row self = y[i < n ? i : n - 1];
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) own.points[lane].at[c] = self.at[c];
  const unsigned before = (1u << lane) - 1;
  const int leaves = level_begins[1], top = level_begins[levels - 1];
  int waiting = level_begins[levels] - top;
  if (lane < waiting) own.stack[lane] = top + lane;
  __syncwarp();
  RunSums sums;
  while (waiting > 0) {
    const int taken = min(waiting, 32);
    waiting -= taken;
    const int id = lane < taken ? own.stack[waiting + lane] : -1;
    Node node = {};
    if (id >= 0) node = nodes[id];
    int level = 0;
    while (id >= level_begins[level + 1]) ++level;
    const int number = id - level_begins[level];  // in its level
    const bool is_ancestor = level == 0 ? number / kChildren == group : number == ancestor_of(group, level);
    float nearest = squared_distance(node.centre, own.points[0].at);
    for (int k = 1; k < 32; ++k) nearest = fminf(nearest, squared_distance(node.centre, own.points[k].at));
    const bool there = node.count > 0;
    const bool far = there && !is_ancestor && node.width_squared < theta * theta * nearest;
    const bool is_leaf = id < leaves;
    const unsigned as_one = __ballot_sync(kAll, far);
    unsigned opened = __ballot_sync(kAll, there && !far && is_leaf);
    const unsigned divided = __ballot_sync(kAll, there && !far && !is_leaf);
    if (far) {
      Source& source = own.sources[__popc(as_one & before)];
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) source.at[c] = node.centre[c];
      source.count = node.count;
    }
    __syncwarp();  // all have read their node before the stack is overwritten
    if (divided >> lane & 1) {
      const int first = level_begins[level - 1] + number * kChildren;
      for (int child = 0; child < kChildren; ++child)
        own.stack[waiting + kChildren * __popc(divided & before) + child] = first + child;
    }
    waiting += kChildren * __popc(divided);
    int count = __popc(as_one);
    constexpr int leaves_at_once = 32 / kLeaf;
    while (opened) {  // the points of some leaves, a point per thread
      int leaf = -1;
      for (int next = 0; next < leaves_at_once && opened; ++next) {
        const int from = __ffs(opened) - 1;
        opened &= opened - 1;
        const int from_lane = __shfl_sync(kAll, id, from);
        if (lane / kLeaf == next) leaf = from_lane;
      }
      const int64_t other = leaf < 0 ? n : int64_t{leaf} * kLeaf + lane % kLeaf;
      const unsigned loaded = __ballot_sync(kAll, other < n);
      if (other < n) {
        Source& source = own.sources[count + __popc(loaded & before)];
#pragma unroll
        for (int c = 0; c < kDimensions; ++c) source.at[c] = y[other].at[c];
        source.count = 1.0f;
      }
      count += __popc(loaded);
    }
    __syncwarp();
    RunSums part;
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      const Source source = own.sources[k];
      float delta[kDimensions], distance = kTiny;
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) {
        delta[c] = self.at[c] - source.at[c];
        distance += delta[c] * delta[c];
      }
      const auto pair = pair_repulsion<LossPolicy, kNormalized, kShape>(distance, constants.curve,
                                                                        constants.repulsion_epsilon);
      const float coefficient = source.count * pair.coefficient, second_one = source.count * pair.second;
#pragma unroll
      for (int c = 0; c < kDimensions; ++c) {
        part.force[c] += coefficient * delta[c];
        if (kHasSecond) part.second[c] += second_one * delta[c];
      }
      if (kNormalized) part.q += source.count * pair.q;
      if (kHasSecond) part.q_squared += source.count * pair.q * pair.q;
    }
#pragma unroll
    for (int c = 0; c < kDimensions; ++c) {
      sums.force[c] += part.force[c];
      sums.second[c] += part.second[c];
    }
    sums.q += part.q;
    sums.q_squared += part.q_squared;
    __syncwarp();  // before the sources are overwritten
  }
  if (i >= n) return;
  Row first_force, second_force;
#pragma unroll
  for (int c = 0; c < kDimensions; ++c) {
    first_force.at[c] = sums.force[c];
    second_force.at[c] = sums.second[c];
  }
  repulsion[i] = first_force;
  if (kHasSecond) second[i] = second_force;
  // The point itself is among its sources, because the nodes that contain it are opened.
  const auto itself =
      pair_repulsion<LossPolicy, kNormalized, kShape>(kTiny, constants.curve, constants.repulsion_epsilon);
  if (kNormalized) q[i] = sums.q - itself.q;
  if (kHasSecond) q_squared[i] = sums.q_squared - itself.q * itself.q;
}
