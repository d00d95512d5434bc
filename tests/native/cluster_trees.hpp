// Spanning trees, hierarchies and representatives of random points and graphs: what they computed, as numbers
// to compare.
#pragma once

#include <algorithm>
#include <vector>

#include "clusters/graph_tree.hpp"
#include "clusters/hierarchy.hpp"
#include "clusters/representatives.hpp"
#include "clusters/spanning_tree.hpp"
#include "inputs.hpp"

namespace actup {

// The clusters of a tree, its order, and representatives of its clusters.
inline void append_clusters(const std::vector<TreeEdge>& edges, int64_t n, const std::vector<double>& places,
                            int64_t dimensions, int threads, std::vector<double>& all) {
  std::vector<int32_t> a, b;
  std::vector<double> lengths;
  for (const TreeEdge& edge : edges) {
    a.push_back(edge.a);
    b.push_back(edge.b);
    lengths.push_back(edge.weight);
  }
  all.insert(all.end(), lengths.begin(), lengths.end());
  const Hierarchy hierarchy(n, a.data(), b.data(), lengths.data());
  all.insert(all.end(), hierarchy.order().begin(), hierarchy.order().end());
  const CondensedTree tree = hierarchy.condense(5);
  for (const std::vector<int32_t>& selected :
       {select_clusters(tree, -1.0), select_clusters(tree, 0.7), select_distinct(tree, 0.1)}) {
    std::vector<int32_t> codes(n, -1), members;
    std::vector<int64_t> offsets{0};
    for (const int32_t cluster : selected) {
      for (int64_t at = tree.begins[cluster]; at < tree.ends[cluster]; ++at) {
        codes[hierarchy.order()[at]] = static_cast<int32_t>(offsets.size()) - 1;
        members.push_back(hierarchy.order()[at]);
      }
      offsets.push_back(static_cast<int64_t>(members.size()));
      all.push_back(tree.persistence[cluster]);
    }
    hierarchy.spread(codes.data());
    all.insert(all.end(), codes.begin(), codes.end());
    const int64_t clusters = static_cast<int64_t>(offsets.size()) - 1;
    std::vector<int32_t> rows(3 * clusters);
    representatives({places.data(), dimensions, clusters, offsets.data(), members.data()}, 3, threads,
                    rows.data());
    all.insert(all.end(), rows.begin(), rows.end());
  }
}

// step > 0 puts the points on a lattice, where many distances are equal.
inline std::vector<double> clusters_of_points(int64_t n, int dimensions, int64_t min_samples, double step,
                                              int threads) {
  const std::vector<float> random = random_values(n * dimensions, 8);
  std::vector<double> places(random.begin(), random.end()), all(n);
  for (double& place : places)
    if (step > 0) place = step * static_cast<double>(static_cast<int>(place / step));
  const std::vector<TreeEdge> edges =
      reachability_tree(places.data(), n, dimensions, min_samples, threads, all.data());
  append_clusters(edges, n, places, dimensions, threads, all);
  return all;
}

inline std::vector<double> clusters_of_graph(int64_t n, int chords, int64_t min_samples, int threads) {
  const OwnedGraph graph = hub_graph(n, chords);
  const std::vector<float> random = random_values(2 * n, 9);
  std::vector<double> all(n);
  const std::vector<TreeEdge> edges = graph_tree(graph.view(), min_samples, threads, all.data());
  append_clusters(edges, n, {random.begin(), random.end()}, 2, threads, all);
  return all;
}

}  // namespace actup
