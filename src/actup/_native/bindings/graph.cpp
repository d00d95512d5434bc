// The graph of similarities, for Python.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/enums.hpp"
#include "graph/affinities.hpp"

namespace actup {

namespace {

void require_shape(bool fits, const char* message) {
  if (!fits) throw std::invalid_argument(message);
}

auto to_arrays(SparseRows graph) {
  const int64_t edges = graph.edges();
  return std::tuple(to_numpy(std::move(graph.offsets), graph.rows + 1), to_numpy(std::move(graph.ids), edges),
                    to_numpy(std::move(graph.weights), edges));
}

NeighborRows neighbor_rows(const Matrix<int32_t>& ids, const Matrix<float>& distances,
                           int64_t first_row = 0) {
  require_shape(distances.shape(0) == ids.shape(0) && distances.shape(1) == ids.shape(1),
                "ids and distances must have the same shape");
  return {ids.data(), distances.data(), static_cast<int64_t>(ids.shape(0)),
          static_cast<int64_t>(ids.shape(1)), first_row};
}

DirectedRows directed_rows(const Matrix<int32_t>& ids, const Matrix<float>& weights, int64_t first_row) {
  require_shape(weights.shape(0) == ids.shape(0) && weights.shape(1) == ids.shape(1),
                "ids and weights must have the same shape");
  return {ids.data(), weights.data(), static_cast<int64_t>(ids.shape(0)), static_cast<int64_t>(ids.shape(1)),
          first_row};
}

auto affinity_arrays(const Matrix<int32_t>& ids, const Matrix<float>& distances, Affinity affinity,
                     Distance distance, Symmetrization symmetrization, std::vector<double> perplexities,
                     double sigma, double local_connectivity, double union_share, int threads) {
  const NeighborRows neighbors = neighbor_rows(ids, distances);
  SparseRows graph;
  {
    const Interruptible call;
    graph = actup::affinity_graph(neighbors,
                                  {affinity, distance, symmetrization, std::move(perplexities), sigma,
                                   local_connectivity, static_cast<float>(union_share)},
                                  threads);
  }
  return to_arrays(std::move(graph));
}

auto sums_of_rows(const Matrix<float>& distances, int threads) {
  const auto rows = static_cast<int64_t>(distances.shape(0)), k = static_cast<int64_t>(distances.shape(1));
  auto sums = std::make_unique_for_overwrite<double[]>(rows);
  auto connected = std::make_unique_for_overwrite<int64_t[]>(rows);
  {
    const Interruptible call;
    actup::row_sums(distances.data(), rows, k, threads, sums.get(), connected.get());
  }
  return std::tuple(to_numpy(std::move(sums), rows), to_numpy(std::move(connected), rows));
}

auto affinities_of_range(int64_t first_row, const Matrix<int32_t>& ids, const Matrix<float>& distances,
                         int64_t n, Affinity affinity, Distance distance, std::vector<double> perplexities,
                         double sigma, double local_connectivity, double mean_of_all, int threads) {
  const NeighborRows neighbors = neighbor_rows(ids, distances, first_row);
  const AffinitySettings settings{affinity, distance,          Symmetrization::umap, std::move(perplexities),
                                  sigma,    local_connectivity};
  auto result = new_matrix(neighbors.rows, neighbors.k);
  {
    const Interruptible call;
    actup::range_affinities(neighbors, n, settings, mean_of_all, threads, result.data());
  }
  return result;
}

auto divided_edges(int64_t first_row, const Matrix<int32_t>& ids, const Matrix<float>& weights,
                   const Vector<int64_t>& boundaries, int threads) {
  const DirectedRows rows = directed_rows(ids, weights, first_row);
  EdgesByRange edges;
  {
    const Interruptible call;
    edges =
        actup::edges_by_range(rows, boundaries.data(), static_cast<int64_t>(boundaries.size()) - 1, threads);
  }
  const int64_t count = edges.offsets.back();
  return std::tuple(copied(edges.offsets, edges.offsets.size()), to_numpy(std::move(edges.targets), count),
                    to_numpy(std::move(edges.sources), count), to_numpy(std::move(edges.weights), count));
}

auto symmetric_range(int64_t first_row, const Matrix<int32_t>& ids, const Matrix<float>& weights,
                     const Vector<int32_t>& targets, const Vector<int32_t>& sources,
                     const Vector<float>& incoming_weights, Symmetrization symmetrization, double union_share,
                     int threads) {
  const DirectedRows own = directed_rows(ids, weights, first_row);
  require_shape(sources.size() == targets.size() && incoming_weights.size() == targets.size(),
                "targets, sources and incoming_weights must have the same length");
  const DirectedEdges incoming{targets.data(), sources.data(), incoming_weights.data(),
                               static_cast<int64_t>(targets.size())};
  SparseRows graph;
  {
    const Interruptible call;
    graph = actup::symmetric_rows(own, incoming, {symmetrization, static_cast<float>(union_share)}, threads);
  }
  return to_arrays(std::move(graph));
}

auto affinities_of_rows(const Matrix<float>& distances, Affinity affinity, Distance distance,
                        std::vector<double> perplexities, double sigma, double local_connectivity,
                        int threads) {
  const auto rows = static_cast<int64_t>(distances.shape(0)), k = static_cast<int64_t>(distances.shape(1));
  const AffinitySettings settings{affinity, distance,          Symmetrization::umap, std::move(perplexities),
                                  sigma,    local_connectivity};
  auto result = new_matrix(rows, k);
  {
    const Interruptible call;
    row_affinities(distances.data(), rows, k, settings, threads, result.data());
  }
  return result;
}

auto bandwidths(const Matrix<float>& distances, double neighbors, double bandwidth, double local_connectivity,
                int max_steps, int threads) {
  const auto rows = static_cast<int64_t>(distances.shape(0)), k = static_cast<int64_t>(distances.shape(1));
  auto sigmas = std::make_unique_for_overwrite<float[]>(rows);
  auto rhos = std::make_unique_for_overwrite<float[]>(rows);
  {
    const Interruptible call;
    actup::umap_bandwidths(distances.data(), rows, k,
                           {bandwidth * binary_logarithm(neighbors), local_connectivity, max_steps}, threads,
                           sigmas.get(), rhos.get());
  }
  return std::tuple(to_numpy(std::move(sigmas), rows), to_numpy(std::move(rhos), rows));
}

auto sharpened(const Vector<int64_t>& offsets, const Vector<float>& weights, double neighbors, int max_steps,
               int threads) {
  const auto rows = static_cast<int64_t>(offsets.size()) - 1, edges = static_cast<int64_t>(weights.size());
  auto result = std::make_unique_for_overwrite<float[]>(edges);
  {
    const Interruptible call;
    actup::sharpened_rows(offsets.data(), rows, weights.data(), binary_logarithm(neighbors), max_steps,
                          threads, result.get());
  }
  return to_numpy(std::move(result), edges);
}

}  // namespace

void bind_graph(nb::module_& module) {
  ACTUP_BIND_ENUM(module, Affinity, ACTUP_AFFINITIES);
  ACTUP_BIND_ENUM(module, Distance, ACTUP_DISTANCES);
  ACTUP_BIND_ENUM(module, Symmetrization, ACTUP_SYMMETRIZATIONS);
  module.def("affinity_graph", &affinity_arrays, nb::arg("ids"), nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("symmetrization"), nb::arg("perplexities"), nb::arg("sigma"),
             nb::arg("local_connectivity"), nb::arg("union_share"), nb::arg("threads"));
  module.def("row_sums", &sums_of_rows, nb::arg("distances"), nb::arg("threads"),
             "The sum of each row's finite distances, and how many there are.");
  module.def(
      "add_means",
      [](const Vector<double>& sums, int64_t count, double before) {
        return actup::add_means(sums.data(), static_cast<int64_t>(sums.size()), count, before);
      },
      nb::arg("sums"), nb::arg("count"), nb::arg("before"),
      "before, with sum / count of every row added one by one: the mean distance of all rows, in parts.");
  module.def("range_affinities", &affinities_of_range, nb::arg("first_row"), nb::arg("ids"),
             nb::arg("distances"), nb::arg("n"), nb::arg("affinity"), nb::arg("distance"),
             nb::arg("perplexities"), nb::arg("sigma"), nb::arg("local_connectivity"), nb::arg("mean_of_all"),
             nb::arg("threads"), "p(j|i) of consecutive rows of a graph of n points.");
  module.def(
      "edges_by_range", &divided_edges, nb::arg("first_row"), nb::arg("ids"), nb::arg("weights"),
      nb::arg("boundaries"), nb::arg("threads"),
      "Offsets, targets, sources and weights of directed edges, by the range that holds their target.");
  module.def("symmetric_rows", &symmetric_range, nb::arg("first_row"), nb::arg("ids"), nb::arg("weights"),
             nb::arg("targets"), nb::arg("sources"), nb::arg("incoming_weights"), nb::arg("symmetrization"),
             nb::arg("union_share"), nb::arg("threads"),
             "Consecutive rows of the symmetric graph, from their directed edges and all that end at them.");
  module.def("row_affinities", &affinities_of_rows, nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("perplexities"), nb::arg("sigma"), nb::arg("local_connectivity"),
             nb::arg("threads"), "p(j|i) of rows with ascending distances; infinite ones get 0.");
  module.def("umap_bandwidths", &bandwidths, nb::arg("distances"), nb::arg("neighbors"), nb::arg("bandwidth"),
             nb::arg("local_connectivity"), nb::arg("max_steps"), nb::arg("threads"),
             "sigma and rho of rows with ascending distances, the first of which is the row's own.");
  module.def("sharpened_rows", &sharpened, nb::arg("offsets"), nb::arg("weights"), nb::arg("neighbors"),
             nb::arg("max_steps"), nb::arg("threads"),
             "Weights raised to the power, one per row, at which the row's sum is log2(neighbors).");
}

}  // namespace actup
