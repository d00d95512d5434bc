// Neighbours and the graph, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "affinities.hpp"
#include "bindings.hpp"
#include "neighbors_exact.hpp"

namespace actup {

namespace {

DenseRows dense_rows(const Matrix<float>& array) {
  return {array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1))};
}

auto exact_neighbors(const Matrix<float>& points, const std::optional<Matrix<float>>& queries, int64_t k,
                     Metric metric, int threads) {
  const DenseRows rows = dense_rows(queries ? *queries : points);
  auto ids = std::make_unique_for_overwrite<int32_t[]>(rows.rows * k);
  auto distances = std::make_unique_for_overwrite<float[]>(rows.rows * k);
  {
    nb::gil_scoped_release release;
    nearest_exact(dense_rows(points), rows, !queries, k, metric, threads, ids.get(), distances.get());
  }
  return std::tuple(to_numpy(std::move(ids), rows.rows, k), to_numpy(std::move(distances), rows.rows, k));
}

auto affinity_arrays(const Matrix<int32_t>& ids, const Matrix<float>& distances, Affinity affinity,
                     Distance distance, Symmetrization symmetrization, double perplexity, int threads) {
  const NeighborRows neighbors{ids.data(), distances.data(), static_cast<int64_t>(ids.shape(0)),
                               static_cast<int64_t>(ids.shape(1))};
  SparseRows graph;
  {
    nb::gil_scoped_release release;
    graph = actup::affinity_graph(neighbors, {affinity, distance, symmetrization, perplexity}, threads);
  }
  const int64_t edges = graph.edges();
  return std::tuple(to_numpy(std::move(graph.offsets), graph.rows + 1), to_numpy(std::move(graph.ids), edges),
                    to_numpy(std::move(graph.weights), edges));
}

}  // namespace

void bind_graph(nb::module_& module) {
  nb::enum_<Metric>(module, "Metric")
      .value("euclidean", Metric::euclidean)
      .value("manhattan", Metric::manhattan)
      .value("chebyshev", Metric::chebyshev)
      .value("cosine", Metric::cosine)
      .value("correlation", Metric::correlation);
  nb::enum_<Affinity>(module, "Affinity").value("umap", Affinity::umap).value("gaussian", Affinity::gaussian);
  nb::enum_<Distance>(module, "Distance").value("pseudo", Distance::pseudo).value("plain", Distance::plain);
  nb::enum_<Symmetrization>(module, "Symmetrization")
      .value("umap", Symmetrization::umap)
      .value("tsne", Symmetrization::tsne);
  module.def("exact_neighbors", &exact_neighbors, nb::arg("points"), nb::arg("queries").none(), nb::arg("k"),
             nb::arg("metric"), nb::arg("threads"));
  module.def("affinity_graph", &affinity_arrays, nb::arg("ids"), nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("symmetrization"), nb::arg("perplexity"), nb::arg("threads"));
}

}  // namespace actup
