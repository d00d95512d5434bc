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
                     double sigma, int threads) {
  const NeighborRows neighbors{ids.data(), distances.data(), static_cast<int64_t>(ids.shape(0)),
                               static_cast<int64_t>(ids.shape(1))};
  SparseRows graph;
  {
    const Interruptible call;
    graph = actup::affinity_graph(
        neighbors, {affinity, distance, symmetrization, std::move(perplexities), sigma}, threads);
  }
  const int64_t edges = graph.edges();
  return std::tuple(to_numpy(std::move(graph.offsets), graph.rows + 1), to_numpy(std::move(graph.ids), edges),
                    to_numpy(std::move(graph.weights), edges));
}

}  // namespace

void bind_graph(nb::module_& module) {
  ACTUP_BIND_ENUM(module, Affinity, ACTUP_AFFINITIES);
  ACTUP_BIND_ENUM(module, Distance, ACTUP_DISTANCES);
  ACTUP_BIND_ENUM(module, Symmetrization, ACTUP_SYMMETRIZATIONS);
  module.def("affinity_graph", &affinity_arrays, nb::arg("ids"), nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("symmetrization"), nb::arg("perplexities"), nb::arg("sigma"),
             nb::arg("threads"));
}

}  // namespace actup
