// True distances from a query to a few candidates, and the nearest of them by (distance, id).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "neighbors/compared_rows.hpp"

namespace actup {

class Reranker {
 public:
  explicit Reranker(const ComparedRows& points) : points_(points) {}

  // Asks for rows that will be compared soon.
  void prefetch(const int32_t* ids, int64_t count) const {
    points_.rows().typed([&](auto* values) {
      const int64_t columns = points_.rows().columns;
      for (int64_t at = 0; at < std::min(count, kMostAhead); ++at)
        prefetch_row(values + ids[at] * columns, columns);
    });
  }

  // Squared differences from a query, as ComparedRows::ask gives it, to each candidate. The first of them
  // have been asked for.
  void squares(const float* query, const int32_t* ids, int64_t count, float* out) const {
    points_.rows().typed([&](auto* values) {
      const int64_t columns = points_.rows().columns;
      for (int64_t at = 0; at < count; ++at) {
        if (at + kMostAhead < count) prefetch_row(values + ids[at + kMostAhead] * columns, columns);
        const auto* const row = values + ids[at] * columns;
        out[at] = points_.plain() ? plain_squares(query, row) : any_squares(query, row, ids[at]);
      }
    });
  }

 private:
  static constexpr int64_t kMostAhead = 8;

  template <class T>
  static void prefetch_row(const T* row, int64_t columns) {
    const auto* const bytes = reinterpret_cast<const char*>(row);
    const auto size = std::min<int64_t>(columns * static_cast<int64_t>(sizeof(T)), 2048);
    for (int64_t at = 0; at < size; at += 64) __builtin_prefetch(bytes + at);
  }

  // Four sums in turn, because one would wait for itself.
  template <class T>
  float plain_squares(const float* query, const T* row) const {
    const int64_t columns = points_.rows().columns;
    float16 sums[4] = {};
    int64_t column = 0;
    for (; column + 4 * kWide <= columns; column += 4 * kWide) {
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const int64_t at = column + part * kWide;
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
  [[gnu::noinline]] float any_squares(const float* query, const T* row, int32_t id) const {
    if (points_.values() == Values::turned) return points_.turned().square(query, row, id);
    return points_.with_values(
        [&](auto values) { return placed_squares<values>(query, row, points_.place(id)); });
  }

  template <Values values, class T>
  float placed_squares(const float* query, const T* row, const RowPlace& place) const {
    const int64_t columns = points_.rows().columns;
    const auto difference = [&](int64_t at, float16 wide) {
      const float16 asked = load_wide(query + at);
      // Of equal rows none, however the product is rounded.
      if constexpr (values == Values::scaled) return (asked - wide) * load_wide(points_.factors() + at);
      return asked - placed<values>(wide, place);
    };
    float16 sums[2] = {};
    int64_t column = 0;
    for (; column + 2 * kWide <= columns; column += 2 * kWide) {
#pragma GCC unroll 2
      for (int part = 0; part < 2; ++part) {
        const int64_t at = column + part * kWide;
        const float16 apart = difference(at, load_wide(row + at));
        sums[part] += apart * apart;
      }
    }
    float rest = 0;
    for (; column < columns; column += kWide) {
      const int64_t count = std::min<int64_t>(kWide, columns - column);
      const float16 apart =
          difference(column, count == kWide ? load_wide(row + column) : load_some(row + column, count));
      for (int64_t at = 0; at < count; ++at) rest += apart[at] * apart[at];
    }
    if (points_.has_places()) rest += (query[columns] - place.extra) * (query[columns] - place.extra);
    return sum(sums[0] + sums[1]) + rest;
  }

  const ComparedRows& points_;
};

// Writes the k smallest of `count` values with their ids, ascending by (value, id); -1 and infinity fill up.
// By counting how many are smaller, without branches, while candidates are few.
inline void smallest(const float* values, const int32_t* ids, int64_t count, int64_t k,
                     std::vector<uint64_t>& keys, float* out_values, int32_t* out_ids) {
  keys.resize(count);
  for (int64_t at = 0; at < count; ++at) {  // the bits of floats of at least 0 are in their order
    keys[at] =
        static_cast<uint64_t>(std::bit_cast<uint32_t>(values[at])) << 32 | static_cast<uint32_t>(ids[at]);
  }
  constexpr int64_t kMany = 256;
  if (count > kMany) {
    const int64_t kept = std::min(count, k);
    std::partial_sort(keys.begin(), keys.begin() + kept, keys.end());
    for (int64_t rank = 0; rank < kept; ++rank) {
      out_values[rank] = std::bit_cast<float>(static_cast<uint32_t>(keys[rank] >> 32));
      out_ids[rank] = static_cast<int32_t>(keys[rank]);
    }
  }
  for (int64_t at = 0; at < count && count <= kMany; ++at) {
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
