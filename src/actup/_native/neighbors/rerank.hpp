// Re-ranks candidates: their distances to a query in the metric itself, and the nearest by (distance, id).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/compared_rows.hpp"

namespace actup {

class Reranker {
 public:
  explicit Reranker(const ComparedRows& points) : points_(points) {}

  // Prefetches the first rows that will be compared soon.
  void prefetch(const int32_t* ids, int64_t count) const {
    points_.rows().typed([&](auto* values) {
      const int64_t columns = points_.rows().columns;
      for (int64_t at = 0; at < std::min(count, kPrefetchRows); ++at)
        prefetch_row(values + ids[at] * columns, columns);
    });
  }

  // Squared differences between a query, as ComparedRows::write_query writes it, and each candidate;
  // prefetch() must have been called.
  void squares(const float* query, const int32_t* ids, int64_t count, float* out) const {
    points_.rows().typed([&](auto* values) {
      const int64_t columns = points_.rows().columns;
      for (int64_t at = 0; at < count; ++at) {
        if (is_slow_to_compare()) checkpoint();
        if (at + kPrefetchRows < count) prefetch_row(values + ids[at + kPrefetchRows] * columns, columns);
        const auto* const row = values + ids[at] * columns;
        out[at] = points_.is_plain() ? plain_squares(query, row) : converted_squares(query, row, ids[at]);
      }
    });
  }

 private:
  static constexpr int64_t kPrefetchRows = 8;
  static constexpr int64_t kSlowColumns = 2048;

  // Whether a checkpoint takes little time next to the comparison of two rows.
  bool is_slow_to_compare() const {
    return points_.rows().columns >= kSlowColumns || points_.conversion() == Conversion::projection;
  }

  template <class T>
  static void prefetch_row(const T* row, int64_t columns) {
    const auto* const bytes = reinterpret_cast<const char*>(row);
    const auto size = std::min<int64_t>(columns * static_cast<int64_t>(sizeof(T)), 2048);
    for (int64_t at = 0; at < size; at += 64) __builtin_prefetch(bytes + at);
  }

  // Four independent sums: each addition to a single one would have to wait for the previous addition.
  template <class T>
  float plain_squares(const float* query, const T* row) const {
    const int64_t columns = points_.rows().columns;
    float16 sums[4] = {};
    int64_t column = 0;
    for (; column + 4 * kWideLanes <= columns; column += 4 * kWideLanes) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const int64_t at = column + part * kWideLanes;
        const float16 difference = load_wide(query + at) - load_wide(row + at);
        sums[part] += difference * difference;
      }
    }
    for_each_wide(row + column, columns - column, [&](int64_t at, float16 values) {
      const float16 difference = load_wide(query + column + at) - values;
      sums[0] += difference * difference;
    });
    return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }

  template <class T>
  [[gnu::noinline]] float converted_squares(const float* query, const T* row, int32_t id) const {
    if (points_.conversion() == Conversion::projection) {
      return points_.projected().squared_difference(query, row, id);
    }
    return points_.with_conversion(
        [&](auto conversion) { return adjusted_squares<conversion>(query, row, points_.adjustment(id)); });
  }

  template <Conversion conversion, class T>
  float adjusted_squares(const float* query, const T* row, const Adjustment& adjustment) const {
    const int64_t columns = points_.rows().columns;
    const auto difference = [&](int64_t at, float16 wide) {
      const float16 query_values = load_wide(query + at);
      // Subtracting before multiplying makes the difference of equal rows exactly 0.
      if constexpr (conversion == Conversion::column_factors) {
        return (query_values - wide) * load_wide(points_.factors() + at);
      }
      return query_values - converted<conversion>(wide, adjustment);
    };
    float16 sums[2] = {};
    int64_t column = 0;
    for (; column + 2 * kWideLanes <= columns; column += 2 * kWideLanes) {
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {
        const int64_t at = column + part * kWideLanes;
        const float16 delta = difference(at, load_wide(row + at));
        sums[part] += delta * delta;
      }
    }
    float rest = 0;
    for (; column < columns; column += kWideLanes) {
      const int64_t count = std::min<int64_t>(kWideLanes, columns - column);
      const float16 delta = difference(
          column, count == kWideLanes ? load_wide(row + column) : load_partial(row + column, count));
      for (int64_t at = 0; at < count; ++at) rest += delta[at] * delta[at];
    }
    if (points_.has_adjustments())
      rest += (query[columns] - adjustment.extra) * (query[columns] - adjustment.extra);
    return sum(sums[0] + sums[1]) + rest;
  }

  const ComparedRows& points_;
};

// Writes the k smallest of `count` values with their ids, ascending by (value, id), padded with infinity and
// -1. Up to kMaxForCounting values are sorted by counting, for each, how many are smaller: it needs no
// branches.
inline void k_smallest(const float* values, const int32_t* ids, int64_t count, int64_t k,
                       std::vector<uint64_t>& keys, float* out_values, int32_t* out_ids) {
  keys.resize(count);
  for (int64_t at = 0; at < count; ++at) {  // nonnegative floats sort like their bits
    keys[at] =
        static_cast<uint64_t>(std::bit_cast<uint32_t>(values[at])) << 32 | static_cast<uint32_t>(ids[at]);
  }
  constexpr int64_t kMaxForCounting = 256;
  if (count > kMaxForCounting) {
    const int64_t kept = std::min(count, k);
    std::partial_sort(keys.begin(), keys.begin() + kept, keys.end());
    for (int64_t rank = 0; rank < kept; ++rank) {
      out_values[rank] = std::bit_cast<float>(static_cast<uint32_t>(keys[rank] >> 32));
      out_ids[rank] = static_cast<int32_t>(keys[rank]);
    }
  }
  for (int64_t at = 0; at < count && count <= kMaxForCounting; ++at) {
    const auto key = static_cast<int64_t>(keys[at]);
    int64_t rank = 0;
    for (int64_t other = 0; other < count; ++other) rank += static_cast<int64_t>(keys[other]) < key;
    if (rank >= k) continue;
    out_values[rank] = values[at];
    out_ids[rank] = ids[at];
  }
  std::fill(out_values + std::min(count, k), out_values + k, std::numeric_limits<float>::infinity());
  std::fill(out_ids + std::min(count, k), out_ids + k, -1);
}

}  // namespace actup
