// For the bindings of layouts: views of the arrays that they are made from, whose lengths are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "common/finite.hpp"
#include "layout/checks.hpp"
#include "layout/layout.hpp"

namespace actup {

// A whole graph: every id must be one of its points.
inline GraphView checked_graph(const Vector<int64_t>& offsets, const Vector<int32_t>& indices,
                               const Vector<float>& weights, int threads) {
  if (offsets.size() == 0 || indices.size() != weights.size())
    throw std::invalid_argument("a graph needs offsets, and an id for every weight");
  const GraphView graph = view(offsets, indices, weights);
  check_rows(graph, static_cast<int64_t>(weights.size()), graph.n, "the graph", threads);
  return graph;
}

inline void check_places(const Matrix<float>& places, int64_t n, int64_t dimensions, const char* name) {
  if (static_cast<int64_t>(places.shape(0)) != n || static_cast<int64_t>(places.shape(1)) != dimensions) {
    throw std::invalid_argument(std::string(name) + " must have " + std::to_string(n) + " rows and " +
                                std::to_string(dimensions) + " columns");
  }
  if (!all_finite(places.data(), n * dimensions, 1))
    throw std::invalid_argument(std::string(name) + " must be finite");
}

inline PointInputs checked_inputs(const std::optional<Vector<float>>& mobility,
                                  const std::optional<Vector<float>>& log_radii, int64_t n) {
  for (const auto* numbers : {&mobility, &log_radii}) {
    if (*numbers && static_cast<int64_t>((*numbers)->size()) != n)
      throw std::invalid_argument("mobility and log_radii must have one number for each point");
  }
  return {mobility ? mobility->data() : nullptr, log_radii ? log_radii->data() : nullptr};
}

}  // namespace actup
