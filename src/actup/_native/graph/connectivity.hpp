// Connection and degrees of a symmetric graph, for the start of a map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/union_find.hpp"
#include "graph/graph_view.hpp"

namespace actup {

inline constexpr int64_t kRowsPerCheckpoint = 1 << 16;

// Whether a path joins any two of n points; weights do not matter. The first edges of all points join most of
// them to one set; only points outside of it are asked for their other edges.
inline bool is_connected(const int64_t* offsets, const int32_t* indices, int64_t n) {
  UnionFind sets(n);
  int64_t count = n;
  const auto join = [&](int64_t row, int64_t edge) {
    const int32_t a = sets.find(static_cast<int32_t>(row)), b = sets.find(indices[edge]);
    if (a == b) return;
    sets.attach(std::max(a, b), std::min(a, b));
    --count;
  };
  constexpr int64_t kFirstEdges = 2;
  for (int64_t first = 0; first < kFirstEdges; ++first) {
    for (int64_t row = 0; row < n; ++row) {
      if (row % kRowsPerCheckpoint == 0) checkpoint();
      if (const int64_t edge = offsets[row] + first; edge < offsets[row + 1]) join(row, edge);
    }
  }
  std::vector<int32_t> sizes(n);
  for (int64_t row = 0; row < n; ++row) ++sizes[sets.find(static_cast<int32_t>(row))];
  const auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
  for (int64_t row = 0; row < n && count > 1; ++row) {
    if (row % kRowsPerCheckpoint == 0) checkpoint();
    if (sets.find(static_cast<int32_t>(row)) == sets.find(static_cast<int32_t>(largest))) continue;
    for (int64_t edge = offsets[row] + kFirstEdges; edge < offsets[row + 1]; ++edge) join(row, edge);
  }
  return count <= 1;
}

// The sum of the weights of every point, as differences of one running sum.
inline void degrees(const GraphView& graph, double* out) {
  double total = 0;
  for (int64_t row = 0; row < graph.n; ++row) {
    if (row % kRowsPerCheckpoint == 0) checkpoint();
    const double before = total;
    for (int64_t edge = graph.offsets[row]; edge < graph.offsets[row + 1]; ++edge)
      total += graph.weights[edge];
    out[row] = total - before;
  }
}

}  // namespace actup
