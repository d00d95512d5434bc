// Python bindings of the exact search of dense rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "neighbors/exact_search.hpp"

namespace actup {

namespace {

auto exact_neighbors(const TypedArray& points, const std::optional<TypedArray>& queries, int64_t k,
                     const RowMetric& row_metric, int threads,
                     const std::optional<Vector<int64_t>>& column_order,
                     const std::optional<Vector<float>>& limits) {
  const TypedRows rows = typed_rows(queries ? *queries : points);
  if (limits && static_cast<int64_t>(limits->size()) != rows.rows) {
    throw std::invalid_argument("limits must have one distance for each query");
  }
  std::vector<int64_t> order;
  if (column_order) order.assign(column_order->data(), column_order->data() + column_order->size());
  return neighbor_lists(rows.rows, k, [&](int32_t* ids, float* distances) {
    nearest_exact(typed_rows(points), rows, !queries, k, row_metric, threads, ids, distances, order,
                  limits ? limits->data() : nullptr);
  });
}

// Whether the search of few points by codes finds the neighbours, for tests: exact_neighbors falls back to
// comparing floats.
bool codes_suffice(const TypedArray& points, int64_t k, const RowMetric& row_metric, int threads) {
  const TypedRows rows = typed_rows(points);
  std::vector<int32_t> ids(rows.rows * k);
  std::vector<float> distances(rows.rows * k);
  const Interruptible call;
  return nearest_of_few(rows, RowForm(rows, row_metric), k, threads, ids.data(), distances.data());
}

auto column_order(const TypedArray& points, const RowMetric& row_metric) {
  std::vector<int64_t> order;
  {
    const Interruptible call;
    order = RowForm(typed_rows(points), row_metric).order();
  }
  return copied(order, order.size());
}

}  // namespace

void bind_exact_search(nb::module_& module) {
  module.def("exact_neighbors", &exact_neighbors, nb::arg("points"), nb::arg("queries").none(), nb::arg("k"),
             nb::arg("row_metric"), nb::arg("threads"), nb::arg("column_order").none() = nb::none(),
             nb::arg("limits").none() = nb::none());
  module.def("codes_suffice", &codes_suffice, nb::arg("points"), nb::arg("k"), nb::arg("row_metric"),
             nb::arg("threads"));
  module.attr("COLUMN_ORDER_ROWS") = RowForm::kSampledRows;
  module.def("column_order", &column_order, nb::arg("points"), nb::arg("row_metric"));
}

}  // namespace actup
