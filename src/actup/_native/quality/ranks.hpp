// The nearest points of a row of distances, and the rank of given points in it. Ties are broken by index.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/parallel.hpp"

namespace actup {

// The k nearest points of one row, nearest first. To exclude a point, set its distance to infinity. Needs k
// <= n.
template <class Real>
void nearest_in_row(const Real* distances, int64_t n, int64_t k, Real* best, int32_t* ids) {
  constexpr int64_t kRun = 64;  // points; a run without a candidate costs only one vectorised minimum
  int64_t found = 0;
  for (int64_t begin = 0; begin < n; begin += kRun) {
    const int64_t end = std::min(n, begin + kRun);
    Real smallest = std::numeric_limits<Real>::infinity();
    for (int64_t j = begin; j < end; ++j) smallest = distances[j] < smallest ? distances[j] : smallest;
    if (found == k && !(smallest < best[k - 1])) continue;
    for (int64_t j = begin; j < end; ++j) {
      if (found == k && !(distances[j] < best[k - 1])) continue;
      int64_t slot = found < k ? found++ : k - 1;
      for (; slot > 0 && distances[j] < best[slot - 1]; --slot) {
        best[slot] = best[slot - 1];
        ids[slot] = ids[slot - 1];
      }
      best[slot] = distances[j];
      ids[slot] = static_cast<int32_t>(j);
    }
  }
}

// 1 + the number of points that come before point `id` in the order of (distance, index).
template <class Real>
int32_t rank_in_row(const Real* distances, int64_t n, int64_t id) {
  const Real own = distances[id];
  int32_t before = 0;
  for (int64_t j = 0; j < id; ++j) before += distances[j] <= own;
  for (int64_t j = id + 1; j < n; ++j) before += distances[j] < own;
  return before + 1;
}

template <class Real>
void nearest_in_rows(const Real* distances, int64_t rows, int64_t n, int64_t k, int32_t* ids, int threads) {
  std::vector<Real> best(rows * k);
  parallel_chunks(rows, threads, [&](int64_t row) {
    nearest_in_row(distances + row * n, n, k, best.data() + row * k, ids + row * k);
  });
}

template <class Real>
void ranks_in_rows(const Real* distances, const int32_t* ids, int64_t rows, int64_t n, int64_t k,
                   int32_t* ranks, int threads) {
  parallel_chunks(rows, threads, [&](int64_t row) {
    for (int64_t i = row * k; i < (row + 1) * k; ++i) ranks[i] = rank_in_row(distances + row * n, n, ids[i]);
  });
}

}  // namespace actup
