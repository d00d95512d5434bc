// Rows in the form in which columns add up to a metric (see distance.h), for the exact search.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "distance.h"

namespace actup {

// Row-major, `rows` times `columns`.
struct DenseRows {
  const float* data;
  int64_t rows;
  int64_t columns;
  const float* row(int64_t index) const { return data + index * columns; }
};

// Brings rows to the form in which they are compared, with the columns in the order in which they are.
class RowForm {
 public:
  enum Role { kPoint, kQuery };

  RowForm(const DenseRows& points, const DenseRows& queries, Metric metric, float p)
      : metric_(metric), p_(p), columns_(points.columns) {
    order_.resize(columns_ + extra_columns());
    std::iota(order_.begin(), order_.end(), 0);
    if (has_unit(metric)) choose_scale(std::max(largest_value(points), largest_value(queries)));
    if (metric == Metric::inner_product) {
      for (int64_t row = 0; row < points.rows; ++row) {
        longest_ = std::max(longest_, squared_length(points.row(row)));
      }
    }
    if (width() > 1) choose_order(points);
  }

  int64_t width() const { return static_cast<int64_t>(order_.size()); }
  float distance(float sum) const {
    const float distance = distance_of(metric_, sum, columns_, p_);
    return std::ldexp(distance, metric_ == Metric::inner_product ? 2 * exponent_ : exponent_);
  }

  // Writes width() values, `stride` apart.
  void write(const float* row, Role role, float* out, int64_t stride) const {
    const Direction direction = uses_directions(metric_) ? direction_of(row) : Direction{0, scale_, false};
    double extra[2] = {direction.none ? 1.0 : 0.0, 0.0};
    if (metric_ == Metric::inner_product) {
      extra[role == kPoint ? 0 : 1] = std::sqrt(std::max(0.0, longest_ - squared_length(row)));
    }
    for (int64_t at = 0; at < width(); ++at) {
      const int64_t column = order_[at];
      const double value = column < columns_ ? (value_of(row[column]) - direction.mean) * direction.factor
                                             : extra[column - columns_];
      out[at * stride] = static_cast<float>(value);
    }
  }

 private:
  struct Direction {
    double mean;
    double factor;
    bool none;
  };

  int64_t extra_columns() const {
    return metric_ == Metric::inner_product ? 2 : uses_directions(metric_) ? 1 : 0;
  }

  double value_of(float value) const {
    return metric_ == Metric::hellinger ? std::sqrt(static_cast<double>(value)) : value;
  }

  double squared_length(const float* row) const {
    double squares = 0;
    for (int64_t column = 0; column < columns_; ++column) {
      squares += (row[column] * scale_) * (row[column] * scale_);
    }
    return squares;
  }

  // In double precision: no square overflows, and the mean of equal values is that value.
  Direction direction_of(const float* row) const {
    double mean = 0, squares = 0;
    if (metric_ == Metric::correlation) {
      for (int64_t column = 0; column < columns_; ++column) mean += row[column];
      mean /= static_cast<double>(columns_);
    }
    for (int64_t column = 0; column < columns_; ++column) {
      const double difference = value_of(row[column]) - mean;
      squares += difference * difference;
    }
    return {mean, squares > 0 ? 1 / std::sqrt(squares) : 0, squares == 0};
  }

  static float largest_value(const DenseRows& rows) {
    float largest = 0;
    for (int64_t at = 0; at < rows.rows * rows.columns; ++at) {
      largest = std::max(largest, std::fabs(rows.data[at]));
    }
    return largest;
  }

  // A power of two that brings the largest value below 1: exact, and no square overflows.
  void choose_scale(float largest) {
    std::frexp(largest, &exponent_);
    scale_ = std::ldexp(1.0, -exponent_);
  }

  // Columns by falling variance in a sample of rows, so that sums pass their bounds early.
  void choose_order(const DenseRows& points) {
    const int64_t step = std::max<int64_t>(1, points.rows / kSampledRows);
    std::vector<float> row(width());
    std::vector<double> sums(width()), squares(width());
    int64_t count = 0;
    for (int64_t index = 0; index < points.rows; index += step, ++count) {
      write(points.row(index), kPoint, row.data(), 1);
      for (int64_t column = 0; column < width(); ++column) {
        sums[column] += row[column];
        squares[column] += static_cast<double>(row[column]) * row[column];
      }
    }
    for (int64_t column = 0; column < width(); ++column) {
      squares[column] -= sums[column] * sums[column] / static_cast<double>(count);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return squares[a] > squares[b]; });
  }

  static constexpr int64_t kSampledRows = 1024;

  Metric metric_;
  float p_;
  int64_t columns_;
  std::vector<int64_t> order_;
  int exponent_ = 0;
  double scale_ = 1;
  double longest_ = 0;  // squared length
};

}  // namespace actup
