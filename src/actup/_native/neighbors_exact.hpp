// Exact nearest neighbours: every pair is compared, in register tiles of queries times points.
//
// Points are packed in blocks of kTileLanes, column by column, so that one vector holds one column of several
// points; a tile adds up kQueries queries against one block. Columns are packed with the most varied first
// and looked at in slabs: a tile whose sums have all passed their query's bound is abandoned, which changes
// no result. Ties are broken by the smaller id. Sums run in a fixed order and one query is one chunk's work,
// so threads change nothing. Besides the result, memory is one packed copy of the points and, per thread,
// one chunk of queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "distance.h"
#include "nearest_list.hpp"
#include "parallel.hpp"
#include "row_form.hpp"
#include "vectors.h"

namespace actup {

// The tile that keeps its sums, one column of its points, a query's value and a difference in registers.
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
constexpr int64_t kSlabColumns = 64;
template <class Sum>
using TileSums = typename Sum::template State<TileVector>[kTileQueries][kTileVectors];
using TileMask = Traits<TileVector>::Ints;

// Whether any lane of a comparison is true.
inline bool any(const TileMask& mask) {
  uint64_t words[sizeof mask / 8], joined = 0;
  std::memcpy(words, &mask, sizeof mask);
  for (uint64_t word : words) joined |= word;
  return joined != 0;
}

using AlignedFloats = std::unique_ptr<float[], void (*)(float*)>;

inline AlignedFloats make_aligned_floats(int64_t count) {
  constexpr std::align_val_t alignment{64};
  return {static_cast<float*>(::operator new[](std::max<int64_t>(count, 1) * sizeof(float), alignment)),
          [](float* data) { ::operator delete[](data, alignment); }};
}

// Adds some columns of one block of points ([column][lane]) and kTileQueries queries ([column][query]). They
// are summed on their own first: short sums round less.
template <class Sum>
inline void add_slab(const Sum& sum, const float* points, const float* queries, int64_t columns,
                     TileSums<Sum>& total) {
  TileSums<Sum> slab = {};
  for (int64_t column = 0; column < columns; ++column) {
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
  for (int q = 0; q < kTileQueries; ++q) {
    for (int v = 0; v < kTileVectors; ++v) total[q][v] = sum.join(total[q][v], slab[q][v]);
  }
}

// Points packed for comparison; finds the nearest of them to any rows.
template <class Sum>
class PackedPoints {
 public:
  PackedPoints(const DenseRows& points, const RowForm& form, const Sum& sum, int threads)
      : form_(form),
        sum_(sum),
        rows_(points.rows),
        blocks_((points.rows + kTileLanes - 1) / kTileLanes),
        packed_(make_aligned_floats(blocks_ * kTileLanes * form.width())) {
    parallel_ranges(blocks_, 8, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kTileLanes; row < end * kTileLanes; ++row) {
        float* out = block(row / kTileLanes) + row % kTileLanes;
        if (row < rows_) {
          form_.write(points.row(row), RowForm::kPoint, out, kTileLanes);
        } else {  // a point that is never below a bound
          for (int64_t column = 0; column < form_.width(); ++column) {
            out[column * kTileLanes] = std::numeric_limits<float>::infinity();
          }
        }
      }
    });
  }

  // The k nearest points to the rows from `begin` to `end`, into these rows of the result.
  void search(const DenseRows& rows, int64_t begin, int64_t end, bool rows_are_points, int64_t k,
              int32_t* ids, float* distances) const {
    const int64_t groups = (end - begin + kTileQueries - 1) / kTileQueries;
    const AlignedFloats queries = make_aligned_floats(groups * kTileQueries * form_.width());
    std::vector<float> bounds(groups * kTileQueries, -1);  // padding: no sum is below
    std::fill_n(queries.get(), groups * kTileQueries * form_.width(), 0.0f);
    for (int64_t at = 0; at < end - begin; ++at) {
      form_.write(rows.row(begin + at), RowForm::kQuery,
                  queries.get() + group_offset(at / kTileQueries) + at % kTileQueries, kTileQueries);
      NearestList{distances + (begin + at) * k, ids + (begin + at) * k, k}.clear();
      bounds[at] = std::numeric_limits<float>::infinity();
    }
    for (int64_t block = 0; block < blocks_; ++block) {
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = begin + group * kTileQueries;
        scan_tile(block, queries.get() + group_offset(group), bounds.data() + group * kTileQueries,
                  rows_are_points ? first : -kTileQueries,
                  NearestList{distances + first * k, ids + first * k, k});
      }
    }
    for (int64_t at = begin * k; at < end * k; ++at) distances[at] = form_.distance(distances[at]);
  }

 private:
  float* block(int64_t index) const { return packed_.get() + index * kTileLanes * form_.width(); }
  int64_t group_offset(int64_t group) const { return group * kTileQueries * form_.width(); }

  // Offers one block of points to the lists of kTileQueries queries, of which `lists` is the first.
  void scan_tile(int64_t block_index, const float* queries, float* bounds, int64_t first_query,
                 const NearestList& lists) const {
    TileSums<Sum> total = {};
    TileVector values[kTileQueries][kTileVectors];
    for (int64_t column = 0; column < form_.width(); column += kSlabColumns) {
      add_slab(sum_, block(block_index) + column * kTileLanes, queries + column * kTileQueries,
               std::min(kSlabColumns, form_.width() - column), total);
      TileMask below = {};
      for (int q = 0; q < kTileQueries; ++q) {
        for (int v = 0; v < kTileVectors; ++v) {
          values[q][v] = sum_.value(total[q][v]);
          below |= values[q][v] < broadcast<TileVector>(bounds[q]);
        }
      }
      if ((Sum::kGrows || column + kSlabColumns >= form_.width()) && !any(below)) return;
    }
    for (int q = 0; q < kTileQueries; ++q) {
      const NearestList list{lists.sums + q * lists.size, lists.ids + q * lists.size, lists.size};
      for (int v = 0; v < kTileVectors; ++v) {
        if (!any(values[q][v] < broadcast<TileVector>(bounds[q]))) continue;
        for (int lane = 0; lane < kTileWidth; ++lane) {
          const int64_t id = block_index * kTileLanes + v * kTileWidth + lane;
          if (values[q][v][lane] < bounds[q] && id != first_query + q && id < rows_) {
            list.insert(values[q][v][lane], static_cast<int32_t>(id));
            bounds[q] = list.bound();
          }
        }
      }
    }
  }

  const RowForm& form_;
  Sum sum_;
  int64_t rows_;
  int64_t blocks_;
  AlignedFloats packed_;
};

// Queries per chunk: many, so that a block of points serves them all while it is in cache; fewer for few
// rows, so that every thread has some; always at least 64, or wide rows would be read from memory too often.
inline int64_t queries_per_chunk(int64_t rows, int64_t width) {
  const int64_t in_cache = (int64_t{1} << 19) / width;
  return std::clamp<int64_t>(std::min(in_cache, rows / 64), 64, 256);
}

// The k nearest points to every query, nearest first, into (queries.rows, k). If the queries are the points,
// none is its own neighbour. For the metrics of columns; `p` is minkowski's. The caller guarantees finite
// values and 0 <= k <= points.rows (minus one if the queries are the points).
inline void nearest_exact(const DenseRows& points, const DenseRows& queries, bool queries_are_points,
                          int64_t k, Metric metric, float p, int threads, int32_t* ids, float* distances) {
  if (k == 0 || queries.rows == 0) return;
  const RowForm form(points, queries, metric, p);
  with_sum(metric, p, [&](auto sum) {
    const PackedPoints<decltype(sum)> packed(points, form, sum, threads);
    parallel_ranges(queries.rows, queries_per_chunk(queries.rows, form.width()), threads,
                    [&](int64_t begin, int64_t end) {
                      packed.search(queries, begin, end, queries_are_points, k, ids, distances);
                    });
  });
}

}  // namespace actup
