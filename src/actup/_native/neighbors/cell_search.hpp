// Cell search: the nearest rows in the cells around each row's own, compared in float32.
//
// Integer codes have one scale for all rows. Where neighbours are much nearer to each other than rows in
// general, as in tight groups far apart, codes hardly tell them apart; cells do. All rows of a cell look into
// the same cells, so the points of these are packed once for all of them, and no copy of the rows is kept.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/cells.hpp"
#include "neighbors/compared_rows.hpp"
#include "neighbors/nearest_list.hpp"
#include "neighbors/rerank.hpp"
#include "neighbors/tile_scan.hpp"

namespace actup {

class CellIndex {
 public:
  CellIndex(const TypedRows& points, const RowMetric& row_metric, uint64_t seed, int threads)
      : points_(points, row_metric, threads),
        cells_(points_, mean_size(points.rows), seed, threads),
        cell_of_(points.rows) {
    for (int64_t cell = 0; cell < cells_.count(); ++cell) {
      for (int64_t at = cells_.starts()[cell]; at < cells_.starts()[cell + 1]; ++at) {
        cell_of_[cells_.order()[at]] = static_cast<int32_t>(cell);
      }
    }
  }

  int64_t count() const { return cells_.count(); }

  // For each row and each of `listed` other rows, ids of shape (count, listed): how many points lie in cells
  // nearer to that of the row than that of the other one.
  void points_before(const int64_t* rows, int64_t count, const int32_t* ids, int64_t listed, int threads,
                     int64_t* out) const {
    parallel_ranges(count, 4, threads, [&](int64_t begin, int64_t end) {
      std::vector<uint64_t> keys;
      std::vector<int64_t> before(cells_.count());
      for (int64_t at = begin; at < end; ++at) {
        nearness(cell_of_[rows[at]], keys);
        std::sort(keys.begin(), keys.end());
        int64_t points = 0;
        for (const uint64_t key : keys) {
          before[cell_in(key)] = points;
          points += cells_.size(cell_in(key));
        }
        for (int64_t other = at * listed; other < (at + 1) * listed; ++other) {
          out[other] = before[cell_of_[ids[other]]];
        }
      }
    });
  }

  // The k nearest other points of every point, nearest first, into (points, k); fewer than all points. A cell
  // looks into the nearest cells until they hold `looked_at` points, itself included.
  void neighbors(int64_t k, int64_t looked_at, int threads, int32_t* ids, float* distances) const {
    looked_at = std::min(std::max(looked_at, k + 1), points_.count());
    set_progress_range(0, 1);
    parallel_chunks(cells_.count(), threads,
                    [&](int64_t cell) { search_cell(cell, k, looked_at, ids, distances); });
  }

 private:
  // Rows per cell: few enough that the nearest cells hold little else than neighbours, and many enough that
  // comparing all centers takes little time next to comparing rows.
  static int64_t mean_size(int64_t points) {
    return std::max<int64_t>(96, std::llround(std::sqrt(static_cast<double>(points)) / 4));
  }

  static int64_t cell_in(uint64_t key) { return static_cast<int64_t>(key & 0xFFFFFFFF); }

  // A key for every cell that sorts by its distance from one of them, which is the first, and by its number.
  void nearness(int64_t cell, std::vector<uint64_t>& keys) const {
    keys.resize(cells_.count());
    for (int64_t other = 0; other < cells_.count(); ++other) {
      const float square = squared_difference(cells_.center(cell), cells_.center(other), cells_.stride());
      // Nonnegative floats sort like their bits.
      const uint64_t bits = other == cell ? 0 : std::bit_cast<uint32_t>(square) + uint64_t{1};
      keys[other] = bits << 32 | static_cast<uint64_t>(other);
    }
  }

  // The nearest cells that together hold `looked_at` points, itself first.
  std::vector<int64_t> cells_around(int64_t cell, int64_t looked_at) const {
    std::vector<uint64_t> keys;
    nearness(cell, keys);
    std::vector<int64_t> chosen;
    auto sorted = keys.begin();
    for (int64_t points = 0; points < looked_at;) {
      if (sorted == keys.begin() + static_cast<int64_t>(chosen.size())) {  // sort some more
        const auto more = std::max<int64_t>(16, 2 * static_cast<int64_t>(chosen.size()));
        const auto first = sorted;
        sorted += std::min<int64_t>(more, keys.end() - first);
        std::partial_sort(first, sorted, keys.end());
      }
      chosen.push_back(cell_in(keys[chosen.size()]));
      points += cells_.size(chosen.back());
    }
    return chosen;
  }

  void search_cell(int64_t cell, int64_t k, int64_t looked_at, int32_t* ids, float* distances) const {
    const int64_t count = cells_.size(cell), width = points_.width();
    const int64_t groups = (count + kTileQueries - 1) / kTileQueries;
    const int32_t* const members = cells_.order().data() + cells_.starts()[cell];
    Buffer<float> queries(groups * kTileQueries * width), block(kTileLanes * width);
    queries.clear();
    std::vector<float> row(cells_.stride()), bounds(groups * kTileQueries, -1.0f), sums(count * k);
    std::vector<int32_t> nearest(count * k);
    for (int64_t at = 0; at < count; ++at) {
      points_.read(members[at], row.data());
      float* const out = queries.data() + at / kTileQueries * kTileQueries * width + at % kTileQueries;
      for (int64_t column = 0; column < width; ++column) out[column * kTileQueries] = row[column];
      const NearestList list{sums.data() + at * k, nearest.data() + at * k, k};
      list.clear();
      bounds[at] = list.bound();
    }
    for (const int64_t other : cells_around(cell, looked_at)) {
      const int64_t end = cells_.starts()[other + 1];
      for (int64_t begin = cells_.starts()[other]; begin < end; begin += kTileLanes) {
        checkpoint();
        const int32_t* const others = cells_.order().data() + begin;
        const int64_t lanes = std::min<int64_t>(kTileLanes, end - begin);
        pack(others, lanes, row, block.data());
        for (int64_t group = 0; group < groups; ++group) {
          compare(block.data(), others, lanes, queries.data() + group * kTileQueries * width, members,
                  group * kTileQueries, k, bounds.data(), sums.data(), nearest.data());
        }
      }
    }
    compare_in_metric(members, count, k, nearest.data(), ids, distances);
  }

  // Writes rows as [column][lane]; padding is at infinite distance.
  void pack(const int32_t* others, int64_t lanes, std::vector<float>& row, float* block) const {
    for (int64_t lane = 0; lane < kTileLanes; ++lane) {
      if (lane < lanes) {
        points_.read(others[lane], row.data());
      } else {
        std::fill(row.begin(), row.end(), std::numeric_limits<float>::infinity());
      }
      for (int64_t column = 0; column < points_.width(); ++column) {
        block[column * kTileLanes + lane] = row[column];
      }
    }
  }

  // Compares a block with one group of queries, which are `members` from `first` on, and updates their lists.
  void compare(const float* block, const int32_t* others, int64_t lanes, const float* queries,
               const int32_t* members, int64_t first, int64_t k, float* bounds, float* sums,
               int32_t* nearest) const {
    TileScan<SquaredDifferences>::Values values;
    const TileScan<SquaredDifferences> scan{{}, points_.width()};
    if (!scan.any_below(block, queries, bounds + first, values)) return;
    for (int64_t query = first; query < first + kTileQueries; ++query) {
      const NearestList list{sums + query * k, nearest + query * k, k};
      for (int v = 0; v < kTileVectors; ++v) {
        const TileVector& squares = values[query - first][v];
        if (!any(squares < broadcast<TileVector>(bounds[query]))) continue;
        for (int64_t lane = 0; lane < std::min<int64_t>(kTileWidth, lanes - v * kTileWidth); ++lane) {
          const int32_t id = others[v * kTileWidth + lane];
          if (!(squares[lane] < bounds[query]) || id == members[query]) continue;
          list.insert(squares[lane], id);
          bounds[query] = list.bound();
        }
      }
    }
  }

  // Sorts lists by the distance in the metric itself.
  void compare_in_metric(const int32_t* members, int64_t count, int64_t k, const int32_t* nearest,
                         int32_t* ids, float* distances) const {
    const Reranker reranker(points_);
    std::vector<float> query(padded(points_.query_width())), squares(k);
    std::vector<uint64_t> keys;
    for (int64_t at = 0; at < count; ++at) {
      const int64_t out = members[at] * k;
      const int32_t* const list = nearest + at * k;
      const int64_t found = std::find(list, list + k, -1) - list;  // fewer than k if squares overflowed
      points_.write_query(members[at], query.data());
      reranker.prefetch(list, found);
      reranker.squares(query.data(), list, found, squares.data());
      k_smallest(squares.data(), list, found, k, keys, distances + out, ids + out);
      for (int64_t rank = out; rank < out + k; ++rank) distances[rank] = points_.distance(distances[rank]);
    }
  }

  ComparedRows points_;
  Cells cells_;
  std::vector<int32_t> cell_of_;
};

}  // namespace actup
