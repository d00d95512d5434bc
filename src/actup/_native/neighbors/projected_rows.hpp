// Rows compared as Lᵀx (mahalanobis): kept as they are, and projected when they are read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// out = Lᵀ row, for a row of `columns` values, in double precision. `root` is L, lower triangular.
template <class T>
inline void multiply_by_root(const std::vector<double>& root, const T* row, int64_t columns, double* out) {
  std::fill_n(out, columns, 0.0);
  for (int64_t at = 0; at < columns; ++at) {
    const double* const root_row = root.data() + at * columns;
    const double value = row[at];
    for (int64_t column = 0; column <= at; ++column) out[column] += value * root_row[column];
  }
}

// Squared differences need only the query projected: |u - v|² = (|u|² - <u, v>) + (|v|² - <u, v>), and <u, v>
// is the inner product of the unprojected row with L Lᵀ times the query. All of it is summed in double
// precision and in the same order, so that the difference of equal rows is exactly 0.
class ProjectedRows {
 public:
  ProjectedRows() = default;
  // `scale` multiplies L.
  ProjectedRows(const TypedRows& rows, std::vector<double> root, float scale, int threads)
      : rows_(rows), root_(std::move(root)), squared_norms_(rows.rows) {
    for (double& entry : root_) entry *= scale;
    parallel_ranges(rows.rows, 64, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> query(query_width());
      for (int64_t row = begin; row < end; ++row) {
        write_query(row, query.data());
        squared_norms_[row] = squared_norm_of(query.data());
      }
    });
  }

  // Writes the projected row.
  void read(int64_t row, float* out) const {
    std::vector<float> buffer;
    std::vector<double> sums(rows_.columns);
    multiply_by_root(root_, rows_.floats(row, 1, buffer), rows_.columns, sums.data());
    std::copy(sums.begin(), sums.end(), out);
  }

  // Writes a row as a query: query_width() floats, which hold doubles, L Lᵀ x and the squared norm of Lᵀ x.
  int64_t query_width() const { return 2 * (rows_.columns + 1); }
  void write_query(int64_t row, float* out) const {
    const int64_t columns = rows_.columns;
    std::vector<float> buffer;
    std::vector<double> sums(columns), weights(columns);
    multiply_by_root(root_, rows_.floats(row, 1, buffer), columns, sums.data());
    for (int64_t at = 0; at < columns; ++at) {
      const double* const root_row = root_.data() + at * columns;
      for (int64_t column = 0; column <= at; ++column) weights[at] += root_row[column] * sums[column];
    }
    std::memcpy(out, weights.data(), columns * sizeof(double));
    const double squared_norm =
        rows_.typed([&](auto* values) { return product(out, values + row * columns); });
    std::memcpy(out + 2 * columns, &squared_norm, sizeof squared_norm);
  }

  // The squared difference between a query, as write_query() writes it, and row `id`, whose values `row`
  // holds.
  template <class T>
  float squared_difference(const float* query, const T* row, int64_t id) const {
    const double common = product(query, row);
    return static_cast<float>(
        std::max(0.0, (squared_norm_of(query) - common) + (squared_norms_[id] - common)));
  }

 private:
  double squared_norm_of(const float* query) const {
    double squared_norm;
    std::memcpy(&squared_norm, query + 2 * rows_.columns, sizeof squared_norm);
    return squared_norm;
  }

  template <class T>
  double product(const float* query, const T* row) const {
    double sums[kWideLanes] = {}, total = 0;
    for_each_wide(row, rows_.columns, [&](int64_t column, float16 wide) {
      double weights[kWideLanes] = {};
      const int64_t count = std::min<int64_t>(kWideLanes, rows_.columns - column);
      std::memcpy(weights, query + 2 * column, count * sizeof(double));
      for (int at = 0; at < kWideLanes; ++at) sums[at] += weights[at] * static_cast<double>(wide[at]);
    });
    for (const double part : sums) total += part;
    return total;
  }

  TypedRows rows_{};
  std::vector<double> root_;
  std::vector<double> squared_norms_;  // of the projected rows
};

}  // namespace actup
