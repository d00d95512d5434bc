// Merges both directions of every edge into symmetric rows.
//
// SYMMETRIZATION  a value of the enum of bandwidth.h
#ifndef SYMMETRIZATION
#define SYMMETRIZATION 0
#endif

#include "graph/bandwidth.h"

using namespace actup;

struct Lists {
  const int* out_ids;  // (n, k), ascending in a row
  const float* out_weights;
  int k;
  const int64_t* in_offsets;  // (n + 1)
  const int64_t* in_edges;    // positions in (n, k), ascending in a row

  // Calls emit(id, weight) for every id in either list of row i, ascending, unless the weight is zero.
  template <class Emit>
  __device__ void merge(int i, const Emit& emit) const {
    int64_t out = (int64_t)i * k, in = in_offsets[i];
    const int64_t out_end = out + k, in_end = in_offsets[i + 1];
    while (out < out_end || in < in_end) {
      const int out_id = out < out_end ? out_ids[out] : 0x7fffffff;
      const int in_id = in < in_end ? (int)(in_edges[in] / k) : 0x7fffffff;
      const int id = min(out_id, in_id);
      const float p = out_id == id ? out_weights[out++] : 0.0f;
      const float q = in_id == id ? out_weights[in_edges[in++]] : 0.0f;
      const float weight = symmetrized(static_cast<Symmetrization>(SYMMETRIZATION), p, q);
      if (weight > 0) emit(id, weight);
    }
  }
};

// Where the edges to each target begin: `incoming` lists the edges by ascending target.
extern "C" __global__ void target_offsets(const int* __restrict__ targets,
                                          const int64_t* __restrict__ incoming, int64_t edges, int n,
                                          int64_t* __restrict__ offsets) {
  const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at > edges) return;
  const int before = at > 0 ? targets[incoming[at - 1]] : -1, here = at < edges ? targets[incoming[at]] : n;
  for (int row = before + 1; row <= here; ++row) offsets[row] = at;
}

extern "C" __global__ void count_edges(const int* out_ids, const float* out_weights, int n, int k,
                                       const int64_t* in_offsets, const int64_t* in_edges, int64_t* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t count = 0;
  Lists{out_ids, out_weights, k, in_offsets, in_edges}.merge(i, [&](int, float) { ++count; });
  counts[i] = count;
}

extern "C" __global__ void write_edges(const int* out_ids, const float* out_weights, int n, int k,
                                       const int64_t* in_offsets, const int64_t* in_edges,
                                       const int64_t* offsets, int* ids, float* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int64_t at = offsets[i];
  Lists{out_ids, out_weights, k, in_offsets, in_edges}.merge(i, [&](int id, float weight) {
    ids[at] = id;
    weights[at++] = weight;
  });
}
