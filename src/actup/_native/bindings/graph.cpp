// The graph of similarities, for Python.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/arrays.hpp"
#include "graph/affinities.hpp"

namespace actup {

namespace {

auto affinity_arrays(const Matrix<int32_t>& ids, const Matrix<float>& distances, Affinity affinity,
                     Distance distance, Symmetrization symmetrization, std::vector<double> perplexities,
                     double sigma, int threads) {
  const NeighborRows neighbors{ids.data(), distances.data(), static_cast<int64_t>(ids.shape(0)),
                               static_cast<int64_t>(ids.shape(1))};
  SparseRows graph;
  {
    nb::gil_scoped_release release;
    graph = actup::affinity_graph(
        neighbors, {affinity, distance, symmetrization, std::move(perplexities), sigma}, threads);
  }
  const int64_t edges = graph.edges();
  return std::tuple(to_numpy(std::move(graph.offsets), graph.rows + 1), to_numpy(std::move(graph.ids), edges),
                    to_numpy(std::move(graph.weights), edges));
}

}  // namespace

void bind_graph(nb::module_& module) {
  nb::enum_<Affinity>(module, "Affinity")
      .value("umap", Affinity::umap)
      .value("gaussian", Affinity::gaussian)
      .value("fixed_sigma", Affinity::fixed_sigma)
      .value("uniform", Affinity::uniform);
  nb::enum_<Distance>(module, "Distance").value("pseudo", Distance::pseudo).value("plain", Distance::plain);
  nb::enum_<Symmetrization>(module, "Symmetrization")
      .value("umap", Symmetrization::umap)
      .value("tsne", Symmetrization::tsne);
  module.def("affinity_graph", &affinity_arrays, nb::arg("ids"), nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("symmetrization"), nb::arg("perplexities"), nb::arg("sigma"),
             nb::arg("threads"));
}

}  // namespace actup
