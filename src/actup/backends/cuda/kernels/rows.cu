// Rows to directions, for metrics that compare those; a warp per row.
//
// The row is divided by its length, after subtracting its mean where CENTERED. One more column is 1 in rows of
// length zero, else 0, which puts them at distance 1 from all others (see distance.h).
#ifndef CENTERED
#define CENTERED 0
#endif

__device__ inline double warp_sum(double x) {
  for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

extern "C" __global__ void directions(const float* __restrict__ points, int n, int columns,
                                      float* __restrict__ out) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= n) return;
  const float* x = points + (size_t)row * columns;
  float* to = out + (size_t)row * (columns + 1);
  double mean = 0;
#if CENTERED
  for (int c = lane; c < columns; c += 32) mean += x[c];
  mean = warp_sum(mean) / columns;
#endif
  double square = 0;
  for (int c = lane; c < columns; c += 32) square += (x[c] - mean) * (x[c] - mean);
  const double length = sqrt(warp_sum(square));
  // A constant row differs from its mean by rounding only.
  const bool none = !(length > 1e-12 * fabs(mean) * sqrt((double)columns));
  for (int c = lane; c < columns; c += 32) to[c] = none ? 0.0f : (float)((x[c] - mean) / length);
  if (lane == 0) to[columns] = none ? 1.0f : 0.0f;
}
