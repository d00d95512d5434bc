// A metric with its parameters.
#pragma once

#include <vector>

#include "neighbors/metrics.hpp"

namespace actup {

struct RowMetric {
  Metric metric;
  float p = 2;                      // for minkowski
  double largest_squared_norm = 0;  // of a point, for inner_product
  // Factors of the columns, for metrics of their differences; empty for none.
  std::vector<double> factors{};
  // L, lower triangular and row-major, for rows compared as Lᵀx: only with euclidean; empty for none.
  std::vector<double> root{};

  // How many times the points' largest value a query's largest value may be: no square or power of a
  // difference overflows.
  float max_query_ratio() const {
    return static_cast<float>(power(2.0, 100.0 / (metric == Metric::minkowski && p > 2 ? p : 2)));
  }
};

}  // namespace actup
