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
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "distance.h"
#include "parallel.hpp"
#include "vectors.h"

namespace actup {

// Row-major, `rows` times `columns`.
struct DenseRows {
  const float* data;
  int64_t rows;
  int64_t columns;
  const float* row(int64_t index) const { return data + index * columns; }
};

// Brings rows to the form in which they are compared, with the columns in the order in which they are.
class RowForm {
 public:
  RowForm(const DenseRows& points, const DenseRows& queries, Metric metric)
      : metric_(metric), columns_(points.columns) {
    order_.resize(columns_ + (uses_directions(metric) ? 1 : 0));
    std::iota(order_.begin(), order_.end(), 0);
    if (!uses_directions(metric)) choose_scale(std::max(largest_value(points), largest_value(queries)));
    if (width() > 1) choose_order(points);
  }

  int64_t width() const { return static_cast<int64_t>(order_.size()); }
  float distance(float sum) const { return std::ldexp(distance_of(metric_, sum), exponent_); }

  // Writes width() values, `stride` apart.
  void write(const float* row, float* out, int64_t stride) const {
    const Direction direction = uses_directions(metric_) ? direction_of(row) : Direction{0, scale_, false};
    for (int64_t at = 0; at < width(); ++at) {
      const int64_t column = order_[at];
      out[at * stride] = column < columns_
                             ? static_cast<float>((row[column] - direction.mean) * direction.factor)
                             : static_cast<float>(direction.none);
    }
  }

 private:
  struct Direction {
    double mean;
    double factor;
    bool none;
  };

  // In double precision: no square overflows, and the mean of equal values is that value.
  Direction direction_of(const float* row) const {
    double mean = 0, squares = 0;
    if (metric_ == Metric::correlation) {
      for (int64_t column = 0; column < columns_; ++column) mean += row[column];
      mean /= static_cast<double>(columns_);
    }
    for (int64_t column = 0; column < columns_; ++column) {
      squares += (row[column] - mean) * (row[column] - mean);
    }
    return {mean, squares > 0 ? 1 / std::sqrt(squares) : 0, squares == 0};
  }

  static float largest_value(const DenseRows& rows) {
    float largest = 0;
    for (int64_t at = 0; at < rows.rows * rows.columns; ++at) {
      largest = std::max(largest, std::fabs(rows.data[at]));
    }
    return largest;
  }

  // A power of two that brings the largest value below 1: exact, and no square overflows.
  void choose_scale(float largest) {
    std::frexp(largest, &exponent_);
    scale_ = std::ldexp(1.0, -exponent_);
  }

  // Columns by falling variance in a sample of rows, so that sums pass their bounds early.
  void choose_order(const DenseRows& points) {
    const int64_t step = std::max<int64_t>(1, points.rows / kSampledRows);
    std::vector<float> row(width());
    std::vector<double> sums(width()), squares(width());
    int64_t count = 0;
    for (int64_t index = 0; index < points.rows; index += step, ++count) {
      write(points.row(index), row.data(), 1);
      for (int64_t column = 0; column < width(); ++column) {
        sums[column] += row[column];
        squares[column] += static_cast<double>(row[column]) * row[column];
      }
    }
    for (int64_t column = 0; column < width(); ++column) {
      squares[column] -= sums[column] * sums[column] / static_cast<double>(count);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int64_t a, int64_t b) { return squares[a] > squares[b]; });
  }

  static constexpr int64_t kSampledRows = 1024;

  Metric metric_;
  int64_t columns_;
  std::vector<int64_t> order_;
  int exponent_ = 0;
  double scale_ = 1;
};

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
using TileSums = TileVector[kTileQueries][kTileVectors];
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
inline void add_slab(const float* points, const float* queries, int64_t columns, TileSums& total) {
  TileSums slab = {};
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
      for (int v = 0; v < kTileVectors; ++v) slab[q][v] = Sum::add(slab[q][v], query, point[v]);
    }
  }
  for (int q = 0; q < kTileQueries; ++q) {
    for (int v = 0; v < kTileVectors; ++v) total[q][v] = Sum::join(total[q][v], slab[q][v]);
  }
}

// Points packed for comparison; finds the nearest of them to any rows.
template <class Sum>
class PackedPoints {
 public:
  PackedPoints(const DenseRows& points, const RowForm& form, int threads)
      : form_(form),
        rows_(points.rows),
        blocks_((points.rows + kTileLanes - 1) / kTileLanes),
        packed_(make_aligned_floats(blocks_ * kTileLanes * form.width())) {
    parallel_ranges(blocks_, 8, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * kTileLanes; row < end * kTileLanes; ++row) {
        float* out = block(row / kTileLanes) + row % kTileLanes;
        if (row < rows_) {
          form_.write(points.row(row), out, kTileLanes);
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
      form_.write(rows.row(begin + at), queries.get() + group_offset(at / kTileQueries) + at % kTileQueries,
                  kTileQueries);
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
    TileSums total = {};
    for (int64_t column = 0; column < form_.width(); column += kSlabColumns) {
      add_slab<Sum>(block(block_index) + column * kTileLanes, queries + column * kTileQueries,
                    std::min(kSlabColumns, form_.width() - column), total);
      TileMask below = {};
      for (int q = 0; q < kTileQueries; ++q) {
        for (int v = 0; v < kTileVectors; ++v) below |= total[q][v] < broadcast<TileVector>(bounds[q]);
      }
      if (!any(below)) return;
    }
    for (int q = 0; q < kTileQueries; ++q) {
      const NearestList list{lists.sums + q * lists.size, lists.ids + q * lists.size, lists.size};
      for (int v = 0; v < kTileVectors; ++v) {
        if (!any(total[q][v] < broadcast<TileVector>(bounds[q]))) continue;
        for (int lane = 0; lane < kTileWidth; ++lane) {
          const int64_t id = block_index * kTileLanes + v * kTileWidth + lane;
          if (total[q][v][lane] < bounds[q] && id != first_query + q) {
            list.insert(total[q][v][lane], static_cast<int32_t>(id));
            bounds[q] = list.bound();
          }
        }
      }
    }
  }

  const RowForm& form_;
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

template <class Sum>
void search_exact(const DenseRows& points, const DenseRows& queries, const RowForm& form,
                  bool queries_are_points, int64_t k, int threads, int32_t* ids, float* distances) {
  const PackedPoints<Sum> packed(points, form, threads);
  parallel_ranges(queries.rows, queries_per_chunk(queries.rows, form.width()), threads,
                  [&](int64_t begin, int64_t end) {
                    packed.search(queries, begin, end, queries_are_points, k, ids, distances);
                  });
}

// The k nearest points to every query, nearest first, into (queries.rows, k). If the queries are the points,
// none is its own neighbour. The caller guarantees finite values and 0 <= k <= points.rows (minus one if the
// queries are the points).
inline void nearest_exact(const DenseRows& points, const DenseRows& queries, bool queries_are_points,
                          int64_t k, Metric metric, int threads, int32_t* ids, float* distances) {
  if (k == 0 || queries.rows == 0) return;
  const RowForm form(points, queries, metric);
  switch (metric) {
    case Metric::manhattan:
      return search_exact<AbsoluteDifferences>(points, queries, form, queries_are_points, k, threads, ids,
                                               distances);
    case Metric::chebyshev:
      return search_exact<LargestDifference>(points, queries, form, queries_are_points, k, threads, ids,
                                             distances);
    default:
      return search_exact<SquaredDifferences>(points, queries, form, queries_are_points, k, threads, ids,
                                              distances);
  }
}

}  // namespace actup
