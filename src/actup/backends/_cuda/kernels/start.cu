// The last steps of a start: from eigenvectors or principal components to places of the wanted size.

// Least, largest, sum and sum of squares of every column over each thread block's rows: partial (blocks,
// width, 4). width is at most THREADS; blocks take rows in turn, so sums have a fixed order.
template <class T>
__device__ inline void column_stats(const T* __restrict__ values, long long n, int width,
                                    double* __restrict__ partial) {
  __shared__ double shared[4][THREADS];
  const int runs = THREADS / width, run = threadIdx.x / width, c = threadIdx.x % width;
  double least = 1e300, largest = -1e300, sum = 0, squares = 0;
  if (run < runs) {
    for (long long row = (long long)blockIdx.x * runs + run; row < n; row += (long long)gridDim.x * runs) {
      const double x = values[row * width + c];
      least = fmin(least, x), largest = fmax(largest, x), sum += x, squares += x * x;
    }
  }
  shared[0][threadIdx.x] = least, shared[1][threadIdx.x] = largest;
  shared[2][threadIdx.x] = sum, shared[3][threadIdx.x] = squares;
  __syncthreads();
  if (run) return;
  for (int other = 1; other < runs; ++other) {
    const int at = other * width + c;
    least = fmin(least, shared[0][at]), largest = fmax(largest, shared[1][at]);
    sum += shared[2][at], squares += shared[3][at];
  }
  double* to = partial + ((size_t)blockIdx.x * width + c) * 4;
  to[0] = least, to[1] = largest, to[2] = sum, to[3] = squares;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    float_stats(const float* __restrict__ values, long long n, int width, double* __restrict__ partial) {
  column_stats(values, n, width, partial);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    double_stats(const double* __restrict__ values, long long n, int width, double* __restrict__ partial) {
  column_stats(values, n, width, partial);
}

// Divides each row by its divisor and transposes the result: out (width, n), so that a column can be sorted.
extern "C" __global__ void divided_columns(const float* __restrict__ vectors,
                                           const float* __restrict__ divisors, int n, int width,
                                           float* __restrict__ out) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (long long)n * width) return;
  const int row = (int)(at / width), c = (int)(at % width);
  out[(size_t)c * n + row] = vectors[at] / divisors[row];
}

// Clips one column and writes it to a column of out (n, width).
extern "C" __global__ void clipped_column(const float* __restrict__ column, int n, float low, float high,
                                          float* __restrict__ out, int width, int to) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) out[(size_t)row * width + to] = fminf(fmaxf(column[row], low), high);
}

// out = (values - shift) * scale + jitter * amount, with a shift per column; scaled() is the same without
// jitter.
extern "C" __global__ void jittered(const float* __restrict__ values, long long count, int width,
                                    const double* __restrict__ shift, double scale,
                                    const double* __restrict__ jitter, double amount,
                                    double* __restrict__ out) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = (values[at] - shift[at % width]) * scale + amount * jitter[at];
}
extern "C" __global__ void scaled(const double* __restrict__ values, long long count, int width,
                                  const double* __restrict__ shift, double scale, float* __restrict__ out) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = (float)((values[at] - shift[at % width]) * scale);
}

// Columns times their signs; rows in which `known` is 0, unless that is null, become 0.
extern "C" __global__ void signed_columns(const float* __restrict__ values, long long count, int stride,
                                          int width, const float* __restrict__ signs,
                                          const float* __restrict__ known, float* __restrict__ out) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const long long row = at / width;
  out[at] = known && known[row] == 0 ? 0.0f : values[row * stride + at % width] * signs[at % width];
}

// out = alpha image + beta x + gamma previous
extern "C" __global__ void combine(const float* __restrict__ image, const float* __restrict__ x,
                                   const float* previous, float* out, long long count, float alpha,
                                   float beta, float gamma) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  float result = alpha * image[at] + beta * x[at];
  if (gamma != 0) result += gamma * previous[at];
  out[at] = result;
}

// Writes the first column of a block.
extern "C" __global__ void set_first_column(const float* __restrict__ values, int n, int width,
                                            float* __restrict__ out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) out[(size_t)row * width] = values[row];
}
