// RelabelledGraph: the graph as the layout sees it. Weights are relative to the largest, weak edges are
// dropped, and the points have a new order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/random.h"
#include "graph/graph_view.hpp"
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
  RelabelledGraph(const GraphView& graph, std::vector<int32_t> new_order, float weakest, int threads)
      : order(std::move(new_order)),
        strength(graph.n),
        degree(graph.n),
        graph_(graph),
        label_(graph.n),
        weakest_(weakest) {
    const int64_t stored = graph.offsets[graph.n];
    largest_ = stored ? *std::max_element(graph.weights, graph.weights + stored) : 1.0f;
    for (int64_t i = 0; i < graph.n; ++i) label_[order[i]] = static_cast<int32_t>(i);
    parallel_ranges(graph.n, 4096, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        int32_t count = 0;
        for_each_neighbor(i, [&](int32_t, float r) {
          sum += r;
          ++count;
        });
        strength[i] = static_cast<float>(sum);
        degree[i] = count;
      }
    });
    for (int64_t i = 0; i < graph.n; ++i) {
      total += strength[i];
      edges += degree[i];
    }
  }

  int64_t size() const { return graph_.n; }
  int64_t largest_degree() const {
    return degree.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  }

  // visit(neighbour, relative weight) for every edge of relabelled point i that is strong enough.
  template <class Visit>
  void for_each_neighbor(int64_t i, const Visit& visit) const {
    const int64_t old = order[i];
    for (int64_t e = graph_.offsets[old]; e < graph_.offsets[old + 1]; ++e) {
      const float r = graph_.weights[e] / largest_;
      if (r >= weakest_) visit(label_[graph_.indices[e]], r);
    }
  }

  // Rows of ids and relative weights, followed by padding: 16 values may be read at any place.
  void copy_rows(std::vector<int64_t>& offsets, std::vector<int32_t>& ids, std::vector<float>& weights,
                 int threads) const {
    offsets.assign(size() + 1, 0);
    for (int64_t i = 0; i < size(); ++i) offsets[i + 1] = offsets[i] + degree[i];
    ids.assign(edges + 16, 0);
    weights.assign(edges + 16, 0.0f);
    parallel_ranges(size(), 4096, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t e = offsets[i];
        for_each_neighbor(i, [&](int32_t j, float r) {
          ids[e] = j;
          weights[e++] = r;
        });
      }
    });
  }

  Matchings matchings() const {
    return make_matchings(size(), edges / 2, [&](const auto& visit) {
      for (int64_t i = 0; i < size(); ++i)
        for_each_neighbor(i, [&](int32_t j, float r) {
          if (j > i) visit(static_cast<int32_t>(i), j, r);
        });
    });
  }

 private:
  GraphView graph_{};
  std::vector<int32_t> label_;  // label_[old] = new
  float weakest_ = 0;
  float largest_ = 1;
};

}  // namespace actup
