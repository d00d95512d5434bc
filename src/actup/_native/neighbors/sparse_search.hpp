// Nearest neighbours of sparse rows: of all points, by lists of the points that have a column, or of given
// candidates. A row's answer depends on the row alone, so threads change nothing.
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

// Of some of the points, those that have a column, ascending, with their values.
class ColumnLists {
 public:
  explicit ColumnLists(const SparseForm& rows) : rows_(rows), starts_(rows.columns() + 1) {}

  // Holds the points from `begin` to `end` from now on.
  void fill(int64_t begin, int64_t end) {
    std::fill(starts_.begin(), starts_.end(), 0);
    for (int64_t at = rows_.begin(begin); at < rows_.begin(end); ++at) ++starts_[rows_.id(at)];
    for (int64_t column = 0; column < rows_.columns(); ++column) starts_[column + 1] += starts_[column];
    ids_.resize(rows_.begin(end) - rows_.begin(begin));
    values_.resize(ids_.size());
    for (int64_t row = end - 1; row >= begin; --row) {  // backwards: starts_ move from ends to beginnings
      for (int64_t at = rows_.begin(row); at < rows_.end(row); ++at) {
        const int64_t to = --starts_[rows_.id(at)];
        ids_[to] = static_cast<int32_t>(row - begin);
        values_[to] = rows_.value(row, at);
      }
    }
  }

  // Adds to the sums of the points, by their numbers among those held.
  template <class Common>
  void add(int32_t column, double value, const Common& common, double* sums) const {
    for (int64_t at = starts_[column]; at < starts_[column + 1]; ++at) {
      sums[ids_[at]] += common(value, static_cast<double>(values_[at]));
    }
  }

 private:
  const SparseForm& rows_;
  std::vector<int64_t> starts_;
  std::vector<int32_t> ids_;
  std::vector<float> values_;
};

// Finds the k smallest by rough values among some more, and puts those in their exact order.
class SparseSelection {
 public:
  SparseSelection(const SparsePairs& pairs, int64_t k)
      : pairs_(pairs), k_(k), values_(2 * k + 16), ids_(2 * k + 16) {}

  // Begins a query that has found some already, of which the farthest is compared by this value. What cannot
  // be nearer is not worth a look. `exact`: values that are offered are not rough ones.
  void begin(float farthest, bool exact) {
    list().clear();
    worth_ = farthest;
    exact_ = exact || pairs_.rough_is_exact();
  }

  void offer(float value, int32_t id) {
    if (value < values_.back() && value <= worth_) list().insert(value, id);
  }

  // Adds them to the k that were found so far, ascending by what is compared: -1 for none. Returns false, and
  // adds nothing, if rough values leave open which are the nearest.
  bool finish(int64_t query, int32_t* ids, float* compared) {
    sorted_.clear();
    for (int64_t at = 0; at < k_ && ids[at] >= 0; ++at) sorted_.emplace_back(compared[at], ids[at]);
    for (size_t at = 0; at < ids_.size() && ids_[at] >= 0; ++at) {
      sorted_.emplace_back(exact_ ? values_[at] : pairs_.exact(query, ids_[at]), ids_[at]);
    }
    std::sort(sorted_.begin(), sorted_.end());
    if (!exact_ && ids_.back() >= 0 && sorted_[k_ - 1].first * kRounded > values_.back()) return false;
    for (int64_t at = 0; at < k_; ++at) {
      const bool found = at < static_cast<int64_t>(sorted_.size());
      ids[at] = found ? sorted_[at].second : -1;
      compared[at] = found ? sorted_[at].first : std::numeric_limits<float>::infinity();
    }
    return true;
  }

 private:
  static constexpr float kRounded = 1 - 1e-6f;

  NearestList list() { return {values_.data(), ids_.data(), static_cast<int64_t>(values_.size())}; }

  const SparsePairs& pairs_;
  int64_t k_;
  float worth_ = 0;
  bool exact_ = false;
  std::vector<float> values_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<float, int32_t>> sorted_;
};

// Queries: their own ids among the points are left out; -1 or null for none. Of the points themselves,
// `points`.
struct SparseQueries {
  CsrRows rows;
  const int32_t* own;
  bool points = false;

  SparseQueries one(int64_t row) const {
    return {{rows.offsets + row, rows.ids, rows.values, 1, rows.columns}, own ? own + row : nullptr};
  }
};

// Points that many queries are compared with.
class SparsePoints {
 public:
  SparsePoints(const CsrRows& points, RowMetric how, int threads)
      : points_(points),
        how_(std::move(how)),
        largest_(largest_value(points, how_)),
        form_(std::make_unique<SparseForm>(points, how_, unit_for_values(largest_), threads)) {}

  const CsrRows& rows() const { return points_; }
  const RowMetric& how() const { return how_; }

  // The k nearest points to every query, into (queries, k).
  void nearest(const SparseQueries& queries, int64_t k, int threads, int32_t* ids, float* distances) const {
    if (k == 0 || queries.rows.rows == 0) return;
    with_forms(queries, threads,
               [&](const SparseQueries& some, const SparseForm& form, const SparseForm& asked, int64_t row) {
                 search_all(some, form, asked, k, threads, ids + row * k, distances + row * k);
               });
  }

  // The same among each query's candidates (rows of `width` ids, ascending; -1 for none).
  void nearest_of(const SparseQueries& queries, const int32_t* candidates, int64_t width, int64_t k,
                  int threads, int32_t* ids, float* distances) const {
    with_forms(queries, threads,
               [&](const SparseQueries& some, const SparseForm& form, const SparseForm& asked, int64_t row) {
                 search_some(some, form, asked, candidates + row * width, width, k, threads, ids + row * k,
                             distances + row * k);
               });
  }

 private:
  static constexpr int64_t kLittle = 1 << 19;  // entries
  static constexpr int64_t kAhead = 6;         // candidates

  // A power of two that brings values near 1 where distances have a unit: no square or power of a difference
  // then leaves the range of floats.
  float unit_for_values(float largest) const {
    return scales_with_rows(how_.metric) ? power_of_two_scale(largest) : 1;
  }

  // What the columns add that a query has in common with each of the points of the lists.
  void add_common(const ColumnLists& lists, const SparseForm& asked, int64_t query,
                  std::vector<double>& sums) const {
    std::fill(sums.begin(), sums.end(), 0.0);
    with_common(how_.metric, how_.p, [&](auto common) {
      for (int64_t at = asked.begin(query); at < asked.end(query); ++at) {
        lists.add(asked.id(at), asked.value(query, at), common, sums.data());
      }
    });
  }

  // The same with each of some points; `row` holds all columns of the query.
  void find_common(const SparseForm& form, const int32_t* points, const std::vector<double>& row,
                   std::vector<double>& sums) const {
    const auto last = static_cast<int64_t>(sums.size()) - 1;
    with_common(how_.metric, how_.p, [&](auto common) {
      for (int64_t at = 0; at <= last; ++at) {
        form.prefetch_place(std::max(0, points[std::min(at + 3 * kAhead, last)]));
        form.prefetch(std::max(0, points[std::min(at + kAhead, last)]));
        sums[at] = points[at] < 0 ? 0 : form.total_with(points[at], row.data(), common);
      }
    });
  }

  // Calls search(queries, points, queries in the form in which they are compared, first query): for all
  // queries that suit the unit of the points, and for each that is far larger by itself, in a unit of its
  // own.
  template <class Search>
  void with_forms(const SparseQueries& queries, int threads, const Search& search) const {
    if (queries.points) return search(queries, *form_, *form_, 0);
    const auto suits = [&](const CsrRows& rows) {
      return !scales_with_rows(how_.metric) || largest_value(rows, how_) <= how_.most_times() * largest_;
    };
    search(queries, *form_, SparseForm(queries.rows, how_, form_->unit(), threads), 0);
    if (suits(queries.rows)) return;
    for (int64_t row = 0; row < queries.rows.rows; ++row) {
      const SparseQueries one = queries.one(row);
      if (suits(one.rows)) continue;
      const float unit = unit_for_values(largest_value(one.rows, how_));
      search(one, SparseForm(points_, how_, unit, threads), SparseForm(one.rows, how_, unit, threads), row);
    }
  }

  void search_all(const SparseQueries& queries, const SparseForm& form, const SparseForm& asked, int64_t k,
                  int threads, int32_t* ids, float* distances) const {
    const SparsePairs pairs(form, asked, how_);
    clear(queries.rows.rows * k, ids, distances);
    ColumnLists lists(form);
    for (int64_t first = 0; first < form.rows();) {
      const int64_t last = end_of_piece(first);
      if (!pairs.rough_is_useless()) lists.fill(first, last);
      parallel_ranges(queries.rows.rows, 16, threads, [&](int64_t begin, int64_t end) {
        std::vector<double> sums(last - first);
        SparseSelection selection(pairs, k);
        const auto finds = [&](int64_t query, bool exact) {
          selection.begin(distances[(query + 1) * k - 1], exact);
          if (!exact) add_common(lists, asked, query, sums);
          for (int64_t point = first; point < last; ++point) {
            if (queries.own && queries.own[query] == point) continue;
            selection.offer(
                exact ? pairs.exact(query, point) : pairs.rough(query, point, sums[point - first]),
                static_cast<int32_t>(point));
          }
          return selection.finish(query, ids + query * k, distances + query * k);
        };
        for (int64_t query = begin; query < end; ++query) {
          if (!finds(query, pairs.rough_is_useless())) finds(query, true);
        }
      });
      first = last;
    }
    for (int64_t at = 0; at < queries.rows.rows * k; ++at) distances[at] = pairs.distance(distances[at]);
  }

  void search_some(const SparseQueries& queries, const SparseForm& form, const SparseForm& asked,
                   const int32_t* candidates, int64_t width, int64_t k, int threads, int32_t* ids,
                   float* distances) const {
    const SparsePairs pairs(form, asked, how_);
    clear(queries.rows.rows * k, ids, distances);
    parallel_ranges(queries.rows.rows, 256, threads, [&](int64_t begin, int64_t end) {
      std::vector<double> row(points_.columns), sums(width);
      SparseSelection selection(pairs, k);
      const auto finds = [&](int64_t query, bool exact) {
        selection.begin(distances[(query + 1) * k - 1], exact);
        const int32_t* const points = candidates + query * width;
        if (!exact) {
          for (int64_t at = asked.begin(query); at < asked.end(query); ++at)
            row[asked.id(at)] = asked.value(query, at);
          find_common(form, points, row, sums);
          for (int64_t at = asked.begin(query); at < asked.end(query); ++at) row[asked.id(at)] = 0;
        }
        for (int64_t at = 0; at < width; ++at) {
          if (points[at] < 0 || (queries.own && queries.own[query] == points[at])) continue;
          selection.offer(exact ? pairs.exact(query, points[at]) : pairs.rough(query, points[at], sums[at]),
                          points[at]);
        }
        return selection.finish(query, ids + query * k, distances + query * k);
      };
      for (int64_t query = begin; query < end; ++query) {
        if (!finds(query, pairs.rough_is_useless())) finds(query, true);
      }
    });
    for (int64_t at = 0; at < queries.rows.rows * k; ++at) distances[at] = pairs.distance(distances[at]);
  }

  static void clear(int64_t count, int32_t* ids, float* distances) {
    std::fill_n(ids, count, -1);
    std::fill_n(distances, count, std::numeric_limits<float>::infinity());
  }

  // Points whose lists take a sixth of the memory of all, or little.
  int64_t end_of_piece(int64_t first) const {
    const int64_t entries = std::max(points_.offsets[points_.rows] / 6, kLittle);
    const int64_t* const begin = points_.offsets + first;
    const int64_t* const end = points_.offsets + points_.rows;
    return std::max(first, std::upper_bound(begin, end, *begin + entries) - points_.offsets - 1) + 1;
  }

  CsrRows points_;
  RowMetric how_;
  float largest_;
  std::unique_ptr<SparseForm> form_;
};

}  // namespace actup
