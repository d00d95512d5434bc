// Sums of squared differences of one row and some others, with the order of additions of exact_search.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/vectors.h"
#include "neighbors/column_sums.hpp"

namespace actup {

constexpr int64_t kSlabColumns =
    64;  // columns whose squares are added to each other before they join the sum

constexpr int kListedRows = 16;

// The columns from `begin` on of four rows, as four vectors of one column each.
inline void load_columns(const float* const* rows, int64_t begin, float4* columns) {
  const float4 a = load<float4>(rows[0] + begin), b = load<float4>(rows[1] + begin);
  const float4 c = load<float4>(rows[2] + begin), d = load<float4>(rows[3] + begin);
  const float4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const float4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  columns[0] = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  columns[1] = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  columns[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  columns[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

// Sums of `row` and kListedRows others. All have `width` columns, a multiple of 4, padded with equal values.
[[gnu::noinline]] inline void listed_sums(const float* row, const float* const* others, int64_t width,
                                          float* sums) {
  constexpr int kVectors = kListedRows / 4;
  const SquaredDifferences sum;
  float4 total[kVectors] = {};
  for (int64_t begin = 0; begin < width; begin += kSlabColumns) {
    float4 slab[kVectors] = {};
    for (int64_t at = begin; at < std::min(begin + kSlabColumns, width); at += 4) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        float4 columns[4];
        load_columns(others + 4 * v, at, columns);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) slab[v] = sum.add(slab[v], broadcast<float4>(row[at + i]), columns[i]);
      }
    }
    for (int v = 0; v < kVectors; ++v) total[v] = sum.combine(total[v], slab[v]);
  }
  for (int v = 0; v < kVectors; ++v) store(sums + 4 * v, total[v]);
}

}  // namespace actup
