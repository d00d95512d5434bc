// The layout, for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/enums.hpp"
#include "bindings/layout_inputs.hpp"
#include "bindings/layout_state.hpp"
#include "layout/layout.hpp"
#include "layout/layout_parts.hpp"

namespace actup {

namespace {

constexpr int64_t kManyPoints = 500'000;  // an epoch of fewer takes less than about 0.05 s

}  // namespace

void bind_layout(nb::module_& module) {
  ACTUP_BIND_ENUM(module, Loss, ACTUP_LOSSES);
  ACTUP_BIND_ENUM(module, Sampling, ACTUP_SAMPLINGS);
  ACTUP_BIND_ENUM(module, RepulsionMass, ACTUP_REPULSION_MASSES);
  ACTUP_BIND_ENUM(module, Repulsion, ACTUP_REPULSIONS);
  ACTUP_BIND_ENUM(module, Optimizer, ACTUP_OPTIMIZERS);
  ACTUP_BIND_ENUM(module, Shape, ACTUP_SHAPES);
  nb::class_<Schedule>(module, "Schedule")
      .def(nb::init<>())
      .def_rw("learning_rate", &Schedule::learning_rate)
      .def_rw("momentum", &Schedule::momentum)
      .def_rw("exaggeration", &Schedule::exaggeration)
      .def_rw("step_cap", &Schedule::step_cap)
      .def_rw("stiffness_floor", &Schedule::stiffness_floor)
      .def_rw("dilation", &Schedule::dilation)
      .def_rw("expansion_begin", &Schedule::expansion_begin)
      .def_rw("expansion_end", &Schedule::expansion_end)
      .def_rw("momentum_after_stop", &Schedule::momentum_after_stop);
  nb::class_<Curve>(module, "Curve")
      .def(nb::init<float, float, float>(), nb::arg("a"), nb::arg("b"), nb::arg("dof") = 1.0f)
      .def_prop_ro("shape", &shape_of);
  nb::class_<Settings>(module, "Settings")
      .def(nb::init<>())
      .def_rw("n_epochs", &Settings::n_epochs)
      .def_rw("curve", &Settings::curve)
      .def_rw("normalized", &Settings::normalized)
      .def_rw("rate_in_points", &Settings::rate_in_points)
      .def_rw("partition", &Settings::partition)
      .def_rw("loss", &Settings::loss)
      .def_rw("symmetric_attraction", &Settings::symmetric_attraction)
      .def_rw("sampling", &Settings::sampling)
      .def_rw("repulsion", &Settings::repulsion)
      .def_rw("negatives", &Settings::negatives)
      .def_rw("repulsion_mass", &Settings::repulsion_mass)
      .def_rw("repulsion_rate", &Settings::repulsion_rate)
      .def_rw("mean_non_edge_weight", &Settings::mean_non_edge_weight)
      .def_rw("repulsion_epsilon", &Settings::repulsion_epsilon)
      .def_rw("mesh_spacing", &Settings::mesh_spacing)
      .def_rw("theta", &Settings::theta)
      .def_rw("horizon", &Settings::horizon)
      .def_rw("in_place", &Settings::in_place)
      .def_rw("optimizer", &Settings::optimizer)
      .def_rw("prune", &Settings::prune)
      .def_rw("force_scale", &Settings::force_scale)
      .def_rw("gradient_clip", &Settings::gradient_clip)
      .def_rw("density_weight", &Settings::density_weight)
      .def_rw("density_shift", &Settings::density_shift)
      .def_rw("density_begin", &Settings::density_begin)
      .def_rw("seed", &Settings::seed)
      .def_rw("schedule", &Settings::schedule);
  nb::class_<Layout>(module, "Layout")
      .def(
          "__init__",
          [](Layout* self, Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights,
             Matrix<float> start, const Settings& settings, int threads,
             const std::optional<Vector<float>>& mobility, const std::optional<Vector<float>>& log_radii) {
            const Interruptible call;
            const GraphView graph = checked_graph(offsets, indices, weights, threads);
            const auto dimensions = static_cast<int>(start.shape(1));
            check_places(start, graph.n, dimensions, "start");
            new (self) Layout(graph, start.data(), dimensions, settings, threads,
                              checked_inputs(mobility, log_radii, graph.n));
          },
          nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("start"), nb::arg("settings"),
          nb::arg("threads"), nb::arg("mobility") = nb::none(), nb::arg("log_radii") = nb::none())
      .def_prop_ro("epoch", &Layout::epoch)
      .def(
          "run",
          [](Layout& layout, int until) {
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
          [](Layout& layout, float exaggeration, float repulsion) {
            layout.steer({exaggeration, repulsion});
          },
          nb::arg("exaggeration"), nb::arg("repulsion"))
      .def(
          "replace_points",
          [](Layout& layout, Matrix<float> places) {
            check_places(places, layout.size(), layout.dimensions(), "places");
            layout.replace_points(places.data());
          },
          nb::arg("places"))
      .def("embedding",
           [](const Layout& layout) {
             auto result = new_matrix(layout.size(), layout.dimensions());
             layout.copy_embedding(result.data());
             return result;
           })
      .def("state", &state_arrays<Layout>, "What later epochs depend on, besides graph and settings.")
      .def("restore", &restore_arrays<Layout>, nb::arg("state"));
  nb::class_<LayoutParts>(module, "LayoutParts")
      .def(
          "__init__",
          [](LayoutParts* self, Matrix<float> start, const Settings& settings, int threads) {
            const Interruptible call;
            new (self) LayoutParts(static_cast<int64_t>(start.shape(0)), start.data(),
                                   static_cast<int>(start.shape(1)), settings, threads);
          },
          nb::arg("start"), nb::arg("settings"), nb::arg("threads"))
      .def(
          "read",
          [](LayoutParts& parts, Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights) {
            if (offsets.size() == 0 || indices.size() != weights.size())
              throw std::invalid_argument("a part of the graph needs offsets, and an id for every weight");
            const Interruptible call;
            parts.read(view(offsets, indices, weights), static_cast<int64_t>(weights.size()));
          },
          nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), "Reads the next rows of the graph.")
      .def("end_pass", &LayoutParts::end_pass, "All rows have been read; a layout needs three passes.")
      .def(
          "finish",
          [](LayoutParts& parts, Matrix<float> start, const std::optional<Vector<float>>& mobility,
             const std::optional<Vector<float>>& log_radii) {
            const Interruptible call;
            check_places(start, parts.size(), parts.dimensions(), "start");
            return parts.finish(start.data(), checked_inputs(mobility, log_radii, parts.size()));
          },
          nb::arg("start"), nb::arg("mobility") = nb::none(), nb::arg("log_radii") = nb::none());
}

}  // namespace actup
