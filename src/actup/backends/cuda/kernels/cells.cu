// The mean row of groups of rows.

constexpr int kColumns = 64, kRuns = 16;  // threads of a block: columns, and runs of rows that are added side by side

// members: the rows of group after group; offsets (groups + 1). An empty group keeps its mean. A block per group;
// every sum has a fixed order.
extern "C" __global__ void group_means(const float* __restrict__ points, int columns,
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
      for (int e = begin + threadIdx.y; e < end; e += kRuns) sum += points[(size_t)members[e] * columns + c];
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
