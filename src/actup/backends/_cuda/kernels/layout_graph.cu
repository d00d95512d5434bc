// The graph as the layout sees it: points in a new order, weights relative to the largest, weak edges
// dropped.
#include "layout.h"

using namespace actup;

namespace {

__device__ inline int64_t thread_number() {
  return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

// Relative weight of an edge, 0 if it is too weak. It is rounded as on the CPU, because it decides when an
// edge acts.
__device__ inline float relative_weight(float weight, const float* largest, float weakest) {
  const float r = __fdiv_rn(weight, *largest);
  return r >= weakest ? r : 0.0f;
}

}  // namespace

extern "C" __global__ void random_keys(uint64_t seed, int64_t n, uint64_t* keys) {
  const int64_t i = thread_number();
  if (i < n) keys[i] = random_bits(seed, ~uint32_t{0}, static_cast<uint32_t>(i), 0);
}

// The box of the points' first axes, as in State: smallest of each, then largest.
extern "C" __global__ void measure_box(const float* points, int64_t n, int dimensions, int32_t* box) {
  for (int c = 0; c < min(dimensions, kBoxAxes); ++c) {
    int32_t least = 0x7FFFFFFF, largest = ~least;
    for (int64_t i = thread_number(); i < n; i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
      const int32_t place = ordered(points[i * dimensions + c]);
      least = min(least, place);
      largest = max(largest, place);
    }
    least = __reduce_min_sync(kAll, least);
    largest = __reduce_max_sync(kAll, largest);
    if (threadIdx.x % 32 != 0) continue;
    atomicMin(box + c, least);
    atomicMax(box + kBoxAxes + c, largest);
  }
}

// Keys that sort points along a Morton curve through the first axes of their box.
extern "C" __global__ void place_keys(const float* start, const int32_t* box, int64_t n, int dimensions,
                                      uint64_t* keys) {
  const int64_t i = thread_number();
  if (i >= n) return;
  uint64_t key = 0;
  const int axes = max(2, min(dimensions, kBoxAxes));
  for (int c = 0; c < min(dimensions, axes); ++c) {
    const float low = from_ordered(box[c]), span = from_ordered(box[kBoxAxes + c]) - low;
    const float place = span > 0 ? (start[i * dimensions + c] - low) / span : 0.0f;
    const auto cell = static_cast<uint32_t>(fminf(place * 65535.0f, 65535.0f));
    for (int bit = 0; bit < 16; ++bit) key |= static_cast<uint64_t>(cell >> bit & 1) << (axes * bit + c);
  }
  keys[i] = key;
}

// order[new] = old, from an int64 sort; label[old] = new; the points in their new order.
extern "C" __global__ void relabel(const int64_t* sorted, const float* start, int64_t n, int dimensions,
                                   int32_t* order, int32_t* label, float* y) {
  const int64_t i = thread_number();
  if (i >= n) return;
  const int64_t old = sorted[i];
  order[i] = static_cast<int32_t>(old);
  label[old] = static_cast<int32_t>(i);
  for (int c = 0; c < dimensions; ++c) y[i * dimensions + c] = start[old * dimensions + c];
}

// The points back in the caller's order.
extern "C" __global__ void restore(const int32_t* order, const float* y, int64_t n, int dimensions,
                                   float* to) {
  const int64_t i = thread_number();
  if (i >= n) return;
  for (int c = 0; c < dimensions; ++c) to[int64_t{order[i]} * dimensions + c] = y[i * dimensions + c];
}

// Strength and degree of every relabelled point; eight threads per point.
extern "C" __global__ void count_edges(const int64_t* offsets, const float* weights, const float* largest,
                                       float weakest, const int32_t* order, int64_t n, float* strength,
                                       int32_t* degree) {
  const int64_t i = thread_number() / kLanes;
  const int lane = threadIdx.x % kLanes;
  double sum = 0;
  int count = 0;
  if (i < n) {
    const int64_t old = order[i];
    for (int64_t e = offsets[old] + lane; e < offsets[old + 1]; e += kLanes) {
      const float r = relative_weight(weights[e], largest, weakest);
      sum += r;
      count += r > 0;
    }
  }
  sum = sum_of_lanes(sum);
  count = sum_of_lanes(count);
  if (i < n && lane == 0) {
    strength[i] = static_cast<float>(sum);
    degree[i] = count;
  }
}

// Rows of the relabelled graph, the edges of each in the order of the caller's graph.
extern "C" __global__ void copy_rows(const int64_t* offsets, const int32_t* indices, const float* weights,
                                     const float* largest, float weakest, const int32_t* order,
                                     const int32_t* label, const int64_t* new_offsets, int64_t n,
                                     int2* edges) {
  const int64_t i = thread_number() / kLanes;
  const int lane = threadIdx.x % kLanes, group = threadIdx.x % 32 / kLanes * kLanes;
  int64_t begin = 0, end = 0, to = 0;
  if (i < n) {
    begin = offsets[order[i]];
    end = offsets[order[i] + 1];
    to = new_offsets[i];
  }
  while (__any_sync(kAll, begin < end)) {  // the four points of a warp stay together
    const int64_t e = begin + lane;
    const float r = e < end ? relative_weight(weights[e], largest, weakest) : 0.0f;
    const unsigned kept = __ballot_sync(kAll, r > 0) >> group & 0xFF;
    if (r > 0) {
      const int2 edge = {label[indices[e]], __float_as_int(r)};
      edges[to + __popc(kept & ((1u << lane) - 1))] = edge;
    }
    to += __popc(kept);
    begin += kLanes;
  }
}

// Degree, strength and original number of each point in another order, and the new labels of the original
// numbers: sorted[new] = old.
extern "C" __global__ void reorder_points(const int64_t* sorted, int64_t n, const int32_t* degree,
                                          const float* strength, const int32_t* order, int32_t* label,
                                          int32_t* new_degree, float* new_strength, int32_t* new_order) {
  const int64_t i = thread_number();
  if (i >= n) return;
  const int64_t old = sorted[i];
  label[order[old]] = static_cast<int32_t>(i);
  new_degree[i] = degree[old];
  new_strength[i] = strength[old];
  new_order[i] = order[old];
}

// Rows of `width` floats in another order: sorted[new] = old.
extern "C" __global__ void take_rows(const int64_t* sorted, const float* from, int64_t n, int width,
                                     float* to) {
  const int64_t i = thread_number();
  if (i >= n) return;
  for (int c = 0; c < width; ++c) to[i * width + c] = from[sorted[i] * width + c];
}

// The constants that depend on sums over the graph; one block of 1024 threads.
extern "C" __global__ void __launch_bounds__(1024)
    derive(Constants* constants, const float* strength, const int64_t* edges, int mean_non_edge_weight) {
  __shared__ double sums[32];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < constants->n; i += 1024) sum += strength[i];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const double total = sum_of_warp(sums[threadIdx.x]);
  if (threadIdx.x > 0) return;
  constants->p_max = total > 0 ? static_cast<float>(1 / total) : 0.0f;
  constants->non_edge_weight =
      mean_non_edge_weight && *edges > 0 ? static_cast<float>(1 - total / static_cast<double>(*edges)) : 1.0f;
  constants->mean_strength = constants->n ? static_cast<float>(total / constants->n) : 0.0f;
}
