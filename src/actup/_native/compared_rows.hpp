// Rows in the form in which squared differences are a metric (see distance.h), read one at a time.
//
// Nothing is copied: a row's mean and factor are kept, and applied whenever the row is read. Values so large
// or so small that their squares would leave the range of floats are brought near 1 by a power of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "distance.h"
#include "parallel.hpp"
#include "typed_rows.hpp"

namespace actup {

// What a row needs to be compared: (value - mean) * factor. A factor of 0 marks a row without a direction.
struct RowPlace {
  float mean = 0;
  float factor = 1;
};

template <bool roots>
inline float16 placed(float16 values, const RowPlace& place) {
  return ((roots ? square_root(values) : values) - place.mean) * place.factor;
}

// A power of two that brings the largest of some rows' values near 1, or 1 if they are safe as they are:
// squares are in the range of the defaults.
inline float unit_of(const TypedRows& rows, float least = 1e-6f, float most = 1e12f) {
  const int64_t step = std::max<int64_t>(1, rows.rows / 1024);
  float largest = 0;
  rows.typed([&](auto* values) {
    for (int64_t row = 0; row < rows.rows; row += step) {
      for_each_wide(values + row * rows.columns, rows.columns, [&](int64_t, float16 wide) {
        for (int lane = 0; lane < kWide; ++lane) largest = std::max(largest, std::fabs(wide[lane]));
      });
    }
  });
  return largest > least && largest < most ? 1 : unit_for(largest);
}

class ComparedRows {
 public:
  ComparedRows(const TypedRows& rows, Metric metric, int threads)
      : ComparedRows(rows, metric, uses_directions(metric) ? 1.0f : unit_of(rows), threads) {}
  // `unit` is a power of two; it plays no part where directions are compared.
  ComparedRows(const TypedRows& rows, Metric metric, float unit, int threads)
      : rows_(rows), metric_(metric), unit_(unit) {
    if (!uses_directions(metric)) return;
    places_.resize(rows.rows);
    parallel_ranges(rows.rows, 1024, threads, [&](int64_t begin, int64_t end) {
      rows.typed([&](auto* values) {
        for (int64_t row = begin; row < end; ++row) places_[row] = direction(values + row * rows.columns);
      });
    });
  }

  const TypedRows& rows() const { return rows_; }
  Metric metric() const { return metric_; }
  float unit() const { return unit_; }
  // Directions have one more column: 1 in rows that have none.
  int64_t width() const { return rows_.columns + (uses_directions(metric_) ? 1 : 0); }
  // Whether rows can be compared without their places.
  bool plain() const { return !uses_directions(metric_) && unit_ == 1; }
  // Whether the roots of values are compared.
  bool roots() const { return metric_ == Metric::hellinger; }
  RowPlace place(int64_t row) const { return uses_directions(metric_) ? places_[row] : RowPlace{0, unit_}; }

  // Writes width() floats and may write zeros up to the next multiple of kWide.
  void read(int64_t row, float* out) const {
    const RowPlace at = place(row);
    rows_.typed([&](auto* values) {
      for_each_wide(values + row * rows_.columns, rows_.columns, [&](int64_t column, float16 wide) {
        store(out + column, roots() ? placed<true>(wide, at) : placed<false>(wide, at));
      });
    });
    const int64_t padded = (width() + kWide - 1) / kWide * kWide;
    std::fill(out + rows_.columns, out + padded, 0.0f);
    if (uses_directions(metric_)) out[rows_.columns] = static_cast<float>(at.factor == 0);
  }

  // Directions that differ by no more than their rounding are equal ones, of which one was not rounded: the
  // compiler may fuse the product that places a row with the difference it is for.
  float distance(float squares) const {
    if (uses_directions(metric_) && squares <= 0x1p-48f) return 0;
    return distance_of(metric_, squares) / unit_;
  }

 private:
  template <class T>
  static double value(const T* at) {
    if constexpr (std::is_same_v<T, Half>) {
      return load_some(at, 1)[0];
    } else {
      return *at;
    }
  }

  // In double precision: no square overflows, and the mean of equal values is that value.
  template <class T>
  RowPlace direction(const T* row) const {
    double mean = 0, squares = 0;
    if (metric_ == Metric::correlation) {
      for (int64_t column = 0; column < rows_.columns; ++column) mean += value(row + column);
      mean = static_cast<float>(mean / static_cast<double>(rows_.columns));
    }
    for (int64_t column = 0; column < rows_.columns; ++column) {
      const double difference = value(row + column) - mean;
      squares += roots() ? difference : difference * difference;
    }
    return {static_cast<float>(mean), squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f};
  }

  TypedRows rows_;
  Metric metric_;
  float unit_;
  std::vector<RowPlace> places_;
};

}  // namespace actup
