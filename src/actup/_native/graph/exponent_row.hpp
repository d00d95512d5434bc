// ExponentRow: sums of exp(-factor x) over one row of exponents x, in vectors of doubles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/exponential.hpp"
#include "graph/bandwidth.h"

namespace actup {

// The exponents of one row, padded to whole vectors with values of weight 0.
class ExponentRow {
 public:
  explicit ExponentRow(int64_t size)
      : size_(size),
        vectors_((size + kDoubles - 1) / kDoubles),
        values_(vectors_ * kDoubles),
        present_(vectors_ * kDoubles) {
    std::fill_n(present_.begin(), size, 1.0);
  }

  double& operator[](int64_t at) { return values_[at]; }

  // Sums of exp(-factor x) and of x exp(-factor x).
  GaussianSums sums(double factor) const {
    doubles weights = {}, products = {};
    for (int64_t v = 0; v < vectors_; ++v) {
      const doubles weight = exponentials(v, factor);
      weights += weight;
      products += weight * load_doubles(&values_[v * kDoubles]);
    }
    return {sum(weights), sum(products)};
  }

  double sum_of_weights(double factor) const {
    doubles weights = {};
    for (int64_t v = 0; v < vectors_; ++v) weights += exponentials(v, factor);
    return sum(weights);
  }

  // Adds scale * exp(-factor x) for the whole row.
  void add(double factor, double scale, float* out) const {
    for (int64_t v = 0; v < vectors_; ++v) {
      const doubles weights = exponentials(v, factor) * scale;
      const int64_t count = std::min<int64_t>(kDoubles, size_ - v * kDoubles);
      for (int64_t lane = 0; lane < count; ++lane) {
        out[v * kDoubles + lane] += static_cast<float>(weights[lane]);
      }
    }
  }

 private:
  doubles exponentials(int64_t v, double factor) const {
    return exponential(load_doubles(&values_[v * kDoubles]) * -factor) *
           load_doubles(&present_[v * kDoubles]);
  }

  int64_t size_;
  int64_t vectors_;
  std::vector<double> values_;
  std::vector<double> present_;
};

}  // namespace actup
