// Rows transformed so that squared differences give the metric (see metrics.hpp), read one at a time.
//
// Rows are not copied: each row's adjustment is kept and applied whenever the row is read. Values so large or
// so small that their squares would overflow or underflow are scaled to about 1 by a power of two. Under
// presence metrics and inner_product the squared differences only approximate the metric: near points are
// candidates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/exponential.hpp"
#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/projected_rows.hpp"
#include "neighbors/row_metric.hpp"
#include "neighbors/row_source.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// How a value is converted before it is compared.
enum class Conversion { none, column_factors, projection, square_roots, exponentials, presence };

// A row is compared as (value - center) * factor, with the Conversion applied, and one extra column.
struct Adjustment {
  float center = 0;
  float factor = 1;
  float extra = 0;
};

// For conversions of single values: not column_factors and projection.
template <Conversion conversion>
inline float16 converted(float16 wide, const Adjustment& adjustment) {
  if constexpr (conversion == Conversion::square_roots) return square_root(wide) * adjustment.factor;
  if constexpr (conversion == Conversion::exponentials) {
    return exponential((wide - adjustment.center) * 0.5f) * adjustment.factor;
  }
  if constexpr (conversion == Conversion::presence) {
    return where<float16>(wide != 0.0f, adjustment.factor - float16{});
  }
  return (wide - adjustment.center) * adjustment.factor;
}

// 1 if the largest value of a sample of rows is between the bounds (whose defaults suit squares), otherwise a
// power of two that scales it to about 1. `factors` multiply the columns; empty for none.
inline float safe_scale(const TypedRows& rows, const std::vector<double>& factors, float lower = 1e-6f,
                        float upper = 1e12f) {
  const int64_t step = std::max<int64_t>(1, rows.rows / 1024);
  float largest = 0;
  rows.typed([&](auto* values) {
    for (int64_t row = 0; row < rows.rows; row += step) {
      for_each_wide(values + row * rows.columns, rows.columns, [&](int64_t column, float16 wide) {
        const int64_t count = std::min<int64_t>(kWideLanes, rows.columns - column);
        for (int64_t at = 0; at < count; ++at) {
          const double factor = factors.empty() ? 1.0 : factors[column + at];
          largest = std::max(largest, std::fabs(static_cast<float>(wide[at] * factor)));
        }
      });
    }
  });
  return largest > lower && largest < upper ? 1 : power_of_two_scale(largest);
}

class ComparedRows : public RowSource {
 public:
  // Points.
  ComparedRows(const TypedRows& rows, const RowMetric& row_metric, int threads)
      : ComparedRows(rows, row_metric,
                     scales_with_rows(row_metric.metric) ? points_scale(rows, row_metric) : 1.0f, false,
                     threads) {}
  // Queries that are compared with `points`.
  ComparedRows(const TypedRows& rows, const ComparedRows& points, int threads)
      : ComparedRows(rows, points.row_metric_, points.scale_, true, threads) {}

  const TypedRows& rows() const { return rows_; }
  int64_t count() const override { return rows_.rows; }
  // The number of compared columns. Directions have an extra one, 1 in rows of zeros; so have inner products,
  // with √(largest squared norm - squared norm).
  int64_t width() const override { return rows_.columns + (has_adjustments_ ? 1 : 0); }
  Conversion conversion() const { return conversion_; }
  // Whether rows are compared as they are.
  bool is_plain() const { return is_plain_; }
  bool has_adjustments() const { return has_adjustments_; }
  Adjustment adjustment(int64_t row) const {
    return has_adjustments_ ? adjustments_[row] : Adjustment{0, scale_, 0};
  }
  const float* factors() const { return factors_.data(); }
  // The number of floats that write_query() writes, without padding.
  int64_t query_width() const {
    return conversion_ == Conversion::projection ? projected_.query_width() : width();
  }
  const ProjectedRows& projected() const { return projected_; }

  // Calls function(conversion) with the Conversion as a compile-time constant; not for projected rows.
  template <class Function>
  auto with_conversion(const Function& function) const {
    switch (conversion_) {
      case Conversion::column_factors:
        return function(std::integral_constant<Conversion, Conversion::column_factors>{});
      case Conversion::square_roots:
        return function(std::integral_constant<Conversion, Conversion::square_roots>{});
      case Conversion::exponentials:
        return function(std::integral_constant<Conversion, Conversion::exponentials>{});
      case Conversion::presence:
        return function(std::integral_constant<Conversion, Conversion::presence>{});
      default:
        return function(std::integral_constant<Conversion, Conversion::none>{});
    }
  }

  void read(int64_t row, float* out) const override {
    if (conversion_ == Conversion::projection) {
      projected_.read(row, out);
      std::fill(out + rows_.columns, out + padded(width()), 0.0f);
      return;
    }
    write_query(row, out);
    for (int64_t column = 0; column < rows_.columns && conversion_ == Conversion::column_factors; ++column) {
      out[column] *= factors_[column];
    }
  }

  // Writes a row as a query for Reranker: query_width() floats, padded with zeros to the next multiple of
  // kWideLanes.
  void write_query(int64_t row, float* out) const {
    if (conversion_ == Conversion::projection) return projected_.write_query(row, out);
    const Adjustment adjustment = this->adjustment(row);
    with_conversion([&](auto conversion) {
      rows_.typed([&](auto* data) {
        for_each_wide(data + row * rows_.columns, rows_.columns, [&](int64_t column, float16 wide) {
          store(out + column,
                conversion == Conversion::column_factors ? wide : converted<conversion>(wide, adjustment));
        });
      });
    });
    std::fill(out + rows_.columns, out + padded(width()), 0.0f);
    if (has_adjustments_) out[rows_.columns] = adjustment.extra;
  }

  // Rows of the same direction may differ by the rounding of their factors.
  float distance(float squares) const {
    if (has_directions_ && squares <= 0x1p-48f) return 0;
    return distance_of(row_metric_.metric, squares) / scale_;
  }

 private:
  // `scale` is a power of two. Directions ignore it.
  ComparedRows(const TypedRows& rows, const RowMetric& row_metric, float scale, bool queries, int threads)
      : rows_(rows),
        row_metric_(row_metric),
        scale_(scale),
        conversion_(conversion_of(row_metric)),
        has_directions_(uses_directions(row_metric.metric) || uses_presence(row_metric.metric)),
        has_adjustments_(has_directions_ || row_metric.metric == Metric::inner_product),
        is_plain_(conversion_ == Conversion::none && !has_adjustments_ && scale == 1) {
    if (conversion_ == Conversion::column_factors) {
      factors_.assign(rows.columns + kWideLanes, 0.0f);
      for (int64_t column = 0; column < rows.columns; ++column)
        factors_[column] = static_cast<float>(row_metric.factors[column] * scale);
    }
    if (conversion_ == Conversion::projection) {
      projected_ = ProjectedRows(rows, row_metric.root, scale, threads);
    }
    if (!has_adjustments_) return;
    adjustments_.resize(rows.rows);
    parallel_ranges(rows.rows, 1024, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer;
      for (int64_t row = begin; row < end; ++row) {
        const float* const floats = rows.floats(row, 1, buffer);
        adjustments_[row] = has_directions_ ? to_direction(floats) : to_equal_norm(floats, queries);
      }
    });
  }

  // See safe_scale(); if rows are projected, from a sample of them.
  static float points_scale(const TypedRows& rows, const RowMetric& row_metric) {
    if (row_metric.root.empty()) return safe_scale(rows, row_metric.factors);
    constexpr int64_t kSampled = 64;
    const int64_t step = std::max<int64_t>(1, rows.rows / kSampled);
    std::vector<float> projected, buffer;
    std::vector<double> sums(rows.columns);
    int64_t count = 0;
    for (int64_t row = 0; row < rows.rows; row += step, ++count) {
      multiply_by_root(row_metric.root, rows.floats(row, 1, buffer), rows.columns, sums.data());
      projected.insert(projected.end(), sums.begin(), sums.end());
    }
    return safe_scale({projected.data(), Scalar::float32, count, rows.columns}, {});
  }

  static Conversion conversion_of(const RowMetric& row_metric) {
    if (!row_metric.root.empty()) return Conversion::projection;
    if (!row_metric.factors.empty()) return Conversion::column_factors;
    switch (transform_of(row_metric.metric)) {
      case Transform::root_direction:
        return Conversion::square_roots;
      case Transform::exponential_direction:
        return Conversion::exponentials;
      case Transform::presence:
        return Conversion::presence;
      default:
        return Conversion::none;
    }
  }

  // In double precision: no square overflows, and the mean of equal values is exactly that value.
  Adjustment to_direction(const float* row) const {
    const float* const end = row + rows_.columns;
    double center = 0, squares = 0;
    if (transform_of(row_metric_.metric) == Transform::centered_direction) {
      for (const float* value = row; value < end; ++value) center += *value;
      center = static_cast<float>(center / static_cast<double>(rows_.columns));
    }
    if (conversion_ == Conversion::exponentials) center = *std::max_element(row, end);
    for (const float* value = row; value < end; ++value) {
      const double difference = *value - center;
      squares += conversion_ == Conversion::square_roots   ? difference
                 : conversion_ == Conversion::exponentials ? exponential(difference)
                 : conversion_ == Conversion::presence     ? static_cast<double>(*value != 0)
                                                           : difference * difference;
    }
    const bool is_zero = squares == 0;
    return {static_cast<float>(center), is_zero ? 0.0f : static_cast<float>(1 / std::sqrt(squares)),
            is_zero ? 1.0f : 0.0f};
  }

  // Points get an extra column that makes their norms equal. Queries are multiplied to have that norm
  // instead: this does not change the order of their products, and one scale of codes suits both.
  Adjustment to_equal_norm(const float* row, bool query) const {
    double squares = 0;
    for (int64_t column = 0; column < rows_.columns; ++column) {
      squares += static_cast<double>(row[column]) * row[column];
    }
    if (query) {
      const double factor = squares > 0 ? std::sqrt(row_metric_.largest_squared_norm / squares) : 0;
      return {0, static_cast<float>(factor * scale_), 0};
    }
    return {
        0, scale_,
        static_cast<float>(std::sqrt(std::max(0.0, row_metric_.largest_squared_norm - squares)) * scale_)};
  }

  TypedRows rows_;
  RowMetric row_metric_;
  float scale_;
  Conversion conversion_;
  bool has_directions_, has_adjustments_, is_plain_;
  std::vector<float> factors_;  // of the columns, times the scale
  ProjectedRows projected_;
  std::vector<Adjustment> adjustments_;
};

}  // namespace actup
