// The graph of similarities, for Python.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/enums.hpp"
#include "graph/affinities.hpp"

namespace actup {

namespace {

auto affinity_arrays(const Matrix<int32_t>& ids, const Matrix<float>& distances, Affinity affinity,
                     Distance distance, Symmetrization symmetrization, std::vector<double> perplexities,
                     double sigma, double local_connectivity, double union_share, int threads) {
  const NeighborRows neighbors{ids.data(), distances.data(), static_cast<int64_t>(ids.shape(0)),
                               static_cast<int64_t>(ids.shape(1))};
  SparseRows graph;
  {
    const Interruptible call;
    graph = actup::affinity_graph(neighbors,
                                  {affinity, distance, symmetrization, std::move(perplexities), sigma,
                                   local_connectivity, static_cast<float>(union_share)},
                                  threads);
  }
  const int64_t edges = graph.edges();
  return std::tuple(to_numpy(std::move(graph.offsets), graph.rows + 1), to_numpy(std::move(graph.ids), edges),
                    to_numpy(std::move(graph.weights), edges));
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
