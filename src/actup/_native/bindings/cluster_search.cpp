// Python bindings of cluster search: they convert arguments and release the interpreter lock.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "neighbors/calibration.hpp"
#include "neighbors/cell_search.hpp"
#include "neighbors/center_index.hpp"
#include "neighbors/cluster_search.hpp"
#include "neighbors/refinement.hpp"

namespace actup {
namespace {

// An index and the array that it reads.
struct IndexHandle {
  TypedArray points;
  std::unique_ptr<ClusterIndex> index;
};

// Cells of rows, and the array that they are read from.
struct CellsHandle {
  TypedArray points;
  std::unique_ptr<CellIndex> index;
};

// Few centers, and the array that they are read from.
struct CentersHandle {
  TypedArray centers;
  std::unique_ptr<CenterIndex> index;
};

auto nearest_centers(const CentersHandle& handle, const TypedArray& rows, int64_t wanted, int threads) {
  if (wanted < 1 || wanted > std::min(CenterIndex::kMaxWanted, handle.index->count())) {
    throw std::invalid_argument("wanted must be at least 1, and at most 8 and the number of centers");
  }
  const TypedRows queries = typed_rows(rows);
  auto ids = std::make_unique_for_overwrite<int32_t[]>(queries.rows * wanted);
  auto levels = std::make_unique_for_overwrite<uint8_t[]>(queries.rows * wanted);
  {
    const Interruptible call;
    handle.index->nearest(queries, wanted, threads, ids.get(), levels.get());
  }
  return std::tuple(to_numpy(std::move(ids), queries.rows, wanted),
                    to_numpy(std::move(levels), queries.rows, wanted));
}

auto calibrate(const IndexHandle& handle, int64_t k, int64_t sample_size, uint64_t seed, int threads) {
  Calibration result;
  {
    const Interruptible call;
    result = Calibrator(*handle.index, k).run(sample_size, seed, threads);
  }
  const size_t probes = result.probes.size(), candidates = result.candidates.size();
  return std::tuple(copied(result.rows, result.rows.size()),
                    copied(result.true_distances, result.rows.size(), static_cast<size_t>(k)),
                    copied(result.probes, probes), copied(result.candidates, candidates),
                    copied(result.mean, probes, candidates),
                    copied(result.standard_error, probes, candidates));
}

auto points_before(const CellsHandle& handle, const Vector<int64_t>& rows, const Matrix<int32_t>& ids,
                   int threads) {
  const auto count = static_cast<int64_t>(ids.shape(0)), listed = static_cast<int64_t>(ids.shape(1));
  auto before = std::make_unique_for_overwrite<int64_t[]>(count * listed);
  {
    const Interruptible call;
    handle.index->points_before(rows.data(), count, ids.data(), listed, threads, before.get());
  }
  return to_numpy(std::move(before), count, listed);
}

}  // namespace

void bind_cluster_search(nb::module_& module) {
  module.attr("CENTER_LEVELS") = CenterIndex::kLevels;
  module.attr("DEFAULT_MAX_COLUMNS") = Projection::kDefaultMaxColumns;
  nb::class_<IndexHandle>(module, "ClusterIndex")
      .def(
          "__init__",
          [](IndexHandle* self, TypedArray points, const RowMetric& row_metric, int64_t columns,
             bool save_memory, uint64_t seed, int threads) {
            const TypedRows rows = typed_rows(points);
            std::unique_ptr<ClusterIndex> index;
            {
              const Interruptible call;
              index = std::make_unique<ClusterIndex>(rows, row_metric, columns, save_memory, seed, threads);
            }
            new (self) IndexHandle{std::move(points), std::move(index)};
          },
          nb::arg("points"), nb::arg("row_metric"), nb::arg("columns"), nb::arg("save_memory"),
          nb::arg("seed"), nb::arg("threads"))
      .def_prop_ro("columns",
                   [](const IndexHandle& handle) { return handle.index->encoder().projection().columns(); })
      .def_prop_ro("width", [](const IndexHandle& handle) { return handle.index->points().width(); })
      .def_prop_ro("clusters", [](const IndexHandle& handle) { return handle.index->clusters().count(); })
      .def("order",
           [](const IndexHandle& handle) {
             const std::vector<int32_t>& order = handle.index->clusters().order();
             return copied(order, order.size());
           })
      .def("calibrate", &calibrate, nb::arg("k"), nb::arg("sample_size"), nb::arg("seed"), nb::arg("threads"))
      .def(
          "neighbors",
          [](const IndexHandle& handle, int64_t k, int64_t probes, int64_t candidates, int threads) {
            return neighbor_lists(handle.index->points().rows().rows, k, [&](int32_t* ids, float* distances) {
              neighbors_of_points(*handle.index, k, {probes, candidates}, threads, ids, distances);
            });
          },
          nb::arg("k"), nb::arg("probes"), nb::arg("candidates"), nb::arg("threads"))
      .def(
          "refine",
          [](const IndexHandle& handle, const Matrix<int32_t>& ids, int threads) {
            const auto k = static_cast<int64_t>(ids.shape(1));
            return neighbor_lists(static_cast<int64_t>(ids.shape(0)), k, [&](int32_t* out, float* distances) {
              refine_neighbors(*handle.index, k, threads, ids.data(), out, distances);
            });
          },
          nb::arg("ids"), nb::arg("threads"))
      .def(
          "query",
          [](const IndexHandle& handle, const TypedArray& rows, int64_t k, int64_t probes, int64_t candidates,
             int threads) {
            const TypedRows queries = typed_rows(rows);
            return neighbor_lists(queries.rows, k, [&](int32_t* ids, float* distances) {
              neighbors_of_queries(*handle.index, queries, k, {probes, candidates}, threads, ids, distances);
            });
          },
          nb::arg("rows"), nb::arg("k"), nb::arg("probes"), nb::arg("candidates"), nb::arg("threads"));
  nb::class_<CellsHandle>(module, "CellIndex")
      .def(
          "__init__",
          [](CellsHandle* self, TypedArray points, const RowMetric& row_metric, uint64_t seed, int threads) {
            const TypedRows rows = typed_rows(points);
            std::unique_ptr<CellIndex> index;
            {
              const Interruptible call;
              index = std::make_unique<CellIndex>(rows, row_metric, seed, threads);
            }
            new (self) CellsHandle{std::move(points), std::move(index)};
          },
          nb::arg("points"), nb::arg("row_metric"), nb::arg("seed"), nb::arg("threads"))
      .def_prop_ro("cells", [](const CellsHandle& handle) { return handle.index->count(); })
      .def("points_before", &points_before, nb::arg("rows"), nb::arg("ids"), nb::arg("threads"))
      .def(
          "neighbors",
          [](const CellsHandle& handle, int64_t k, int64_t looked_at, int threads) {
            return neighbor_lists(typed_rows(handle.points).rows, k, [&](int32_t* ids, float* distances) {
              handle.index->neighbors(k, looked_at, threads, ids, distances);
            });
          },
          nb::arg("k"), nb::arg("looked_at"), nb::arg("threads"));
  nb::class_<CentersHandle>(module, "CenterIndex")
      .def(
          "__init__",
          [](CentersHandle* self, TypedArray centers, const RowMetric& row_metric, uint64_t seed,
             int threads) {
            const TypedRows rows = typed_rows(centers);
            std::unique_ptr<CenterIndex> index;
            {
              const Interruptible call;
              index = std::make_unique<CenterIndex>(rows, row_metric, seed, threads);
            }
            new (self) CentersHandle{std::move(centers), std::move(index)};
          },
          nb::arg("centers"), nb::arg("row_metric"), nb::arg("seed"), nb::arg("threads"))
      .def("nearest", &nearest_centers, nb::arg("rows"), nb::arg("wanted"), nb::arg("threads"));
}

}  // namespace actup
