// The symmetric graph: both directions of every edge merged into one row per point.
//
// Every row is one thread's work and every sum has a fixed order, so the result does not depend on the
// threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "graph/bandwidth.h"
#include "graph/neighbor_rows.hpp"

namespace actup {

struct SparseRows {
  std::unique_ptr<int64_t[]> offsets;
  std::unique_ptr<int32_t[]> ids;
  std::unique_ptr<float[]> weights;
  int64_t rows;
  int64_t edges() const { return offsets[rows]; }
};

// A directed edge's target (or source) and weight in one word: sorting words sorts by id.
struct WeightedId {
  uint64_t word;
  static WeightedId of(int64_t id, float weight) {
    return {static_cast<uint64_t>(id) << 32 | std::bit_cast<uint32_t>(weight)};
  }
  int32_t id() const { return static_cast<int32_t>(word >> 32); }
  float weight() const { return std::bit_cast<float>(static_cast<uint32_t>(word)); }
};

// Every row's edges by ascending id; those of id -1, which are none, come last.
inline std::unique_ptr<WeightedId[]> sorted_edges(const NeighborRows& neighbors, const float* weights,
                                                  int threads) {
  auto edges = std::make_unique_for_overwrite<WeightedId[]>(neighbors.rows * neighbors.k);
  parallel_ranges(neighbors.rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      WeightedId* first = edges.get() + row * neighbors.k;
      for (int64_t at = 0; at < neighbors.k; ++at) {
        first[at] = WeightedId::of(neighbors.ids[row * neighbors.k + at], weights[row * neighbors.k + at]);
      }
      std::sort(first, first + neighbors.k, [](WeightedId a, WeightedId b) { return a.word < b.word; });
      for (int64_t at = 1; at < neighbors.k; ++at) {
        if (first[at].id() == first[at - 1].id() && first[at].id() >= 0) {
          throw std::invalid_argument("neighbour ids must differ within a row");
        }
      }
    }
  });
  return edges;
}

struct Transposed {
  std::unique_ptr<int64_t[]> offsets;
  std::unique_ptr<WeightedId[]> edges;  // by ascending id in every row
};

// The edges by target, through a counting sort. Rows are divided into a fixed number of parts. Each part
// knows where its edges of a target begin, so that parts may be copied at the same time and in any order.
inline Transposed transposed(const WeightedId* edges, int64_t rows, int64_t k, int threads) {
  constexpr int64_t kMaxParts = 8, kMinRowsPerPart = 1 << 14;
  const int64_t parts = std::clamp<int64_t>(rows / kMinRowsPerPart, 1, kMaxParts);
  const auto part_begin = [&](int64_t part) { return rows * part / parts * k; };
  std::vector<std::vector<int32_t>> counts(parts);
  parallel_chunks(parts, threads, [&](int64_t part) {
    counts[part].assign(rows, 0);
    for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at) {
      if (edges[at].id() >= 0) ++counts[part][edges[at].id()];
    }
  });
  Transposed result{std::make_unique_for_overwrite<int64_t[]>(rows + 1),
                    std::make_unique_for_overwrite<WeightedId[]>(rows * k)};
  int64_t offset = 0;
  for (int64_t row = 0; row < rows; ++row) {
    result.offsets[row] = offset;
    int32_t before = 0;  // turns each part's count into the place of its first edge within the row
    for (int64_t part = 0; part < parts; ++part) before += std::exchange(counts[part][row], before);
    offset += before;
  }
  result.offsets[rows] = offset;
  parallel_chunks(parts, threads, [&](int64_t part) {
    for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at) {
      const int32_t target = edges[at].id();
      if (target < 0) continue;
      result.edges[result.offsets[target] + counts[part][target]++] =
          WeightedId::of(at / k, edges[at].weight());
    }
  });
  return result;
}

// Calls emit(id, weight) for every id in either list, ascending, unless its weight is zero.
template <class Emit>
inline void merge_row(const WeightedId* out, const WeightedId* out_end, const WeightedId* in,
                      const WeightedId* in_end, Symmetrization kind, float union_share, const Emit& emit) {
  while (out != out_end && out_end[-1].id() < 0) --out_end;
  while (out != out_end || in != in_end) {
    const int32_t out_id = out != out_end ? out->id() : std::numeric_limits<int32_t>::max();
    const int32_t in_id = in != in_end ? in->id() : std::numeric_limits<int32_t>::max();
    const int32_t id = std::min(out_id, in_id);
    const float p = out_id == id ? (out++)->weight() : 0.0f;
    const float q = in_id == id ? (in++)->weight() : 0.0f;
    const float weight = union_share == 1 ? symmetrized(kind, p, q) : mixed_union(p, q, union_share);
    if (weight > 0) emit(id, weight);
  }
}

// No self loops, no zeros, ids ascending in every row. weights: (rows, k), of the directed edges.
// union_share: see mixed_union(); other values than 1 belong to symmetrization "umap".
inline SparseRows symmetric_graph(const NeighborRows& neighbors, const float* weights, Symmetrization kind,
                                  float union_share, int threads) {
  const int64_t rows = neighbors.rows, k = neighbors.k;
  const auto edges = sorted_edges(neighbors, weights, threads);
  const Transposed incoming = transposed(edges.get(), rows, k, threads);
  const auto merge = [&](int64_t row, const auto& emit) {
    merge_row(edges.get() + row * k, edges.get() + (row + 1) * k,
              incoming.edges.get() + incoming.offsets[row], incoming.edges.get() + incoming.offsets[row + 1],
              kind, union_share, emit);
  };
  SparseRows graph{std::make_unique_for_overwrite<int64_t[]>(rows + 1), nullptr, nullptr, rows};
  graph.offsets[0] = 0;
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t count = 0;
      merge(row, [&](int32_t, float) { ++count; });
      graph.offsets[row + 1] = count;
    }
  });
  for (int64_t row = 0; row < rows; ++row) graph.offsets[row + 1] += graph.offsets[row];
  graph.ids = std::make_unique_for_overwrite<int32_t[]>(graph.edges());
  graph.weights = std::make_unique_for_overwrite<float[]>(graph.edges());
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t at = graph.offsets[row];
      merge(row, [&](int32_t id, float weight) {
        graph.ids[at] = id;
        graph.weights[at++] = weight;
      });
    }
  });
  return graph;
}

}  // namespace actup
