// Conversions of rows, and the small arrays that a search for neighbours begins with.
#include "row_value.h"

__device__ inline double warp_sum(double x) {
  for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

// Converts rows to directions, for the angular metrics; a warp per row. The row, less its mean if `centered`,
// is divided by its length. One more column is 1 in rows of length zero, else 0, which puts them at distance
// 1 from all others.
extern "C" __global__ void directions(const Value* __restrict__ points, int n, int columns, int centered,
                                      float* __restrict__ out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= n) return;
  const Value* x = points + (size_t)row * columns;
  float* to = out + (size_t)row * (columns + 1);
  double mean = 0;
  if (centered) {
    for (int c = lane; c < columns; c += 32) mean += value_at(x + c);
    mean = warp_sum(mean) / columns;
  }
  double square = 0;
  for (int c = lane; c < columns; c += 32) square += (value_at(x + c) - mean) * (value_at(x + c) - mean);
  const double length = sqrt(warp_sum(square));
  // A constant row differs from its mean by rounding only.
  const bool none = !(length > 1e-12 * fabs(mean) * sqrt((double)columns));
  for (int c = lane; c < columns; c += 32) to[c] = none ? 0.0f : (float)((value_at(x + c) - mean) / length);
  if (lane == 0) to[columns] = none ? 1.0f : 0.0f;
}

// The deficit of every row: the largest squared length minus the row's. A first pass finds the largest, as
// the bits of a double. A warp per row.
__device__ inline double squared_length(const Value* x, int columns) {
  double square = 0;
  for (int c = threadIdx.x & 31; c < columns; c += 32) square += (double)value_at(x + c) * value_at(x + c);
  return warp_sum(square);
}
extern "C" __global__ void largest_length(const Value* __restrict__ points, int n, int columns,
                                          unsigned long long* __restrict__ largest) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (row >= n) return;
  const double square = squared_length(points + (size_t)row * columns, columns);
  if ((threadIdx.x & 31) == 0) atomicMax(largest, (unsigned long long)__double_as_longlong(square));
}
extern "C" __global__ void length_deficits(const Value* __restrict__ points, int n, int columns,
                                           const unsigned long long* __restrict__ largest,
                                           float* __restrict__ out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  if (row >= n) return;
  const double square = squared_length(points + (size_t)row * columns, columns);
  if ((threadIdx.x & 31) == 0) out[row] = (float)(__longlong_as_double((long long)*largest) - square);
}

// The mean of every step-th row, an estimate of the mean that is good enough to centre rows before rounding.
// Threads: (coordinates, rows).
extern "C" __global__ void sampled_mean(const Value* __restrict__ points, int n, int columns, int step,
                                        float* __restrict__ out) {
  __shared__ double sums[MEAN_RUNS][MEAN_COLUMNS + 1];
  const int c = blockIdx.x * MEAN_COLUMNS + threadIdx.x;
  double sum = 0;
  if (c < columns)
    for (long long row = (long long)threadIdx.y * step; row < n; row += (long long)MEAN_RUNS * step)
      sum += value_at(points + (size_t)row * columns + c);
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || c >= columns) return;
  for (int y = 1; y < MEAN_RUNS; ++y) sum += sums[y][threadIdx.x];
  out[c] = (float)(sum / ((n + step - 1) / step));
}

// Rows less a centre, with one more column of ones and zero padding up to `width`.
extern "C" __global__ void centered_rows(const Value* __restrict__ points, const float* __restrict__ center,
                                         int n, int columns, int width, float* __restrict__ out) {
  const size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (size_t)n * width) return;
  const size_t row = at / width;
  const int c = (int)(at % width);
  out[at] = c < columns ? value_at(points + row * columns + c) - center[c] : c == columns ? 1.0f : 0.0f;
}

// An order in which any run of positions is spread over all rows: multiples of `stride`, which is coprime to
// n.
extern "C" __global__ void spread_order(int n, int positions, long long stride, int* __restrict__ out) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < positions) out[at] = at < n ? (int)(at * stride % n) : -1;
}

// First thresholds: `lowest`, which is below every score; infinity for positions without a row.
extern "C" __global__ void first_thresholds(const int* __restrict__ order, int positions, float lowest,
                                            float* __restrict__ thresholds,
                                            unsigned char* __restrict__ overflowed) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= positions) return;
  thresholds[at] = order[at] >= 0 ? lowest : __int_as_float(0x7f800000);
  overflowed[at] = 0;
}

// First thresholds of a search in cells, below the score of every point within `reach` of the centre of the
// row's cell: the scores -|x||y| - |y|²/2 of such points are larger. squares: |x|², relative to that centre;
// reaches, of each cell; tile_cells begins at the first position's tile.
extern "C" __global__ void first_cell_thresholds(const int* __restrict__ order, int positions,
                                                 const float* __restrict__ squares,
                                                 const float* __restrict__ reaches,
                                                 const int* __restrict__ tile_cells,
                                                 float* __restrict__ thresholds,
                                                 unsigned char* __restrict__ overflowed) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= positions) return;
  const float reach = 1.01f * reaches[tile_cells[at / TILE]] + 0.01f;
  const float lowest = -reach * (sqrtf(squares[at]) + 0.5f * reach);
  thresholds[at] = order[at] >= 0 ? lowest : __int_as_float(0x7f800000);
  overflowed[at] = 0;
}

// From sums to distances: the square root if `root` is 1, else the half.
extern "C" __global__ void finish_distances(float* __restrict__ sums, long long count, int root) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) sums[at] = root == 1 ? sqrtf(sums[at]) : 0.5f * sums[at];
}
