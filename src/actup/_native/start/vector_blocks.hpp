// Tall blocks of vectors and the small matrices of their products: the linear algebra of the eigensolver.
//
// Sums run over fixed chunks in a fixed order, so that no result depends on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "common/vectors.h"

namespace actup {

using ColumnLanes = float8;  // eight columns of one row
constexpr int kPanelColumns = 8;

// A tall matrix in panels of eight columns: one panel after the other, row-major within a panel.
class Block {
 public:
  Block(int64_t rows, int panels) : rows_(rows), panels_(panels), data_(rows * panels) {}
  int64_t rows() const { return rows_; }
  int panels() const { return panels_; }
  int columns() const { return panels_ * kPanelColumns; }
  ColumnLanes* panel(int p) { return data_.data() + p * rows_; }
  const ColumnLanes* panel(int p) const { return data_.data() + p * rows_; }
  float get(int64_t row, int column) const {
    return panel(column / kPanelColumns)[row][column % kPanelColumns];
  }
  void set(int64_t row, int column, float value) {
    panel(column / kPanelColumns)[row][column % kPanelColumns] = value;
  }
  void swap(Block& other) { data_.swap(other.data_); }  // both of one shape

 private:
  int64_t rows_;
  int panels_;
  std::vector<ColumnLanes> data_;
};

// A small square matrix, row-major.
struct Square {
  explicit Square(int size) : size(size), entries(static_cast<size_t>(size) * size) {}
  double& operator()(int i, int j) { return entries[static_cast<size_t>(i) * size + j]; }
  double operator()(int i, int j) const { return entries[static_cast<size_t>(i) * size + j]; }
  int size;
  std::vector<double> entries;
};

constexpr int64_t kRowsPerProductTask = 4096;
constexpr int64_t kRowsPerFloatSum = 64;  // longer sums are kept in double

// The products of two panels over rows [begin, end), added to `sums` at (row, column).
inline void add_products(const ColumnLanes* x, const ColumnLanes* y, int64_t begin, int64_t end, int row,
                         int column, Square& sums) {
  for (int64_t first = begin; first < end; first += kRowsPerFloatSum) {
    ColumnLanes products[kPanelColumns] = {};
    for (int64_t i = first; i < std::min(end, first + kRowsPerFloatSum); ++i)
      for (int k = 0; k < kPanelColumns; ++k) products[k] += x[i][k] * y[i];
    for (int k = 0; k < kPanelColumns; ++k)
      for (int l = 0; l < kPanelColumns; ++l) sums(row + k, column + l) += products[k][l];
  }
}

// Xᵀ Y, made symmetric: the products of all callers are symmetric up to rounding.
inline Square symmetric_product(const Block& x, const Block& y, int threads) {
  const int64_t chunks = (x.rows() + kRowsPerProductTask - 1) / kRowsPerProductTask;
  std::vector<Square> partial(chunks, Square(x.columns()));
  parallel_chunks(chunks, threads, [&](int64_t chunk) {
    const int64_t begin = chunk * kRowsPerProductTask, end = std::min(x.rows(), begin + kRowsPerProductTask);
    for (int p = 0; p < x.panels(); ++p)
      for (int q = 0; q < y.panels(); ++q)
        add_products(x.panel(p), y.panel(q), begin, end, p * kPanelColumns, q * kPanelColumns,
                     partial[chunk]);
  });
  Square total(x.columns());
  for (const Square& part : partial)
    for (size_t e = 0; e < total.entries.size(); ++e) total.entries[e] += part.entries[e];
  for (int i = 0; i < total.size; ++i)
    for (int j = 0; j < i; ++j) total(i, j) = total(j, i) = (total(i, j) + total(j, i)) / 2;
  return total;
}

// X ← X M; `spare` is a buffer of the same shape.
inline void multiply(Block& x, const Square& m, Block& spare, int threads) {
  std::vector<ColumnLanes> rows(static_cast<size_t>(m.size) * x.panels());  // M in float, a row as panels
  for (int k = 0; k < m.size; ++k)
    for (int l = 0; l < m.size; ++l)
      rows[k * x.panels() + l / kPanelColumns][l % kPanelColumns] = static_cast<float>(m(k, l));
  parallel_ranges(x.rows(), kRowsPerProductTask, threads, [&](int64_t begin, int64_t end) {
    for (int q = 0; q < x.panels(); ++q)
      for (int64_t i = begin; i < end; ++i) {
        ColumnLanes sum = {};
        for (int p = 0; p < x.panels(); ++p)
          for (int k = 0; k < kPanelColumns; ++k)
            sum += x.panel(p)[i][k] * rows[(p * kPanelColumns + k) * x.panels() + q];
        spare.panel(q)[i] = sum;
      }
  });
  x.swap(spare);
}

// The inverse of the upper Cholesky factor of a Gram matrix. A column that depends linearly on those before
// it becomes 0.
inline Square inverse_cholesky(const Square& gram) {
  const int n = gram.size;
  Square upper(n), inverse(n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= j; ++i) {
      double sum = gram(i, j);
      for (int k = 0; k < i; ++k) sum -= upper(k, i) * upper(k, j);
      if (i < j) {
        upper(i, j) = upper(i, i) > 0 ? sum / upper(i, i) : 0.0;
      } else {
        upper(j, j) = sum > 1e-13 * gram(j, j) ? std::sqrt(sum) : 0.0;
      }
    }
    if (upper(j, j) == 0.0) continue;
    inverse(j, j) = 1 / upper(j, j);
    for (int i = 0; i < j; ++i) {
      double sum = 0;
      for (int k = i; k < j; ++k) sum += inverse(i, k) * upper(k, j);
      inverse(i, j) = -sum / upper(j, j);
    }
  }
  return inverse;
}

// Makes the columns orthonormal, from the first to the last. The second pass removes the rounding errors of
// the first.
inline void orthonormalize(Block& x, Block& spare, int threads) {
  for (int pass = 0; pass < 2; ++pass)
    multiply(x, inverse_cholesky(symmetric_product(x, x, threads)), spare, threads);
}

struct Eigenpairs {
  std::vector<double> values;  // descending
  Square vectors;              // columns
};

// All eigenpairs of a small symmetric matrix by cyclic Jacobi rotations.
inline Eigenpairs jacobi_eigenpairs(Square a) {
  const int n = a.size;
  Square v(n);
  double scale = 0;
  for (double entry : a.entries) scale += entry * entry;
  for (int i = 0; i < n; ++i) v(i, i) = 1;
  for (int sweep = 0; sweep < 40; ++sweep) {
    double outside = 0;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) outside += a(p, q) * a(p, q);
    if (outside <= 1e-28 * scale) break;
    for (int p = 0; p < n; ++p) {
      checkpoint();
      for (int q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double x = a(k, p), y = a(k, q);
          a(k, p) = c * x - s * y;
          a(k, q) = s * x + c * y;
        }
        for (int k = 0; k < n; ++k) {
          const double x = a(p, k), y = a(q, k);
          a(p, k) = c * x - s * y;
          a(q, k) = s * x + c * y;
          const double u = v(k, p), w = v(k, q);
          v(k, p) = c * u - s * w;
          v(k, q) = s * u + c * w;
        }
      }
    }
  }
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return a(i, i) > a(j, j); });
  Eigenpairs pairs{std::vector<double>(n), Square(n)};
  for (int j = 0; j < n; ++j) {
    pairs.values[j] = a(order[j], order[j]);
    for (int i = 0; i < n; ++i) pairs.vectors(i, j) = v(i, order[j]);
  }
  return pairs;
}

}  // namespace actup
