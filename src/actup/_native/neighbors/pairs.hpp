// Distances of chosen pairs of dense rows in any metric, and the nearest of some candidates; nothing is
// copied.
//
// Where the approximate search only knows a neighbouring metric, its candidates are put in order here, and
// the sample it is judged by is compared with all points here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/nearest_list.hpp"
#include "neighbors/rerank.hpp"
#include "neighbors/row_metric.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// Compares rows of one table with those of another, for the metrics that need no row in another form.
class Pairs {
 public:
  Pairs(const TypedRows& points, const RowMetric& how)
      : points_(points),
        how_(how),
        factors_(how.factors.begin(), how.factors.end()),
        unit_(how.metric == Metric::minkowski ? unit_of(points, how.factors, 1e-4f, 1e6f) : 1) {
    if (!factors_.empty()) factors_.resize(points.columns + kWide);
  }

  // Reads a row as floats, zeros up to the next multiple of kWide.
  static void read(const TypedRows& rows, int64_t row, std::vector<float>& out) {
    out.resize(padded(rows.columns));
    rows.typed([&](auto* values) {
      for_each_wide(values + row * rows.columns, rows.columns,
                    [&](int64_t column, float16 wide) { store(out.data() + column, wide); });
    });
  }

  // The distances from a query, as read() gives it, to some points: ids[0] to ids[count - 1], or all points
  // from `first` on if ids is null.
  void distances(const float* query, const int32_t* ids, int64_t first, int64_t count, float* out) const {
    const auto id = [&](int64_t at) { return ids ? ids[at] : first + at; };
    const auto typed = [&](const auto& distance) {
      points_.typed([&](auto* values) {
        for (int64_t at = 0; at < count; ++at) out[at] = distance(values + id(at) * points_.columns);
      });
    };
    // Columns that take long are worth reading as floats first.
    const auto floats = [&](const auto& sum) {
      std::vector<float> room;
      for (int64_t at = 0; at < count; ++at) {
        out[at] = distance_from(total(sum, query, points_.floats(id(at), 1, room)));
      }
    };
    if (uses_presence(how_.metric)) return typed([&](auto* row) { return presence(query, row); });
    if (how_.metric == Metric::inner_product) {
      const double bound = inner_product_bound(how_.longest, squared_length(query));
      return typed([&](auto* row) { return static_cast<float>(std::max(0.0, bound - product(query, row))); });
    }
    const auto sum_up = [&](const auto& sum) {
      if constexpr (std::decay_t<decltype(sum)>::kCheap) {
        typed([&](auto* row) { return distance_from(total(sum, query, row)); });
      } else {
        floats(sum);
      }
    };
    with_sum(how_.metric, how_.p, sum_up, unit_);
  }

 private:
  float distance_from(float sum) const {
    return distance_of(how_.metric, sum, points_.columns, how_.p) / unit_;
  }

  // Zeros beyond the last column add nothing: equal values are at distance 0 in every metric. Four sums in
  // turn, because one would wait for itself.
  template <class Sum, class T>
  float total(const Sum& sum, const float* query, const T* row) const {
    if constexpr (Sum::kOnlyDifferences) {
      if (!factors_.empty()) return total_of<true>(sum, query, row);
    }
    return total_of<false>(sum, query, row);
  }

  // Scaled columns add differences from 0: those of equal rows are none, however products are rounded.
  template <bool scaled, class Sum, class T>
  float total_of(const Sum& sum, const float* query, const T* row) const {
    const auto add = [&](auto state, int64_t at, float16 values) {
      const float16 asked = load<float16>(query + at);
      if constexpr (!scaled) return sum.add(state, asked, values);
      return sum.add(state, (asked - values) * load<float16>(factors_.data() + at), float16{});
    };
    typename Sum::template State<float16> parts[4] = {};
    int64_t column = 0;
    for (; column + 4 * kWide <= points_.columns; column += 4 * kWide) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const int64_t at = column + part * kWide;
        parts[part] = add(parts[part], at, load_wide(row + at));
      }
    }
    for_each_wide(row + column, points_.columns - column,
                  [&](int64_t at, float16 values) { parts[0] = add(parts[0], column + at, values); });
    return reduced(sum, sum.join(sum.join(parts[0], parts[1]), sum.join(parts[2], parts[3])));
  }

  template <class Sum>
  static float reduced(const Sum& sum, const float16& wide) {
    float lanes[kWide];
    std::memcpy(lanes, &wide, sizeof lanes);
    for (int half = kWide / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) lanes[lane] = sum.join(lanes[lane], lanes[lane + half]);
    }
    return lanes[0];
  }
  static float reduced(const DifferencesOverTotals&, const DifferencesOverTotals::State<float16>& wide) {
    const float totals = sum(wide.totals);
    return totals > 0 ? sum(wide.differences) / totals : 0.0f;
  }

  double squared_length(const float* query) const {
    double squares = 0;
    for (int64_t c = 0; c < points_.columns; ++c) squares += static_cast<double>(query[c]) * query[c];
    return squares;
  }

  // In double precision: the largest product, less this one, may be a small part of both.
  template <class T>
  double product(const float* query, const T* row) const {
    typedef double double16 __attribute__((vector_size(8 * kWide)));
    double16 sums{};
    for_each_wide(row, points_.columns, [&](int64_t at, float16 values) {
      sums += __builtin_convertvector(load<float16>(query + at), double16) *
              __builtin_convertvector(values, double16);
    });
    double total = 0;
    for (int lane = 0; lane < kWide; ++lane) total += sums[lane];
    return total;
  }

  template <class T>
  float presence(const float* query, const T* row) const {
    float16 both{}, in_query{}, in_row{};
    const float16 one = broadcast<float16>(1.0f);
    for_each_wide(row, points_.columns, [&](int64_t column, float16 values) {
      const float16 asked = load<float16>(query + column);
      both += where<float16>((asked != 0.0f) & (values != 0.0f), one);
      in_query += where<float16>(asked != 0.0f, one);
      in_row += where<float16>(values != 0.0f, one);
    });
    return presence_distance(how_.metric, sum(both), sum(in_query), sum(in_row),
                             static_cast<float>(points_.columns));
  }

  const TypedRows& points_;
  const RowMetric& how_;
  std::vector<float> factors_;
  float unit_;  // see compared_rows.hpp: powers leave the range of floats sooner than squares
};

// A query's own id among the points is left out; -1 if it has none.
struct PairQueries {
  TypedRows rows;
  const int32_t* own;  // or null
};

// The k nearest of each query's candidates (rows of `width` ids, -1 for none) by (distance, id).
inline void nearest_of_candidates(const TypedRows& points, const PairQueries& queries, const RowMetric& how,
                                  const int32_t* candidates, int64_t width, int64_t k, int threads,
                                  int32_t* ids, float* distances) {
  const Pairs pairs(points, how);
  parallel_ranges(queries.rows.rows, 32, threads, [&](int64_t begin, int64_t end) {
    std::vector<float> query, values(width);
    std::vector<int32_t> kept(width);
    std::vector<uint64_t> keys;
    for (int64_t row = begin; row < end; ++row) {
      const int32_t own = queries.own ? queries.own[row] : -1;
      int64_t count = 0;
      for (int64_t at = 0; at < width; ++at) {
        const int32_t id = candidates[row * width + at];
        if (id >= 0 && id != own) kept[count++] = id;
      }
      Pairs::read(queries.rows, row, query);
      pairs.distances(query.data(), kept.data(), 0, count, values.data());
      smallest(values.data(), kept.data(), count, k, keys, distances + row * k, ids + row * k);
    }
  });
}

// The k nearest of all points to each of a few queries.
inline void nearest_of_all(const TypedRows& points, const PairQueries& queries, const RowMetric& how,
                           int64_t k, int threads, int32_t* ids, float* distances) {
  constexpr int64_t kPointsAtOnce = 64;
  parallel_ranges(queries.rows.rows, 8, threads, [&](int64_t begin, int64_t end) {
    std::vector<std::vector<float>> rows(end - begin);
    for (int64_t row = begin; row < end; ++row) {
      Pairs::read(queries.rows, row, rows[row - begin]);
      NearestList{distances + row * k, ids + row * k, k}.clear();
    }
    float values[kPointsAtOnce];
    std::vector<float> room;
    for (int64_t first = 0; first < points.rows; first += kPointsAtOnce) {
      const int64_t count = std::min(kPointsAtOnce, points.rows - first);
      const TypedRows block{points.floats(first, count, room), Scalar::float32, count, points.columns};
      const Pairs pairs(block, how);
      for (int64_t row = begin; row < end; ++row) {
        pairs.distances(rows[row - begin].data(), nullptr, 0, count, values);
        const NearestList list{distances + row * k, ids + row * k, k};
        for (int64_t at = 0; at < count; ++at) {
          if (!(values[at] < list.bound()) || (queries.own && queries.own[row] == first + at)) continue;
          list.insert(values[at], static_cast<int32_t>(first + at));
        }
      }
    }
  });
}

}  // namespace actup
