// Layouts and new rows under output metrics, for Python.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/enums.hpp"
#include "bindings/layout_inputs.hpp"
#include "bindings/layout_state.hpp"
#include "layout/metric_epochs.hpp"
#include "transform/metric_rows.hpp"

namespace actup {

namespace {

constexpr int64_t kManyPoints = 20'000;  // an epoch of fewer takes less than about 0.05 s

auto placed_rows_under(const Matrix<int32_t>& ids, const Matrix<float>& distances, const Matrix<float>& map,
                       Affinity affinity, Distance distance, std::vector<double> perplexities, double sigma,
                       double local_connectivity, const Placement& placement, OutputMetric metric,
                       double parameter, int threads) {
  const auto rows = static_cast<int64_t>(ids.shape(0)), n = static_cast<int64_t>(map.shape(0));
  const int dimensions = static_cast<int>(map.shape(1));
  const NeighborRows neighbors{ids.data(), distances.data(), rows, static_cast<int64_t>(ids.shape(1))};
  const MapView view{map.data(), n, dimensions};
  const AffinitySettings affinities{
      affinity, distance, Symmetrization::umap, std::move(perplexities), sigma, local_connectivity};
  auto result = new_matrix(rows, dimensions);
  {
    const Interruptible call;
    place_rows_under({neighbors, view, affinities, placement, result.data()}, metric, parameter, threads);
  }
  return result;
}

}  // namespace

void bind_output_metrics(nb::module_& module) {
  ACTUP_BIND_ENUM(module, OutputMetric, ACTUP_OUTPUT_METRICS);
  nb::class_<MetricLayout>(module, "MetricLayout")
      .def_prop_ro("epoch", &MetricLayout::epoch)
      .def(
          "run",
          [](MetricLayout& layout, int until) {
            if (layout.size() >= kManyPoints) {
              const Interruptible call;
              return layout.run(until);
            }
            const nb::gil_scoped_release release;
            layout.run(until);
          },
          nb::arg("until"))
      .def(
          "steer",
          [](MetricLayout& layout, float exaggeration, float repulsion) {
            layout.steer({exaggeration, repulsion});
          },
          nb::arg("exaggeration"), nb::arg("repulsion"))
      .def("embedding",
           [](const MetricLayout& layout) {
             auto result = new_matrix(layout.size(), layout.dimensions());
             layout.copy_embedding(result.data());
             return result;
           })
      .def("state", &state_arrays<MetricLayout>, "What later epochs depend on, besides graph and settings.")
      .def("restore", &restore_arrays<MetricLayout>, nb::arg("state"));
  module.def(
      "make_metric_layout",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, Matrix<float> start,
         OutputMetric metric, double parameter, const Settings& settings, int threads) {
        const Interruptible call;
        const GraphView graph = checked_graph(offsets, indices, weights, threads);
        const auto dimensions = static_cast<int>(start.shape(1));
        check_places(start, graph.n, dimensions, "start");
        return make_metric_layout(graph, start.data(), dimensions, metric, parameter, settings, threads);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("start"), nb::arg("metric"),
      nb::arg("parameter"), nb::arg("settings"), nb::arg("threads"));
  module.def("place_rows_under", &placed_rows_under, nb::arg("ids"), nb::arg("distances"), nb::arg("map"),
             nb::arg("affinity"), nb::arg("distance"), nb::arg("perplexities"), nb::arg("sigma"),
             nb::arg("local_connectivity"), nb::arg("placement"), nb::arg("metric"), nb::arg("parameter"),
             nb::arg("threads"));
  module.def(
      "output_coordinates",
      [](OutputMetric metric, Matrix<float> map) {
        const auto n = static_cast<int64_t>(map.shape(0));
        const int dimensions = static_cast<int>(map.shape(1));
        return with_output_metric(metric, [&](auto policy) {
          const int coordinates = policy.internal(dimensions);
          auto result = new_matrix<double>(n, coordinates);
          for (int64_t i = 0; i < n; ++i)
            read_point<decltype(policy)>(map.data() + i * dimensions, result.data() + i * coordinates,
                                         dimensions);
          return result;
        });
      },
      nb::arg("metric"), nb::arg("map"));
  module.def(
      "output_distances",
      [](OutputMetric metric, double parameter, Matrix<double> x, Matrix<double> y) {
        const auto m = static_cast<int64_t>(x.shape(0));
        const int coordinates = static_cast<int>(x.shape(1));
        auto distances = std::make_unique_for_overwrite<double[]>(m);
        auto gradients = std::make_unique_for_overwrite<double[]>(m * coordinates);
        {
          const Interruptible call;
          output_distances(metric, parameter, x.data(), y.data(), m, coordinates, distances.get(),
                           gradients.get());
        }
        return std::tuple(to_numpy(std::move(distances), m), to_numpy(std::move(gradients), m, coordinates));
      },
      nb::arg("metric"), nb::arg("parameter"), nb::arg("x"), nb::arg("y"));
}

}  // namespace actup
