// Nearest neighbours of sparse rows: among all points, through an inverted index of the columns, or among
// given candidates. A row's result depends on the row alone, so the number of threads changes nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/nearest_list.hpp"
#include "neighbors/sparse_pairs.hpp"

namespace actup {

// An inverted index of a chunk of the points: for each column the points that have it, ascending, with
// values.
class InvertedIndex {
 public:
  explicit InvertedIndex(const SparseForm& rows) : rows_(rows), starts_(rows.width() + 1) {}

  // Replaces the indexed points by those from `begin` to `end`.
  void fill(int64_t begin, int64_t end) {
    std::fill(starts_.begin(), starts_.end(), 0);
    for (int64_t at = rows_.begin(begin); at < rows_.begin(end); ++at) ++starts_[rows_.id(at)];
    for (int64_t column = 0; column < rows_.width(); ++column) starts_[column + 1] += starts_[column];
    ids_.resize(rows_.begin(end) - rows_.begin(begin));
    values_.resize(ids_.size());
    for (int64_t row = end - 1; row >= begin; --row) {  // backwards: starts_ hold ends at first
      for (int64_t at = rows_.begin(row); at < rows_.end(row); ++at) {
        const int64_t to = --starts_[rows_.id(at)];
        ids_[to] = static_cast<int32_t>(row - begin);
        values_[to] = rows_.value(row, at);
      }
    }
  }

  // Adds term(value, point's value) to the sum of every indexed point that has the column.
  template <class Term>
  void add(int32_t column, double value, const Term& term, double* sums) const {
    for (int64_t at = starts_[column]; at < starts_[column + 1]; ++at) {
      sums[ids_[at]] += term(value, static_cast<double>(values_[at]));
    }
  }

 private:
  const SparseForm& rows_;
  std::vector<int64_t> starts_;
  std::vector<int32_t> ids_;
  std::vector<float> values_;
};

// Selects the k nearest: keeps the 2 k + 16 smallest lower bounds, then sorts those by their exact values.
class SparseSelection {
 public:
  SparseSelection(const SparsePairDistances& distances, int64_t k)
      : distances_(distances), k_(k), values_(2 * k + 16), ids_(2 * k + 16) {}

  // Begins a query whose k-th nearest point so far has the compared value `cutoff`: larger values are
  // ignored. `exact` says that exact values will be offered, not lower bounds.
  void begin(float cutoff, bool exact) {
    list().clear();
    cutoff_ = cutoff;
    exact_ = exact || distances_.bound_is_exact();
  }

  void offer(float value, int32_t id) {
    if (value < values_.back() && value <= cutoff_) list().insert(value, id);
  }

  // Merges the selection into the k nearest so far, ascending by compared value, -1 for none. Returns false
  // and changes nothing if the lower bounds cannot prove that the selection holds the nearest.
  bool finish(int64_t query, int32_t* ids, float* compared) {
    sorted_.clear();
    for (int64_t at = 0; at < k_ && ids[at] >= 0; ++at) sorted_.emplace_back(compared[at], ids[at]);
    for (size_t at = 0; at < ids_.size() && ids_[at] >= 0; ++at) {
      sorted_.emplace_back(exact_ ? values_[at] : distances_.exact(query, ids_[at]), ids_[at]);
    }
    std::sort(sorted_.begin(), sorted_.end());
    if (!exact_ && ids_.back() >= 0 && sorted_[k_ - 1].first * kRoundingMargin > values_.back()) return false;
    for (int64_t at = 0; at < k_; ++at) {
      const bool found = at < static_cast<int64_t>(sorted_.size());
      ids[at] = found ? sorted_[at].second : -1;
      compared[at] = found ? sorted_[at].first : std::numeric_limits<float>::infinity();
    }
    return true;
  }

 private:
  static constexpr float kRoundingMargin = 1 - 1e-6f;  // for rounding to float

  NearestList list() { return {values_.data(), ids_.data(), static_cast<int64_t>(values_.size())}; }

  const SparsePairDistances& distances_;
  int64_t k_;
  float cutoff_ = 0;
  bool exact_ = false;
  std::vector<float> values_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<float, int32_t>> sorted_;
};

// Queries, and for each the id of the point that is the query itself and is excluded; -1 or null for none.
struct SparseQueries {
  CsrRows rows;
  const int32_t* self_ids;
  bool are_points = false;  // the rows are the points themselves

  SparseQueries one(int64_t row) const {
    return {{rows.offsets + row, rows.ids, rows.values, 1, rows.columns, rows.width},
            self_ids ? self_ids + row : nullptr};
  }
};

// Points, prepared for searches.
class SparsePoints {
 public:
  SparsePoints(const CsrRows& points, RowMetric row_metric, int threads)
      : points_(points),
        row_metric_(std::move(row_metric)),
        largest_(largest_value(points, row_metric_)),
        form_(std::make_unique<SparseForm>(points, row_metric_, scale_for_values(largest_), threads)) {}

  const CsrRows& rows() const { return points_; }
  const RowMetric& row_metric() const { return row_metric_; }

  // The k nearest points of every query, into (queries, k).
  void nearest(const SparseQueries& queries, int64_t k, int threads, int32_t* ids, float* distances) const {
    if (k == 0 || queries.rows.rows == 0) return;
    for_each_scale(
        queries, threads,
        [&](const SparseQueries& subset, const SparseForm& points, const SparseForm& rows, int64_t first) {
          search_all(subset, points, rows, k, threads, ids + first * k, distances + first * k);
        });
  }

  // The same among each query's candidates (`width` ids per query, ascending; -1 for none).
  void nearest_of_candidates(const SparseQueries& queries, const int32_t* candidates, int64_t width,
                             int64_t k, int threads, int32_t* ids, float* distances) const {
    for_each_scale(
        queries, threads,
        [&](const SparseQueries& subset, const SparseForm& points, const SparseForm& rows, int64_t first) {
          search_candidates(subset, points, rows, candidates + first * width, width, k, threads,
                            ids + first * k, distances + first * k);
        });
  }

 private:
  static constexpr int64_t kMinChunkEntries = 1 << 19;  // values of the points in an inverted index
  static constexpr int64_t kPrefetchAhead = 6;          // candidates

  // A power of two that scales values to about 1, so that no square or power of a difference overflows. Only
  // for metrics that scale with the rows.
  float scale_for_values(float largest) const {
    return scales_with_rows(row_metric_.metric) ? power_of_two_scale(largest) : 1;
  }

  // Sums over the columns that a query shares with each of the indexed points.
  void sum_shared(const InvertedIndex& index, const SparseForm& queries, int64_t query,
                  std::vector<double>& sums) const {
    std::fill(sums.begin(), sums.end(), 0.0);
    with_shared_term(row_metric_.metric, row_metric_.p, [&](auto term) {
      for (int64_t at = queries.begin(query); at < queries.end(query); ++at) {
        index.add(queries.id(at), queries.value(query, at), term, sums.data());
      }
    });
  }

  // The same for the points `ids`; `row` holds all columns of the query.
  void sum_shared(const SparseForm& points, const int32_t* ids, const std::vector<double>& row,
                  std::vector<double>& sums) const {
    const auto last = static_cast<int64_t>(sums.size()) - 1;
    with_shared_term(row_metric_.metric, row_metric_.p, [&](auto term) {
      for (int64_t at = 0; at <= last; ++at) {
        points.prefetch_summary(std::max(0, ids[std::min(at + 3 * kPrefetchAhead, last)]));
        points.prefetch(std::max(0, ids[std::min(at + kPrefetchAhead, last)]));
        sums[at] = ids[at] < 0 ? 0 : points.shared_total(ids[at], row.data(), term);
      }
    });
  }

  // Calls search(queries, points, transformed queries, first query) once for all queries at the scale of the
  // points, and again for each query whose values are too large for it, at a scale of its own.
  template <class Search>
  void for_each_scale(const SparseQueries& queries, int threads, const Search& search) const {
    if (queries.are_points) return search(queries, *form_, *form_, 0);
    const auto suits = [&](const CsrRows& rows) {
      return !scales_with_rows(row_metric_.metric) ||
             largest_value(rows, row_metric_) <= row_metric_.max_query_ratio() * largest_;
    };
    search(queries, *form_, SparseForm(queries.rows, row_metric_, form_->scale(), threads), 0);
    if (suits(queries.rows)) return;
    for (int64_t row = 0; row < queries.rows.rows; ++row) {
      const SparseQueries one = queries.one(row);
      if (suits(one.rows)) continue;
      const float scale = scale_for_values(largest_value(one.rows, row_metric_));
      search(one, SparseForm(points_, row_metric_, scale, threads),
             SparseForm(one.rows, row_metric_, scale, threads), row);
    }
  }

  void search_all(const SparseQueries& queries, const SparseForm& points, const SparseForm& rows, int64_t k,
                  int threads, int32_t* ids, float* distances) const {
    const SparsePairDistances pairs(points, rows, row_metric_);
    clear(queries.rows.rows * k, ids, distances);
    InvertedIndex index(points);
    for (int64_t first = 0; first < points.rows();) {
      const int64_t last = end_of_chunk(first);
      if (!pairs.bound_is_useless()) index.fill(first, last);
      set_progress_range(static_cast<double>(first) / points.rows(),
                         static_cast<double>(last) / points.rows());
      parallel_ranges(queries.rows.rows, 16, threads, [&](int64_t begin, int64_t end) {
        std::vector<double> sums(last - first);
        SparseSelection selection(pairs, k);
        const auto succeeds = [&](int64_t query, bool exact) {
          selection.begin(distances[(query + 1) * k - 1], exact);
          if (!exact) sum_shared(index, rows, query, sums);
          for (int64_t point = first; point < last; ++point) {
            if (queries.self_ids && queries.self_ids[query] == point) continue;
            selection.offer(
                exact ? pairs.exact(query, point) : pairs.lower_bound(query, point, sums[point - first]),
                static_cast<int32_t>(point));
          }
          return selection.finish(query, ids + query * k, distances + query * k);
        };
        for (int64_t query = begin; query < end; ++query) {
          checkpoint();
          if (!succeeds(query, pairs.bound_is_useless())) succeeds(query, true);
        }
      });
      first = last;
    }
    for (int64_t at = 0; at < queries.rows.rows * k; ++at) distances[at] = pairs.distance(distances[at]);
  }

  void search_candidates(const SparseQueries& queries, const SparseForm& points, const SparseForm& rows,
                         const int32_t* candidates, int64_t width, int64_t k, int threads, int32_t* ids,
                         float* distances) const {
    const SparsePairDistances pairs(points, rows, row_metric_);
    clear(queries.rows.rows * k, ids, distances);
    set_progress_range(0, 1);
    parallel_ranges(queries.rows.rows, 256, threads, [&](int64_t begin, int64_t end) {
      std::vector<double> row(points_.width), sums(width);
      SparseSelection selection(pairs, k);
      const auto succeeds = [&](int64_t query, bool exact) {
        selection.begin(distances[(query + 1) * k - 1], exact);
        const int32_t* const compared = candidates + query * width;
        if (!exact) {
          for (int64_t at = rows.begin(query); at < rows.end(query); ++at)
            row[rows.id(at)] = rows.value(query, at);
          sum_shared(points, compared, row, sums);
          for (int64_t at = rows.begin(query); at < rows.end(query); ++at) row[rows.id(at)] = 0;
        }
        for (int64_t at = 0; at < width; ++at) {
          if (compared[at] < 0 || (queries.self_ids && queries.self_ids[query] == compared[at])) continue;
          selection.offer(
              exact ? pairs.exact(query, compared[at]) : pairs.lower_bound(query, compared[at], sums[at]),
              compared[at]);
        }
        return selection.finish(query, ids + query * k, distances + query * k);
      };
      for (int64_t query = begin; query < end; ++query) {
        checkpoint();
        if (!succeeds(query, pairs.bound_is_useless())) succeeds(query, true);
      }
    });
    for (int64_t at = 0; at < queries.rows.rows * k; ++at) distances[at] = pairs.distance(distances[at]);
  }

  static void clear(int64_t count, int32_t* ids, float* distances) {
    std::fill_n(ids, count, -1);
    std::fill_n(distances, count, std::numeric_limits<float>::infinity());
  }

  // A chunk's inverted index takes a sixth of the memory of all points, or kMinChunkEntries if that is more.
  int64_t end_of_chunk(int64_t first) const {
    const int64_t entries = std::max(points_.offsets[points_.rows] / 6, kMinChunkEntries);
    const int64_t* const begin = points_.offsets + first;
    const int64_t* const end = points_.offsets + points_.rows;
    return std::max<int64_t>(first, std::upper_bound(begin, end, *begin + entries) - points_.offsets - 1) + 1;
  }

  CsrRows points_;
  RowMetric row_metric_;
  float largest_;
  std::unique_ptr<SparseForm> form_;
};

}  // namespace actup
