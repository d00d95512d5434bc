// Rows for places of a finished map: around each place, rows are a linear function of places, fitted to the
// training rows whose points are nearest. docs/layout.md, "Rows of places", is the specification.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/elementary.h"
#include "common/parallel.hpp"
#include "neighbors/typed_rows.hpp"
#include "transform/new_rows.hpp"

namespace actup {

struct SparseRowsView {
  const int64_t* offsets;
  const int32_t* ids;  // of columns
  const float* values;
  int64_t columns;
};

// The coefficients, which sum to 1, of a place's neighbours in its row.
class LocalFit {
 public:
  LocalFit(const MapView& map, int64_t k)
      : map_(map),
        k_(k),
        coefficients_(k),
        mean_(map.dimensions),
        slope_(map.dimensions),
        covariance_(static_cast<size_t>(map.dimensions) * map.dimensions) {}

  // ids, distances: of the k nearest points, nearest first.
  const double* coefficients(const float* place, const int32_t* ids, const float* distances) {
    weigh(distances);
    const int dimensions = map_.dimensions;
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (int64_t e = 0; e < k_; ++e)
      for (int c = 0; c < dimensions; ++c) mean_[c] += coefficients_[e] * point(ids[e])[c];
    std::fill(covariance_.begin(), covariance_.end(), 0.0);
    for (int64_t e = 0; e < k_; ++e)
      for (int c = 0; c < dimensions; ++c) {
        const double weighted = coefficients_[e] * (point(ids[e])[c] - mean_[c]);
        for (int d = 0; d <= c; ++d) at(c, d) += weighted * (point(ids[e])[d] - mean_[d]);
      }
    double trace = 0;
    for (int c = 0; c < dimensions; ++c) trace += at(c, c);
    if (!(trace > 0)) return coefficients_.data();  // all neighbours share one point
    for (int c = 0; c < dimensions; ++c) at(c, c) += kRidge * trace;
    solve(place);
    for (int64_t e = 0; e < k_; ++e) {
      double along = 0;
      for (int c = 0; c < dimensions; ++c) along += (point(ids[e])[c] - mean_[c]) * slope_[c];
      coefficients_[e] *= 1 + along;
    }
    return coefficients_.data();
  }

 private:
  static constexpr double kRidge = 0.01;  // of the covariance's trace, added to its diagonal
  // Standard deviations of the neighbours' points beyond which rows do not change any more.
  static constexpr double kMaxDeviations = 2;

  const float* point(int32_t id) const { return map_.rows + int64_t{id} * map_.dimensions; }
  double& at(int row, int column) { return covariance_[static_cast<size_t>(row) * map_.dimensions + column]; }

  // Gaussian weights whose width is half the distance to the last neighbour.
  void weigh(const float* distances) {
    const double last = distances[k_ - 1];
    double total = 0;
    for (int64_t e = 0; e < k_; ++e) {
      const double ratio = last > 0 ? 2 * (distances[e] / last) : 0;
      coefficients_[e] = exponential(-0.5 * ratio * ratio);
      total += coefficients_[e];
    }
    for (double& weight : coefficients_) weight /= total;
  }

  // slope = covariance^-1 (place - mean), shortened if the place is too many deviations from the mean.
  void solve(const float* place) {
    const int dimensions = map_.dimensions;
    for (int c = 0; c < dimensions; ++c) {  // the Cholesky factor replaces the lower triangle
      for (int d = 0; d < c; ++d) {
        double sum = at(c, d);
        for (int e = 0; e < d; ++e) sum -= at(c, e) * at(d, e);
        at(c, d) = sum / at(d, d);
      }
      double sum = at(c, c);
      for (int e = 0; e < c; ++e) sum -= at(c, e) * at(c, e);
      at(c, c) = std::sqrt(sum);
    }
    double squared_deviations = 0;
    for (int c = 0; c < dimensions; ++c) {
      double sum = place[c] - mean_[c];
      for (int d = 0; d < c; ++d) sum -= at(c, d) * slope_[d];
      slope_[c] = sum / at(c, c);
      squared_deviations += slope_[c] * slope_[c];
    }
    const double deviations = std::sqrt(squared_deviations);
    const double shortened = deviations > kMaxDeviations ? kMaxDeviations / deviations : 1;
    for (int c = dimensions - 1; c >= 0; --c) {
      double sum = slope_[c];
      for (int d = c + 1; d < dimensions; ++d) sum -= at(d, c) * slope_[d];
      slope_[c] = sum / at(c, c);
    }
    for (double& value : slope_) value *= shortened;
  }

  const MapView map_;
  const int64_t k_;
  std::vector<double> coefficients_, mean_, slope_;
  std::vector<double> covariance_;  // the lower triangle
};

// Sums of rows with coefficients, and the range of each column among these rows.
class RowSum {
 public:
  explicit RowSum(int64_t columns) : sums_(columns), low_(columns), high_(columns), present_(columns) {}

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(low_.begin(), low_.end(), std::numeric_limits<float>::infinity());
    std::fill(high_.begin(), high_.end(), -std::numeric_limits<float>::infinity());
    std::fill(present_.begin(), present_.end(), 0);
  }

  void add(const TypedRows& rows, int32_t row, double coefficient) {
    const float* values = rows.floats(row, 1, buffer_);
    for (int64_t c = 0; c < rows.columns; ++c) {
      sums_[c] += coefficient * static_cast<double>(values[c]);
      low_[c] = values[c] < low_[c] ? values[c] : low_[c];
      high_[c] = values[c] > high_[c] ? values[c] : high_[c];
    }
    for (int32_t& count : present_) ++count;
  }

  void add(const SparseRowsView& rows, int32_t row, double coefficient) {
    for (int64_t e = rows.offsets[row]; e < rows.offsets[row + 1]; ++e) {
      const int32_t c = rows.ids[e];
      sums_[c] += coefficient * static_cast<double>(rows.values[e]);
      low_[c] = std::min(low_[c], rows.values[e]);
      high_[c] = std::max(high_[c], rows.values[e]);
      ++present_[c];
    }
  }

  // The sums, moved into the range of the values of their column; `count` rows were added.
  void copy_to(float* to, int64_t count) const {
    for (size_t c = 0; c < sums_.size(); ++c) {
      const bool has_zero = present_[c] < count;
      const float low = has_zero ? std::min(low_[c], 0.0f) : low_[c];
      const float high = has_zero ? std::max(high_[c], 0.0f) : high_[c];
      to[c] = std::clamp(static_cast<float>(sums_[c]), low, high);
    }
  }

 private:
  std::vector<double> sums_;
  std::vector<float> low_, high_;
  std::vector<int32_t> present_;  // rows that have a value in the column
  std::vector<float> buffer_;
};

// neighbors: of the places among the points of the map, whose rows are `rows`. to: places x columns.
template <class Rows>
inline void rows_of_places(const NeighborRows& neighbors, const MapView& map, const float* places,
                           const Rows& rows, float* to, int threads) {
  constexpr int64_t grain = 16;
  const int64_t k = neighbors.k;
  parallel_ranges(neighbors.rows, grain, threads, [&](int64_t begin, int64_t end) {
    LocalFit fit(map, k);
    RowSum sum(rows.columns);
    for (int64_t i = begin; i < end; ++i) {
      const int32_t* ids = neighbors.ids + i * k;
      const double* coefficients =
          fit.coefficients(places + i * map.dimensions, ids, neighbors.distances + i * k);
      sum.clear();
      for (int64_t e = 0; e < k; ++e) sum.add(rows, ids[e], coefficients[e]);
      sum.copy_to(to + i * rows.columns, k);
    }
  });
}

}  // namespace actup
