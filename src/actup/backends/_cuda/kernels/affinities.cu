// Each row's similarities from its distances, by ascending id; a warp per row.
//
// AFFINITY  a number of Affinity, bandwidth.h
// PER_LANE  neighbours that one lane holds: k over 32, rounded up
// PSEUDO    whether the nearest distance is subtracted (affinity "umap")
#ifndef AFFINITY
#define AFFINITY 0
#endif
#ifndef PER_LANE
#define PER_LANE 1
#endif
#ifndef PSEUDO
#define PSEUDO 1
#endif

#include "graph/bandwidth.h"

using namespace actup;

__device__ inline double warp_sum(double x) {
  for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

// A row of exponents, distributed over the lanes.
struct Row {
  double values[PER_LANE];
  bool present[PER_LANE];

  __device__ double weight(int e, double factor) const { return present[e] ? exp(-factor * values[e]) : 0.0; }

  __device__ double sum_of_weights(double factor) const {
    double sum = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) sum += weight(e, factor);
    return warp_sum(sum);
  }

  __device__ GaussianSums sums(double factor) const {
    double weights = 0, products = 0, squares = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) {
      const double w = weight(e, factor), product = w * values[e];
      weights += w;
      products += product;
      squares += product * values[e];
    }
    return {warp_sum(weights), warp_sum(products), warp_sum(squares)};
  }
};

// What the policies read of a row of neighbours.
struct Distances {
  float at[PER_LANE];  // 0 beyond the k-th
  int n, k, lane;
  const double* totals;  // parts of the sum of all distances
  const double* scales;  // the perplexities, or the width of affinity "fixed_sigma"
  int scale_count;
};

constexpr int kPartialSums = PARTIAL_SUMS;

// One policy per affinity, as in _native/graph/affinities.hpp: adds the similarities of a row to `result`,
// which is 0. `row` is a buffer for the exponents.

struct UmapAffinity {
  __device__ static void weigh(const Distances& distances, Row& row, float (&result)[PER_LANE]) {
    const int k = distances.k;
    double sum = 0, rho = 1e300;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) {
      sum += distances.at[e];
      if (distances.at[e] > 0) rho = fmin(rho, (double)distances.at[e]);
    }
    sum = warp_sum(sum);
    for (int apart = 16; apart; apart >>= 1) rho = fmin(rho, __shfl_xor_sync(~0u, rho, apart));
    if (rho == 1e300) rho = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) row.values[e] = umap_exponent(distances.at[e], PSEUDO ? rho : 0.0);
    double mean = sum / (k + 1);
    if (rho == 0) {  // all neighbours are duplicates: the mean of all rows
      double total = 0;
      for (int part = distances.lane; part < kPartialSums; part += 32) total += distances.totals[part];
      mean = warp_sum(total) / ((double)distances.n * (k + 1));
    }
    const double sigma = umap_sigma(log2((double)(k + 1)), umap_sigma_floor(mean),
                                    [&](double sigma) { return row.sum_of_weights(1 / sigma); });
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) result[e] = (float)row.weight(e, 1 / sigma);
  }
};

// Fills a row with d^2 - d_nearest^2 and returns its mean.
__device__ inline double fill_squares(const Distances& distances, Row& row) {
  const double nearest = __shfl_sync(~0u, distances.at[0], 0);
  double mean = 0;
#pragma unroll
  for (int e = 0; e < PER_LANE; ++e) {
    row.values[e] = row.present[e] ? (distances.at[e] - nearest) * (distances.at[e] + nearest) : 0.0;
    mean += row.values[e] / distances.k;
  }
  return warp_sum(mean);
}

__device__ inline void add_gaussian(double beta, int count, const Row& row, float (&result)[PER_LANE]) {
  const double share = 1 / (count * row.sum_of_weights(beta));
#pragma unroll
  for (int e = 0; e < PER_LANE; ++e) result[e] += (float)(row.weight(e, beta) * share);
}

struct GaussianAffinity {
  __device__ static void weigh(const Distances& distances, Row& row, float (&result)[PER_LANE]) {
    const double mean = fill_squares(distances, row);
    for (int s = 0; s < distances.scale_count; ++s) {
      const double perplexity = distances.scales[s];
      double beta = 0;
      if (distances.k > perplexity && mean > 0)
        beta = gaussian_beta(log(perplexity), 1 / mean, [&](double beta) { return row.sums(beta); });
      add_gaussian(beta, distances.scale_count, row, result);
    }
  }
};

struct FixedSigmaAffinity {
  __device__ static void weigh(const Distances& distances, Row& row, float (&result)[PER_LANE]) {
    fill_squares(distances, row);
    for (int s = 0; s < distances.scale_count; ++s)
      add_gaussian(1 / (2 * distances.scales[s] * distances.scales[s]), distances.scale_count, row, result);
  }
};

struct UniformAffinity {
  __device__ static void weigh(const Distances&, Row&, float (&result)[PER_LANE]) {
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) result[e] = 1.0f;
  }
};

template <Affinity>
struct PolicyOfAffinity;
#define ACTUP_POLICY(name, policy)          \
  template <>                               \
  struct PolicyOfAffinity<Affinity::name> { \
    using Policy = policy;                  \
  };
ACTUP_AFFINITIES(ACTUP_POLICY)
#undef ACTUP_POLICY

// What is wrong with a row of neighbours, as bits: its distances, its ids, or an id that occurs twice.
enum Fault { kDistances = DISTANCE_FAULT, kIds = ID_FAULT, kTwice = DUPLICATE_FAULT };

// The sum of all distances in kPartialSums parts, by as many blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
    sum_distances(const float* __restrict__ distances, long long count, double* __restrict__ partial) {
  __shared__ double sums[8];
  double sum = 0;
  for (long long at = (long long)blockIdx.x * 256 + threadIdx.x; at < count; at += 256ll * gridDim.x)
    sum += distances[at];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  for (int warp = 1; warp < 8; ++warp) sum += sums[warp];
  partial[blockIdx.x] = sum;
}

// ids, distances (n, k) -> sorted_ids, weights (n, k). `totals` are the parts of the sum of all distances;
// `scales` are the perplexities, or the width of affinity "fixed_sigma".
extern "C" __global__ void __launch_bounds__(256)
    affinities(const int* __restrict__ ids, const float* __restrict__ distances, int n, int k,
               const double* __restrict__ totals, const double* __restrict__ scales, int scale_count,
               int* __restrict__ sorted_ids, float* __restrict__ weights, int* __restrict__ faults) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (i >= n) return;
  const size_t begin = (size_t)i * k;
  float result[PER_LANE] = {};
  int fault = 0;
  Row row;
  Distances known{{}, n, k, lane, totals, scales, scale_count};
#pragma unroll
  for (int e = 0; e < PER_LANE; ++e) {
    const int at = e * 32 + lane;
    row.present[e] = at < k;
    known.at[e] = at < k ? distances[begin + at] : 0.0f;
    const float previous = at > 0 && at < k ? distances[begin + at - 1] : 0.0f;
    if (at < k && !(known.at[e] >= previous && known.at[e] < __int_as_float(0x7f800000))) fault |= kDistances;
  }
  PolicyOfAffinity<static_cast<Affinity>(AFFINITY)>::Policy::weigh(known, row, result);
#pragma unroll
  for (int e = 0; e < PER_LANE; ++e) {
    const int at = e * 32 + lane;
    if (at >= k) continue;
    const int id = ids[begin + at];
    if (id < 0 || id >= n || id == i) fault |= kIds;
    int rank = 0;
    for (int other = 0; other < k; ++other) {
      const int name = ids[begin + other];
      rank += name < id || (name == id && other < at);
      if (name == id && other != at) fault |= kTwice;
    }
    sorted_ids[begin + rank] = id;
    weights[begin + rank] = result[e];
  }
  if (fault) atomicOr(faults, fault);
}
