// The Python face of the approximate neighbour search: converts arguments, releases the interpreter lock.
#include <nanobind/stl/tuple.h>

#include <memory>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "neighbors/calibration.hpp"
#include "neighbors/cluster_search.hpp"
#include "neighbors/refinement.hpp"

namespace actup {
namespace {

// An index and the rows it reads.
struct HeldIndex {
  TypedArray points;
  std::unique_ptr<JoinIndex> index;
};

auto calibrate(const HeldIndex& held, int64_t k, int64_t sampled, uint64_t seed, int threads) {
  Calibration result;
  {
    nb::gil_scoped_release release;
    result = Calibrator(*held.index, k).run(sampled, seed, threads);
  }
  const size_t probes = result.probes.size(), candidates = result.candidates.size();
  return std::tuple(copied(result.rows, result.rows.size()),
                    copied(result.truth, result.rows.size(), static_cast<size_t>(k)),
                    copied(result.probes, probes), copied(result.candidates, candidates),
                    copied(result.mean, probes, candidates), copied(result.error, probes, candidates));
}

}  // namespace

void bind_join(nb::module_& module) {
  module.attr("RULE_COLUMNS") = Projection::kMostColumns;
  nb::class_<HeldIndex>(module, "JoinIndex")
      .def(
          "__init__",
          [](HeldIndex* self, TypedArray points, const RowMetric& how, int64_t columns, bool sparing,
             uint64_t seed, int threads) {
            const TypedRows rows = typed_rows(points);
            std::unique_ptr<JoinIndex> index;
            {
              nb::gil_scoped_release release;
              index = std::make_unique<JoinIndex>(rows, how, columns, sparing, seed, threads);
            }
            new (self) HeldIndex{std::move(points), std::move(index)};
          },
          nb::arg("points"), nb::arg("how"), nb::arg("columns"), nb::arg("sparing"), nb::arg("seed"),
          nb::arg("threads"))
      .def_prop_ro("columns",
                   [](const HeldIndex& held) { return held.index->encoder().projection().columns(); })
      .def_prop_ro("width", [](const HeldIndex& held) { return held.index->points().width(); })
      .def_prop_ro("clusters", [](const HeldIndex& held) { return held.index->clusters().count(); })
      .def("order",
           [](const HeldIndex& held) {
             const std::vector<int32_t>& order = held.index->clusters().order();
             return copied(order, order.size());
           })
      .def("calibrate", &calibrate, nb::arg("k"), nb::arg("sampled"), nb::arg("seed"), nb::arg("threads"))
      .def(
          "neighbors",
          [](const HeldIndex& held, int64_t k, int64_t probes, int64_t candidates, int threads) {
            return neighbor_lists(held.index->points().rows().rows, k, [&](int32_t* ids, float* distances) {
              join_neighbors(*held.index, k, {probes, candidates}, threads, ids, distances);
            });
          },
          nb::arg("k"), nb::arg("probes"), nb::arg("candidates"), nb::arg("threads"))
      .def(
          "refine",
          [](const HeldIndex& held, const Matrix<int32_t>& ids, int threads) {
            const auto k = static_cast<int64_t>(ids.shape(1));
            return neighbor_lists(static_cast<int64_t>(ids.shape(0)), k, [&](int32_t* out, float* distances) {
              refine_neighbors(*held.index, k, threads, ids.data(), out, distances);
            });
          },
          nb::arg("ids"), nb::arg("threads"))
      .def(
          "query",
          [](const HeldIndex& held, const TypedArray& rows, int64_t k, int64_t probes, int64_t candidates,
             int threads) {
            const TypedRows queries = typed_rows(rows);
            return neighbor_lists(queries.rows, k, [&](int32_t* ids, float* distances) {
              join_query(*held.index, queries, k, {probes, candidates}, threads, ids, distances);
            });
          },
          nb::arg("rows"), nb::arg("k"), nb::arg("probes"), nb::arg("candidates"), nb::arg("threads"));
}

}  // namespace actup
