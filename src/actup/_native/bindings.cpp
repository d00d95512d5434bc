// The Python face of the engine: converts arguments, releases the interpreter lock, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <tuple>

#include "affinities.hpp"
#include "layout.hpp"
#include "neighbors_exact.hpp"
#include "parallel.hpp"

namespace nb = nanobind;
using namespace actup;

void bind_join(nb::module_& module);  // bindings_join.cpp

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, float, nb::ndim<2>> new_matrix(int64_t rows, int64_t columns) {
  float* data = new float[rows * columns];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return {data, {static_cast<size_t>(rows), static_cast<size_t>(columns)}, owner};
}

GraphView view(const Vector<int64_t>& offsets, const Vector<int32_t>& indices, const Vector<float>& weights) {
  return {static_cast<int64_t>(offsets.size()) - 1, offsets.data(), indices.data(), weights.data()};
}

// Hands memory over to NumPy.
template <class Scalar, class... Shape>
nb::ndarray<nb::numpy, Scalar> to_numpy(std::unique_ptr<Scalar[]> data, Shape... shape) {
  Scalar* const raw = data.release();
  nb::capsule owner(raw, [](void* memory) noexcept { delete[] static_cast<Scalar*>(memory); });
  return nb::ndarray<nb::numpy, Scalar>(raw, {static_cast<size_t>(shape)...}, owner);
}

// ---- neighbours and the graph ----

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

auto affinity_graph(const Matrix<int32_t>& ids, const Matrix<float>& distances, Affinity affinity,
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
  module.def("affinity_graph", &affinity_graph, nb::arg("ids"), nb::arg("distances"), nb::arg("affinity"),
             nb::arg("distance"), nb::arg("symmetrization"), nb::arg("perplexity"), nb::arg("threads"));
}

void bind_layout(nb::module_& module) {
  nb::enum_<Loss>(module, "Loss").value("kl", Loss::kl).value("frobenius", Loss::frobenius);
  nb::enum_<Sampling>(module, "Sampling")
      .value("exhaustive", Sampling::exhaustive)
      .value("scalar", Sampling::scalar)
      .value("accelerated", Sampling::accelerated)
      .value("unbiased", Sampling::unbiased);
  nb::enum_<RepulsionMass>(module, "RepulsionMass")
      .value("per_edge", RepulsionMass::per_edge)
      .value("degree", RepulsionMass::degree)
      .value("strength", RepulsionMass::strength);
  nb::class_<Settings>(module, "Settings")
      .def(nb::init<>())
      .def_rw("n_epochs", &Settings::n_epochs)
      .def_rw("a", &Settings::a)
      .def_rw("b", &Settings::b)
      .def_rw("normalized", &Settings::normalized)
      .def_rw("loss", &Settings::loss)
      .def_rw("symmetric_attraction", &Settings::symmetric_attraction)
      .def_rw("sampling", &Settings::sampling)
      .def_rw("exact_repulsion", &Settings::exact_repulsion)
      .def_rw("negatives", &Settings::negatives)
      .def_rw("repulsion_mass", &Settings::repulsion_mass)
      .def_rw("repulsion_rate", &Settings::repulsion_rate)
      .def_rw("mean_non_edge_weight", &Settings::mean_non_edge_weight)
      .def_rw("repulsion_epsilon", &Settings::repulsion_epsilon)
      .def_rw("in_place", &Settings::in_place)
      .def_rw("gains", &Settings::gains)
      .def_rw("prune", &Settings::prune)
      .def_rw("learning_rate", &Settings::learning_rate)
      .def_rw("decay_start", &Settings::decay_start)
      .def_rw("decay_power", &Settings::decay_power)
      .def_rw("momentum", &Settings::momentum)
      .def_rw("exaggeration", &Settings::exaggeration)
      .def_rw("exaggeration_share", &Settings::exaggeration_share)
      .def_rw("step_cap", &Settings::step_cap)
      .def_rw("force_scale", &Settings::force_scale)
      .def_rw("gradient_clip", &Settings::gradient_clip)
      .def_rw("seed", &Settings::seed);
  nb::class_<Layout>(module, "Layout")
      .def(
          "__init__",
          [](Layout* self, Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights,
             Matrix<float> start, const Settings& settings, int threads) {
            nb::gil_scoped_release release;
            new (self) Layout(view(offsets, indices, weights), start.data(), static_cast<int>(start.shape(1)),
                              settings, threads);
          },
          nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("start"), nb::arg("settings"),
          nb::arg("threads"))
      .def_prop_ro("epoch", &Layout::epoch)
      .def("run", &Layout::run, nb::arg("until"), nb::call_guard<nb::gil_scoped_release>())
      .def("embedding", [](const Layout& layout) {
        auto result = new_matrix(layout.size(), layout.dimensions());
        layout.copy_embedding(result.data());
        return result;
      });
}

}  // namespace

NB_MODULE(ACTUP_MODULE, module) {
  bind_graph(module);
  bind_join(module);
  bind_layout(module);
}
