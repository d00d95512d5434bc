// The few nearest centers of many rows: candidates are chosen by codes and then compared in the metric
// itself.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/vectors.h"
#include "neighbors/codes.hpp"
#include "neighbors/compared_rows.hpp"
#include "neighbors/nearest_center.hpp"
#include "neighbors/rerank.hpp"

namespace actup {

class CenterIndex {
 public:
  static constexpr int64_t kMaxWanted = 8;
  static constexpr int kLevels = 64;

  CenterIndex(const TypedRows& centers, const RowMetric& row_metric, uint64_t seed, int threads)
      : points_(centers, row_metric, threads),
        encoder_(points_, 0, kMinKeptShare, seed, threads),
        stride_(padded(points_.width())),
        values_(points_.count() * stride_) {
    const Buffer<int8_t> codes = encoder_.encode(points_, threads);
    const CodeRows rows{codes.data(), points_.count(), encoder_.groups(), encoder_.offset()};
    nearest_ = NearestCenter(rows, kNearGroups, CenterOrder::nearest_first);
    for (int64_t center = 0; center < points_.count(); ++center) {
      points_.read(center, values_.data() + center * stride_);
    }
  }

  int64_t count() const { return points_.count(); }

  // Writes the `wanted` nearest centers of every row, at most kMaxWanted and as many as there are, nearest
  // first, into (rows, wanted); and how much farther than the nearest one they are, as levels from 0 (as
  // near) to kLevels - 1. Among many centers some of the farther ones may be missed.
  void nearest(const TypedRows& rows, int64_t wanted, int threads, int32_t* ids, uint8_t* levels) const {
    const ComparedRows queries(rows, points_, threads);
    const Buffer<int8_t> codes = encoder_.encode(queries, threads);
    const Reranker reader(queries);
    nearest_.for_each_range(
        codes.data(), queries.count(), threads,
        [&](const PackedCodes& centers, const int32_t* center_ids, const int32_t* members, int64_t count) {
          const std::vector<LargestKeys> best = best_scored(centers, codes.data(), members, count, wanted);
          std::vector<float> values(stride_);
          for (int64_t at = 0; at < count; ++at) {
            if (at + kPrefetchDistance < count) reader.prefetch(members + at + kPrefetchDistance, 1);
            queries.read(members[at], values.data());
            const int64_t out = members[at] * wanted;
            compare(values.data(), best[at], center_ids, wanted, ids + out, levels + out);
          }
        });
  }

 private:
  static constexpr double kMinKeptShare = 0;       // outliers may be clipped in the codes, as in CodeIndex
  static constexpr int64_t kNearGroups = 8;        // see NearestCenter
  static constexpr int64_t kPrefetchDistance = 6;  // rows

  // The largest keys so far, in descending order. Inserting one takes no branches, which would be
  // mispredicted.
  struct LargestKeys {
    int64_t keys[kMaxWanted + 1];  // the first one is larger than all others

    LargestKeys() {
      keys[0] = INT64_MAX;
      std::fill(keys + 1, keys + kMaxWanted + 1, INT64_MIN);
    }
    void insert(int64_t key) {
#pragma GCC unroll 8
      for (int64_t at = kMaxWanted; at > 0; --at) keys[at] = std::max(keys[at], std::min(keys[at - 1], key));
    }
  };

  // A key that sorts by value and, among equal values, puts smaller numbers first.
  static int64_t key_of(int32_t value, int64_t number) {
    return int64_t{value} * (int64_t{1} << 32) - number;
  }
  static int64_t number_of(int64_t key) { return -key & 0xFFFFFFFF; }
  static int32_t value_of(int64_t key) { return static_cast<int32_t>((key + 0xFFFFFFFF) >> 32); }

  // Keys of the best-scored centers: scores and positions in `centers`.
  std::vector<LargestKeys> best_scored(const PackedCodes& centers, const int8_t* codes,
                                       const int32_t* members, int64_t count, int64_t wanted) const {
    std::vector<LargestKeys> best(count);
    std::vector<const int8_t*> queries(count);
    std::vector<int32_t> thresholds(count, PackedCodes::kLowestScore);
    for (int64_t at = 0; at < count; ++at) queries[at] = codes + members[at] * encoder_.stride();
    with_instructions([&](auto set) {
      scan<decltype(set)>(centers.view(), queries.data(), thresholds.data(), count,
                          [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
                            LargestKeys& largest = best[query];
                            for (; mask; mask &= mask - 1) {
                              const int lane = std::countr_zero(mask);
                              if (scores[lane] >= thresholds[query]) {
                                largest.insert(key_of(scores[lane], first + lane));
                                thresholds[query] =
                                    std::max(thresholds[query], value_of(largest.keys[wanted]) + 1);
                              }
                            }
                          });
    });
    return best;
  }

  // Sorts the best-scored centers of a row by (squared difference, id).
  void compare(const float* row, const LargestKeys& best, const int32_t* center_ids, int64_t wanted,
               int32_t* ids, uint8_t* levels) const {
    LargestKeys nearest;
    for (int64_t at = 1; at <= wanted; ++at) {
      const int32_t id = center_ids[number_of(best.keys[at])];
      const float square = squared_difference(row, values_.data() + id * stride_);
      nearest.insert(key_of(-std::bit_cast<int32_t>(square), id));  // nonnegative floats sort like their bits
    }
    const float smallest = square_of(nearest.keys[1]);
    for (int64_t at = 0; at < wanted; ++at) {
      ids[at] = static_cast<int32_t>(number_of(nearest.keys[at + 1]));
      levels[at] = level_of(smallest, square_of(nearest.keys[at + 1]));
    }
  }

  static float square_of(int64_t key) { return std::bit_cast<float>(-value_of(key)); }

  // From 0 to 1, squared distances that exceed the smallest one by a small share are told apart best.
  static uint8_t level_of(float smallest, float square) {
    const float excess = square > 0 ? 1 - smallest / square : 0.0f;
    return static_cast<uint8_t>(std::min(kLevels - 1, static_cast<int>(kLevels * std::sqrt(excess))));
  }

  float squared_difference(const float* x, const float* y) const {
    float16 sums{};
    for (int64_t column = 0; column < stride_; column += kWideLanes) {
      const float16 difference = load_wide(x + column) - load_wide(y + column);
      sums += difference * difference;
    }
    return sum(sums);
  }

  ComparedRows points_;
  Encoder encoder_;
  int64_t stride_;        // of values_
  Buffer<float> values_;  // the centers as they are compared
  NearestCenter nearest_;
};

}  // namespace actup
