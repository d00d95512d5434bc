// Rows in the form in which squared differences are a metric (see distance.h), read one at a time.
//
// Nothing is copied: what a row needs to be compared is kept, and applied whenever the row is read. Values so
// large or so small that their squares would leave the range of floats are brought near 1 by a power of two.
// The metrics of which columns are not zero, and inner products, are compared in a neighbouring space: there
// the points near a query are candidates.
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

// What becomes of a value before it is compared.
enum class Values { given, scaled, turned, roots, exponentials, presence };

// (value - center) * factor, or what Values says instead; and one more column.
struct RowPlace {
  float center = 0;
  float factor = 1;
  float extra = 0;
};

// For all Values that columns have by themselves: not `scaled` and `turned`.
template <Values values>
inline float16 placed(float16 wide, const RowPlace& place) {
  if constexpr (values == Values::roots) return square_root(wide) * place.factor;
  if constexpr (values == Values::exponentials) {
    return exponential((wide - place.center) * 0.5f) * place.factor;
  }
  if constexpr (values == Values::presence) return where<float16>(wide != 0.0f, place.factor - float16{});
  return (wide - place.center) * place.factor;
}

// A power of two that brings the largest of some rows' values near 1, or 1 if they are safe as they are:
// squares are in the range of the defaults. `factors` multiply columns unless there are none.
inline float unit_of(const TypedRows& rows, const std::vector<double>& factors, float least = 1e-6f,
                     float most = 1e12f) {
  const int64_t step = std::max<int64_t>(1, rows.rows / 1024);
  float largest = 0;
  rows.typed([&](auto* values) {
    for (int64_t row = 0; row < rows.rows; row += step) {
      for_each_wide(values + row * rows.columns, rows.columns, [&](int64_t column, float16 wide) {
        const int64_t count = std::min<int64_t>(kWide, rows.columns - column);
        for (int64_t at = 0; at < count; ++at) {
          const double factor = factors.empty() ? 1.0 : factors[column + at];
          largest = std::max(largest, std::fabs(static_cast<float>(wide[at] * factor)));
        }
      });
    }
  });
  return largest > least && largest < most ? 1 : power_of_two_scale(largest);
}

class ComparedRows : public RowSource {
 public:
  // Points.
  ComparedRows(const TypedRows& rows, const RowMetric& how, int threads)
      : ComparedRows(rows, how, scales_with_rows(how.metric) ? safe_unit(rows, how) : 1.0f, false, threads) {}
  // Queries that are compared with some points.
  ComparedRows(const TypedRows& rows, const ComparedRows& points, int threads)
      : ComparedRows(rows, points.how_, points.unit_, true, threads) {}

  const TypedRows& rows() const { return rows_; }
  int64_t count() const override { return rows_.rows; }
  // The columns that are compared: directions have one more, 1 in rows that have none, and so have inner
  // products, with what rows lack of the longest one.
  int64_t width() const override { return rows_.columns + (has_places() ? 1 : 0); }
  Values values() const { return values_; }
  // Whether rows can be compared as they are.
  bool plain() const { return values_ == Values::given && !has_places() && unit_ == 1; }
  bool has_places() const { return directed() || transform_of(how_.metric) == Transform::equal_norm; }
  RowPlace place(int64_t row) const { return has_places() ? places_[row] : RowPlace{0, unit_, 0}; }
  const float* factors() const { return factors_.data(); }
  // Floats that ask() writes.
  int64_t ask_width() const { return values_ == Values::turned ? turned_.ask_width() : width(); }
  const TurnedRows& turned() const { return turned_; }

  // Gives function(values) the Values as a constant, but for turned rows.
  template <class Function>
  auto with_values(const Function& function) const {
    switch (values_) {
      case Values::scaled:
        return function(std::integral_constant<Values, Values::scaled>{});
      case Values::roots:
        return function(std::integral_constant<Values, Values::roots>{});
      case Values::exponentials:
        return function(std::integral_constant<Values, Values::exponentials>{});
      case Values::presence:
        return function(std::integral_constant<Values, Values::presence>{});
      default:
        return function(std::integral_constant<Values, Values::given>{});
    }
  }

  void read(int64_t row, float* out) const override {
    if (values_ == Values::turned) {
      turned_.read(row, out);
      std::fill(out + rows_.columns, out + padded(width()), 0.0f);
      return;
    }
    ask(row, out);
    for (int64_t column = 0; column < rows_.columns && values_ == Values::scaled; ++column) {
      out[column] *= factors_[column];
    }
  }

  // The same in the form in which Reranker takes a query: ask_width() floats, and zeros up to the next
  // multiple of kWide.
  void ask(int64_t row, float* out) const {
    if (values_ == Values::turned) return turned_.ask(row, out);
    const RowPlace at = place(row);
    with_values([&](auto values) {
      rows_.typed([&](auto* data) {
        for_each_wide(data + row * rows_.columns, rows_.columns, [&](int64_t column, float16 wide) {
          store(out + column, values == Values::scaled ? wide : placed<values>(wide, at));
        });
      });
    });
    std::fill(out + rows_.columns, out + padded(width()), 0.0f);
    if (has_places()) out[rows_.columns] = at.extra;
  }

  // Directions that differ by no more than their rounding are equal ones, of which one was not rounded: the
  // compiler may fuse the product that places a row with the difference it is for.
  float distance(float squares) const {
    if (directed() && squares <= 0x1p-48f) return 0;
    return distance_of(how_.metric, squares) / unit_;
  }

 private:
  // `unit` is a power of two; it plays no part where directions are compared.
  ComparedRows(const TypedRows& rows, const RowMetric& how, float unit, bool queries, int threads)
      : rows_(rows), how_(how), unit_(unit), values_(values_of(how)) {
    if (values_ == Values::scaled) {
      factors_.assign(rows.columns + kWide, 0.0f);
      for (int64_t column = 0; column < rows.columns; ++column)
        factors_[column] = static_cast<float>(how.factors[column] * unit);
    }
    if (values_ == Values::turned) turned_ = TurnedRows(rows, how.root, unit, threads);
    if (!has_places()) return;
    places_.resize(rows.rows);
    parallel_ranges(rows.rows, 1024, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> room;
      for (int64_t row = begin; row < end; ++row) {
        const float* const floats = rows.floats(row, 1, room);
        places_[row] = directed() ? direction(floats) : product(floats, queries);
      }
    });
  }

  // Of turned rows by a sample.
  static float safe_unit(const TypedRows& rows, const RowMetric& how) {
    if (how.root.empty()) return unit_of(rows, how.factors);
    constexpr int64_t kSampled = 64;
    const int64_t step = std::max<int64_t>(1, rows.rows / kSampled);
    std::vector<float> turned, room;
    std::vector<double> sums(rows.columns);
    int64_t count = 0;
    for (int64_t row = 0; row < rows.rows; row += step, ++count) {
      turn(how.root, rows.floats(row, 1, room), rows.columns, sums.data());
      turned.insert(turned.end(), sums.begin(), sums.end());
    }
    return unit_of({turned.data(), Scalar::float32, count, rows.columns}, {});
  }

  static Values values_of(const RowMetric& how) {
    if (!how.root.empty()) return Values::turned;
    if (!how.factors.empty()) return Values::scaled;
    switch (transform_of(how.metric)) {
      case Transform::root_direction:
        return Values::roots;
      case Transform::exponential_direction:
        return Values::exponentials;
      case Transform::presence:
        return Values::presence;
      default:
        return Values::given;
    }
  }

  bool directed() const { return uses_directions(how_.metric) || uses_presence(how_.metric); }

  // In double precision: no square overflows, and the mean of equal values is that value.
  RowPlace direction(const float* row) const {
    const float* const end = row + rows_.columns;
    double center = 0, squares = 0;
    if (transform_of(how_.metric) == Transform::centered_direction) {
      for (const float* value = row; value < end; ++value) center += *value;
      center = static_cast<float>(center / static_cast<double>(rows_.columns));
    }
    if (values_ == Values::exponentials) center = *std::max_element(row, end);
    for (const float* value = row; value < end; ++value) {
      const double difference = *value - center;
      squares += values_ == Values::roots          ? difference
                 : values_ == Values::exponentials ? std::exp(difference)
                 : values_ == Values::presence     ? static_cast<double>(*value != 0)
                                                   : difference * difference;
    }
    const bool none = squares == 0;
    return {static_cast<float>(center), none ? 0.0f : static_cast<float>(1 / std::sqrt(squares)),
            none ? 1.0f : 0.0f};
  }

  // Points get a column that makes all of them equally long. Queries are stretched to that length instead:
  // no product's rank changes, and codes suit both.
  RowPlace product(const float* row, bool query) const {
    double squares = 0;
    for (int64_t column = 0; column < rows_.columns; ++column) {
      squares += static_cast<double>(row[column]) * row[column];
    }
    if (query) {
      const double stretch = squares > 0 ? std::sqrt(how_.longest / squares) : 0;
      return {0, static_cast<float>(stretch * unit_), 0};
    }
    return {0, unit_, static_cast<float>(std::sqrt(std::max(0.0, how_.longest - squares)) * unit_)};
  }

  TypedRows rows_;
  RowMetric how_;
  float unit_;
  Values values_;
  std::vector<float> factors_;  // with the unit
  TurnedRows turned_;
  std::vector<RowPlace> places_;
};

}  // namespace actup
