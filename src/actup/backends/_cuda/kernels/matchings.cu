// Edge matchings: the greedy colouring of docs/layout.md, exactly as if the edges were walked one by one.
//
// An edge (i, j), i < j, may be coloured as soon as all earlier edges that share a point with it are
// coloured. Those of i are coloured by the same thread; those of j come from smaller points, and turn[j]
// counts them. Points are taken in order, so the threads that a thread waits for are running already.
//
// An edge that finds no colour gets a level instead, one above the levels of all earlier such edges that
// share a point with it. Applied level by level, these edges act as if they were taken one after the other.
#include "common/device.h"

namespace {

constexpr int kColours = COLOURS;
constexpr int kWords = kColours / 64;
constexpr int kWarp = 32;

__device__ inline int64_t thread_number() {
  return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

// A thread that acquire()s a value sees everything that was written before its release().
__device__ inline int32_t acquire(const int32_t* address) {
  int32_t value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}
__device__ inline void release(int32_t* address, int32_t value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}

}  // namespace

// How many edges of each point lead to a larger one.
extern "C" __global__ void count_forward(const int64_t* offsets, const int2* edges, int64_t n,
                                         int32_t* forward, int32_t* backward) {
  const int64_t i = thread_number();
  if (i >= n) return;
  int count = 0;
  for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) count += edges[e].x > i;
  forward[i] = count;
  backward[i] = static_cast<int32_t>(offsets[i + 1] - offsets[i]) - count;
}

// The undirected edges in the order of the walk.
extern "C" __global__ void walk(const int64_t* offsets, const int2* edges, const int64_t* firsts, int64_t n,
                                int32_t* heads, int32_t* tails, float* weights) {
  const int64_t i = thread_number();
  if (i >= n) return;
  int64_t to = firsts[i];
  for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
    const int2 edge = edges[e];
    if (edge.x <= i) continue;
    heads[to] = static_cast<int32_t>(i);
    tails[to] = edge.x;
    weights[to++] = __int_as_float(edge.y);
  }
}

// The number of each edge among the edges with the same tail. by_tail sorts the walk by tail; backward_firsts
// says where the edges of each tail begin.
extern "C" __global__ void rank_edges(const int64_t* by_tail, const int32_t* tails,
                                      const int64_t* backward_firsts, int64_t edges, int32_t* ranks) {
  const int64_t position = thread_number();
  if (position >= edges) return;
  const int64_t e = by_tail[position];
  ranks[e] = static_cast<int32_t>(position - backward_firsts[tails[e]]);
}

// groups[e] numbers the groups of edges in the order in which they act: the even colours from 0 on, the odd
// ones from kColours/2 on, and the levels from kColours on. depth: how many levels the edges of a point have
// taken.
extern "C" __global__ void colour_edges(const int64_t* firsts, const int32_t* tails, const int32_t* ranks,
                                        const int32_t* backward, int64_t n, int32_t* turn, uint64_t* used,
                                        int32_t* depth, int32_t* next_warp, int32_t* groups) {
  const int lane = threadIdx.x % kWarp;
  for (;;) {
    int warp = 0;
    if (lane == 0) warp = atomicAdd(next_warp, 1);
    const int64_t i = static_cast<int64_t>(__shfl_sync(0xFFFFFFFFu, warp, 0)) * kWarp + lane;
    if (i - lane >= n) return;
    int64_t e = i < n ? firsts[i] : 0;
    const int64_t end = i < n ? firsts[i + 1] : 0;
    bool ready = false;  // all edges from smaller points are coloured
    uint64_t own[kWords] = {};
    int own_depth = 0;
    while (__any_sync(0xFFFFFFFFu, e < end)) {  // threads poll: none blocks the others of its warp
      if (e < end && !ready && acquire(&turn[i]) == backward[i]) {
        ready = true;
        for (int word = 0; word < kWords; ++word) own[word] = __ldcg(&used[i * kWords + word]);
        own_depth = __ldcg(&depth[i]);
      }
      if (e < end && ready && acquire(&turn[tails[e]]) == ranks[e]) {
        const int64_t tail = tails[e];
        int colour = kColours;
#pragma unroll
        for (int word = 0; word < kWords; ++word) {
          const uint64_t other = __ldcg(&used[tail * kWords + word]);
          const uint64_t free = ~(own[word] | other);
          if (colour < kColours || free == 0) continue;
          const int bit = __ffsll(static_cast<long long>(free)) - 1;
          colour = 64 * word + bit;
          own[word] |= uint64_t{1} << bit;
          __stcg(&used[tail * kWords + word], other | uint64_t{1} << bit);
        }
        int group = colour / 2 + colour % 2 * (kColours / 2);
        if (colour == kColours) {
          const int level = max(own_depth, __ldcg(&depth[tail]));
          group = kColours + level;
          own_depth = level + 1;
          __stcg(&depth[tail], level + 1);
        }
        groups[e] = group;
        release(&turn[tail], ranks[e] + 1);
        ++e;
      }
    }
  }
}

// The number of edges of each group; sizes is 0 before. A block first counts the colours in shared memory.
extern "C" __global__ void count_groups(const int32_t* groups, int64_t edges, int32_t* sizes) {
  __shared__ int32_t counts[kColours];
  for (int colour = threadIdx.x; colour < kColours; colour += blockDim.x) counts[colour] = 0;
  __syncthreads();
  const int64_t e = thread_number();
  if (e < edges) atomicAdd(groups[e] < kColours ? &counts[groups[e]] : &sizes[groups[e]], 1);
  __syncthreads();
  for (int colour = threadIdx.x; colour < kColours; colour += blockDim.x)
    if (counts[colour]) atomicAdd(&sizes[colour], counts[colour]);
}

// Sets the marks of the points that the given edges touch to 1.
extern "C" __global__ void mark_points(const int32_t* ends, int64_t count, int32_t* marks) {
  const int64_t e = thread_number();
  if (e < count) marks[ends[e]] = 1;
}

// Replaces the ends by positions in the list of marked points, and writes that list. number: how many points
// up to each point are marked.
extern "C" __global__ void place_points(const int32_t* ends, int64_t count, const int32_t* number,
                                        int32_t* positions, int32_t* points) {
  const int64_t e = thread_number();
  if (e >= count) return;
  const int32_t position = number[ends[e]] - 1;
  positions[e] = position;
  points[position] = ends[e];
}

// The edges in the order of their groups: by_group sorts the walk.
extern "C" __global__ void group_edges(const int64_t* by_group, const int32_t* heads, const int32_t* tails,
                                       const float* weights, int64_t edges, int2* ends,
                                       float* grouped_weights) {
  const int64_t position = thread_number();
  if (position >= edges) return;
  const int64_t e = by_group[position];
  const int2 both = {heads[e], tails[e]};
  ends[position] = both;
  grouped_weights[position] = weights[e];
}
