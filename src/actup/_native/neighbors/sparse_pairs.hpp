// Distances between sparse rows, under metrics to which columns missing in both rows add nothing.
//
// The sum over all columns is the total of each row compared with zeros, plus a correction for every column
// that both rows have, so one pass over the shared columns gives the distance. Where that loses digits (equal
// rows must be at distance 0), a merge of both rows computes it again from differences. Values are
// transformed whenever they are read: rows are not copied.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/row_metric.hpp"

namespace actup {

// Compressed sparse rows; column ids are below `width` and ascend within a row. Empty columns may have no id,
// and ids may repeat in queries: `columns` is the number of columns that distances count.
struct CsrRows {
  const int64_t* offsets;
  const int32_t* ids;
  const float* values;
  int64_t rows;
  int64_t columns;
  int64_t width;
};

// The largest magnitude of a value, times its column's factor.
inline float largest_value(const CsrRows& rows, const RowMetric& row_metric) {
  float largest = 0;
  for (int64_t at = rows.offsets[0]; at < rows.offsets[rows.rows]; ++at) {
    const double factor = row_metric.factors.empty() ? 1.0 : row_metric.factors[rows.ids[at]];
    largest = std::max(largest, magnitude(static_cast<float>(rows.values[at] * factor)));
  }
  return largest;
}

// Rows transformed as the metric compares them. Under correlation a missing column has the value `absent`,
// and values are relative to it. `scale` multiplies the values unless they are divided by their norm.
class SparseForm {
 public:
  SparseForm(const CsrRows& rows, const RowMetric& row_metric, float scale, int threads)
      : rows_(rows),
        row_metric_(row_metric),
        transform_(transform_of(row_metric.metric)),
        scale_(scale),
        summaries_(rows.rows) {
    parallel_ranges(rows.rows, 1024, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) prepare(row);
    });
  }

  struct Summary {
    double total = 0;   // the sum over columns of this row and a row of zeros
    double absent = 0;  // the value of missing columns, under correlation
    double sum = 0;     // of the values, if they are a direction
    double factor = 0;  // multiplies the values; 0 for a row of zeros without a direction
  };

  int64_t rows() const { return rows_.rows; }
  int64_t columns() const { return rows_.columns; }
  int64_t width() const { return rows_.width; }
  float scale() const { return scale_; }
  int64_t begin(int64_t row) const { return rows_.offsets[row]; }
  int64_t end(int64_t row) const { return rows_.offsets[row + 1]; }
  int32_t id(int64_t at) const { return rows_.ids[at]; }
  float value(int64_t row, int64_t at) const {
    return static_cast<float>(value_of(at) * summaries_[row].factor);
  }
  const Summary& summary(int64_t row) const { return summaries_[row]; }

  // Prefetches what prefetch() reads.
  void prefetch_summary(int64_t row) const {
    __builtin_prefetch(rows_.offsets + row);
    __builtin_prefetch(summaries_.data() + row);
  }

  // Prefetches a row that will be read soon.
  void prefetch(int64_t row) const {
    const int64_t last = std::min(end(row), begin(row) + kPrefetchValues);
    for (int64_t at = begin(row); at < last; at += 16) {
      __builtin_prefetch(rows_.ids + at);
      __builtin_prefetch(rows_.values + at);
    }
  }

  // The sum of term(other[column], value) over a row's columns; `other` holds all columns of another row.
  template <class Term>
  double shared_total(int64_t row, const double* other, const Term& term) const {
    if (!row_metric_.factors.empty() || transform_ == Transform::root_direction) {
      return sum_of_terms(row, other, term, [&](int64_t at) { return value(row, at); });
    }
    const double factor = summaries_[row].factor;
    const float* const values = rows_.values;
    return sum_of_terms(row, other, term,
                        [&](int64_t at) { return static_cast<float>(values[at] * factor); });
  }

 private:
  static constexpr int64_t kPrefetchValues = 512;

  // Four independent sums: each addition to a single one would have to wait for the previous addition.
  template <class Term, class Value>
  double sum_of_terms(int64_t row, const double* other, const Term& term, const Value& value) const {
    const int32_t* const ids = rows_.ids;
    double sums[4] = {};
    int64_t at = begin(row);
    for (; at + 4 <= end(row); at += 4) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part)
        sums[part] += term(other[ids[at + part]], double{value(at + part)});
    }
    for (; at < end(row); ++at) sums[0] += term(other[ids[at]], double{value(at)});
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  void prepare(int64_t row) {
    Summary& summary = summaries_[row];
    const double mean = transform_ == Transform::centered_direction ? mean_of(row) : 0;
    double squares = static_cast<double>(rows_.columns - (end(row) - begin(row))) * mean * mean;
    for (int64_t at = begin(row); at < end(row); ++at) {
      const double value = value_of(at) - mean;
      squares += value * value;
    }
    const bool directed = uses_directions(row_metric_.metric);
    const bool is_zero = directed && squares <= 1e-30 * static_cast<double>(rows_.columns) * mean * mean;
    summary.factor = !directed ? scale_ : is_zero ? 0 : 1 / std::sqrt(squares);
    summary.absent = -mean * summary.factor;
    if (directed) {  // totals of the rounded values, so that rounding does not hide small distances
      double squared_norm = 0;
      for (int64_t at = begin(row); at < end(row); ++at) {
        const double rounded = value(row, at);
        summary.sum += rounded;
        squared_norm += rounded * rounded;
      }
      const double absent = static_cast<double>(rows_.columns) * summary.absent;
      summary.total = is_zero ? 1 : squared_norm + summary.absent * (2 * summary.sum + absent);
    } else if (uses_presence(row_metric_.metric)) {
      for (int64_t at = begin(row); at < end(row); ++at) summary.total += rows_.values[at] != 0;
    } else {
      with_sum(row_metric_.metric, row_metric_.p, [&](auto sum) { summary.total = total_of(sum, row); });
    }
  }

  template <class Sum>
  double total_of(const Sum& sum, int64_t row) const {
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
    if (!row_metric_.factors.empty()) return value * row_metric_.factors[rows_.ids[at]];
    return transform_ == Transform::root_direction ? std::sqrt(value) : value;
  }

  CsrRows rows_;
  const RowMetric& row_metric_;
  Transform transform_;
  float scale_;
  std::vector<Summary> summaries_;
};

// Calls function(term): term(x, y) is what a shared column adds beyond the totals of the two rows.
template <class Function>
void with_shared_term(Metric metric, float p, const Function& function) {
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
      } else {
        static_assert(std::is_same_v<decltype(sum), DifferencesOverTotals>,
                      "write the sparse form of this sum");
        // nonnegative values
        function([](double x, double y) { return magnitude(x - y) - x - y; });
      }
    });
  }
}

class SparsePairDistances {
 public:
  SparsePairDistances(const SparseForm& points, const SparseForm& queries, const RowMetric& row_metric)
      : points_(points),
        queries_(queries),
        metric_(row_metric.metric),
        has_directions_(uses_directions(metric_)),
        has_presence_(uses_presence(metric_)),
        p_(row_metric.p),
        largest_squared_norm_(row_metric.largest_squared_norm) {}

  // A lower bound of the compared value, from the sum over shared columns: below the value by as much as
  // rounding may have lost, because large values that both rows share cancel.
  [[gnu::noinline]] float lower_bound(int64_t query, int64_t point, double shared) const {
    const SparseForm::Summary &q = queries_.summary(query), &x = points_.summary(point);
    const auto columns = static_cast<double>(points_.columns());
    if (has_presence_) {
      return presence_distance(metric_, static_cast<float>(shared), static_cast<float>(q.total),
                               static_cast<float>(x.total), static_cast<float>(columns));
    }
    if (metric_ == Metric::inner_product) {
      return static_cast<float>(
          std::max(0.0, inner_product_bound(largest_squared_norm_ * squared_scale(), q.total) - shared));
    }
    const double sum = q.total + x.total + shared - kRoundingLoss * (q.total + x.total);
    if (metric_ == Metric::braycurtis) {
      return static_cast<float>(q.total + x.total > 0 ? std::max(0.0, sum / (q.total + x.total)) : 0);
    }
    if (has_directions_) {
      const double of_absent = q.absent * x.sum + x.absent * q.sum + columns * q.absent * x.absent;
      const bool both_zero = q.factor == 0 && x.factor == 0;
      return static_cast<float>(std::max(0.0, sum - 2 * of_absent - 2 * both_zero));
    }
    return static_cast<float>(std::max(0.0, sum));
  }

  // The compared value, from differences.
  [[gnu::noinline]] float exact(int64_t query, int64_t point) const {
    if (has_directions_) return static_cast<float>(squared_difference(query, point));
    return with_sum(metric_, p_,
                    [&](auto sum) { return static_cast<float>(sum_over_columns(sum, query, point)); });
  }
  // Whether the lower bound is always too inaccurate, because high powers cancel.
  bool bound_is_useless() const { return metric_ == Metric::minkowski; }
  bool bound_is_exact() const { return has_presence_ || metric_ == Metric::inner_product; }

  float distance(float compared) const {
    if (metric_ == Metric::inner_product) return static_cast<float>(compared / squared_scale());
    if (bound_is_exact()) return compared;
    return distance_of(metric_, compared, points_.columns(), p_) / points_.scale();
  }

 private:
  static constexpr double kRoundingLoss = 1e-14;  // as a share of two rows' totals

  double squared_scale() const { return static_cast<double>(points_.scale()) * points_.scale(); }

  // Calls function(x, y) for every column that either row has.
  template <class Function>
  void merge(int64_t query, int64_t point, const Function& function) const {
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
  double sum_over_columns(const Sum& sum, int64_t query, int64_t point) const {
    typename Sum::template State<double> state{};
    merge(query, point, [&](double x, double y) { state = sum.add(state, x, y); });
    return sum.value(state);
  }

  double squared_difference(int64_t query, int64_t point) const {
    const SparseForm::Summary &q = queries_.summary(query), &x = points_.summary(point);
    if (q.factor == 0 || x.factor == 0) return q.factor == x.factor ? 0 : 2;
    const double shift = q.absent - x.absent;
    double sum = 0;
    int64_t visited = 0;
    merge(query, point, [&](double u, double v) {
      const double difference = u - v + shift;
      sum += difference * difference;
      ++visited;
    });
    return sum + static_cast<double>(points_.columns() - visited) * shift * shift;
  }

  const SparseForm &points_, &queries_;
  Metric metric_;
  bool has_directions_, has_presence_;
  float p_;
  double largest_squared_norm_;
};

}  // namespace actup
