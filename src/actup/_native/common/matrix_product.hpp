// Products of small dense matrices, in register tiles; sums have a fixed order.
#pragma once

#include <cstdint>

#include "common/vectors.h"

namespace actup {

// The tile size that keeps the sums, a row of the right matrix and a value of the left one in registers.
#if defined(__AVX512F__)
using ProductVector = float16;
constexpr int kProductRows = 6, kProductVectors = 4;
#elif defined(__AVX__)
using ProductVector = float8;
constexpr int kProductRows = 6, kProductVectors = 2;
#else
using ProductVector = float8;
constexpr int kProductRows = 4, kProductVectors = 1;
#endif
constexpr int kProductLanes = Traits<ProductVector>::lanes;

// A left matrix in any layout: value (row, depth) is data[row * row_stride + depth * depth_stride].
struct LeftMatrix {
  const float* data;
  int64_t row_stride;
  int64_t depth_stride;
};

template <int Rows, int Vectors>
inline void product_tile(const LeftMatrix& left, int64_t depth, const float* right, int64_t columns,
                         float* out) {
  ProductVector sums[Rows][Vectors] = {};
  for (int64_t at = 0; at < depth; ++at) {
    ProductVector values[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v)
      values[v] = load<ProductVector>(right + at * columns + v * kProductLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const ProductVector factor =
          broadcast<ProductVector>(left.data[r * left.row_stride + at * left.depth_stride]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] += factor * values[v];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) store(out + r * columns + v * kProductLanes, sums[r][v]);
  }
}

template <int Rows>
inline void product_rows(const LeftMatrix& left, int64_t depth, const float* right, int64_t columns,
                         float* out) {
  constexpr int64_t stripe = kProductVectors * kProductLanes;
  int64_t column = 0;
  for (; column + stripe <= columns; column += stripe) {
    product_tile<Rows, kProductVectors>(left, depth, right + column, columns, out + column);
  }
  for (; column < columns; column += kProductLanes) {
    product_tile<Rows, 1>(left, depth, right + column, columns, out + column);
  }
}

// out (rows x columns) = left (rows x depth) * right (depth x columns). `columns` is a multiple of
// kProductLanes; `right` and `out` are row-major and contiguous.
inline void multiply(LeftMatrix left, int64_t rows, int64_t depth, const float* right, int64_t columns,
                     float* out) {
  int64_t row = 0;
  for (; row + kProductRows <= rows; row += kProductRows) {
    product_rows<kProductRows>(left, depth, right, columns, out + row * columns);
    left.data += kProductRows * left.row_stride;
  }
  for (; row < rows; ++row) {
    product_rows<1>(left, depth, right, columns, out + row * columns);
    left.data += left.row_stride;
  }
}

}  // namespace actup
