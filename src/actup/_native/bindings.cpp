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
#include "pair_sums.hpp"
#include "principal.hpp"
#include "ranks.hpp"
#include "spectral.hpp"

namespace nb = nanobind;
using namespace actup;

void bind_join(nb::module_& module);  // bindings_join.cpp

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T = float>
nb::ndarray<nb::numpy, T, nb::ndim<2>> new_matrix(int64_t rows, int64_t columns) {
  T* data = new T[rows * columns];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
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

nb::ndarray<nb::numpy, double, nb::ndim<1>> new_vector(int64_t size) {
  double* data = new double[size];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return {data, {static_cast<size_t>(size)}, owner};
}

// Calls solve(vectors, values) without the interpreter lock; returns both, (rows, columns) and (columns,).
template <class Solve>
nb::tuple solved(int64_t rows, int columns, const Solve& solve) {
  auto vectors = new_matrix(rows, columns);
  auto values = new_vector(columns);
  {
    nb::gil_scoped_release release;
    solve(vectors.data(), values.data());
  }
  return nb::make_tuple(vectors, values);
}

void bind_start(nb::module_& module) {
  module.def(
      "spectral_coordinates",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, int dimensions,
         uint64_t seed, int threads) {
        const GraphView graph = view(offsets, indices, weights);
        return solved(graph.n, dimensions, [&](float* vectors, double* values) {
          spectral_coordinates(graph, dimensions, seed, threads, vectors, values);
        });
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("dimensions"), nb::arg("seed"),
      nb::arg("threads"));
  module.def(
      "principal_scores",
      [](Matrix<float> x, Vector<float> shift, int dimensions, uint64_t seed, int threads) {
        const DenseTable rows{x.data(), shift.data(), static_cast<int64_t>(x.shape(0)),
                              static_cast<int64_t>(x.shape(1))};
        return solved(rows.rows, dimensions, [&](float* scores, double* scatter) {
          principal_scores(rows, dimensions, seed, threads, scores, scatter);
        });
      },
      nb::arg("x"), nb::arg("shift"), nb::arg("dimensions"), nb::arg("seed"), nb::arg("threads"));
  module.def(
      "sparse_principal_scores",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> values, int64_t columns,
         int dimensions, uint64_t seed, int threads) {
        const SparseTable rows{offsets.data(), indices.data(), values.data(),
                               static_cast<int64_t>(offsets.size()) - 1, columns};
        return solved(rows.rows, dimensions, [&](float* scores, double* scatter) {
          principal_scores(rows, dimensions, seed, threads, scores, scatter);
        });
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("values"), nb::arg("columns"), nb::arg("dimensions"),
      nb::arg("seed"), nb::arg("threads"));
}

template <class Real>
void bind_ranks(nb::module_& module) {
  module.def(
      "nearest_in_rows",
      [](Matrix<Real> distances, int64_t k, int threads) {
        auto ids = new_matrix<int32_t>(distances.shape(0), k);
        {
          nb::gil_scoped_release release;
          nearest_in_rows(distances.data(), distances.shape(0), distances.shape(1), k, ids.data(), threads);
        }
        return ids;
      },
      nb::arg("distances").noconvert(), nb::arg("k"), nb::arg("threads"));
  module.def(
      "ranks_in_rows",
      [](Matrix<Real> distances, Matrix<int32_t> ids, int threads) {
        auto ranks = new_matrix<int32_t>(ids.shape(0), ids.shape(1));
        {
          nb::gil_scoped_release release;
          ranks_in_rows(distances.data(), ids.data(), ids.shape(0), distances.shape(1), ids.shape(1),
                        ranks.data(), threads);
        }
        return ranks;
      },
      nb::arg("distances").noconvert(), nb::arg("ids"), nb::arg("threads"));
}

void bind_sums(nb::module_& module) {
  module.def(
      "pair_sums",
      [](Matrix<float> Y, float a, float b, int threads) {
        PairSums sums;
        {
          nb::gil_scoped_release release;
          sums = pair_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))), a, b, threads);
        }
        return nb::make_tuple(sums.kernel, sums.square, sums.log_rest);
      },
      nb::arg("Y"), nb::arg("a"), nb::arg("b"), nb::arg("threads"));
  module.def(
      "edge_sums",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, Matrix<float> Y, float a,
         float b, int threads) {
        EdgeSums sums;
        {
          nb::gil_scoped_release release;
          sums = edge_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))),
                           view(offsets, indices, weights), a, b, threads);
        }
        return nb::make_tuple(sums.kernel, sums.log_kernel, sums.log_rest);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("Y"), nb::arg("a"), nb::arg("b"),
      nb::arg("threads"));
}

}  // namespace

NB_MODULE(ACTUP_MODULE, module) {
  bind_graph(module);
  bind_join(module);
  bind_layout(module);
  bind_start(module);
  bind_ranks<float>(module);
  bind_ranks<double>(module);
  bind_sums(module);
}
