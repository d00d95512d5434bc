// A metric and what it needs besides the rows.
#pragma once

#include <vector>

#include "distance.h"

namespace actup {

struct RowMetric {
  Metric metric;
  float p = 2;         // minkowski's
  double longest = 0;  // the largest squared length of a point, for inner_product
  // What multiplies the columns, for metrics of their differences; empty for nothing.
  std::vector<float> factors{};
  // L, lower triangular and row-major, if rows are to be compared as Lᵀx: euclidean alone; empty for nothing.
  std::vector<double> root{};
};

}  // namespace actup
