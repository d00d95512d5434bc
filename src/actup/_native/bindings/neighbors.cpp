// Python bindings of exact searches (presence, sparse), of given candidates, and of codes of sparse rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "neighbors/candidate_search.hpp"
#include "neighbors/merge_lists.hpp"
#include "neighbors/pairs.hpp"
#include "neighbors/presence_search.hpp"
#include "neighbors/refinement.hpp"
#include "neighbors/sparse_search.hpp"
#include "neighbors/sparse_sketch.hpp"

namespace actup {

namespace {

BitRows bit_rows(const Matrix<uint64_t>& array, int64_t columns) {
  return {array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1)), columns};
}

// Compressed sparse rows from Python: (offsets, ids, values).
using CsrArrays = std::tuple<Vector<int64_t>, Vector<int32_t>, Vector<float>>;

CsrRows csr_rows(const CsrArrays& arrays, int64_t columns, int64_t width) {
  const auto& [offsets, ids, values] = arrays;
  return {offsets.data(), ids.data(), values.data(), static_cast<int64_t>(offsets.size()) - 1,
          columns,        width};
}

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array) {
  return array ? array->data() : nullptr;
}

auto presence_neighbors(const Matrix<uint64_t>& points, const std::optional<Matrix<uint64_t>>& queries,
                        int64_t columns, int64_t k, Metric metric, int threads) {
  const BitRows rows = bit_rows(queries ? *queries : points, columns);
  return neighbor_lists(rows.rows, k, [&](int32_t* ids, float* distances) {
    nearest_by_presence(bit_rows(points, columns), rows, !queries, k, metric, threads, ids, distances);
  });
}

// The nearest of each query's candidates, or of all points if candidates are None.
auto candidate_neighbors(const TypedArray& points, const TypedArray& queries,
                         const std::optional<Vector<int32_t>>& self_ids,
                         const std::optional<Matrix<int32_t>>& candidates, int64_t k,
                         const RowMetric& row_metric, int threads) {
  const TypedRows rows = typed_rows(points);
  const PairQueries query_rows{typed_rows(queries), data_or_null(self_ids)};
  return neighbor_lists(query_rows.rows.rows, k, [&](int32_t* ids, float* distances) {
    if (candidates) {
      nearest_of_candidates(rows, query_rows, row_metric, candidates->data(),
                            static_cast<int64_t>(candidates->shape(1)), k, threads, ids, distances);
    } else {
      nearest_of_all(rows, query_rows, row_metric, k, threads, ids, distances);
    }
  });
}

// The nearest of two lists of each row, without repeated ids; both are ascending in every row.
auto merged_neighbors(const Matrix<int32_t>& ids, const Matrix<float>& distances,
                      const Matrix<int32_t>& more_ids, const Matrix<float>& more_distances, int threads) {
  const NeighborLists first{ids.data(), distances.data(), static_cast<int64_t>(ids.shape(1))};
  const NeighborLists second{more_ids.data(), more_distances.data(), static_cast<int64_t>(more_ids.shape(1))};
  const auto rows = static_cast<int64_t>(ids.shape(0));
  return neighbor_lists(rows, first.k, [&](int32_t* merged_ids, float* merged_distances) {
    merge_lists(first, second, rows, threads, merged_ids, merged_distances);
  });
}

// For each row the ids of its neighbours' neighbours within a range, (rows, most of a row), -1 for none.
auto second_neighbor_ids(const Matrix<int32_t>& ids, int32_t first_id, const Vector<int32_t>& followed_ids,
                         const Matrix<int32_t>& followed_lists, int32_t begin, int32_t end, int threads) {
  const auto rows = static_cast<int64_t>(ids.shape(0)), k = static_cast<int64_t>(ids.shape(1));
  const ListsById followed{followed_ids.data(), static_cast<int64_t>(followed_ids.size()),
                           followed_lists.data(), static_cast<int64_t>(followed_lists.shape(1))};
  const int64_t capacity = followed.k * followed.k;
  std::vector<int64_t> counts(rows);
  std::unique_ptr<int32_t[]> result;
  int64_t width = 0;
  {
    const Interruptible call;
    Buffer<int32_t> found(rows * capacity);
    second_neighbors(ids.data(), rows, k, first_id, followed, begin, end, threads, found.data(),
                     counts.data());
    for (const int64_t count : counts) width = std::max(width, count);
    result = std::make_unique_for_overwrite<int32_t[]>(rows * width);
    for (int64_t row = 0; row < rows; ++row) {
      int32_t* const filled =
          std::copy_n(found.data() + row * capacity, counts[row], result.get() + row * width);
      std::fill(filled, result.get() + (row + 1) * width, -1);
    }
  }
  return to_numpy(std::move(result), rows, width);
}

// Sparse points and the arrays that they read.
struct SparseHandle {
  CsrArrays arrays;
  std::unique_ptr<SparsePoints> points;

  SparseHandle(CsrArrays rows, int64_t columns, int64_t width, RowMetric row_metric, int threads)
      : arrays(std::move(rows)) {
    const Interruptible call;
    points = std::make_unique<SparsePoints>(csr_rows(arrays, columns, width), std::move(row_metric), threads);
  }
};

auto sparse_neighbors(const SparseHandle& handle, const std::optional<CsrArrays>& queries,
                      const std::optional<Vector<int32_t>>& self_ids,
                      const std::optional<Matrix<int32_t>>& candidates, int64_t k, int threads) {
  const int64_t columns = handle.points->rows().columns, width = handle.points->rows().width;
  const SparseQueries query_rows{queries ? csr_rows(*queries, columns, width) : handle.points->rows(),
                                 data_or_null(self_ids), !queries};
  return neighbor_lists(query_rows.rows.rows, k, [&](int32_t* ids, float* distances) {
    if (candidates) {
      handle.points->nearest_of_candidates(query_rows, candidates->data(),
                                           static_cast<int64_t>(candidates->shape(1)), k, threads, ids,
                                           distances);
    } else {
      handle.points->nearest(query_rows, k, threads, ids, distances);
    }
  });
}

std::unique_ptr<CodeIndex> index_codes(const SparseHandle& handle, int64_t columns, bool save_memory,
                                       uint64_t seed, int threads) {
  const Interruptible call;
  const SparseSketch sketch(handle.points->rows(), handle.points->row_metric(), false);
  return std::make_unique<CodeIndex>(sketch, columns, save_memory, seed, threads);
}

auto sparse_candidates(const SparseHandle& handle, const CodeIndex& index, const CsrArrays& rows,
                       int64_t count, int64_t probes, int threads) {
  const CsrRows queries = csr_rows(rows, handle.points->rows().columns, handle.points->rows().width);
  auto ids = std::make_unique_for_overwrite<int32_t[]>(queries.rows * count);
  {
    const Interruptible call;
    const SparseSketch sketch(queries, handle.points->row_metric(), true);
    code_candidates(index, sketch, probes, count, threads, ids.get());
  }
  return to_numpy(std::move(ids), queries.rows, count);
}

}  // namespace

void bind_neighbors(nb::module_& module) {
  nb::enum_<Metric> metrics(module, "Metric");
  for (size_t number = 0; number < std::size(kMetrics); ++number) {
    metrics.value(kMetrics[number].name, static_cast<Metric>(number));
  }
  nb::class_<RowMetric>(module, "RowMetric")
      .def(
          "__init__",
          [](RowMetric* self, Metric metric, float p, double largest_squared_norm,
             const Vector<double>& factors, const Vector<double>& root) {
            new (self) RowMetric{metric,
                                 p,
                                 largest_squared_norm,
                                 {factors.data(), factors.data() + factors.size()},
                                 {root.data(), root.data() + root.size()}};
          },
          nb::arg("metric"), nb::arg("p"), nb::arg("largest_squared_norm"), nb::arg("factors"),
          nb::arg("root"));
  module.def("presence_neighbors", &presence_neighbors, nb::arg("points"), nb::arg("queries").none(),
             nb::arg("columns"), nb::arg("k"), nb::arg("metric"), nb::arg("threads"));
  module.def("candidate_neighbors", &candidate_neighbors, nb::arg("points"), nb::arg("queries"),
             nb::arg("self_ids").none(), nb::arg("candidates").none(), nb::arg("k"), nb::arg("row_metric"),
             nb::arg("threads"));
  module.def("merge_neighbors", &merged_neighbors, nb::arg("ids"), nb::arg("distances"), nb::arg("more_ids"),
             nb::arg("more_distances"), nb::arg("threads"));
  module.attr("MAX_FOLLOWED") = kMaxFollowed;
  module.def("second_neighbors", &second_neighbor_ids, nb::arg("ids"), nb::arg("first_id"),
             nb::arg("followed_ids"), nb::arg("followed_lists"), nb::arg("begin"), nb::arg("end"),
             nb::arg("threads"));
  nb::class_<CodeIndex>(module, "CodeIndex")
      .def_prop_ro("columns", [](const CodeIndex& index) { return index.encoder().projection().columns(); })
      .def_prop_ro("clusters", [](const CodeIndex& index) { return index.clusters().count(); })
      .def("order", [](const CodeIndex& index) {
        const std::vector<int32_t>& order = index.clusters().order();
        return copied(order, order.size());
      });
  module.attr("SKETCH_COLUMNS") = SparseSketch::kColumns;
  nb::class_<SparseHandle>(module, "SparsePoints")
      .def(nb::init<CsrArrays, int64_t, int64_t, RowMetric, int>(), nb::arg("rows"), nb::arg("columns"),
           nb::arg("width"), nb::arg("row_metric"), nb::arg("threads"))
      .def("neighbors", &sparse_neighbors, nb::arg("queries").none(), nb::arg("self_ids").none(),
           nb::arg("candidates").none(), nb::arg("k"), nb::arg("threads"))
      .def("index", &index_codes, nb::arg("columns"), nb::arg("save_memory"), nb::arg("seed"),
           nb::arg("threads"))
      .def("candidates", &sparse_candidates, nb::arg("index"), nb::arg("rows"), nb::arg("count"),
           nb::arg("probes"), nb::arg("threads"));
}

}  // namespace actup
