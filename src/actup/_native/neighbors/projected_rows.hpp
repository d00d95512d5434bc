// Rows compared as Lᵀx: kept as they are, and turned when they are read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// out = Lᵀ row, for `columns` of them, in double precision.
template <class T>
inline void turn(const std::vector<double>& root, const T* row, int64_t columns, double* out) {
  std::fill_n(out, columns, 0.0);
  for (int64_t at = 0; at < columns; ++at) {
    const double* const of_row = root.data() + at * columns;
    const double value = row[at];
    for (int64_t column = 0; column <= at; ++column) out[column] += value * of_row[column];
  }
}

// Squared differences to a query take no turning: |u - v|² = (|u|² - <u, v>) + (|v|² - <u, v>), and <u, v> is
// the product of the row itself with L Lᵀ times the query. In double precision, and summed alike, so that
// nothing is left of equal rows.
class TurnedRows {
 public:
  TurnedRows() = default;
  // L is multiplied by `unit`.
  TurnedRows(const TypedRows& rows, std::vector<double> root, float unit, int threads)
      : rows_(rows), root_(std::move(root)), squares_(rows.rows) {
    for (double& entry : root_) entry *= unit;
    parallel_ranges(rows.rows, 64, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> asked(ask_width());
      for (int64_t row = begin; row < end; ++row) {
        ask(row, asked.data());
        squares_[row] = square_of(asked.data());
      }
    });
  }

  // Writes the turned row.
  void read(int64_t row, float* out) const {
    std::vector<float> room;
    std::vector<double> sums(rows_.columns);
    turn(root_, rows_.floats(row, 1, room), rows_.columns, sums.data());
    std::copy(sums.begin(), sums.end(), out);
  }

  // Writes ask_width() floats, which are doubles: L Lᵀ x and the squared length of Lᵀ x.
  int64_t ask_width() const { return 2 * (rows_.columns + 1); }
  void ask(int64_t row, float* out) const {
    const int64_t columns = rows_.columns;
    std::vector<float> room;
    std::vector<double> sums(columns), dual(columns);
    turn(root_, rows_.floats(row, 1, room), columns, sums.data());
    for (int64_t at = 0; at < columns; ++at) {
      const double* const of_row = root_.data() + at * columns;
      for (int64_t column = 0; column <= at; ++column) dual[at] += of_row[column] * sums[column];
    }
    std::memcpy(out, dual.data(), columns * sizeof(double));
    const double square = rows_.typed([&](auto* values) { return product(out, values + row * columns); });
    std::memcpy(out + 2 * columns, &square, sizeof square);
  }

  // The squared difference from a query, as ask() writes it, to a row, of which `row` are the values.
  template <class T>
  float square(const float* query, const T* row, int64_t id) const {
    const double both = product(query, row);
    return static_cast<float>(std::max(0.0, (square_of(query) - both) + (squares_[id] - both)));
  }

 private:
  double square_of(const float* query) const {
    double square;
    std::memcpy(&square, query + 2 * rows_.columns, sizeof square);
    return square;
  }

  template <class T>
  double product(const float* query, const T* row) const {
    double sums[kWide] = {}, total = 0;
    for_each_wide(row, rows_.columns, [&](int64_t column, float16 wide) {
      double dual[kWide] = {};
      const int64_t count = std::min<int64_t>(kWide, rows_.columns - column);
      std::memcpy(dual, query + 2 * column, count * sizeof(double));
      for (int at = 0; at < kWide; ++at) sums[at] += dual[at] * static_cast<double>(wide[at]);
    });
    for (const double part : sums) total += part;
    return total;
  }

  TypedRows rows_{};
  std::vector<double> root_;
  std::vector<double> squares_;  // of turned rows
};

}  // namespace actup
