// The k smallest of many values, kept sorted by insertion.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace actup {

// The `size` smallest sums so far, ascending, with their ids; it writes into a row of the result.
struct NearestList {
  float* sums;
  int32_t* ids;
  int64_t size;

  // Sums from `limit` on are not kept.
  void clear(float limit = std::numeric_limits<float>::infinity()) const {
    std::fill_n(sums, size, limit);
    std::fill_n(ids, size, -1);
  }
  float bound() const { return sums[size - 1]; }
  // Requires sum < bound(). If ids come in ascending order, equal sums are sorted by id.
  void insert(float sum, int32_t id) const {
    const int64_t at = std::upper_bound(sums, sums + size, sum) - sums;
    std::memmove(sums + at + 1, sums + at, (size - at - 1) * sizeof *sums);
    std::memmove(ids + at + 1, ids + at, (size - at - 1) * sizeof *ids);
    sums[at] = sum;
    ids[at] = id;
  }
};

}  // namespace actup
