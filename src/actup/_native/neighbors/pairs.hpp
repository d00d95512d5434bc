// Distances of given pairs of dense rows in any metric, and the nearest of given candidates. Rows are not
// copied.
//
// Proxy search re-ranks its candidates here, and compares the sample that measures its recall with all
// points.
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

// Compares queries with points, under the metrics that do not compare directions.
class PairDistances {
 public:
  PairDistances(const TypedRows& points, const RowMetric& row_metric)
      : points_(points),
        row_metric_(row_metric),
        factors_(row_metric.factors.begin(), row_metric.factors.end()),
        scale_(row_metric.metric == Metric::minkowski ? safe_scale(points, row_metric.factors, 1e-4f, 1e6f)
                                                      : 1) {
    if (!factors_.empty()) factors_.resize(points.columns + kWideLanes);
  }

  // Reads a row as floats, padded with zeros to the next multiple of kWideLanes.
  static void read(const TypedRows& rows, int64_t row, std::vector<float>& out) {
    out.resize(padded(rows.columns));
    rows.typed([&](auto* values) {
      for_each_wide(values + row * rows.columns, rows.columns,
                    [&](int64_t column, float16 wide) { store(out.data() + column, wide); });
    });
  }

  // The distances between a query, as read() writes it, and the points ids[0] to ids[count - 1], or the
  // `count` points from `first` on if `ids` is null.
  void distances(const float* query, const int32_t* ids, int64_t first, int64_t count, float* out) const {
    const auto id = [&](int64_t at) { return ids ? ids[at] : first + at; };
    const auto typed = [&](const auto& distance) {
      points_.typed([&](auto* values) {
        for (int64_t at = 0; at < count; ++at) out[at] = distance(values + id(at) * points_.columns);
      });
    };
    // If a column is expensive to compare, converting the row to floats first pays.
    const auto floats = [&](const auto& sum) {
      std::vector<float> buffer;
      for (int64_t at = 0; at < count; ++at) {
        out[at] = distance_from(total(sum, query, points_.floats(id(at), 1, buffer)));
      }
    };
    if (uses_presence(row_metric_.metric))
      return typed([&](auto* row) { return presence_distance_to(query, row); });
    if (row_metric_.metric == Metric::inner_product) {
      const double bound = inner_product_bound(row_metric_.largest_squared_norm, squared_norm(query));
      return typed([&](auto* row) { return static_cast<float>(std::max(0.0, bound - product(query, row))); });
    }
    const auto sum_up = [&](const auto& sum) {
      if constexpr (std::decay_t<decltype(sum)>::kCheap) {
        typed([&](auto* row) { return distance_from(total(sum, query, row)); });
      } else {
        floats(sum);
      }
    };
    with_sum(row_metric_.metric, row_metric_.p, sum_up, scale_);
  }

 private:
  float distance_from(float sum) const {
    return distance_of(row_metric_.metric, sum, points_.columns, row_metric_.p) / scale_;
  }

  // Padding adds nothing, because equal values add 0 in every metric. Four independent sums: each addition to
  // a single one would have to wait for the previous addition.
  template <class Sum, class T>
  float total(const Sum& sum, const float* query, const T* row) const {
    if constexpr (Sum::kOnlyDifferences) {
      if (!factors_.empty()) return total_with<true>(sum, query, row);
    }
    return total_with<false>(sum, query, row);
  }

  // Factors multiply the differences, which are then compared with 0: the distance of equal rows is exactly
  // 0.
  template <bool has_factors, class Sum, class T>
  float total_with(const Sum& sum, const float* query, const T* row) const {
    const auto add = [&](auto state, int64_t at, float16 values) {
      const float16 query_values = load<float16>(query + at);
      if constexpr (!has_factors) return sum.add(state, query_values, values);
      return sum.add(state, (query_values - values) * load<float16>(factors_.data() + at), float16{});
    };
    typename Sum::template State<float16> parts[4] = {};
    int64_t column = 0;
    for (; column + 4 * kWideLanes <= points_.columns; column += 4 * kWideLanes) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const int64_t at = column + part * kWideLanes;
        parts[part] = add(parts[part], at, load_wide(row + at));
      }
    }
    for_each_wide(row + column, points_.columns - column,
                  [&](int64_t at, float16 values) { parts[0] = add(parts[0], column + at, values); });
    return reduced(sum, sum.combine(sum.combine(parts[0], parts[1]), sum.combine(parts[2], parts[3])));
  }

  template <class Sum>
  static float reduced(const Sum& sum, const float16& wide) {
    float lanes[kWideLanes];
    std::memcpy(lanes, &wide, sizeof lanes);
    for (int half = kWideLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) lanes[lane] = sum.combine(lanes[lane], lanes[lane + half]);
    }
    return lanes[0];
  }
  static float reduced(const DifferencesOverTotals&, const DifferencesOverTotals::State<float16>& wide) {
    const float totals = sum(wide.totals);
    return totals > 0 ? sum(wide.differences) / totals : 0.0f;
  }

  double squared_norm(const float* query) const {
    double squares = 0;
    for (int64_t c = 0; c < points_.columns; ++c) squares += static_cast<double>(query[c]) * query[c];
    return squares;
  }

  // In double precision: the bound minus the product may be much smaller than either.
  template <class T>
  double product(const float* query, const T* row) const {
    typedef double double16 __attribute__((vector_size(8 * kWideLanes)));
    double16 sums{};
    for_each_wide(row, points_.columns, [&](int64_t at, float16 values) {
      sums += __builtin_convertvector(load<float16>(query + at), double16) *
              __builtin_convertvector(values, double16);
    });
    double total = 0;
    for (int lane = 0; lane < kWideLanes; ++lane) total += sums[lane];
    return total;
  }

  template <class T>
  float presence_distance_to(const float* query, const T* row) const {
    float16 both{}, in_query{}, in_row{};
    const float16 one = broadcast<float16>(1.0f);
    for_each_wide(row, points_.columns, [&](int64_t column, float16 values) {
      const float16 query_values = load<float16>(query + column);
      both += where<float16>((query_values != 0.0f) & (values != 0.0f), one);
      in_query += where<float16>(query_values != 0.0f, one);
      in_row += where<float16>(values != 0.0f, one);
    });
    return presence_distance(row_metric_.metric, sum(both), sum(in_query), sum(in_row),
                             static_cast<float>(points_.columns));
  }

  const TypedRows& points_;
  const RowMetric& row_metric_;
  std::vector<float> factors_;
  float scale_;  // of differences under minkowski, whose powers overflow sooner than squares
};

// Queries, and for each the id of the point that is the query itself and is excluded; -1 for none.
struct PairQueries {
  TypedRows rows;
  const int32_t* self_ids;  // or null
};

// Compares queries with points under the metrics that compare directions, as PairDistances does under others.
class DirectionDistances {
 public:
  DirectionDistances(const TypedRows& points, const TypedRows& queries, const RowMetric& row_metric,
                     int threads)
      : points_(points, row_metric, threads), queries_(queries, points_, threads), reranker_(points_) {}

  void distances(int64_t row, std::vector<float>& query, const int32_t* ids, int64_t count,
                 float* out) const {
    query.resize(padded(queries_.query_width()));
    queries_.write_query(row, query.data());
    reranker_.prefetch(ids, count);
    reranker_.squares(query.data(), ids, count, out);
    for (int64_t at = 0; at < count; ++at) out[at] = points_.distance(out[at]);
  }

 private:
  ComparedRows points_, queries_;
  Reranker reranker_;
};

// The k nearest of each query's candidates (`width` ids per query, -1 for none) by (distance, id).
// `compare(row, buffer, ids, count, out)` writes the distances between a query and some points.
template <class Compare>
void nearest_of_candidates(const PairQueries& queries, const int32_t* candidates, int64_t width, int64_t k,
                           int threads, const Compare& compare, int32_t* ids, float* distances) {
  set_progress_range(0, 1);
  parallel_ranges(queries.rows.rows, 32, threads, [&](int64_t begin, int64_t end) {
    std::vector<float> query, values(width);
    std::vector<int32_t> compared(width);
    std::vector<uint64_t> keys;
    for (int64_t row = begin; row < end; ++row) {
      checkpoint();
      const int32_t self_id = queries.self_ids ? queries.self_ids[row] : -1;
      int64_t count = 0;
      for (int64_t at = 0; at < width; ++at) {
        const int32_t id = candidates[row * width + at];
        if (id >= 0 && id != self_id) compared[count++] = id;
      }
      compare(row, query, compared.data(), count, values.data());
      k_smallest(values.data(), compared.data(), count, k, keys, distances + row * k, ids + row * k);
    }
  });
}
inline void nearest_of_candidates(const TypedRows& points, const PairQueries& queries,
                                  const RowMetric& row_metric, const int32_t* candidates, int64_t width,
                                  int64_t k, int threads, int32_t* ids, float* distances) {
  if (uses_directions(row_metric.metric)) {
    const DirectionDistances pairs(points, queries.rows, row_metric, threads);
    return nearest_of_candidates(
        queries, candidates, width, k, threads,
        [&](int64_t row, std::vector<float>& query, const int32_t* compared, int64_t count, float* out) {
          pairs.distances(row, query, compared, count, out);
        },
        ids, distances);
  }
  const PairDistances pairs(points, row_metric);
  nearest_of_candidates(
      queries, candidates, width, k, threads,
      [&](int64_t row, std::vector<float>& query, const int32_t* compared, int64_t count, float* out) {
        PairDistances::read(queries.rows, row, query);
        pairs.distances(query.data(), compared, 0, count, out);
      },
      ids, distances);
}

// The k nearest of all points for each of a few queries.
inline void nearest_of_all(const TypedRows& points, const PairQueries& queries, const RowMetric& row_metric,
                           int64_t k, int threads, int32_t* ids, float* distances) {
  constexpr int64_t kPointsPerChunk = 64;
  set_progress_range(0, 1);
  parallel_ranges(queries.rows.rows, 8, threads, [&](int64_t begin, int64_t end) {
    std::vector<std::vector<float>> rows(end - begin);
    for (int64_t row = begin; row < end; ++row) {
      PairDistances::read(queries.rows, row, rows[row - begin]);
      NearestList{distances + row * k, ids + row * k, k}.clear();
    }
    float values[kPointsPerChunk];
    std::vector<float> buffer;
    for (int64_t first = 0; first < points.rows; first += kPointsPerChunk) {
      checkpoint();
      const int64_t count = std::min(kPointsPerChunk, points.rows - first);
      const TypedRows block{points.floats(first, count, buffer), Scalar::float32, count, points.columns};
      const PairDistances pairs(block, row_metric);
      for (int64_t row = begin; row < end; ++row) {
        pairs.distances(rows[row - begin].data(), nullptr, 0, count, values);
        const NearestList list{distances + row * k, ids + row * k, k};
        for (int64_t at = 0; at < count; ++at) {
          if (!(values[at] < list.bound()) || (queries.self_ids && queries.self_ids[row] == first + at))
            continue;
          list.insert(values[at], static_cast<int32_t>(first + at));
        }
      }
    }
  });
}

}  // namespace actup
