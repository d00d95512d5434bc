// A metric and what it needs besides the rows.
#pragma once

#include <cmath>
#include <vector>

#include "neighbors/metrics.hpp"

namespace actup {

struct RowMetric {
  Metric metric;
  float p = 2;         // minkowski's
  double longest = 0;  // the largest squared length of a point, for inner_product
  // What multiplies the columns, for metrics of their differences; empty for nothing.
  std::vector<double> factors{};
  // L, lower triangular and row-major, if rows are to be compared as Lᵀx: euclidean alone; empty for nothing.
  std::vector<double> root{};

  // How many times as large as all points a query may be, so that no square or power leaves the range of
  // floats.
  float most_times() const { return std::exp2(100 / (metric == Metric::minkowski && p > 2 ? p : 2)); }
};

}  // namespace actup
