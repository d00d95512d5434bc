// Exact neighbours of few points: every pair is compared once, by integer codes; what can be among the k
// nearest is then compared in floats, with the sums of exact_search.hpp, so that the result has the same
// bits.
//
// Rows are put in an order in which near rows are close, and compared in blocks, near ones first: so the
// lists soon know which points are too far. Blocks that are compared at the same time are disjoint, so that
// every list has one writer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/vectors.h"
#include "neighbors/pair_codes.hpp"
#include "neighbors/pair_lists.hpp"
#include "neighbors/pair_tiles.hpp"

namespace actup {

// Prepares the tile of rows from `row` and points from `point` on, without thresholds.
inline void place_tile(const PairCodes& rows, int64_t row, const PairCodes& points, int64_t point,
                       PairTile& tile) {
  for (int r = 0; r < kPairRows; ++r) tile.rows[r] = rows.row(row + r);
  tile.points = points.row(point);
  tile.groups = points.groups();
  tile.biases = points.biases() + point;
}

// An order of rows: by the nearest of some of them, which form a chain of near ones.
inline std::vector<int32_t> near_order(const FloatRows& rows, const CodeGrid& grid, PairFunction compute,
                                       int threads) {
  constexpr int64_t kRowsPerCenter = 80, kMaxCenters = 192;
  const int64_t n = rows.count(), count = std::clamp<int64_t>(n / kRowsPerCenter, 1, kMaxCenters);
  std::vector<int32_t> all(n), ids(count), order(n), rank(count, -1), nearest(n);
  std::iota(all.begin(), all.end(), 0);
  if (count == 1) return all;
  for (int64_t center = 0; center < count; ++center) ids[center] = static_cast<int32_t>(center * (n / count));
  const PairCodes codes(rows, grid, all, threads), centers(rows, grid, ids, threads);
  const std::vector<int32_t> any(centers.capacity(), PairLists::kAnyThreshold);

  // Calls visit(row, first center, number of them, sums).
  const auto compare = [&](const PairCodes& compared, int64_t begin, int64_t end, const auto& visit) {
    PairTile tile;
    std::fill_n(tile.row_thresholds, kPairRows, PairLists::kAnyThreshold);
    std::fill_n(tile.row_shifts, kPairRows, 0);
    for (int64_t row = begin; row < end; row += kPairRows) {
      for (int64_t point = 0; point < count; point += kPairPoints) {
        place_tile(compared, row, centers, point, tile);
        tile.point_thresholds = any.data() + point;
        compute(tile);
        for (int64_t r = 0; r < std::min<int64_t>(kPairRows, end - row); ++r) {
          visit(row + r, point, std::min<int64_t>(kPairPoints, count - point), tile.sums[r]);
        }
      }
    }
  };
  std::vector<int32_t> between(count * count);
  compare(centers, 0, count, [&](int64_t row, int64_t point, int64_t found, const int32_t* sums) {
    std::copy_n(sums, found, between.data() + row * count + point);
  });
  for (int64_t last = 0, place = 0; place < count; ++place) {
    rank[last] = static_cast<int32_t>(place);
    int64_t next = -1;
    for (int64_t other = 0; other < count; ++other) {
      if (rank[other] >= 0) continue;
      if (next < 0 || between[last * count + other] > between[last * count + next]) next = other;
    }
    last = next;
  }
  parallel_ranges(n, 32 * kPairRows, threads, [&](int64_t begin, int64_t end) {
    checkpoint();
    std::vector<int32_t> best(end - begin, 2 * PairLists::kAnyThreshold);
    compare(codes, begin, end, [&](int64_t row, int64_t point, int64_t found, const int32_t* sums) {
      for (int64_t at = 0; at < found; ++at) {
        if (sums[at] <= best[row - begin]) continue;
        best[row - begin] = sums[at];
        nearest[row] = rank[point + at];
      }
    });
  });
  std::vector<int32_t> starts(count + 1);
  for (int64_t row = 0; row < n; ++row) ++starts[nearest[row] + 1];
  for (int64_t center = 0; center < count; ++center) starts[center + 1] += starts[center];
  for (int64_t row = 0; row < n; ++row) order[starts[nearest[row]]++] = static_cast<int32_t>(row);
  return order;
}

// Compares all pairs of coded rows and fills their lists.
class PairScan {
 public:
  PairScan(const PairCodes& codes, PairFunction compute, PairLists& lists, int threads)
      : codes_(codes), compute_(compute), lists_(lists), threads_(threads) {
    // Blocks as large as caches allow; smaller if there are few rows, so that every thread gets some.
    constexpr int64_t kMaxBlock = 192, kBlocksPerThread = 8;
    const int64_t wanted = codes.count() / (kBlocksPerThread * threads) / kPairPoints * kPairPoints;
    block_ = std::clamp<int64_t>(wanted, kPairPoints, kMaxBlock);
    blocks_ = (codes.count() + block_ - 1) / block_;
  }

  // Returns false if it gave up, because too many points are within reach of too many rows.
  bool run() {
    const int64_t max_overflows = codes_.count() / 50 + 4;
    for (int64_t apart = 0; apart < blocks_; ++apart) {
      const auto share_of_pairs = [this](int64_t rounds) {
        const double share = static_cast<double>(rounds) / blocks_;
        return share * (2 - share);
      };
      // Of the blocks b with partners b + apart, those of even and those of odd b / apart are disjoint pairs.
      for (int64_t odd = 0; odd < (apart > 0 && 2 * apart < blocks_ ? 2 : 1); ++odd) {
        std::vector<int64_t> begins;
        for (int64_t block = 0; block + apart < blocks_; ++block) {
          if (apart == 0 || block / apart % 2 == odd) begins.push_back(block);
        }
        set_progress_range(share_of_pairs(apart), share_of_pairs(apart + 1));
        parallel_chunks(static_cast<int64_t>(begins.size()), threads_, [&](int64_t at) {
          checkpoint();
          compare_blocks(begins[at] + apart, begins[at]);
          if (apart <= 1) cut_block(begins[at] + apart);
        });
      }
      if (lists_.overflows() > max_overflows) return false;
    }
    parallel_chunks(blocks_, threads_, [&](int64_t block) { cut_block(block); });
    return lists_.overflows() <= max_overflows;
  }

 private:
  int64_t begin_of(int64_t block) const { return block * block_; }
  int64_t end_of(int64_t block) const { return std::min(codes_.count(), (block + 1) * block_); }

  void cut_block(int64_t block) {
    for (int64_t row = begin_of(block); row < end_of(block); ++row) lists_.cut(row);
  }

  void compare_blocks(int64_t row_block, int64_t point_block) {
    PairTile tile;
    const int64_t row_end = end_of(row_block), point_end = end_of(point_block);
    for (int64_t point = begin_of(point_block); point < point_end; point += kPairPoints) {
      for (int64_t row = begin_of(row_block); row < row_end; row += kPairRows) {
        if (row_block == point_block && row + kPairRows <= point) continue;
        place_tile(codes_, row, codes_, point, tile);
        tile.point_thresholds = lists_.biased_thresholds() + point;
        for (int r = 0; r < kPairRows; ++r) {
          const bool exists = row + r < row_end;
          tile.row_thresholds[r] =
              exists ? lists_.threshold(row + r) + codes_.offset(row + r) : PairLists::kNoThreshold;
          tile.row_shifts[r] =
              exists ? codes_.offset(row + r) - codes_.bias(row + r) : PairLists::kNoThreshold;
        }
        if (compute_(tile)) offer_hits(tile, row, row_end, point, point_end);
      }
    }
  }

  // Pairs are offered once: rows after points.
  void offer_hits(const PairTile& tile, int64_t row, int64_t row_end, int64_t point, int64_t point_end) {
    for (int64_t r = 0; r < std::min<int64_t>(kPairRows, row_end - row); ++r) {
      const int64_t count = std::min(point_end, row + r) - point;
      if (count <= 0) continue;
      uint64_t hits = tile.hits[r] & (~uint64_t{0} >> (64 - std::min<int64_t>(count, 64)));
      const int32_t constant = codes_.norm(row + r) + 2 * codes_.offset(row + r);
      for (; hits; hits &= hits - 1) {
        const int64_t at = std::countr_zero(hits), other = point + at;
        // |row|² + |other|² - 2 row . other, where sum = offset + row . other + bias of the other
        const int32_t squares = constant + codes_.norm(other) + 2 * codes_.bias(other) - 2 * tile.sums[r][at];
        lists_.offer_pair(row + r, other, squares);
      }
    }
  }

  const PairCodes& codes_;
  const PairFunction compute_;
  PairLists& lists_;
  const int threads_;
  int64_t block_, blocks_;
};

}  // namespace actup
