// Merges neighbour lists of the same rows that were found in different parts of the data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/parallel.hpp"

namespace actup {

// Neighbour lists, (rows, k): ascending distances in every row; id -1 at an infinite distance: no neighbour.
struct NeighborLists {
  const int32_t* ids;
  const float* distances;
  int64_t k;
};

// The nearest k different ids of two lists of a row, by (distance, id), padded with -1 and infinity.
inline void merge_row_lists(const NeighborLists& first, const NeighborLists& second, int64_t row, int64_t k,
                            int32_t* ids, float* distances) {
  const int32_t *a = first.ids + row * first.k, *b = second.ids + row * second.k;
  const float *x = first.distances + row * first.k, *y = second.distances + row * second.k;
  const int32_t *const a_end = a + first.k, *const b_end = b + second.k;
  int64_t count = 0;
  while (count < k && (a != a_end || b != b_end)) {
    const bool from_a = b == b_end || (a != a_end && (*x < *y || (*x == *y && *a <= *b)));
    const int32_t id = from_a ? *a++ : *b++;
    const float distance = from_a ? *x++ : *y++;
    if (id < 0 || std::find(ids, ids + count, id) != ids + count) continue;
    ids[count] = id;
    distances[count++] = distance;
  }
  std::fill(ids + count, ids + k, -1);
  std::fill(distances + count, distances + k, std::numeric_limits<float>::infinity());
}

// Merges two lists of each row into lists of first.k.
inline void merge_lists(const NeighborLists& first, const NeighborLists& second, int64_t rows, int threads,
                        int32_t* ids, float* distances) {
  const int64_t k = first.k;
  parallel_ranges(rows, 512, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      merge_row_lists(first, second, row, k, ids + row * k, distances + row * k);
  });
}

}  // namespace actup
