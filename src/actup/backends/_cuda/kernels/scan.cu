// The nearest neighbours of some rows by comparing them with every point in float32: for rows that
// candidates.cu leaves unproven, for few points, and for metrics that are not scalar products.
//
// A thread block of 8 warps takes 8 rows. A warp compares them with 4 points at a time: 32 sums; a
// transposing reduction puts one into each lane. A point that is nearer than the row's bound is appended to
// the row's list; a list that fills up is cut to its best k, which lowers the bound.
//
// METRIC    SQUARES: sum of squared differences, MAGNITUDES: sum of magnitudes, LARGEST_MAGNITUDE, or
//           INNER_PRODUCT: sum of squares and of both rows' deficits to the largest squared length M. That is
//           |x - y|^2 + (M - |x|^2) + (M - |y|^2) = 2 (M - <x, y>), without cancellation.
// K         neighbours wanted
// CAPACITY  of a list: at least K + SCAN_BATCH
#define SQUARES 0
#define MAGNITUDES 1
#define LARGEST_MAGNITUDE 2
#define INNER_PRODUCT 3

#ifndef METRIC
#define METRIC SQUARES
#endif
#ifndef K
#define K 15
#endif
#ifndef CAPACITY
#define CAPACITY 1040
#endif

#include "row_value.h"

typedef unsigned int Word;
typedef unsigned long long Key;  // the bits of a sum, which is at least 0, then the id: sorts by both

constexpr int kRows = SCAN_ROWS, kPoints = 4;
constexpr int kSteps = SCAN_BATCH / (kRows * kPoints);  // of each warp before the lists are cut
static_assert(kRows * kPoints == 32, "a warp has a lane for each sum");

__device__ inline float add(float sum, float x, float y) {
  const float difference = x - y;
#if METRIC == SQUARES || METRIC == INNER_PRODUCT
  return sum + difference * difference;
#elif METRIC == MAGNITUDES
  return sum + fabsf(difference);
#else
  return fmaxf(sum, fabsf(difference));
#endif
}
__device__ inline float combine(float a, float b) {
#if METRIC == LARGEST_MAGNITUDE
  return fmaxf(a, b);
#else
  return a + b;
#endif
}

// The total of sums[l] over all lanes, in lane l; in halves, so that every index is known at compile time.
template <int half>
__device__ inline float transposed_total(float (&sums)[32]) {
  const bool upper = threadIdx.x & half;
#pragma unroll
  for (int e = 0; e < half; ++e) {
    const float kept = upper ? sums[e + half] : sums[e], given = upper ? sums[e] : sums[e + half];
    sums[e] = combine(kept, __shfl_xor_sync(~0u, given, half));
  }
  if constexpr (half > 1) {
    return transposed_total<half / 2>(sums);
  } else {
    return sums[0];
  }
}

// The k-th smallest of `count` keys, k <= count. Called by a whole warp.
__device__ inline Key kth_smallest(const Key* keys, int count, int k) {
  const int lane = threadIdx.x & 31;
  Key found = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Key tried = found | Key(1) << bit;
    int below = 0;
    for (int e = lane; e < count; e += 32) below += keys[e] < tried;
    if (__reduce_add_sync(~0u, below) < k) found = tried;
  }
  return found;
}

// Moves the keys up to the bound to the front; returns their number. Called by a whole warp.
__device__ inline int compact(Key* keys, int count, Key bound) {
  const int lane = threadIdx.x & 31;
  int kept = 0;
  for (int begin = 0; begin < count; begin += 32) {
    const Key key = begin + lane < count ? keys[begin + lane] : ~Key(0);
    const bool keep = begin + lane < count && key <= bound;
    const Word mask = __ballot_sync(~0u, keep);
    __syncwarp();
    if (keep) keys[kept + __popc(mask & ((1u << lane) - 1))] = key;
    kept += __popc(mask);
    __syncwarp();
  }
  return kept;
}

// rows: the ids of the rows to search for. sums (n, K): if `bounded`, the sums of known neighbours; the last
// one is an upper bound. found (parts, count, K): the best of every part of the points, in any order,
// filled up with the largest key.
extern "C" __global__ void __launch_bounds__(32 * SCAN_ROWS)
    scan_rows(const Value* __restrict__ points, int n, int columns, const int* __restrict__ rows, int count,
              int bounded, const float* __restrict__ sums, const float* __restrict__ deficits,
              Key* __restrict__ found) {
  extern __shared__ __align__(16) Key lists[];  // (kRows, CAPACITY)
  __shared__ int length[kRows];
  __shared__ Key bound[kRows];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int first = blockIdx.x * kRows;
  const Value* query[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) query[r] = points + (size_t)rows[min(first + r, count - 1)] * columns;
  if (lane == 0) {
    const int row = rows[min(first + warp, count - 1)];
    length[warp] = 0;
    const float known = bounded ? sums[(size_t)row * K + K - 1] : __int_as_float(0x7f800000);
    // Sums of the same numbers in another order differ in their last bits.
    bound[warp] = known < 3e38f ? Key(__float_as_uint(known * 1.0001f)) << 32 | 0xffffffffu : ~Key(0);
  }
  __syncthreads();
  const int own = lane % kRows, point = lane / kRows;  // row and point of the sum that ends in this lane
  const int self = rows[min(first + own, count - 1)];
  const int stop = (int)((long long)n * (blockIdx.y + 1) / gridDim.y);
  for (int begin = (int)((long long)n * blockIdx.y / gridDim.y); begin < stop;
       begin += kSteps * kRows * kPoints) {
    for (int step = 0; step < kSteps; ++step) {
      const int at = begin + (step * kRows + warp) * kPoints;
      if (at >= stop) break;
      float total[32] = {};
      const Value* y[kPoints];
#pragma unroll
      for (int p = 0; p < kPoints; ++p) y[p] = points + (size_t)min(at + p, n - 1) * columns;
      for (int c = lane; c < columns; c += 32) {
        float x[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) x[r] = value_at(query[r] + c);
#pragma unroll
        for (int p = 0; p < kPoints; ++p) {
          const float value = value_at(y[p] + c);
#pragma unroll
          for (int r = 0; r < kRows; ++r) total[p * kRows + r] = add(total[p * kRows + r], x[r], value);
        }
      }
      float sum = transposed_total<16>(total);
      const int other = at + point;
#if METRIC == INNER_PRODUCT
      sum += deficits[self] + deficits[min(other, n - 1)];
#endif
      const Key key = Key(__float_as_uint(sum)) << 32 | (Word)other;
      if (other < stop && other != self && key < bound[own])
        lists[own * CAPACITY + atomicAdd(&length[own], 1)] = key;
    }
    __syncthreads();
    if (length[warp] > CAPACITY - SCAN_BATCH) {
      const Key last = kth_smallest(lists + warp * CAPACITY, length[warp], K);
      const int kept = compact(lists + warp * CAPACITY, length[warp], last);
      __syncwarp();
      if (lane == 0) length[warp] = kept, bound[warp] = last;
    }
    __syncthreads();
  }
  if (first + warp >= count) return;
  Key* mine = lists + warp * CAPACITY;
  int left = length[warp];
  if (left > K) left = compact(mine, left, kth_smallest(mine, left, K));
  __syncwarp();
  Key* to = found + ((size_t)blockIdx.y * count + first + warp) * K;
  for (int e = lane; e < K; e += 32) to[e] = e < left ? mine[e] : ~Key(0);
}

// Merges the best of all parts for every row; a warp per row.
extern "C" __global__ void __launch_bounds__(32 * SCAN_ROWS)
    merge_parts(Key* __restrict__ found, int parts, const int* __restrict__ rows, int count,
                int* __restrict__ ids, float* __restrict__ sums) {
  const int row = blockIdx.x * kRows + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (row >= count) return;
  const auto key = [&](int e) { return found[((size_t)(e / K) * count + row) * K + e % K]; };
  Key last = 0;  // the K-th smallest
  for (int bit = 63; bit >= 0; --bit) {
    const Key tried = last | Key(1) << bit;
    int below = 0;
    for (int e = lane; e < parts * K; e += 32) below += key(e) < tried;
    if (__reduce_add_sync(~0u, below) < K) last = tried;
  }
  const size_t to = (size_t)rows[row] * K;
  for (int e = lane; e < parts * K; e += 32) {
    const Key mine = key(e);
    if (mine > last || mine == ~Key(0)) continue;
    int rank = 0;
    for (int f = 0; f < parts * K; ++f) rank += key(f) < mine;
    ids[to + rank] = (int)(Word)mine;
    sums[to + rank] = __uint_as_float((Word)(mine >> 32));
  }
}
