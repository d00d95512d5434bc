// Nearest neighbours of sparse rows: of all points, by lists of the points that have a column, or of given
// candidates. A row's answer depends on the row alone, so threads change nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "nearest_list.hpp"
#include "parallel.hpp"
#include "sparse_pairs.hpp"

namespace actup {

// The points that have a column, ascending, with their values.
class ColumnLists {
 public:
  explicit ColumnLists(const SparseForm& rows) : starts_(rows.columns() + 1) {
    const int64_t entries = rows.end(rows.rows() - 1);
    for (int64_t at = 0; at < entries; ++at) ++starts_[rows.id(at) + 1];
    for (int64_t column = 0; column < rows.columns(); ++column) starts_[column + 1] += starts_[column];
    rows_.resize(entries);
    values_.resize(entries);
    std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      for (int64_t at = rows.begin(row); at < rows.end(row); ++at) {
        const int64_t to = next[rows.id(at)]++;
        rows_[to] = static_cast<int32_t>(row);
        values_[to] = rows.value(at);
      }
    }
  }
  template <class Common>
  void add(int32_t column, double value, const Common& common, double* sums) const {
    for (int64_t at = starts_[column]; at < starts_[column + 1]; ++at) {
      sums[rows_[at]] += common(value, static_cast<double>(values_[at]));
    }
  }

 private:
  std::vector<int64_t> starts_;
  std::vector<int32_t> rows_;
  std::vector<float> values_;
};

// Finds the k smallest by rough values among some more, and puts those in their exact order.
class SparseSelection {
 public:
  SparseSelection(const SparsePairs& pairs, int64_t k)
      : pairs_(pairs), k_(k), values_(2 * k + 16), ids_(2 * k + 16) {
    list().clear();
  }

  float bound() const { return values_.back(); }
  void offer(float value, int32_t id) {
    if (value < bound()) list().insert(value, id);
  }

  void finish(int64_t query, int32_t* ids, float* distances) {
    sorted_.clear();
    for (size_t at = 0; at < ids_.size() && ids_[at] >= 0; ++at) {
      sorted_.emplace_back(pairs_.rough_is_exact() ? values_[at] : pairs_.exact(query, ids_[at]), ids_[at]);
    }
    std::sort(sorted_.begin(), sorted_.end());
    for (int64_t at = 0; at < k_; ++at) {
      const bool found = at < static_cast<int64_t>(sorted_.size());
      ids[at] = found ? sorted_[at].second : -1;
      distances[at] = found ? pairs_.distance(sorted_[at].first) : std::numeric_limits<float>::infinity();
    }
    list().clear();
  }

 private:
  NearestList list() { return {values_.data(), ids_.data(), static_cast<int64_t>(values_.size())}; }

  const SparsePairs& pairs_;
  int64_t k_;
  std::vector<float> values_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<float, int32_t>> sorted_;
};

struct SparseSearch {
  Metric metric;
  float p;
  double longest;  // squared length, for inner_product
  int64_t k;
  int threads;
};

// The k nearest points to every query, into (queries, k); own[query] is left out, -1 or null for none.
inline void nearest_sparse(const CsrRows& points, const CsrRows& queries, const int32_t* own,
                           const SparseSearch& search, int32_t* ids, float* distances) {
  if (search.k == 0 || queries.rows == 0) return;
  const float unit = unit_of(points, queries, search.metric);
  const SparseForm form(points, search.metric, search.p, unit, search.threads);
  const SparseForm asked(queries, search.metric, search.p, unit, search.threads);
  const SparsePairs pairs(form, asked, search.metric, search.p, search.longest);
  const ColumnLists lists(form);
  with_common(search.metric, search.p, [&](auto common) {
    parallel_ranges(queries.rows, 16, search.threads, [&](int64_t begin, int64_t end) {
      std::vector<double> sums(points.rows);
      SparseSelection selection(pairs, search.k);
      for (int64_t query = begin; query < end; ++query) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t at = asked.begin(query); at < asked.end(query) && !pairs.rough_is_useless(); ++at) {
          lists.add(asked.id(at), asked.value(at), common, sums.data());
        }
        for (int64_t point = 0; point < points.rows; ++point) {
          if (own && own[query] == point) continue;
          selection.offer(
              pairs.rough_is_useless() ? pairs.exact(query, point) : pairs.rough(query, point, sums[point]),
              static_cast<int32_t>(point));
        }
        selection.finish(query, ids + query * search.k, distances + query * search.k);
      }
    });
  });
}

// The same among each query's candidates (rows of `width` ids, ascending; -1 for none).
inline void nearest_sparse_of(const CsrRows& points, const CsrRows& queries, const int32_t* own,
                              const int32_t* candidates, int64_t width, const SparseSearch& search,
                              int32_t* ids, float* distances) {
  const float unit = unit_of(points, queries, search.metric);
  const SparseForm form(points, search.metric, search.p, unit, search.threads);
  const SparseForm asked(queries, search.metric, search.p, unit, search.threads);
  const SparsePairs pairs(form, asked, search.metric, search.p, search.longest);
  with_common(search.metric, search.p, [&](auto common) {
    parallel_ranges(queries.rows, 256, search.threads, [&](int64_t begin, int64_t end) {
      std::vector<double> row(points.columns);
      SparseSelection selection(pairs, search.k);
      for (int64_t query = begin; query < end; ++query) {
        for (int64_t at = asked.begin(query); at < asked.end(query); ++at)
          row[asked.id(at)] = asked.value(at);
        for (int64_t slot = query * width; slot < (query + 1) * width; ++slot) {
          const int32_t point = candidates[slot];
          if (point < 0 || (own && own[query] == point)) continue;
          double sum = 0;
          for (int64_t at = form.begin(point); at < form.end(point); ++at) {
            sum += common(row[form.id(at)], static_cast<double>(form.value(at)));
          }
          selection.offer(
              pairs.rough_is_useless() ? pairs.exact(query, point) : pairs.rough(query, point, sum), point);
        }
        for (int64_t at = asked.begin(query); at < asked.end(query); ++at) row[asked.id(at)] = 0;
        selection.finish(query, ids + query * search.k, distances + query * search.k);
      }
    });
  });
}

}  // namespace actup
