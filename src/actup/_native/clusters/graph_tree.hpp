// The minimum spanning tree of a sparse graph under mutual reachability distances, by Kruskal's algorithm.
#pragma once

#include "clusters/spanning_tree.hpp"

namespace actup {

// Distances between points that share an edge, in both directions.
struct DistanceGraph {
  int64_t n;
  const int64_t* offsets;
  const int32_t* ids;
  const double* distances;
};

// The distance of the min_samples-th nearest point, counting the point itself; of the farthest one if fewer
// are known.
inline std::vector<double> graph_cores(const DistanceGraph& graph, int64_t min_samples, int threads) {
  std::vector<double> cores(graph.n);
  parallel_ranges(graph.n, 1024, threads, [&](int64_t begin, int64_t end) {
    std::vector<double> row;
    for (int64_t i = begin; i < end; ++i) {
      row.assign(graph.distances + graph.offsets[i], graph.distances + graph.offsets[i + 1]);
      const int64_t rank = std::min<int64_t>(min_samples - 1, static_cast<int64_t>(row.size())) - 1;
      if (rank >= 0) std::nth_element(row.begin(), row.begin() + rank, row.end());
      cores[i] = rank >= 0 ? row[rank] : 0.0;
    }
  });
  return cores;
}

// n - 1 edges, shortest first. Edges of infinite length connect the components of the graph.
inline std::vector<TreeEdge> graph_tree(const DistanceGraph& graph, int64_t min_samples, int threads,
                                        double* cores) {
  const std::vector<double> core = graph_cores(graph, min_samples, threads);
  std::copy(core.begin(), core.end(), cores);
  std::vector<TreeEdge> edges;
  for (int64_t i = 0; i < graph.n; ++i)
    for (int64_t slot = graph.offsets[i]; slot < graph.offsets[i + 1]; ++slot) {
      const int32_t j = graph.ids[slot];
      if (j <= i) continue;
      edges.push_back(
          {std::max(graph.distances[slot], std::max(core[i], core[j])), static_cast<int32_t>(i), j});
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
