// For the spectral start: the normalised graph times a block of vectors, the block's random first vectors,
// and the connected components of a graph.
#include "common/random.h"

using namespace actup;

constexpr int kPanel = PANEL;  // vectors that are multiplied at a time; also the threads per row elsewhere

// The square root of every point's degree; kPanel threads per row.
extern "C" __global__ void root_degrees(const int64_t* __restrict__ offsets,
                                        const float* __restrict__ weights, int n, float* __restrict__ out) {
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = min((int)(thread / kPanel), n - 1), lane = thread % kPanel;
  double degree = 0;
  for (int64_t e = offsets[row] + lane; e < offsets[row + 1]; e += kPanel) degree += weights[e];
  for (int apart = kPanel / 2; apart; apart >>= 1) degree += __shfl_xor_sync(~0u, degree, apart);
  if (lane == 0) out[row] = (float)sqrt(degree);
}

extern "C" __global__ void normalize_weights(const int64_t* __restrict__ offsets, const int* __restrict__ ids,
                                             const float* __restrict__ weights,
                                             const float* __restrict__ root_degree, int n,
                                             float* __restrict__ out) {
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / kPanel, lane = thread % kPanel;
  if (row >= n) return;
  for (int64_t e = offsets[row] + lane; e < offsets[row + 1]; e += kPanel) {
    const float both = root_degree[row] * root_degree[ids[e]];
    out[e] = both > 0 ? weights[e] / both : 0.0f;
  }
}

// out = alpha A x + beta x + gamma previous, all of shape (n, width); `previous` may be `out`. A thread per
// four entries of a row; blockIdx.y is the panel.
__device__ inline float4 plus(float4 sum, float weight, float4 x) {
  return {sum.x + weight * x.x, sum.y + weight * x.y, sum.z + weight * x.z, sum.w + weight * x.w};
}

extern "C" __global__ void __launch_bounds__(256)
    apply_graph(const int64_t* __restrict__ offsets, const int* __restrict__ ids,
                const float* __restrict__ weights, int n, int width, const float* __restrict__ x,
                const float* previous, float* out, float alpha, float beta, float gamma) {
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / 2, column = blockIdx.y * kPanel + (thread % 2) * 4;
  if (row >= n) return;
  const auto entry = [&](const float* block, int64_t at) {
    return *(const float4*)(block + at * width + column);
  };
  float4 even = {0, 0, 0, 0}, odd = {0, 0, 0, 0};
  int64_t e = offsets[row];
  const int64_t end = offsets[row + 1];
  for (; e + 1 < end; e += 2) {
    even = plus(even, weights[e], entry(x, ids[e]));
    odd = plus(odd, weights[e + 1], entry(x, ids[e + 1]));
  }
  if (e < end) even = plus(even, weights[e], entry(x, ids[e]));
  float4 result = plus({0, 0, 0, 0}, alpha, plus(even, 1, odd));
  result = plus(result, beta, entry(x, row));
  if (gamma != 0) result = plus(result, gamma, entry(previous, row));
  *(float4*)(out + (int64_t)row * width + column) = result;
}

// Random first vectors, equal to the CPU's.
extern "C" __global__ void random_block(uint64_t seed, int n, int width, float* __restrict__ out) {
  const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (int64_t)n * width) return;
  const uint64_t bits = random_bits(seed, 0, (uint32_t)(at / width), (uint32_t)(at % width));
  out[at] = random_signed(bits);
}

// The row of every edge.
extern "C" __global__ void rows_of_edges(const int64_t* __restrict__ offsets, int n, int* __restrict__ rows) {
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / kPanel;
  if (row >= n) return;
  for (int64_t e = offsets[row] + thread % kPanel; e < offsets[row + 1]; e += kPanel) rows[e] = row;
}

// Connected components by a forest: parent[i] is a smaller point of i's component, or i itself at a root.
// Threads change the forest at the same time, so all reads bypass the first-level cache and all writes are
// atomic and only ever lower a parent: a stale value is still a point of the same component, and no write
// undoes another.

// The root of a point's tree; shortens the path to it.
__device__ inline int root_of(int* parent, int i) {
  int above = __ldcg(parent + i);
  while (above != i) {
    const int next = __ldcg(parent + above);
    if (next != above) atomicMin(parent + i, next);
    i = above;
    above = next;
  }
  return i;
}

// Joins the trees of both ends of every edge, by attaching the larger root to the smaller one. An atomicCAS
// that fails returns what its root was attached to, from where the search for the root continues.
extern "C" __global__ void join_components(const int64_t* __restrict__ offsets, const int* __restrict__ ids,
                                           int n, int* parent) {
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int row = thread / kPanel, lane = thread % kPanel;
  if (row >= n) return;
  for (int64_t e = offsets[row] + lane; e < offsets[row + 1]; e += kPanel) {
    if (ids[e] >= row) continue;
    int a = root_of(parent, row), b = root_of(parent, ids[e]);
    while (a != b) {
      const int high = max(a, b), low = min(a, b);
      const int before = atomicCAS(parent + high, high, low);
      if (before == high) break;
      a = root_of(parent, before);
      b = root_of(parent, low);
    }
  }
}

// Every point's root, which is the smallest point of its component, and the number of roots.
extern "C" __global__ void flatten_components(int n, int* parent, int* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int root = root_of(parent, i);
  if (root == i) {
    atomicAdd(count, 1);
  } else {
    atomicMin(parent + i, root);
  }
}

extern "C" __global__ void number_points(int n, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i;
}
