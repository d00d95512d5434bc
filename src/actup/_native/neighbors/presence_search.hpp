// Exact nearest neighbours under presence metrics: rows are bit masks of the nonzero columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/metrics.hpp"
#include "neighbors/nearest_list.hpp"

namespace actup {

// Row-major, `words` of 64 columns per row; bits beyond `columns` are 0.
struct BitRows {
  const uint64_t* data;
  int64_t rows;
  int64_t words;
  int64_t columns;
  const uint64_t* row(int64_t index) const { return data + index * words; }
};

inline std::vector<float> count_bits(const BitRows& bits) {
  std::vector<float> counts(bits.rows);
  for (int64_t row = 0; row < bits.rows; ++row) {
    int64_t count = 0;
    for (int64_t at = 0; at < bits.words; ++at) count += std::popcount(bits.row(row)[at]);
    counts[row] = static_cast<float>(count);
  }
  return counts;
}

// See nearest_exact(). A block of points is compared with a chunk of queries while it is in cache.
inline void nearest_by_presence(const BitRows& points, const BitRows& queries, bool queries_are_points,
                                int64_t k, Metric metric, int threads, int32_t* ids, float* distances) {
  if (k == 0 || queries.rows == 0) return;
  const std::vector<float> point_counts = count_bits(points), query_counts = count_bits(queries);
  const int64_t block = std::max<int64_t>(64, (int64_t{1} << 14) / points.words);
  const auto columns = static_cast<float>(points.columns);
  set_progress_range(0, 1);
  parallel_ranges(queries.rows, 64, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) NearestList{distances + row * k, ids + row * k, k}.clear();
    for (int64_t first = 0; first < points.rows; first += block) {
      checkpoint();
      for (int64_t row = begin; row < end; ++row) {
        const NearestList list{distances + row * k, ids + row * k, k};
        const uint64_t* const query = queries.row(row);
        float bound = list.bound();
        for (int64_t id = first; id < std::min(points.rows, first + block); ++id) {
          int64_t both = 0;
          for (int64_t at = 0; at < points.words; ++at) both += std::popcount(query[at] & points.row(id)[at]);
          const float distance = presence_distance(metric, static_cast<float>(both), query_counts[row],
                                                   point_counts[id], columns);
          if (distance < bound && !(queries_are_points && id == row)) {
            list.insert(distance, static_cast<int32_t>(id));
            bound = list.bound();
          }
        }
      }
    }
  });
}

}  // namespace actup
