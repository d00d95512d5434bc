// The minimum spanning tree of a sparse graph of similarities under mutual reachability distances, by
// Kruskal's algorithm.
//
// The weights of UMAP's and t-SNE's graphs are normalised per point, so they say little about density. Two
// points count as near if they are connected directly and by way of many common neighbours: their distance
// is 1 / (W + I)²_ij, and exists for the edges of the graph alone.
#pragma once

#include "clusters/spanning_tree.hpp"
#include "graph/graph_view.hpp"

namespace actup {

// 2 w_ij + the sum over common neighbours k of w_ik w_kj, by merging two rows of ascending ids.
inline double connection_strength(const GraphView& graph, int64_t i, int64_t slot) {
  const int32_t j = graph.indices[slot];
  double sum = 2.0 * graph.weights[slot];
  int64_t first = graph.offsets[i], second = graph.offsets[j];
  while (first < graph.offsets[i + 1] && second < graph.offsets[j + 1]) {
    const int32_t a = graph.indices[first], b = graph.indices[second];
    if (a == b) sum += static_cast<double>(graph.weights[first]) * graph.weights[second];
    first += a <= b;
    second += b <= a;
  }
  return sum;
}

// The distance of every entry of the graph. Both directions of an edge get the same bits, if its weights are
// equal.
inline std::vector<double> graph_distances(const GraphView& graph, int threads) {
  std::vector<double> distances(graph.offsets[graph.n]);
  parallel_ranges(graph.n, 256, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t slot = graph.offsets[i]; slot < graph.offsets[i + 1]; ++slot)
        distances[slot] = 1.0 / connection_strength(graph, i, slot);
  });
  return distances;
}

// The distance of the min_samples-th nearest point, counting the point itself; of the farthest one if fewer
// are known.
inline std::vector<double> graph_cores(const GraphView& graph, const std::vector<double>& distances,
                                       int64_t min_samples, int threads) {
  std::vector<double> cores(graph.n);
  parallel_ranges(graph.n, 1024, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> row;
    for (int64_t i = begin; i < end; ++i) {
      row.assign(distances.begin() + graph.offsets[i], distances.begin() + graph.offsets[i + 1]);
      const int64_t rank = std::min<int64_t>(min_samples - 1, static_cast<int64_t>(row.size())) - 1;
      if (rank >= 0) std::nth_element(row.begin(), row.begin() + rank, row.end());
      cores[i] = rank >= 0 ? row[rank] : 0.0;
    }
  });
  return cores;
}

// n - 1 edges, shortest first. Edges of infinite length connect the components of the graph. Needs ascending
// ids.
inline std::vector<TreeEdge> graph_tree(const GraphView& graph, int64_t min_samples, int threads,
                                        double* cores) {
  const std::vector<double> distances = graph_distances(graph, threads);
  const std::vector<double> core = graph_cores(graph, distances, min_samples, threads);
  std::copy(core.begin(), core.end(), cores);
  std::vector<TreeEdge> edges;
  for (int32_t i = 0; i < graph.n; ++i)
    for (int64_t slot = graph.offsets[i]; slot < graph.offsets[i + 1]; ++slot) {
      const int32_t j = graph.indices[slot];
      if (j > i) edges.push_back({std::max(distances[slot], std::max(core[i], core[j])), i, j});
    }
  std::sort(edges.begin(), edges.end());
  UnionFind sets(graph.n);
  std::vector<TreeEdge> found;
  const auto add = [&](const TreeEdge& edge) {
    const int32_t a = sets.find(edge.a), b = sets.find(edge.b);
    if (a == b) return;
    sets.attach(std::max(a, b), std::min(a, b));
    found.push_back(edge);
  };
  for (const TreeEdge& edge : edges) add(edge);
  for (int32_t i = 1; i < graph.n; ++i) add({std::numeric_limits<double>::infinity(), 0, i});
  return found;
}

}  // namespace actup
