// Eigenvectors and landmarks for the start, for Python.
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "graph/connectivity.hpp"
#include "start/landmarks.hpp"
#include "start/principal.hpp"
#include "start/spectral.hpp"

namespace actup {

namespace {

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
    const Interruptible call;
    solve(vectors.data(), values.data());
  }
  return nb::make_tuple(vectors, values);
}

}  // namespace

void bind_start(nb::module_& module) {
  module.def(
      "is_connected",
      [](const Vector<int64_t>& offsets, const Vector<int32_t>& indices) {
        const Interruptible call;
        return is_connected(offsets.data(), indices.data(), static_cast<int64_t>(offsets.size()) - 1);
      },
      nb::arg("offsets"), nb::arg("indices"), "Whether a path joins any two points of a symmetric graph.");
  module.def(
      "degrees",
      [](const Vector<int64_t>& offsets, const Vector<int32_t>& indices, const Vector<float>& weights) {
        const GraphView graph = view(offsets, indices, weights);
        auto out = new_vector(graph.n);
        {
          const Interruptible call;
          degrees(graph, out.data());
        }
        return out;
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"),
      "The sum of the weights of every point, as differences of one running sum.");
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
      [](const TypedArray& x, Vector<float> shift, int dimensions, uint64_t seed, int threads) {
        const DenseTable rows{typed_rows(x), shift.data()};
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
  module.def(
      "find_landmarks",
      [](const TypedArray& x, Metric metric, int64_t wanted, uint64_t seed, int threads) {
        const TypedRows rows = typed_rows(x);
        std::optional<Landmarks> found;
        {
          const Interruptible call;
          found.emplace(rows, metric, wanted, seed, threads);
        }
        return nb::make_tuple(copied(found->means, found->count, found->columns),
                              copied(found->labels, found->labels.size()));
      },
      nb::arg("x"), nb::arg("metric"), nb::arg("wanted"), nb::arg("seed"), nb::arg("threads"));
  module.def(
      "scatter_around",
      [](const Matrix<float>& places, const Vector<int32_t>& labels, float reach, uint64_t seed,
         int threads) {
        const auto rows = static_cast<int64_t>(labels.size()), width = static_cast<int64_t>(places.shape(1));
        auto out = new_matrix(rows, width);
        {
          const Interruptible call;
          scatter_around(places.data(), labels.data(), rows, width, reach, seed, threads, out.data());
        }
        return out;
      },
      nb::arg("places"), nb::arg("labels"), nb::arg("reach"), nb::arg("seed"), nb::arg("threads"));
}

}  // namespace actup
