// Repulsion on its own, for the tests and benchmarks.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/enums.hpp"
#include "layout/losses.h"
#include "layout/repulsion_mesh.hpp"
#include "layout/repulsion_tree.hpp"

namespace actup {

namespace {

using FloatMatrix = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
using FloatVector = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
using Repulsion = std::tuple<FloatMatrix, FloatVector, double>;  // force, potential, sum of the potentials

FloatVector new_vector(int64_t size) {
  float* data = new float[size];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return {data, {static_cast<size_t>(size)}, owner};
}

Points points_of(const Matrix<float>& Y) {
  Points points(static_cast<int64_t>(Y.shape(0)), static_cast<int>(Y.shape(1)), 0);
  std::copy_n(Y.data(), Y.size(), points.rows.begin());
  points.copy_rows_to_planes(0, points.n);
  return points;
}

// run(take) calls take(i, force, potential) for every point and returns the sum of the potentials.
template <class Run>
Repulsion collect(const Points& points, const Run& run) {
  FloatMatrix force = new_matrix(points.n, points.dimensions);
  FloatVector potential = new_vector(points.n);
  const Interruptible call;
  const double total = run([&, f = force.data(), p = potential.data()](int64_t i, const float* own, float u) {
    std::copy_n(own, points.dimensions, f + i * points.dimensions);
    p[i] = u;
  });
  return {std::move(force), std::move(potential), total};
}

template <int D>
Repulsion tree_repulsion(const Points& points, PotentialKind kind, const Curve& curve, float epsilon,
                         float theta, int threads) {
  const float* planes[D];
  for (int c = 0; c < D; ++c) planes[c] = points.plane(c);
  return collect(points, [&](const auto& take) {
    return Tree<D>(points.n, planes, threads).repel(kind, curve, epsilon, theta, threads, take);
  });
}

// The potentials of a loss's repulsion: one, or two where it has a second force.
std::vector<PotentialKind> potential_kinds(Loss loss, bool normalized) {
  return with_loss(loss, [&](auto policy) {
    using LossPolicy = decltype(policy);
    std::vector<PotentialKind> kinds{potential_kind<LossPolicy>(normalized)};
    if (normalized && LossPolicy::kHasSecondForce) kinds.push_back(LossPolicy::SecondPotential::kKind);
    return kinds;
  });
}

}  // namespace

void bind_repulsion(nb::module_& module) {
  ACTUP_BIND_ENUM(module, PotentialKind, ACTUP_POTENTIALS);
  module.def("potential_kinds", &potential_kinds, nb::arg("loss"), nb::arg("normalized"));
  nb::class_<Mesh>(module, "Mesh")
      .def(
          "__init__",
          [](Mesh* self, PotentialKind kind, const Curve& curve, float epsilon, float spacing, int largest) {
            new (self) Mesh(MeshPotential(kind, curve, epsilon), spacing, largest);
          },
          nb::arg("kind"), nb::arg("curve"), nb::arg("epsilon"), nb::arg("spacing"), nb::arg("largest"))
      .def_static("usual_largest", &Mesh::usual_largest, nb::arg("n"), nb::arg("dimensions"))
      .def_prop_ro("spacing", &Mesh::spacing)
      .def_prop_ro("shape", [](const Mesh& mesh) { return std::tuple(mesh.rows(), mesh.columns()); })
      .def(
          "repel",
          [](Mesh& mesh, const Matrix<float>& Y, int threads) {
            const Points points = points_of(Y);
            return collect(points, [&](const auto& take) {
              return mesh.repel(points.n, points.plane(0), points.dimensions > 1 ? points.plane(1) : nullptr,
                                threads, take);
            });
          },
          nb::arg("Y"), nb::arg("threads"));
  module.def(
      "tree_repulsion",
      [](const Matrix<float>& Y, PotentialKind kind, const Curve& curve, float epsilon, float theta,
         int threads) {
        const Points points = points_of(Y);
        if (points.dimensions == 1) return tree_repulsion<1>(points, kind, curve, epsilon, theta, threads);
        if (points.dimensions == 2) return tree_repulsion<2>(points, kind, curve, epsilon, theta, threads);
        if (points.dimensions == 3) return tree_repulsion<3>(points, kind, curve, epsilon, theta, threads);
        throw nb::value_error("the tree serves one to three dimensions");
      },
      nb::arg("Y"), nb::arg("kind"), nb::arg("curve"), nb::arg("epsilon"), nb::arg("theta"),
      nb::arg("threads"));
  module.def(
      "convolve",
      [](const Matrix<float>& grid, const Matrix<float>& kernel, int threads) {
        const int rows = static_cast<int>(grid.shape(0)), columns = static_cast<int>(grid.shape(1));
        if (HalfTransform::smooth_size(rows) != rows || HalfTransform::smooth_size(columns) != columns)
          throw nb::value_error("the grid's sides have to be smooth sizes");
        if (kernel.shape(0) != grid.shape(0) + 1 || kernel.shape(1) != grid.shape(1) + 1)
          throw nb::value_error("the kernel has one row and column more than the grid");
        const HalfTransform along_columns(rows), along_rows(columns);
        Convolution convolution(along_columns, along_rows);
        const auto spectrum = even_spectrum(
            along_columns, along_rows,
            [&](int row, int column) {
              Lanes values;
              for (int lane = 0; lane < kLanes; ++lane)
                values[lane] = kernel.data()[row * (columns + 1) + std::min(column + lane, columns)];
              return values;
            },
            threads);
        convolution.set_kernel([&](int64_t group, int l) { return spectrum[group * (columns + 1) + l]; },
                               threads);
        std::vector<float> padded(static_cast<size_t>(rows) * convolution.stride(), 0.0f);
        for (int r = 0; r < rows; ++r)
          std::copy_n(grid.data() + r * columns, columns, &padded[r * convolution.stride()]);
        convolution.apply(padded.data(), threads);
        auto result = new_matrix(rows, columns);
        for (int r = 0; r < rows; ++r)
          std::copy_n(&padded[r * convolution.stride()], columns, result.data() + r * columns);
        return result;
      },
      nb::arg("grid"), nb::arg("kernel"), nb::arg("threads"));
  module.def("smooth_size", &HalfTransform::smooth_size, nb::arg("wanted"));
}

}  // namespace actup
