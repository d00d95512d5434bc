// Small dense matrices in double precision, for the covariance of columns. Unlike those of BLAS and LAPACK,
// the results do not depend on the processor or on the number of threads: every sum has a fixed order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/exponential.hpp"
#include "common/parallel.hpp"
#include "neighbors/projected_rows.hpp"

namespace actup {

// The sums over all rows of the products of two columns: (columns, columns), symmetric.
inline void add_products(const double* rows, int64_t count, int64_t columns, int threads, double* sums) {
  constexpr int kRows = 4, kVectors = 2, kWidth = kVectors * kDoubles;
  const int64_t padded = (columns + kWidth - 1) / kWidth * kWidth;
  std::vector<double> values(count * padded + kRows);
  for (int64_t row = 0; row < count; ++row)
    std::copy_n(rows + row * columns, columns, values.begin() + row * padded);
  parallel_ranges(columns, kRows, threads, [&](int64_t first, int64_t) {
    for (int64_t column = 0; column < std::min(first + kRows, columns); column += kWidth) {
      checkpoint();
      doubles tile[kRows][kVectors] = {};
      for (int64_t row = 0; row < count; ++row) {
        const double* const at = &values[row * padded];
        doubles right[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) right[v] = load_doubles(at + column + v * kDoubles);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) tile[r][v] += at[first + r] * right[v];
        }
      }
      for (int64_t r = 0; r < std::min<int64_t>(kRows, columns - first); ++r) {
        for (int64_t lane = 0; lane < kWidth && column + lane <= first + r; ++lane)
          sums[(first + r) * columns + column + lane] += tile[r][lane / kDoubles][lane % kDoubles];
      }
    }
  });
  for (int64_t row = 0; row < columns; ++row)
    for (int64_t column = 0; column < row; ++column)
      sums[column * columns + row] = sums[row * columns + column];
}

// Replaces the lower triangle of a symmetric matrix by L with L Lᵀ = matrix, and the rest by 0. Returns
// whether the matrix is positive definite.
inline bool cholesky_factor(double* matrix, int64_t size) {
  std::vector<double> column(size);
  for (int64_t at = 0; at < size; ++at) {
    checkpoint();
    const double pivot = matrix[at * size + at];
    if (!(pivot > 0)) return false;
    const double root = std::sqrt(pivot);
    for (int64_t row = at; row < size; ++row) column[row] = matrix[row * size + at] /= root;
    for (int64_t row = at + 1; row < size; ++row)
      for (int64_t other = at + 1; other <= row; ++other)
        matrix[row * size + other] -= column[row] * column[other];
    std::fill(matrix + at * size + at + 1, matrix + (at + 1) * size, 0.0);
  }
  return true;
}

// Replaces L, lower triangular, by its inverse.
inline void invert_lower(double* matrix, int64_t size) {
  std::vector<double> sums(size);
  for (int64_t row = 0; row < size; ++row) {
    checkpoint();
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t at = 0; at < row; ++at)
      for (int64_t column = 0; column <= at; ++column)
        sums[column] += matrix[row * size + at] * matrix[at * size + column];
    const double pivot = matrix[row * size + row];
    for (int64_t column = 0; column < row; ++column) matrix[row * size + column] = -sums[column] / pivot;
    matrix[row * size + row] = 1 / pivot;
  }
}

// Replaces a symmetric matrix by its inverse. Returns whether the matrix is positive definite.
inline bool invert_symmetric(double* matrix, int64_t size, int threads) {
  if (!cholesky_factor(matrix, size)) return false;
  invert_lower(matrix, size);
  const std::vector<double> factor(matrix, matrix + size * size);
  std::fill_n(matrix, size * size, 0.0);
  add_products(factor.data(), size, size, threads, matrix);
  return true;
}

// (row - center) L for all rows, L lower triangular: (count, columns) floats.
inline void project_rows(const double* rows, int64_t count, const std::vector<double>& root,
                         const double* center, int64_t columns, int threads, float* out) {
  parallel_ranges(count, 64, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> centered(columns), sums(columns);
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t at = 0; at < columns; ++at) centered[at] = rows[row * columns + at] - center[at];
      multiply_by_root(root, centered.data(), columns, sums.data());
      std::copy(sums.begin(), sums.end(), out + row * columns);
    }
  });
}

}  // namespace actup
