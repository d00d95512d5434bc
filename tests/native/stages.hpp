// The stages before the layout, and the repulsions, on small inputs: what they computed, as numbers to
// compare.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "graph/affinities.hpp"
#include "inputs.hpp"
#include "layout/repulsion_mesh.hpp"
#include "layout/repulsion_tree.hpp"
#include "neighbors/exact_search.hpp"
#include "quality/pair_sums.hpp"
#include "start/principal.hpp"
#include "start/spectral.hpp"

namespace actup {

// The offsets, ids and weights of the graph, made in two ranges of rows that exchange their edges.
inline std::vector<double> graph_by_ranges(const NeighborRows& neighbors, const AffinitySettings& settings,
                                           int threads) {
  const int64_t n = neighbors.rows, k = neighbors.k;
  const std::array<int64_t, 3> boundaries{0, n / 3, n};
  const double mean_of_all = mean_of_all_rows(neighbors, threads);
  std::vector<float> weights(n * k);
  std::array<DirectedRows, 2> own;
  std::array<EdgesByRange, 2> sent;
  for (int range = 0; range < 2; ++range) {
    const int64_t first = boundaries[range], rows = boundaries[range + 1] - first;
    range_affinities({neighbors.ids + first * k, neighbors.distances + first * k, rows, k, first}, n,
                     settings, mean_of_all, threads, weights.data() + first * k);
    own[range] = {neighbors.ids + first * k, weights.data() + first * k, rows, k, first};
    sent[range] = edges_by_range(own[range], boundaries.data(), 2, threads);
  }
  std::vector<double> all;
  for (int range = 0; range < 2; ++range) {
    std::vector<int32_t> targets, sources;
    std::vector<float> incoming_weights;
    for (const EdgesByRange& edges : sent) {
      const int64_t begin = edges.offsets[range], end = edges.offsets[range + 1];
      targets.insert(targets.end(), edges.targets.get() + begin, edges.targets.get() + end);
      sources.insert(sources.end(), edges.sources.get() + begin, edges.sources.get() + end);
      incoming_weights.insert(incoming_weights.end(), edges.weights.get() + begin, edges.weights.get() + end);
    }
    const DirectedEdges incoming{targets.data(), sources.data(), incoming_weights.data(),
                                 static_cast<int64_t>(targets.size())};
    const SparseRows rows =
        symmetric_rows(own[range], incoming, {settings.symmetrization, settings.union_share}, threads);
    all.insert(all.end(), rows.offsets.data(), rows.offsets.data() + rows.rows + 1);
    all.insert(all.end(), rows.ids.data(), rows.ids.data() + rows.edges());
    all.insert(all.end(), rows.weights.data(), rows.weights.data() + rows.edges());
  }
  return all;
}

// Neighbours, graph and start of random points; everything they computed, as numbers to compare.
inline std::vector<double> stages(int64_t n, int64_t columns, int64_t k, Metric metric, Affinity affinity,
                                  int threads) {
  const std::vector<float> x = random_values(n * columns, 5);
  const TypedRows rows{x.data(), Scalar::float32, n, columns};
  std::vector<int32_t> ids(n * k);
  std::vector<float> distances(n * k);
  nearest_exact(rows, rows, true, k, {metric}, threads, ids.data(), distances.data());
  const NeighborRows neighbors{ids.data(), distances.data(), n, k};
  const Distance distance = affinity == Affinity::umap ? Distance::pseudo : Distance::plain;
  const AffinitySettings settings{affinity, distance, Symmetrization::umap, {2.0}, 1.0};
  const SparseRows graph = affinity_graph(neighbors, settings, threads);
  std::vector<double> all(ids.begin(), ids.end());
  all.insert(all.end(), distances.begin(), distances.end());
  all.insert(all.end(), graph.ids.data(), graph.ids.data() + graph.edges());
  all.insert(all.end(), graph.weights.data(), graph.weights.data() + graph.edges());
  const std::vector<double> by_ranges = graph_by_ranges(neighbors, settings, threads);
  all.insert(all.end(), by_ranges.begin(), by_ranges.end());

  const int dimensions = static_cast<int>(std::min<int64_t>(2, std::min(n - 1, columns)));
  if (dimensions == 0) return all;
  std::vector<float> coordinates(n * dimensions), shift(columns, 0.0f);
  std::vector<double> values(dimensions);
  const GraphView view{n, graph.offsets.data(), graph.ids.data(), graph.weights.data()};
  spectral_coordinates(view, dimensions, 0, threads, coordinates.data(), values.data());
  all.insert(all.end(), coordinates.begin(), coordinates.end());
  const DenseTable table{{x.data(), Scalar::float32, n, columns}, shift.data()};
  principal_scores(table, dimensions, 0, threads, coordinates.data(), values.data());
  all.insert(all.end(), coordinates.begin(), coordinates.end());
  return all;
}

// Mesh and tree over random places, and the sums over all pairs.
inline std::vector<double> repulsions(int64_t n, int threads) {
  const Curve curve{1.5f, 0.9f, 1.0f};
  Points points(n, 2, 0);
  const std::vector<float> places = random_values(2 * n, 6, 30);
  std::copy(places.begin(), places.end(), points.rows.begin());
  points.copy_rows_to_planes(0, n);
  std::vector<double> all(6 * n);
  const auto into = [&](int64_t first) {
    return [&all, first](int64_t i, const float* force, float potential) {
      all[first + 3 * i] = force[0];
      all[first + 3 * i + 1] = force[1];
      all[first + 3 * i + 2] = potential;
    };
  };
  Mesh mesh(MeshPotential(PotentialKind::kernel, curve, 0.01f), 0.3f, Mesh::usual_largest(n, 2));
  all.push_back(mesh.repel(n, points.plane(0), points.plane(1), threads, into(0)));
  const float* planes[2] = {points.plane(0), points.plane(1)};
  all.push_back(
      Tree<2>(n, planes, threads).repel(PotentialKind::kernel, curve, 0.01f, 0.5f, threads, into(3 * n)));
  const PairSums sums = pair_sums(points, curve, threads);
  all.insert(all.end(), {sums.kernel, sums.square, sums.log_rest});
  return all;
}

}  // namespace actup
