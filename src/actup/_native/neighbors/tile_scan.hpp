// Sums over the columns of pairs of rows, in register tiles of queries times points.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/vectors.h"
#include "neighbors/column_sums.hpp"
#include "neighbors/listed_sums.hpp"

namespace actup {

// The tile size that keeps the sums, one column of the points, a query's value and a difference in registers.
#if defined(__AVX512F__)
using TileVector = float16;
constexpr int kTileQueries = 2, kTileVectors = 4;
#elif defined(__AVX__)
using TileVector = float8;
constexpr int kTileQueries = 6, kTileVectors = 2;
#else
using TileVector = float4;
constexpr int kTileQueries = 4, kTileVectors = 2;
#endif
constexpr int kTileWidth = Traits<TileVector>::lanes;
constexpr int kTileLanes = kTileVectors * kTileWidth;
template <class Sum>
using TileSums = typename Sum::template State<TileVector>[kTileQueries][kTileVectors];
using TileMask = Traits<TileVector>::Ints;

// Whether any lane of a comparison is true.
inline bool any(const TileMask& mask) {
  uint64_t words[sizeof mask / 8], combined = 0;
  std::memcpy(words, &mask, sizeof mask);
  for (uint64_t word : words) combined |= word;
  return combined != 0;
}

// Compares one block of points ([column][lane]) with kTileQueries queries ([column][query]), which have
// `width` columns.
template <class Sum>
struct TileScan {
  using Values = TileVector[kTileQueries][kTileVectors];

  Sum sum;
  int64_t width;

  // Writes the sums of all pairs, unless all of them have passed their queries' bounds after some of the
  // columns; whether any has not.
  bool any_below(const float* points, const float* queries, const float* bounds, Values& values) const {
    TileSums<Sum> total = {};
    // Slabs are summed on their own first: short sums have smaller rounding errors.
    TileSums<Sum> slab = {};
    bool may_hold = false;
    for (int64_t added = 0; added < width;) {
      const int64_t stop = std::min(next_check(added), width);
      add_columns(points, queries, added, stop, slab);
      added = stop;
      const bool ends_slab = stop % kSlabColumns == 0 || stop == width;
      if (ends_slab) {
        for (int q = 0; q < kTileQueries; ++q) {
          for (int v = 0; v < kTileVectors; ++v) {
            total[q][v] = sum.combine(total[q][v], slab[q][v]);
            slab[q][v] = typename Sum::template State<TileVector>{};
          }
        }
      }
      may_hold = evaluate(ends_slab ? total : slab, bounds, values);
      if ((Sum::kMonotonic || stop == width) && !may_hold) return false;
    }
    return may_hold;
  }

 private:
  // Sums are compared with their bounds after each slab, and after these columns of the first one.
  static constexpr int64_t kFirstChecks[] = {16, 32};

  // After which column sums are compared with their bounds next.
  static int64_t next_check(int64_t column) {
    if (Sum::kMonotonic) {
      for (const int64_t check : kFirstChecks) {
        if (column < check) return check;
      }
    }
    return (column / kSlabColumns + 1) * kSlabColumns;
  }

  void add_columns(const float* points, const float* queries, int64_t begin, int64_t end,
                   TileSums<Sum>& slab) const {
    for (int64_t column = begin; column < end; ++column) {
      TileVector point[kTileVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) {
        point[v] = load<TileVector>(points + column * kTileLanes + v * kTileWidth);
      }
#pragma GCC unroll 8
      for (int q = 0; q < kTileQueries; ++q) {
        const TileVector query = broadcast<TileVector>(queries[column * kTileQueries + q]);
#pragma GCC unroll 8
        for (int v = 0; v < kTileVectors; ++v) slab[q][v] = sum.add(slab[q][v], query, point[v]);
      }
    }
  }

  // The values of sums, and whether any of them is below the bound of its query.
  bool evaluate(const TileSums<Sum>& sums, const float* bounds, Values& values) const {
    TileMask below = {};
    for (int q = 0; q < kTileQueries; ++q) {
      for (int v = 0; v < kTileVectors; ++v) {
        values[q][v] = sum.value(sums[q][v]);
        below |= values[q][v] < broadcast<TileVector>(bounds[q]);
      }
    }
    return any(below);
  }
};

}  // namespace actup
