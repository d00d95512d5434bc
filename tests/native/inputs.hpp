// Small inputs for the programs of `make sanitize`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/random.h"
#include "layout/relabelled_graph.hpp"

namespace actup {

// The number in [0, 1) that belongs to (seed, item).
inline float uniform(uint64_t seed, int64_t item) {
  return static_cast<float>(random_bits(seed, 0, static_cast<uint32_t>(item), 0) >> 40) * 0x1p-24f;
}

inline std::vector<float> random_values(int64_t count, uint64_t seed, float size = 10) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = size * uniform(seed, i);
  return values;
}

struct OwnedGraph {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> ids;
  std::vector<float> weights;
  GraphView view() const {
    return {static_cast<int64_t>(offsets.size()) - 1, offsets.data(), ids.data(), weights.data()};
  }
};

// The graph with these neighbours and weights of every point.
inline OwnedGraph graph_of(const std::vector<std::map<int32_t, float>>& rows) {
  OwnedGraph graph;
  for (const auto& row : rows) {
    for (const auto& [id, weight] : row) {
      graph.ids.push_back(id);
      graph.weights.push_back(weight);
    }
    graph.offsets.push_back(static_cast<int64_t>(graph.ids.size()));
  }
  return graph;
}

// A ring with `chords` random edges per point, and a hub with an edge to every point; symmetric.
inline OwnedGraph hub_graph(int64_t n, int chords) {
  std::vector<std::map<int32_t, float>> rows(n);
  const auto connect = [&](int64_t i, int64_t j, float weight) {
    if (i == j) return;
    rows[i][static_cast<int32_t>(j)] = weight;
    rows[j][static_cast<int32_t>(i)] = weight;
  };
  for (int64_t i = 0; i < n; ++i) {
    connect(0, i, 0.2f + 0.3f * uniform(1, i));
    connect(i, (i + 1) % n, 1.0f);
    for (int c = 0; c < chords; ++c)
      connect(i, static_cast<int64_t>(uniform(2, i * chords + c) * static_cast<float>(n)) % n, uniform(3, i));
  }
  return graph_of(rows);
}

}  // namespace actup
