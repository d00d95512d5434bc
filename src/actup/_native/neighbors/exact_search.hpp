// Exact nearest neighbours: every pair is compared, in register tiles of queries times points.
//
// Points are packed in blocks of kTileLanes, column by column, so that one vector holds one column of several
// points; a tile compares kTileQueries queries with one block. Columns are packed by decreasing variance and
// summed in slabs: a tile whose sums have all passed their queries' bounds is abandoned, which changes no
// result. Sums of the first few columns, which vary most, often have. Ties are broken by the smaller id. Sums
// have a fixed order and a query is searched by one thread, so the number of threads changes nothing. Points
// are packed in chunks: besides the result, memory holds one packed chunk of points and, per thread, one
// chunk of queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/few_points.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/nearest_list.hpp"
#include "neighbors/row_form.hpp"
#include "neighbors/tile_scan.hpp"

namespace actup {

// One chunk of the points, packed for comparison; finds the nearest of them for any rows.
template <class Sum>
class PackedPoints {
 public:
  // Has memory for `capacity` points.
  PackedPoints(const RowForm& form, const Sum& sum, int64_t capacity)
      : form_(form), scan_{sum, form.width()}, packed_(blocks_for(capacity) * kTileLanes * form.width()) {}

  void pack(const TypedRows& points, int64_t begin, int64_t end, int threads) {
    begin_ = begin;
    end_ = end;
    blocks_ = blocks_for(end - begin);
    parallel_ranges(blocks_, 8, threads, [&](int64_t first, int64_t last) {
      std::vector<float> buffer;
      for (int64_t at = first * kTileLanes; at < last * kTileLanes; ++at) {
        if (at % kTileLanes == 0) checkpoint();
        float* out = block(at / kTileLanes) + at % kTileLanes;
        if (begin + at < end) {
          form_.write(points.floats(begin + at, 1, buffer), RowForm::kPoint, out, kTileLanes);
        } else {  // padding: its sums are never below a bound
          for (int64_t column = 0; column < form_.width(); ++column) {
            out[column * kTileLanes] = std::numeric_limits<float>::infinity();
          }
        }
      }
    });
  }

  // Searches the packed points for queries `begin` to `end`, and updates their lists: rows of `ids` and
  // `sums`.
  void search(const TypedRows& rows, int64_t begin, int64_t end, bool rows_are_points, int64_t k,
              int32_t* ids, float* sums) const {
    const int64_t groups = (end - begin + kTileQueries - 1) / kTileQueries;
    Buffer<float> queries(groups * kTileQueries * form_.width());
    std::vector<float> bounds(groups * kTileQueries, -1), buffer;  // no sum is below the -1 of padding
    queries.clear();
    for (int64_t at = 0; at < end - begin; ++at) {
      form_.write(rows.floats(begin + at, 1, buffer), RowForm::kQuery,
                  queries.data() + group_offset(at / kTileQueries) + at % kTileQueries, kTileQueries);
      bounds[at] = NearestList{sums + (begin + at) * k, ids + (begin + at) * k, k}.bound();
    }
    for (int64_t block = 0; block < blocks_; ++block) {
      checkpoint();
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = begin + group * kTileQueries;
        scan_tile(block, queries.data() + group_offset(group), bounds.data() + group * kTileQueries,
                  rows_are_points ? first : -kTileQueries, NearestList{sums + first * k, ids + first * k, k});
      }
    }
  }

 private:
  static int64_t blocks_for(int64_t points) { return (points + kTileLanes - 1) / kTileLanes; }
  float* block(int64_t index) { return packed_.data() + index * kTileLanes * form_.width(); }
  const float* block(int64_t index) const { return packed_.data() + index * kTileLanes * form_.width(); }
  int64_t group_offset(int64_t group) const { return group * kTileQueries * form_.width(); }

  // Compares one block of points with kTileQueries queries and updates their lists; `lists` is the first one.
  void scan_tile(int64_t block_index, const float* queries, float* bounds, int64_t first_query,
                 const NearestList& lists) const {
    TileVector values[kTileQueries][kTileVectors];
    if (!scan_.any_below(block(block_index), queries, bounds, values)) return;
    for (int q = 0; q < kTileQueries; ++q) {
      const NearestList list{lists.sums + q * lists.size, lists.ids + q * lists.size, lists.size};
      for (int v = 0; v < kTileVectors; ++v) {
        if (!any(values[q][v] < broadcast<TileVector>(bounds[q]))) continue;
        for (int lane = 0; lane < kTileWidth; ++lane) {
          const int64_t id = begin_ + block_index * kTileLanes + v * kTileWidth + lane;
          if (values[q][v][lane] < bounds[q] && id != first_query + q && id < end_) {
            list.insert(values[q][v][lane], static_cast<int32_t>(id));
            bounds[q] = list.bound();
          }
        }
      }
    }
  }

  const RowForm& form_;
  TileScan<Sum> scan_;
  int64_t begin_ = 0, end_ = 0, blocks_ = 0;  // which points are packed, in how many blocks
  Buffer<float> packed_;
};

// Queries per chunk: many, so that a block of points is compared with all of them while it is in cache; fewer
// if there are few rows, so that every thread gets some; at least 64, so that wide points are not read from
// memory too often, unless 64 packed queries would take much memory next to all rows.
inline int64_t queries_per_chunk(const TypedRows& rows, int64_t width) {
  const int64_t in_cache = (int64_t{1} << 19) / width;
  const int64_t min_queries = std::clamp<int64_t>(rows.bytes() / (128 * width), 16, 64);
  return std::clamp<int64_t>(std::min(in_cache, rows.rows / 64), min_queries, 256);
}

// Points per packed chunk: it takes a sixth of the memory of all points, or kMinChunkBytes if that is more.
inline int64_t points_per_chunk(const TypedRows& points, int64_t width) {
  constexpr int64_t kMinChunkBytes = int64_t{1} << 22;
  const int64_t wanted =
      std::max(points.bytes() / 6, kMinChunkBytes) / (width * static_cast<int64_t>(sizeof(float)));
  return std::min(points.rows, std::max<int64_t>(wanted / kTileLanes, 1) * kTileLanes);
}

// nearest_exact() for queries whose values suit the scale of `form`.
inline void nearest_in_form(const TypedRows& points, const TypedRows& queries, const RowForm& form,
                            bool queries_are_points, int64_t k, const RowMetric& row_metric, int threads,
                            int32_t* ids, float* distances, const float* limits) {
  const int64_t point_chunk = points_per_chunk(points, form.width());
  const int64_t query_chunk = queries_per_chunk(queries, form.width());
  for (int64_t row = 0; row < queries.rows; ++row) {
    NearestList{distances + row * k, ids + row * k, k}.clear(limits ? form.sum_beyond(limits[row])
                                                                    : std::numeric_limits<float>::infinity());
  }
  with_sum(row_metric.metric, row_metric.p, [&](auto sum) {
    PackedPoints<decltype(sum)> packed(form, sum, point_chunk);
    for (int64_t first = 0; first < points.rows; first += point_chunk) {
      const int64_t last = std::min(first + point_chunk, points.rows);
      const double before = static_cast<double>(first) / points.rows;
      set_progress_range(before, before);
      packed.pack(points, first, last, threads);
      set_progress_range(before, static_cast<double>(last) / points.rows);
      parallel_ranges(queries.rows, query_chunk, threads, [&](int64_t begin, int64_t end) {
        packed.search(queries, begin, end, queries_are_points, k, ids, distances);
      });
    }
  });
  for (int64_t at = 0; at < queries.rows * k; ++at) {
    distances[at] = ids[at] < 0 ? std::numeric_limits<float>::infinity() : form.distance(distances[at]);
  }
}

// The k nearest other points of every point, if there are few points and codes can tell them apart.
inline bool nearest_of_few(const TypedRows& points, const RowForm& form, int64_t k, int threads, int32_t* ids,
                           float* distances) {
  if (!form.is_euclidean() || !FewPoints::needed_bytes(points.rows, form.width(), k)) return false;
  if (!FewPoints(points, form, k, threads).find(ids, distances)) return false;
  for (int64_t at = 0; at < points.rows * k; ++at) distances[at] = form.distance(distances[at]);
  return true;
}

// The k nearest points of every query, nearest first, into (queries.rows, k), under a metric of columns. If
// the queries are the points, none is its own neighbour. The caller guarantees finite values and 0 <= k <=
// points.rows (minus one if the queries are the points). Searches with the same `column_order`, of RowForm,
// give the same distances to the bit, whatever other points there are. If there are `limits`, one distance
// for each query, points beyond it are not wanted: lists end with id -1 and an infinite distance. Without
// codes (`by_codes`), few points take less memory and more time, and give the same bits.
inline void nearest_exact(const TypedRows& points, const TypedRows& queries, bool queries_are_points,
                          int64_t k, const RowMetric& row_metric, int threads, int32_t* ids, float* distances,
                          const std::vector<int64_t>& column_order = {}, const float* limits = nullptr,
                          bool by_codes = true) {
  if (k == 0 || queries.rows == 0) return;
  const RowForm form(points, row_metric, column_order, 0, threads);
  if (by_codes && queries_are_points && !limits && nearest_of_few(points, form, k, threads, ids, distances))
    return;
  nearest_in_form(points, queries, form, queries_are_points, k, row_metric, threads, ids, distances, limits);
  if (queries_are_points) return;
  std::vector<float> buffer;
  // A query far larger than all points needs another scale.
  for (int64_t row = 0; row < queries.rows; ++row) {
    const float largest = form.largest_value(queries.floats(row, 1, buffer));
    if (form.suits(largest)) continue;
    nearest_in_form(points, queries.slice(row, 1), RowForm(points, row_metric, column_order, largest), false,
                    k, row_metric, threads, ids + row * k, distances + row * k,
                    limits ? limits + row : nullptr);
  }
}

}  // namespace actup
