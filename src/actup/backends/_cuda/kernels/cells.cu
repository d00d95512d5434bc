// Cells of rows: the nearest centre of each row, the mean row of each cell, and the tiles of nearby cells.
#include "common/random.h"
#include "row_value.h"

using namespace actup;

constexpr int kColumns = GROUP_COLUMNS, kRuns = GROUP_RUNS;

// The mean row of each group. members: the rows, group after group; offsets (groups + 1). An empty group
// keeps its mean. A thread block per group, of kColumns x kRuns threads: each adds up every kRuns-th row, so
// sums have a fixed order.
extern "C" __global__ void group_means(const Value* __restrict__ points, int columns,
                                       const int* __restrict__ members, const int* __restrict__ offsets,
                                       float* __restrict__ means) {
  __shared__ double sums[kRuns][kColumns];
  const int begin = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
  if (begin == end) return;
  for (int first = 0; first < columns; first += kColumns) {
    const int c = first + threadIdx.x;
    double sum = 0;
    if (c < columns) {
#pragma unroll 4
      for (int e = begin + threadIdx.y; e < end; e += kRuns)
        sum += value_at(points + (size_t)members[e] * columns + c);
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < columns) {
      for (int run = 1; run < kRuns; ++run) sum += sums[run][threadIdx.x];
      means[(size_t)blockIdx.x * columns + c] = (float)(sum / (end - begin));
    }
    __syncthreads();
  }
}

// For every row of scores (n, count), the column with the largest score less its offset; ties go to the
// first. A warp per row.
extern "C" __global__ void __launch_bounds__(256)
    best_columns(const float* __restrict__ scores, const float* __restrict__ offsets, int n, int count,
                 int* __restrict__ out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= n) return;
  float best = -3.4e38f;
  int found = 0x7fffffff;
  for (int c = lane; c < count; c += 32) {
    const float score = scores[(size_t)row * count + c] - offsets[c];
    if (score > best) best = score, found = c;
  }
  for (int apart = 16; apart; apart >>= 1) {
    const float score = __shfl_xor_sync(~0u, best, apart);
    const int other = __shfl_xor_sync(~0u, found, apart);
    if (score > best || (score == best && other < found)) best = score, found = other;
  }
  if (lane == 0) out[row] = found;
}

// Lists the tiles of the cells around every cell, cell after cell: lists (cells, stride). around and ends are
// (cells, probes): the nearby cells, and where the tiles of each end in the list. A thread per pair of cells.
extern "C" __global__ void list_tiles(const int* __restrict__ around, const int* __restrict__ first_tiles,
                                      const int* __restrict__ ends, int cells, int probes, int stride,
                                      int* __restrict__ lists) {
  const int pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= cells * probes) return;
  const int first = first_tiles[around[pair]], count = first_tiles[around[pair] + 1] - first;
  int* to = lists + (size_t)(pair / probes) * stride + ends[pair] - count;
  for (int tile = 0; tile < count; ++tile) to[tile] = first + tile;
}

// A random place for every row, within `reach` of its cell's place along each axis: out (n, width), places
// (cells, width). A thread per coordinate.
extern "C" __global__ void scatter_around(const float* __restrict__ places, const int* __restrict__ labels,
                                          int64_t count, int width, float reach, uint64_t seed,
                                          float* __restrict__ out) {
  const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const int row = (int)(at / width), c = (int)(at % width);
  out[at] = places[(int64_t)labels[row] * width + c] + reach * random_signed(random_bits(seed, 0, row, c));
}
