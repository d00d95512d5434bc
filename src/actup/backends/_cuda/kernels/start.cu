// The last steps of a start: from eigenvectors or principal components to places of the wanted size.
#include "common/random.h"

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

// out = (values - shift) * scale + a random number below `amount` in size, with a shift per column; scaled()
// is the same without it.
extern "C" __global__ void jittered(const float* __restrict__ values, long long count, int width,
                                    const double* __restrict__ shift, double scale, unsigned long long seed,
                                    double amount, double* __restrict__ out) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const unsigned long long bits = actup::random_bits(seed, 1, (unsigned)(at / width), (unsigned)(at % width));
  const double random = (double)(bits >> 11) * 0x1p-52 - 1;  // from -1 to 1, with all bits of a double
  out[at] = (values[at] - shift[at % width]) * scale + amount * random;
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

// The inverse of the upper Cholesky factor of `gram` (width x width), which is overwritten; a column that
// depends on those before it becomes 0. All entries are NaN if one of `gram` is not finite. One thread block.
extern "C" __global__ void inverse_cholesky(double* gram, int width, float* __restrict__ inverse) {
  const int count = width * width;
  int finite = 1;
  for (int at = threadIdx.x; at < count; at += blockDim.x) finite &= isfinite(gram[at]) != 0;
  if (!__syncthreads_and(finite)) {
    for (int at = threadIdx.x; at < count; at += blockDim.x) inverse[at] = nanf("");
    return;
  }
  __shared__ double pivot;
  // The factor replaces the upper triangle row by row; the rows below hold what is left of the matrix.
  for (int row = 0; row < width; ++row) {
    double* own = gram + row * width;
    if (threadIdx.x == 0) {
      const double rest = own[row];
      // The sum of squares of the column is what the matrix had on its diagonal.
      double squares = rest;
      for (int above = 0; above < row; ++above)
        squares += gram[above * width + row] * gram[above * width + row];
      pivot = rest > 1e-13 * squares ? sqrt(rest) : 0;
    }
    __syncthreads();
    for (int c = row + threadIdx.x; c < width; c += blockDim.x)
      own[c] = pivot > 0 ? (c == row ? pivot : own[c] / pivot) : 0;
    __syncthreads();
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
      const int r = at / width, c = at % width;
      if (r > row && c >= r) gram[at] -= own[r] * own[c];
    }
    __syncthreads();
  }
  // The lower triangle keeps the inverse, transposed: each thread reads and writes its own column of it.
  for (int row = threadIdx.x; row < width; row += blockDim.x)
    for (int c = 0; c < width; ++c) {
      const double diagonal = gram[c * width + c];
      double value = 0;
      if (c == row && diagonal > 0) value = 1 / diagonal;
      if (c > row && diagonal > 0) {
        const double first = gram[row * width + row];
        double sum = (first > 0 ? 1 / first : 0) * gram[row * width + c];
        for (int k = row + 1; k < c; ++k) sum += gram[k * width + row] * gram[k * width + c];
        value = -sum / diagonal;
      }
      if (c > row) gram[c * width + row] = value;
      inverse[row * width + c] = (float)value;
    }
}
