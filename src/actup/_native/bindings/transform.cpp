// New rows on a finished map, for Python.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "transform/inverse.hpp"
#include "transform/new_rows.hpp"

namespace actup {

namespace {

auto placed_rows(const Matrix<int32_t>& ids, const Matrix<float>& distances, const Matrix<float>& map,
                 Affinity affinity, Distance distance, std::vector<double> perplexities, double sigma,
                 double local_connectivity, const Placement& placement, Loss loss, bool normalized,
                 int threads) {
  const auto rows = static_cast<int64_t>(ids.shape(0)), n = static_cast<int64_t>(map.shape(0));
  const int dimensions = static_cast<int>(map.shape(1));
  const NeighborRows neighbors{ids.data(), distances.data(), rows, static_cast<int64_t>(ids.shape(1))};
  const MapView view{map.data(), n, dimensions};
  const AffinitySettings affinities{
      affinity, distance, Symmetrization::umap, std::move(perplexities), sigma, local_connectivity};
  auto result = new_matrix(rows, dimensions);
  {
    const Interruptible call;
    place_rows({neighbors, view, affinities, placement, result.data()}, loss, normalized, threads);
  }
  return result;
}

template <class Rows>
auto inverted_places(const Matrix<int32_t>& ids, const Matrix<float>& distances, const Matrix<float>& map,
                     const Matrix<float>& places, const Rows& rows, int threads) {
  const auto count = static_cast<int64_t>(ids.shape(0));
  const NeighborRows neighbors{ids.data(), distances.data(), count, static_cast<int64_t>(ids.shape(1))};
  const MapView view{map.data(), static_cast<int64_t>(map.shape(0)), static_cast<int>(map.shape(1))};
  auto result = new_matrix(count, rows.columns);
  {
    const Interruptible call;
    rows_of_places(neighbors, view, places.data(), rows, result.data(), threads);
  }
  return result;
}

}  // namespace

void bind_transform(nb::module_& module) {
  nb::class_<Placement>(module, "Placement")
      .def(nb::init<>())
      .def_rw("seed", &Placement::seed)
      .def_rw("curve", &Placement::curve)
      .def_rw("epochs", &Placement::epochs)
      .def_rw("samples", &Placement::samples)
      .def_rw("attraction", &Placement::attraction)
      .def_rw("repulsion", &Placement::repulsion)
      .def_rw("epsilon", &Placement::epsilon)
      .def_rw("partition", &Placement::partition)
      .def_rw("learning_rate", &Placement::learning_rate)
      .def_rw("step_cap", &Placement::step_cap)
      .def_rw("stiffness_floor", &Placement::stiffness_floor)
      .def_rw("mass_is_degree", &Placement::mass_is_degree)
      .def_rw("mean_non_edge_weight", &Placement::mean_non_edge_weight);
  module.def("place_rows", &placed_rows, nb::arg("ids"), nb::arg("distances"), nb::arg("map"),
             nb::arg("affinity"), nb::arg("distance"), nb::arg("perplexities"), nb::arg("sigma"),
             nb::arg("local_connectivity"), nb::arg("placement"), nb::arg("loss"), nb::arg("normalized"),
             nb::arg("threads"));
  module.def(
      "rows_of_places",
      [](const Matrix<int32_t>& ids, const Matrix<float>& distances, const Matrix<float>& map,
         const Matrix<float>& places, const TypedArray& rows,
         int threads) { return inverted_places(ids, distances, map, places, typed_rows(rows), threads); },
      nb::arg("ids"), nb::arg("distances"), nb::arg("map"), nb::arg("places"), nb::arg("rows"),
      nb::arg("threads"));
  module.def(
      "sparse_rows_of_places",
      [](const Matrix<int32_t>& ids, const Matrix<float>& distances, const Matrix<float>& map,
         const Matrix<float>& places, const Vector<int64_t>& offsets,
         const Vector<int32_t>& columns_of_values, const Vector<float>& values, int64_t columns,
         int threads) {
        const SparseRowsView rows{offsets.data(), columns_of_values.data(), values.data(), columns};
        return inverted_places(ids, distances, map, places, rows, threads);
      },
      nb::arg("ids"), nb::arg("distances"), nb::arg("map"), nb::arg("places"), nb::arg("offsets"),
      nb::arg("indices"), nb::arg("values"), nb::arg("columns"), nb::arg("threads"));
}

}  // namespace actup
