// The symmetric graph: both directions of every edge merged into one row per point, range by range of rows,
// so that the edges by target never exist all at once.
//
// Every row is one thread's work and every sum has a fixed order, so the result depends neither on the
// threads nor on how rows are divided into ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/growing_array.hpp"
#include "common/parallel.hpp"
#include "graph/bandwidth.h"
#include "graph/directed_edges.hpp"
#include "graph/neighbor_rows.hpp"
#include "graph/sorted_row.hpp"

namespace actup {

struct SparseRows {
  GrowingArray<int64_t> offsets;
  GrowingArray<int32_t> ids;
  GrowingArray<float> weights;
  int64_t rows = 0;
  int64_t edges() const { return offsets[rows]; }
};

struct SymmetricSettings {
  Symmetrization kind;
  float union_share;  // see mixed_union(); other values than 1 belong to symmetrization "umap"
};

// Calls emit(id, weight) for every id in either list, ascending, unless its weight is zero. Those of id -1,
// which are no edges, come last in `out`.
template <class Emit>
inline void merge_row(const WeightedId* out, const WeightedId* out_end, const WeightedId* in,
                      const WeightedId* in_end, const SymmetricSettings& settings, const Emit& emit) {
  while (out != out_end && out_end[-1].id() < 0) --out_end;
  while (out != out_end || in != in_end) {
    const int32_t out_id = out != out_end ? out->id() : std::numeric_limits<int32_t>::max();
    const int32_t in_id = in != in_end ? in->id() : std::numeric_limits<int32_t>::max();
    const int32_t id = std::min(out_id, in_id);
    const float p = out_id == id ? (out++)->weight() : 0.0f;
    const float q = in_id == id ? (in++)->weight() : 0.0f;
    const float weight = settings.union_share == 1 ? symmetrized(settings.kind, p, q)
                                                   : mixed_union(p, q, settings.union_share);
    if (weight > 0) emit(id, weight);
  }
}

// Merges ranges of rows, and keeps its working memory from one to the next.
class RowMerger {
 public:
  IncomingEdges incoming;  // of the range that is merged next

  // Appends the rows of a range to a graph, which has all rows before them: no self loops, no zeros, ids
  // ascending in every row.
  void append(const DirectedRows& own, const SymmetricSettings& settings, int threads, SparseRows& graph) {
    const auto space_before = [&](int64_t row) { return row * own.k + incoming.size(row); };
    if (ids_.size() < space_before(own.rows)) {
      ids_ = Buffer<int32_t>(space_before(own.rows));
      weights_ = Buffer<float>(space_before(own.rows));
    }
    int64_t* const ends =
        graph.offsets.data() + graph.rows + 1;  // at first within the task that made the row
    parallel_ranges(own.rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
      RowSorter sorter(own.k);
      const int64_t first = space_before(begin);
      int64_t at = first;
      for (int64_t row = begin; row < end; ++row) {
        const std::vector<WeightedId>& edges = sorted_row(own, row, sorter);
        merge_row(edges.data(), edges.data() + own.k, incoming.begin(row), incoming.end(row), settings,
                  [&](int32_t id, float weight) {
                    ids_[at] = id;
                    weights_[at++] = weight;
                  });
        ends[row] = at - first;
      }
    });
    const int64_t tasks = (own.rows + kRowsPerTask - 1) / kRowsPerTask;
    std::vector<int64_t> task_begins{graph.edges()};
    for (int64_t task = 0; task < tasks; ++task)
      task_begins.push_back(task_begins.back() + ends[std::min(own.rows, (task + 1) * kRowsPerTask) - 1]);
    graph.ids.resize(task_begins.back());
    graph.weights.resize(task_begins.back());
    parallel_chunks(tasks, threads, [&](int64_t task) {
      const int64_t begin = task * kRowsPerTask, end = std::min(own.rows, begin + kRowsPerTask);
      const int64_t from = space_before(begin), to = task_begins[task];
      std::copy_n(ids_.data() + from, ends[end - 1], graph.ids.data() + to);
      std::copy_n(weights_.data() + from, ends[end - 1], graph.weights.data() + to);
      for (int64_t row = begin; row < end; ++row) ends[row] += to;
    });
    graph.rows += own.rows;
  }

 private:
  // The edges of a row by ascending id; those of id -1 come last.
  static const std::vector<WeightedId>& sorted_row(const DirectedRows& rows, int64_t row, RowSorter& sorter) {
    const auto& edges = sorter.sorted(rows.ids + row * rows.k, rows.weights + row * rows.k);
    int32_t previous = -1;
    for (const WeightedId edge : edges) {
      if (edge.id() < 0) break;
      if (edge.id() == previous) throw std::invalid_argument("neighbour ids must differ within a row");
      if (edge.id() == rows.first_row + row)
        throw std::invalid_argument("neighbour ids must be other rows of the data, not the row's own");
      previous = edge.id();
    }
    return edges;
  }

  Buffer<int32_t> ids_;  // the merged rows of each task, from where they fit whatever they share
  Buffer<float> weights_;
};

inline SparseRows empty_rows(int64_t rows) {
  SparseRows graph;
  graph.offsets.resize(rows + 1);
  graph.offsets[0] = 0;
  graph.ids.resize(0);
  graph.weights.resize(0);
  return graph;
}

// progress: the share of the call that this takes, from and to.
inline SparseRows symmetric_graph(const DirectedRows& edges, const SymmetricSettings& settings,
                                  std::pair<double, double> progress, int threads) {
  // Every range scans all ids. Edges of this many fit into a core's cache.
  constexpr int64_t kEdgesPerRange = 1 << 20, kMaxRanges = 8;
  const int64_t ranges = std::clamp<int64_t>(edges.rows * edges.k / kEdgesPerRange, 1, kMaxRanges);
  SparseRows graph = empty_rows(edges.rows);
  RowMerger merger;
  for (int64_t range = 0; range < ranges; ++range) {
    const double share = (progress.second - progress.first) / static_cast<double>(ranges);
    set_progress_range(progress.first + share * static_cast<double>(range),
                       progress.first + share * static_cast<double>(range + 1));
    const int64_t begin = edges.rows * range / ranges, end = edges.rows * (range + 1) / ranges;
    merger.incoming.collect(edges, begin, end - begin, threads);
    merger.append({edges.ids + begin * edges.k, edges.weights + begin * edges.k, end - begin, edges.k, begin},
                  settings, threads, graph);
  }
  return graph;
}

// The rows of a range of the symmetric graph, from their own edges and all that end at them.
inline SparseRows symmetric_rows(const DirectedRows& own, const DirectedEdges& incoming,
                                 const SymmetricSettings& settings, int threads) {
  SparseRows graph = empty_rows(own.rows);
  RowMerger merger;
  merger.incoming.collect(incoming, own.first_row, own.rows, threads);
  merger.append(own, settings, threads, graph);
  return graph;
}

}  // namespace actup
