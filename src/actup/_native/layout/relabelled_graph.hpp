// RelabelledGraph: the graph as the layout sees it. Weights are relative to the largest, weak edges are
// dropped, and the points have a new order.
//
// It is made from the whole graph, or from parts of consecutive rows that are read one after the other, three
// times: to compare weights, for strengths and degrees, and to copy the rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/random.h"
#include "graph/graph_view.hpp"
#include "layout/edge_order.hpp"
#include "layout/edge_rows.hpp"
#include "layout/matchings.hpp"

namespace actup {

inline std::vector<int32_t> sorted_ids(std::vector<std::pair<uint64_t, int32_t>>& keys) {
  std::sort(keys.begin(), keys.end());
  std::vector<int32_t> ids(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) ids[i] = keys[i].second;
  return ids;
}

// A random order that depends on the seed alone: order[new] = old.
inline std::vector<int32_t> random_order(int64_t n, uint64_t seed, int threads) {
  std::vector<std::pair<uint64_t, int32_t>> keys(n);
  parallel_ranges(n, 1 << 14, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      keys[i] = {random_bits(seed, ~uint32_t{0}, static_cast<uint32_t>(i), 0), static_cast<int32_t>(i)};
  });
  return sorted_ids(keys);
}

// The order along a Morton curve through the first two coordinates of the start, so that points near each
// other on the map are near each other in memory: order[new] = old.
inline std::vector<int32_t> morton_order(int64_t n, const float* start, int dimensions, int threads) {
  const int axes = std::min(dimensions, 2);
  float low[2] = {}, scale[2] = {};
  for (int c = 0; c < axes; ++c) {
    float high = low[c] = n ? start[c] : 0.0f;
    for (int64_t i = 0; i < n; ++i) {
      low[c] = std::min(low[c], start[i * dimensions + c]);
      high = std::max(high, start[i * dimensions + c]);
    }
    scale[c] = high > low[c] ? 65535.0f / (high - low[c]) : 0.0f;
  }
  std::vector<std::pair<uint64_t, int32_t>> keys(n);
  parallel_ranges(n, 1 << 14, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      uint64_t key = 0;
      for (int c = 0; c < axes; ++c) {
        const auto cell = static_cast<uint32_t>((start[i * dimensions + c] - low[c]) * scale[c]);
        for (int bit = 0; bit < 16; ++bit) key |= uint64_t{cell >> bit & 1} << (2 * bit + c);
      }
      keys[i] = {key, static_cast<int32_t>(i)};
    }
  });
  return sorted_ids(keys);
}

class RelabelledGraph {
 public:
  std::vector<int32_t> order;   // order[new] = old
  std::vector<float> strength;  // of each point: the sum of its relative weights
  std::vector<int32_t> degree;
  double total = 0;  // sum of all relative weights, both directions
  int64_t edges = 0;

  RelabelledGraph() = default;

  // For parts: compare() for each of them, end_comparing(), then measure(), end_measuring(), then copy() into
  // empty_rows(). If the new order is empty, it is made along the strongest edges.
  RelabelledGraph(int64_t n, std::vector<int32_t> new_order, float weakest)
      : order(std::move(new_order)),
        strength(n),
        degree(n),
        strongest_(order.empty() ? StrongestEdges(n) : StrongestEdges()),
        label_(n),
        weakest_(weakest) {}

  // For the whole graph, which must outlive this object.
  RelabelledGraph(const GraphView& graph, std::vector<int32_t> new_order, float weakest, int threads)
      : RelabelledGraph(graph.n, std::move(new_order), weakest) {
    graph_ = graph;
    compare(graph, 0, threads);
    end_comparing();
    measure(graph, 0, threads);
    end_measuring();
  }

  int64_t size() const { return static_cast<int64_t>(strength.size()); }
  int64_t largest_degree() const {
    return degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  }

  // Finds the largest weight, and the strongest edges if they are to be followed, in a part whose first row
  // is row `first` of the graph.
  void compare(const GraphView& part, int64_t first, int threads) {
    if (part.offsets[part.n] == 0) return;
    std::vector<float> largest((part.n + kRowsPerChunk - 1) / kRowsPerChunk, part.weights[0]);
    parallel_ranges(part.n, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      float& chunk = largest[begin / kRowsPerChunk];
      for (int64_t e = part.offsets[begin]; e < part.offsets[end]; ++e)
        chunk = std::max(chunk, part.weights[e]);
      if (strongest_.empty()) return;
      for (int64_t row = begin; row < end; ++row) strongest_.read(part, first, row);
    });
    if (!has_edges_) largest_ = largest[0];
    for (const float chunk : largest) largest_ = std::max(largest_, chunk);
    has_edges_ = true;
  }

  void end_comparing() {
    if (!strongest_.empty()) {
      order = strongest_.depth_first_order();
      strongest_ = StrongestEdges();
    }
    for (int64_t i = 0; i < size(); ++i) label_[order[i]] = static_cast<int32_t>(i);
  }

  // Strengths and degrees of the rows of a part, the first of which is row `first` of the graph.
  void measure(const GraphView& part, int64_t first, int threads) {
    parallel_ranges(part.n, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        double sum = 0;
        int32_t count = 0;
        for_each_edge(part, row, [&](int32_t, float r) {
          sum += r;
          ++count;
        });
        const int32_t i = label_[first + row];
        strength[i] = static_cast<float>(sum);
        degree[i] = count;
      }
    });
  }

  void end_measuring() {
    for (int64_t i = 0; i < size(); ++i) {
      total += strength[i];
      edges += degree[i];
    }
  }

  EdgeRows empty_rows() const {
    EdgeRows rows{std::vector<int64_t>(size() + 1, 0), Buffer<int32_t>(edges + EdgeRows::kPadding),
                  Buffer<float>(edges + EdgeRows::kPadding)};
    for (int64_t i = 0; i < size(); ++i) rows.offsets[i + 1] = rows.offsets[i] + degree[i];
    std::fill_n(rows.ids.data() + edges, EdgeRows::kPadding, 0);
    std::fill_n(rows.weights.data() + edges, EdgeRows::kPadding, 0.0f);
    return rows;
  }

  // Copies the rows of a part to their places.
  void copy(const GraphView& part, int64_t first, EdgeRows& rows, int threads) const {
    parallel_ranges(part.n, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int32_t i = label_[first + row];
        int64_t e = rows.offsets[i];
        for_each_edge(part, row, [&](int32_t j, float r) {
          if (e == rows.offsets[i + 1]) throw std::invalid_argument(kChanged);
          rows.ids[e] = j;
          rows.weights[e++] = r;
        });
        if (e != rows.offsets[i + 1]) throw std::invalid_argument(kChanged);
      }
    });
  }

  // The rows of the whole graph.
  EdgeRows copied_rows(int threads) const {
    EdgeRows rows = empty_rows();
    copy(graph_, 0, rows, threads);
    return rows;
  }

  // Of the whole graph.
  Matchings matchings() const {
    return make_matchings(size(), edges / 2, [&](const auto& visit) {
      for (int64_t i = 0; i < size(); ++i)
        for_each_edge(graph_, order[i], [&](int32_t j, float r) {
          if (j > i) visit(static_cast<int32_t>(i), j, r);
        });
    });
  }

 private:
  static constexpr const char* kChanged =
      "parts of the graph changed between two reads: give the same each time";

  // visit(neighbour, relative weight) for every edge of a row that is strong enough.
  template <class Visit>
  void for_each_edge(const GraphView& graph, int64_t row, const Visit& visit) const {
    for (int64_t e = graph.offsets[row]; e < graph.offsets[row + 1]; ++e) {
      const float r = graph.weights[e] / largest_;
      if (r >= weakest_) visit(label_[graph.indices[e]], r);
    }
  }

  static constexpr int64_t kRowsPerChunk = 4096;

  GraphView graph_{};
  StrongestEdges strongest_;    // empty: the order is final
  std::vector<int32_t> label_;  // label_[old] = new
  float weakest_ = 0;
  float largest_ = 1;
  bool has_edges_ = false;
};

}  // namespace actup
