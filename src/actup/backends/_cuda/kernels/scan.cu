// The nearest neighbours of some rows by looking at every point in float32: for what candidates.cu cannot
// prove, for few points, and for metrics that are no scalar product.
//
// A block of 8 warps takes 8 rows. A warp compares them with 4 points at a time: 32 sums, which a transposing
// reduction leaves one in each lane. Whatever is nearer than the row's bound joins the row's list; a list
// that fills up is cut to its best k, which lowers the bound.
//
// METRIC   0: sum of squares, 1: sum of magnitudes, 2: largest magnitude, 3: sum of squares and of what both
//          rows lack (inner product: |x - y|^2 + (M - |x|^2) + (M - |y|^2) = 2 (M - <x, y>), without
//          cancelling)
// K        neighbours wanted
// ROOM     room of a list: at least K + 512
#ifndef METRIC
#define METRIC 0
#endif
#ifndef K
#define K 15
#endif
#ifndef ROOM
#define ROOM 1040
#endif

typedef unsigned int Word;
typedef unsigned long long Key;  // the bits of a sum of at least 0, then the id: sorting keys sorts by both

constexpr int kRows = 8, kPoints = 4, kRound = 16;  // rounds between two looks at the lists

__device__ inline float add(float sum, float x, float y) {
  const float difference = x - y;
#if METRIC == 0 || METRIC == 3
  return sum + difference * difference;
#elif METRIC == 1
  return sum + fabsf(difference);
#else
  return fmaxf(sum, fabsf(difference));
#endif
}
__device__ inline float join(float a, float b) {
#if METRIC == 2
  return fmaxf(a, b);
#else
  return a + b;
#endif
}

// The total over all lanes of sums[l], in lane l; in halves, so that every index is known to the compiler.
template <int half>
__device__ inline float transposed_total(float (&sums)[32]) {
  const bool upper = threadIdx.x & half;
#pragma unroll
  for (int e = 0; e < half; ++e) {
    const float kept = upper ? sums[e + half] : sums[e], given = upper ? sums[e] : sums[e + half];
    sums[e] = join(kept, __shfl_xor_sync(~0u, given, half));
  }
  if constexpr (half > 1) {
    return transposed_total<half / 2>(sums);
  } else {
    return sums[0];
  }
}

// The k-th smallest of `count` keys, k <= count; by a warp.
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

// Moves the keys up to the bound to the front; by a warp. Returns how many.
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

// rows: the ids of the rows to search for. sums (n, K) holds, where `bounded`, the sums of neighbours that
// are known, of which the last is a bound. found (parts, count, K): the best of every part of the points, in
// any order; what is missing is the largest key.
extern "C" __global__ void __launch_bounds__(256)
    scan_rows(const float* __restrict__ points, int n, int columns, const int* __restrict__ rows, int count,
              int bounded, const float* __restrict__ sums, const float* __restrict__ lacking,
              Key* __restrict__ found) {
  extern __shared__ __align__(16) Key lists[];  // kRows x ROOM
  __shared__ int length[kRows];
  __shared__ Key bound[kRows];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int first = blockIdx.x * kRows;
  const float* query[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) query[r] = points + (size_t)rows[min(first + r, count - 1)] * columns;
  if (lane == 0) {
    const int row = rows[min(first + warp, count - 1)];
    length[warp] = 0;
    const float known = bounded ? sums[(size_t)row * K + K - 1] : __int_as_float(0x7f800000);
    // sums of the same numbers in another order differ in their last bits
    bound[warp] = known < 3e38f ? Key(__float_as_uint(known * 1.0001f)) << 32 | 0xffffffffu : ~Key(0);
  }
  __syncthreads();
  const int own = lane % kRows, point = lane / kRows;  // of the sum that ends in this lane
  const int self = rows[min(first + own, count - 1)];
  const int stop = (int)((long long)n * (blockIdx.y + 1) / gridDim.y);
  for (int begin = (int)((long long)n * blockIdx.y / gridDim.y); begin < stop;
       begin += kRound * 8 * kPoints) {
    for (int round = 0; round < kRound; ++round) {
      const int at = begin + (round * 8 + warp) * kPoints;
      if (at >= stop) break;
      float total[32] = {};
      const float* y[kPoints];
#pragma unroll
      for (int p = 0; p < kPoints; ++p) y[p] = points + (size_t)min(at + p, n - 1) * columns;
      for (int c = lane; c < columns; c += 32) {
        float x[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) x[r] = __ldg(query[r] + c);
#pragma unroll
        for (int p = 0; p < kPoints; ++p) {
          const float value = __ldg(y[p] + c);
#pragma unroll
          for (int r = 0; r < kRows; ++r) total[p * kRows + r] = add(total[p * kRows + r], x[r], value);
        }
      }
      float sum = transposed_total<16>(total);
      const int other = at + point;
#if METRIC == 3
      sum += lacking[self] + lacking[min(other, n - 1)];
#endif
      const Key key = Key(__float_as_uint(sum)) << 32 | (Word)other;
      if (other < stop && other != self && key < bound[own])
        lists[own * ROOM + atomicAdd(&length[own], 1)] = key;
    }
    __syncthreads();
    if (length[warp] > ROOM - 512) {
      const Key last = kth_smallest(lists + warp * ROOM, length[warp], K);
      const int kept = compact(lists + warp * ROOM, length[warp], last);
      __syncwarp();
      if (lane == 0) length[warp] = kept, bound[warp] = last;
    }
    __syncthreads();
  }
  if (first + warp >= count) return;
  Key* mine = lists + warp * ROOM;
  int left = length[warp];
  if (left > K) left = compact(mine, left, kth_smallest(mine, left, K));
  __syncwarp();
  Key* to = found + ((size_t)blockIdx.y * count + first + warp) * K;
  for (int e = lane; e < K; e += 32) to[e] = e < left ? mine[e] : ~Key(0);
}

// The best of all parts of every row; a warp per row.
extern "C" __global__ void __launch_bounds__(256)
    merge_parts(Key* __restrict__ found, int parts, const int* __restrict__ rows, int count,
                int* __restrict__ ids, float* __restrict__ sums) {
  const int row = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
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
