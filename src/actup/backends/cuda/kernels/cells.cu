// The centres of cells: the mean of the rows in each.

// members: the rows of cell after cell; offsets (cells + 1). An empty cell keeps its centre. A block per cell,
// which adds its rows in their order.
extern "C" __global__ void cell_means(const float* __restrict__ points, int columns, const int* __restrict__ members,
                                      const int* __restrict__ offsets, float* __restrict__ centers) {
  const int begin = offsets[blockIdx.x], end = offsets[blockIdx.x + 1];
  if (begin == end) return;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    double sum = 0;
    for (int e = begin; e < end; ++e) sum += points[(size_t)members[e] * columns + c];
    centers[(size_t)blockIdx.x * columns + c] = (float)(sum / (end - begin));
  }
}
