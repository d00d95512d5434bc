// Transforms rows so that a sum over their columns gives the metric (see metrics.hpp), for the exact search.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/projected_rows.hpp"
#include "neighbors/row_metric.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// Writes rows as they are compared: transformed, scaled, and with the columns that vary most first.
class RowForm {
 public:
  enum Role { kPoint, kQuery };
  // The order of columns is chosen by this many evenly spaced points, or somewhat more.
  static constexpr int64_t kSampledRows = 1024;

  // `column_order` is the order() of another form, whose sums this one repeats to the bit; empty: it is
  // chosen by the points. `largest` is the largest value of a query for which the scale of the points alone
  // is too large.
  RowForm(const TypedRows& points, const RowMetric& row_metric, const std::vector<int64_t>& column_order = {},
          float largest = 0, int threads = 1)
      : metric_(row_metric.metric),
        transform_(transform_of(metric_)),
        p_(row_metric.p),
        columns_(points.columns),
        factors_(columns_, 1.0) {
    has_factors_ = !row_metric.factors.empty();
    if (has_factors_) factors_ = row_metric.factors;
    root_ = row_metric.root;
    max_scaled_value_ = row_metric.max_query_ratio();
    order_.resize(columns_ + extra_columns());
    std::iota(order_.begin(), order_.end(), 0);
    if (!root_.empty()) choose_center(points);
    if (scales_with_rows(metric_)) {
      choose_scale(std::max(largest, largest_of(points, threads)));
    }
    if (transform_ == Transform::equal_norm) {
      for_each_row(points, 1, [&](const float* row) {
        largest_squared_norm_ = std::max(largest_squared_norm_, squared_norm(row));
      });
    }
    if (!column_order.empty()) {
      order_ = column_order;
    } else if (width() > 1) {
      choose_order(points);
    }
  }

  int64_t width() const { return static_cast<int64_t>(order_.size()); }
  // The columns in the order in which they are summed, those that transforms add included.
  const std::vector<int64_t>& order() const { return order_; }

  // Whether points are compared by their squared differences.
  bool is_euclidean() const { return metric_ == Metric::euclidean || uses_directions(metric_); }
  // Whether write() only sorts the columns and multiplies by scale(), a power of two.
  bool only_scales() const { return transform_ == Transform::none && !has_factors_ && root_.empty(); }
  double scale() const { return scale_; }

  float largest_value(const float* row) const {
    if (only_scales()) return largest_magnitude(row);
    std::vector<float> buffer;
    row = projected(row, buffer);
    float largest = 0;
    for (int64_t column = 0; column < columns_; ++column) {
      largest = std::max(largest, std::fabs(static_cast<float>(row[column] * factors_[column])));
    }
    return largest;
  }
  // Whether squares and powers of values up to `largest` do not overflow at this scale.
  bool suits(float largest) const {
    return !scales_with_rows(metric_) || largest * scale_ <= max_scaled_value_;
  }
  float distance(float sum) const {
    const float distance = distance_of(metric_, sum, columns_, p_);
    return std::ldexp(distance, transform_ == Transform::equal_norm ? 2 * exponent_ : exponent_);
  }

  // The smallest sum whose distance exceeds `limit`; found by bisection, because distances are rounded.
  float sum_beyond(float limit) const {
    uint32_t within = 0, beyond = std::bit_cast<uint32_t>(std::numeric_limits<float>::infinity());
    if (!(distance(0) <= limit)) return 0;
    while (beyond - within > 1) {
      const uint32_t middle = within + (beyond - within) / 2;
      (distance(std::bit_cast<float>(middle)) <= limit ? within : beyond) = middle;
    }
    return std::bit_cast<float>(beyond);
  }

  // Writes width() values, `stride` floats apart.
  void write(const float* row, Role role, float* out, int64_t stride) const {
    std::vector<float> buffer;
    row = projected(row, buffer);
    const Direction direction = uses_directions(metric_) ? direction_of(row) : Direction{0, scale_, false};
    double extra[2] = {direction.is_zero ? 1.0 : 0.0, 0.0};
    if (transform_ == Transform::equal_norm) {
      extra[role == kPoint ? 0 : 1] = std::sqrt(std::max(0.0, largest_squared_norm_ - squared_norm(row)));
    }
    for (int64_t at = 0; at < width(); ++at) {
      const int64_t column = order_[at];
      const double value = column < columns_ ? value_of(row, column, direction.center) * direction.factor
                                             : extra[column - columns_];
      out[at * stride] = static_cast<float>(value);
    }
  }

 private:
  // (value - center) * factor; whether the row is all zeros then.
  struct Direction {
    double center;
    double factor;
    bool is_zero;
  };

  // Lᵀ(row - center) in `buffer`, if the metric has such a matrix L; otherwise the row itself.
  const float* projected(const float* row, std::vector<float>& buffer) const {
    if (root_.empty()) return row;
    std::vector<double> centered(columns_), sums(columns_);
    for (int64_t column = 0; column < columns_; ++column) centered[column] = row[column] - center_[column];
    multiply_by_root(root_, centered.data(), columns_, sums.data());
    buffer.assign(sums.begin(), sums.end());
    return buffer.data();
  }

  int64_t extra_columns() const {
    return transform_ == Transform::equal_norm ? 2 : uses_directions(metric_) ? 1 : 0;
  }

  double value_of(const float* row, int64_t column, double center) const {
    const double value = static_cast<double>(row[column]) * factors_[column];
    return transform_ == Transform::root_direction          ? std::sqrt(value)
           : transform_ == Transform::exponential_direction ? exponential((value - center) / 2)
                                                            : value - center;
  }

  double squared_norm(const float* row) const {
    double squares = 0;
    for (int64_t column = 0; column < columns_; ++column) {
      squares += (row[column] * scale_) * (row[column] * scale_);
    }
    return squares;
  }

  // In double precision: no square overflows, and the mean of equal values is exactly that value.
  Direction direction_of(const float* row) const {
    double center = 0, squares = 0;
    if (transform_ == Transform::centered_direction) {
      for (int64_t column = 0; column < columns_; ++column) center += row[column];
      center /= static_cast<double>(columns_);
    }
    if (transform_ == Transform::exponential_direction) center = *std::max_element(row, row + columns_);
    for (int64_t column = 0; column < columns_; ++column) {
      const double value = value_of(row, column, center);
      squares += value * value;
    }
    return {center, squares > 0 ? 1 / std::sqrt(squares) : 0, squares == 0};
  }

  float largest_magnitude(const float* row) const {
    float16 largest{};
    for_each_wide(row, columns_,
                  [&](int64_t, float16 values) { largest = larger(largest, magnitude(values)); });
    float result = 0;
    for (int lane = 0; lane < kWideLanes; ++lane) result = std::max(result, largest[lane]);
    return result;
  }

  float largest_of(const TypedRows& points, int threads) const {
    constexpr int64_t kRowsPerChunk = 256, kRowsPerCheckpoint = 32;
    std::vector<float> largest((points.rows + kRowsPerChunk - 1) / kRowsPerChunk, 0.0f);
    parallel_ranges(points.rows, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer;
      float of_chunk = 0;
      for (int64_t row = begin; row < end; ++row) {
        if (row % kRowsPerCheckpoint == 0) checkpoint();
        of_chunk = std::max(of_chunk, largest_value(points.floats(row, 1, buffer)));
      }
      largest[begin / kRowsPerChunk] = of_chunk;
    });
    return largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end());
  }

  // Calls function(row as floats) for every `step`-th row.
  template <class Function>
  static void for_each_row(const TypedRows& rows, int64_t step, const Function& function) {
    constexpr int64_t kRowsPerCheckpoint = 32;
    std::vector<float> buffer;
    for (int64_t row = 0; row < rows.rows; row += step) {
      if (row / step % kRowsPerCheckpoint == 0) checkpoint();
      function(rows.floats(row, 1, buffer));
    }
  }

  // Projected rows are relative to a sample's mean: floats represent small values more precisely.
  void choose_center(const TypedRows& points) {
    center_.assign(columns_, 0.0);
    int64_t count = 0;
    for_each_row(points, std::max<int64_t>(1, points.rows / kSampledRows), [&](const float* row) {
      for (int64_t column = 0; column < columns_; ++column) center_[column] += row[column];
      ++count;
    });
    for (double& value : center_) value /= static_cast<double>(count);
  }

  // A power of two that scales the largest value below 1: exact, and no square overflows.
  void choose_scale(float largest) {
    std::frexp(largest, &exponent_);
    scale_ = std::ldexp(1.0, -exponent_);
  }

  // Columns by decreasing variance in a sample of rows, so that sums pass their bounds early.
  void choose_order(const TypedRows& points) {
    std::vector<float> written(width());
    std::vector<double> sums(width()), squares(width());
    int64_t count = 0;
    for_each_row(points, std::max<int64_t>(1, points.rows / kSampledRows), [&](const float* row) {
      write(row, kPoint, written.data(), 1);
      for (int64_t column = 0; column < width(); ++column) {
        sums[column] += written[column];
        squares[column] += static_cast<double>(written[column]) * written[column];
      }
      ++count;
    });
    for (int64_t column = 0; column < width(); ++column) {
      squares[column] -= sums[column] * sums[column] / static_cast<double>(count);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return squares[a] > squares[b]; });
  }

  Metric metric_;
  Transform transform_;
  float p_;
  int64_t columns_;
  std::vector<double> factors_;
  bool has_factors_ = false;
  std::vector<double> root_, center_;
  std::vector<int64_t> order_;
  double max_scaled_value_;
  int exponent_ = 0;
  double scale_ = 1;
  double largest_squared_norm_ = 0;  // of a scaled point
};

}  // namespace actup
