// Forces of t-SNE in double precision, for Python callers that make their own steps.
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "layout/reference_forces.hpp"

namespace actup {

namespace {

MapView map_of(const Matrix<double>& Y) {
  return {static_cast<int64_t>(Y.shape(0)), static_cast<int>(Y.shape(1)), Y.data()};
}

void check_dimensions(const MapView& points, const MapView& reference) {
  if (points.dimensions != reference.dimensions)
    throw nb::value_error("points and reference points need the same number of dimensions");
}

}  // namespace

void bind_reference_forces(nb::module_& module) {
  module.def(
      "attraction_to_reference",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<double> weights, Matrix<double> Y,
         Matrix<double> reference, double dof, bool measure, int threads) {
        const MapView points = map_of(Y), others = map_of(reference);
        check_dimensions(points, others);
        if (offsets.size() != Y.shape(0) + 1)
          throw nb::value_error("the similarities need one row per point");
        auto force = new_matrix<double>(points.n, points.dimensions);
        double divergence = 0;
        {
          const Interruptible call;
          divergence = with_dimensions(points.dimensions, [&](auto D) {
            return attract<D()>({offsets.data(), indices.data(), weights.data()}, points, others, dof,
                                measure, force.data(), threads);
          });
        }
        return nb::make_tuple(force, divergence);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("Y"), nb::arg("reference"),
      nb::arg("dof"), nb::arg("measure"), nb::arg("threads"),
      "Forces (m, d), and the sum of w log(w/q) if measure is true");
  module.def(
      "repulsion_from_reference",
      [](Matrix<double> Y, Matrix<double> reference, double dof, int threads) {
        const MapView points = map_of(Y), others = map_of(reference);
        check_dimensions(points, others);
        auto force = new_matrix<double>(points.n, points.dimensions);
        auto sums = new_matrix<double>(points.n, 1);
        {
          const Interruptible call;
          with_dimensions(points.dimensions, [&](auto D) {
            repel<D()>(points, others, dof, force.data(), sums.data(), threads);
          });
        }
        return nb::make_tuple(force, sums);
      },
      nb::arg("Y"), nb::arg("reference"), nb::arg("dof"), nb::arg("threads"),
      "Forces (m, d), and the sum of the kernel over all reference points (m, 1)");
}

}  // namespace actup
