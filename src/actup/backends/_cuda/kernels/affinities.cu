// Each row's similarities from its distances, by ascending id; a warp per row.
//
// AFFINITY  as the enum of bandwidth.h numbers them
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

constexpr Affinity kAffinity = static_cast<Affinity>(AFFINITY);

__device__ inline double warp_sum(double x) {
  for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

// A row of exponents, dealt to the lanes.
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
    double weights = 0, products = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) {
      const double w = weight(e, factor);
      weights += w;
      products += w * values[e];
    }
    return {warp_sum(weights), warp_sum(products)};
  }
};

// What is wrong with a row of neighbours, as bits: distances, ids, or ids that come twice.
enum Fault { kDistances = DISTANCE_FAULT, kIds = ID_FAULT, kTwice = DUPLICATE_FAULT };

constexpr int kPartialSums = PARTIAL_SUMS;

// The sum of all distances in so many parts, by as many blocks of 256 threads.
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
  float distance[PER_LANE], result[PER_LANE];
  int fault = 0;
  Row row;
#pragma unroll
  for (int e = 0; e < PER_LANE; ++e) {
    const int at = e * 32 + lane;
    row.present[e] = at < k;
    distance[e] = at < k ? distances[begin + at] : 0.0f;
    const float previous = at > 0 && at < k ? distances[begin + at - 1] : 0.0f;
    if (at < k && !(distance[e] >= previous && distance[e] < __int_as_float(0x7f800000))) fault |= kDistances;
    result[e] = kAffinity == Affinity::uniform ? 1.0f : 0.0f;
  }
  if (kAffinity == Affinity::umap) {
    double sum = 0, rho = 1e300;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) {
      sum += distance[e];
      if (distance[e] > 0) rho = fmin(rho, (double)distance[e]);
    }
    sum = warp_sum(sum);
    for (int apart = 16; apart; apart >>= 1) rho = fmin(rho, __shfl_xor_sync(~0u, rho, apart));
    if (rho == 1e300) rho = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) row.values[e] = umap_exponent(distance[e], PSEUDO ? rho : 0.0);
    double mean = sum / (k + 1);
    if (rho == 0) {  // all neighbours are copies: the mean of all rows
      double total = 0;
      for (int part = lane; part < kPartialSums; part += 32) total += totals[part];
      mean = warp_sum(total) / ((double)n * (k + 1));
    }
    const double sigma = umap_sigma(log2((double)(k + 1)), umap_sigma_floor(mean),
                                    [&](double sigma) { return row.sum_of_weights(1 / sigma); });
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) result[e] = (float)row.weight(e, 1 / sigma);
  } else if (kAffinity != Affinity::uniform) {
    const double nearest = __shfl_sync(~0u, distance[0], 0);
    double mean = 0;
#pragma unroll
    for (int e = 0; e < PER_LANE; ++e) {
      row.values[e] = row.present[e] ? (distance[e] - nearest) * (distance[e] + nearest) : 0.0;
      mean += row.values[e] / k;
    }
    mean = warp_sum(mean);
    for (int s = 0; s < scale_count; ++s) {
      double beta = 0;
      if (kAffinity == Affinity::fixed_sigma) {
        beta = 1 / (2 * scales[s] * scales[s]);
      } else if (k > scales[s] && mean > 0) {
        beta = gaussian_beta(log(scales[s]), 1 / mean, [&](double beta) { return row.sums(beta); });
      }
      const double share = 1 / (scale_count * row.sum_of_weights(beta));
#pragma unroll
      for (int e = 0; e < PER_LANE; ++e) result[e] += (float)(row.weight(e, beta) * share);
    }
  }
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
