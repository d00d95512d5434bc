// Distances between sparse rows, in the metrics that columns missing in both rows do not change.
//
// A sum over all columns is the sum over either row's own columns plus a correction for the columns that both
// have, so one pass over the common columns gives the distance. Where that loses digits (equal rows must be
// at distance 0), a walk along both rows gives it again, from differences. Values are brought to the form in
// which they are compared whenever they are read: nothing is copied.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/row_metric.hpp"

namespace actup {

// Compressed rows; ids ascend within a row.
struct CsrRows {
  const int64_t* offsets;
  const int32_t* ids;
  const float* values;
  int64_t rows;
  int64_t columns;
};

// The largest value of some rows, with the columns' factors.
inline float largest_value(const CsrRows& rows, const RowMetric& how) {
  float largest = 0;
  for (int64_t at = rows.offsets[0]; at < rows.offsets[rows.rows]; ++at) {
    const double factor = how.factors.empty() ? 1.0 : how.factors[rows.ids[at]];
    largest = std::max(largest, magnitude(static_cast<float>(rows.values[at] * factor)));
  }
  return largest;
}

// Rows in the form in which they are compared. Under correlation a missing column stands for `absent`, and
// the values are relative to it. `unit` multiplies values that have one.
class SparseForm {
 public:
  SparseForm(const CsrRows& rows, const RowMetric& how, float unit, int threads)
      : rows_(rows), how_(how), transform_(transform_of(how.metric)), unit_(unit), places_(rows.rows) {
    parallel_ranges(rows.rows, 1024, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) prepare(row);
    });
  }

  struct Place {
    double total = 0;  // what the row adds on its own
    double absent = 0;
    double sum = 0;     // of the values, under correlation
    double factor = 0;  // of the values; 0 if there is no direction
  };

  int64_t rows() const { return rows_.rows; }
  int64_t columns() const { return rows_.columns; }
  float unit() const { return unit_; }
  int64_t begin(int64_t row) const { return rows_.offsets[row]; }
  int64_t end(int64_t row) const { return rows_.offsets[row + 1]; }
  int32_t id(int64_t at) const { return rows_.ids[at]; }
  float value(int64_t row, int64_t at) const {
    return static_cast<float>(value_of(at) * places_[row].factor);
  }
  const Place& place(int64_t row) const { return places_[row]; }

  // Asks for what is needed to ask for a row,
  void prefetch_place(int64_t row) const {
    __builtin_prefetch(rows_.offsets + row);
    __builtin_prefetch(places_.data() + row);
  }

  // and for the row, which will be read soon.
  void prefetch(int64_t row) const {
    const int64_t last = std::min(end(row), begin(row) + kMostAhead);
    for (int64_t at = begin(row); at < last; at += 16) {
      __builtin_prefetch(rows_.ids + at);
      __builtin_prefetch(rows_.values + at);
    }
  }

  // The sum of common(other[column], value) over a row's columns; `other` holds all columns of another row.
  template <class Common>
  double total_with(int64_t row, const double* other, const Common& common) const {
    if (!how_.factors.empty() || transform_ == Transform::root_direction) {
      return total_of(row, other, common, [&](int64_t at) { return value(row, at); });
    }
    const double factor = places_[row].factor;
    const float* const values = rows_.values;
    return total_of(row, other, common, [&](int64_t at) { return static_cast<float>(values[at] * factor); });
  }

 private:
  static constexpr int64_t kMostAhead = 512;

  // Four sums in turn, because one would wait for itself.
  template <class Common, class Value>
  double total_of(int64_t row, const double* other, const Common& common, const Value& value) const {
    const int32_t* const ids = rows_.ids;
    double sums[4] = {};
    int64_t at = begin(row);
    for (; at + 4 <= end(row); at += 4) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part)
        sums[part] += common(other[ids[at + part]], double{value(at + part)});
    }
    for (; at < end(row); ++at) sums[0] += common(other[ids[at]], double{value(at)});
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void prepare(int64_t row) {
    Place& place = places_[row];
    const double mean = transform_ == Transform::centered_direction ? mean_of(row) : 0;
    double squares = static_cast<double>(rows_.columns - (end(row) - begin(row))) * mean * mean;
    for (int64_t at = begin(row); at < end(row); ++at) {
      const double value = value_of(at) - mean;
      squares += value * value;
    }
    const bool directed = uses_directions(how_.metric);
    const bool none = directed && squares <= 1e-30 * static_cast<double>(rows_.columns) * mean * mean;
    place.factor = !directed ? unit_ : none ? 0 : 1 / std::sqrt(squares);
    place.absent = -mean * place.factor;
    if (directed) {  // of the values as they were rounded, or a small distance would drown
      double lengths = 0;
      for (int64_t at = begin(row); at < end(row); ++at) {
        const double rounded = value(row, at);
        place.sum += rounded;
        lengths += rounded * rounded;
      }
      const double absent = static_cast<double>(rows_.columns) * place.absent;
      place.total = none ? 1 : lengths + place.absent * (2 * place.sum + absent);
    } else if (uses_presence(how_.metric)) {
      for (int64_t at = begin(row); at < end(row); ++at) place.total += rows_.values[at] != 0;
    } else {
      with_sum(how_.metric, how_.p, [&](auto sum) { place.total = own_total(sum, row); });
    }
  }

  template <class Sum>
  double own_total(const Sum& sum, int64_t row) const {
    typename Sum::template State<double> state{};
    for (int64_t at = begin(row); at < end(row); ++at) {
      state = sum.add(state, static_cast<double>(value(row, at)), 0.0);
    }
    if constexpr (Sum::kMonotonic) {
      return sum.value(state);
    } else {
      return state.totals;
    }
  }

  double mean_of(int64_t row) const {
    double sum = 0;
    for (int64_t at = begin(row); at < end(row); ++at) sum += rows_.values[at];
    return sum / static_cast<double>(rows_.columns);
  }

  double value_of(int64_t at) const {
    const double value = rows_.values[at];
    if (!how_.factors.empty()) return value * how_.factors[rows_.ids[at]];
    return transform_ == Transform::root_direction ? std::sqrt(value) : value;
  }

  CsrRows rows_;
  const RowMetric& how_;
  Transform transform_;
  float unit_;
  std::vector<Place> places_;
};

// Gives function(common) what a column adds that two rows have, beyond what each adds on its own.
template <class Function>
void with_common(Metric metric, float p, const Function& function) {
  if (uses_presence(metric)) {
    function([](double x, double y) { return static_cast<double>(x != 0 && y != 0); });
  } else if (metric == Metric::inner_product) {
    function([](double x, double y) { return x * y; });
  } else if (metric == Metric::euclidean || uses_directions(metric)) {
    function([](double x, double y) { return -2 * x * y; });
  } else {
    with_sum(metric, p, [&](auto sum) {
      if constexpr (decltype(sum)::kMonotonic) {
        function([sum](double x, double y) {
          return sum.add(0.0, x, y) - sum.add(0.0, x, 0.0) - sum.add(0.0, 0.0, y);
        });
      } else {  // braycurtis, of values of at least 0
        function([](double x, double y) { return magnitude(x - y) - x - y; });
      }
    });
  }
}

class SparsePairs {
 public:
  SparsePairs(const SparseForm& points, const SparseForm& queries, const RowMetric& how)
      : points_(points), queries_(queries), metric_(how.metric), p_(how.p), longest_(how.longest) {}

  // From the sum over common columns; what is compared, or less by as much as may have been lost: large
  // values that both rows have cancel.
  [[gnu::noinline]] float rough(int64_t query, int64_t point, double common) const {
    const SparseForm::Place &q = queries_.place(query), &x = points_.place(point);
    const auto columns = static_cast<double>(points_.columns());
    if (uses_presence(metric_)) {
      return presence_distance(metric_, static_cast<float>(common), static_cast<float>(q.total),
                               static_cast<float>(x.total), static_cast<float>(columns));
    }
    if (metric_ == Metric::inner_product) {
      return static_cast<float>(
          std::max(0.0, inner_product_bound(longest_ * unit_square(), q.total) - common));
    }
    const double sum = q.total + x.total + common - kLost * (q.total + x.total);
    if (metric_ == Metric::braycurtis) {
      return static_cast<float>(q.total + x.total > 0 ? std::max(0.0, sum / (q.total + x.total)) : 0);
    }
    if (uses_directions(metric_)) {
      const double of_absent = q.absent * x.sum + x.absent * q.sum + columns * q.absent * x.absent;
      const bool none = q.factor == 0 && x.factor == 0;
      return static_cast<float>(std::max(0.0, sum - 2 * of_absent - 2 * none));
    }
    return static_cast<float>(std::max(0.0, sum));
  }

  // What is compared, from differences.
  [[gnu::noinline]] float exact(int64_t query, int64_t point) const {
    if (uses_directions(metric_)) return static_cast<float>(squares(query, point));
    return with_sum(metric_, p_, [&](auto sum) { return static_cast<float>(walk(sum, query, point)); });
  }
  // Whether the sum over common columns always loses what tells rows apart: high powers cancel.
  bool rough_is_useless() const { return metric_ == Metric::minkowski; }
  bool rough_is_exact() const { return uses_presence(metric_) || metric_ == Metric::inner_product; }

  float distance(float compared) const {
    if (metric_ == Metric::inner_product) return static_cast<float>(compared / unit_square());
    if (rough_is_exact()) return compared;
    return distance_of(metric_, compared, points_.columns(), p_) / points_.unit();
  }

 private:
  static constexpr double kLost = 1e-14;  // of two rows' totals

  double unit_square() const { return static_cast<double>(points_.unit()) * points_.unit(); }

  // function(x, y) for every column that either row has.
  template <class Function>
  void along(int64_t query, int64_t point, const Function& function) const {
    int64_t at = queries_.begin(query), other = points_.begin(point);
    const int64_t end = queries_.end(query), other_end = points_.end(point);
    while (at < end || other < other_end) {
      const bool take = at < end && (other == other_end || queries_.id(at) <= points_.id(other));
      const bool take_other = other < other_end && (at == end || points_.id(other) <= queries_.id(at));
      function(take ? static_cast<double>(queries_.value(query, at)) : 0.0,
               take_other ? static_cast<double>(points_.value(point, other)) : 0.0);
      at += take;
      other += take_other;
    }
  }

  template <class Sum>
  double walk(const Sum& sum, int64_t query, int64_t point) const {
    typename Sum::template State<double> state{};
    along(query, point, [&](double x, double y) { state = sum.add(state, x, y); });
    return sum.value(state);
  }

  double squares(int64_t query, int64_t point) const {
    const SparseForm::Place &q = queries_.place(query), &x = points_.place(point);
    if (q.factor == 0 || x.factor == 0) return q.factor == x.factor ? 0 : 2;
    const double shift = q.absent - x.absent;
    double sum = 0;
    int64_t met = 0;
    along(query, point, [&](double u, double v) {
      const double difference = u - v + shift;
      sum += difference * difference;
      ++met;
    });
    return sum + static_cast<double>(points_.columns() - met) * shift * shift;
  }

  const SparseForm &points_, &queries_;
  Metric metric_;
  float p_;
  double longest_;
};

}  // namespace actup
