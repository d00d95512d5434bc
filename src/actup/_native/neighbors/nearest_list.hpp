// The few smallest of many values, kept in order while they are offered one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace actup {

// The k smallest sums seen so far, ascending, with their ids; kept in the rows of the result.
struct NearestList {
  float* sums;
  int32_t* ids;
  int64_t size;

  void clear() const {
    std::fill_n(sums, size, std::numeric_limits<float>::infinity());
    std::fill_n(ids, size, -1);
  }
  float bound() const { return sums[size - 1]; }
  // For sum < bound(), and ids offered in ascending order: an equal sum then belongs behind.
  void insert(float sum, int32_t id) const {
    const int64_t at = std::upper_bound(sums, sums + size, sum) - sums;
    std::memmove(sums + at + 1, sums + at, (size - at - 1) * sizeof *sums);
    std::memmove(ids + at + 1, ids + at, (size - at - 1) * sizeof *ids);
    sums[at] = sum;
    ids[at] = id;
  }
};

}  // namespace actup
