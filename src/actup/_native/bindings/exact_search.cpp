// Python bindings of the exact search of dense rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/typed_arrays.hpp"
#include "neighbors/exact_search.hpp"

namespace actup {

namespace {

std::vector<int64_t> order_of(const std::optional<Vector<int64_t>>& columns) {
  if (!columns) return {};
  return {columns->data(), columns->data() + columns->size()};
}

auto exact_neighbors(const TypedArray& points, const std::optional<TypedArray>& queries, int64_t k,
                     const RowMetric& row_metric, int threads,
                     const std::optional<Vector<int64_t>>& column_order,
                     const std::optional<Vector<float>>& limits, bool by_codes) {
  const TypedRows rows = typed_rows(queries ? *queries : points);
  if (limits && static_cast<int64_t>(limits->size()) != rows.rows) {
    throw std::invalid_argument("limits must have one distance for each query");
  }
  const std::vector<int64_t> order = order_of(column_order);
  return neighbor_lists(rows.rows, k, [&](int32_t* ids, float* distances) {
    nearest_exact(typed_rows(points), rows, !queries, k, row_metric, threads, ids, distances, order,
                  limits ? limits->data() : nullptr, by_codes);
  });
}

// What exact_neighbors finds for all points, if there are few and integer codes can tell them apart; else
// None.
auto coded_neighbors(const TypedArray& points, int64_t k, const RowMetric& row_metric, int threads,
                     const std::optional<Vector<int64_t>>& column_order) {
  const TypedRows rows = typed_rows(points);
  bool found = false;
  auto lists = neighbor_lists(rows.rows, k, [&](int32_t* ids, float* distances) {
    const RowForm form(rows, row_metric, order_of(column_order), 0, threads);
    found = nearest_of_few(rows, form, k, threads, ids, distances);
  });
  return found ? std::optional(std::move(lists)) : std::nullopt;
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
             nb::arg("limits").none() = nb::none(), nb::arg("by_codes") = true);
  module.def("coded_search_bytes", &FewPoints::needed_bytes, nb::arg("rows"), nb::arg("width"), nb::arg("k"));
  module.def("coded_neighbors", &coded_neighbors, nb::arg("points"), nb::arg("k"), nb::arg("row_metric"),
             nb::arg("threads"), nb::arg("column_order").none() = nb::none());
  module.attr("COLUMN_ORDER_ROWS") = RowForm::kSampledRows;
  module.def("column_order", &column_order, nb::arg("points"), nb::arg("row_metric"));
}

}  // namespace actup
