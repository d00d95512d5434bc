// ExponentRow: sums of exp(-factor x) over one row of exponents x, in vectors of doubles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/exponential.hpp"
#include "graph/bandwidth.h"

namespace actup {

// The exponents of one row, padded to kDoubleLanes with values of weight 0.
class ExponentRow {
 public:
  explicit ExponentRow(int64_t capacity)
      : capacity_(capacity), values_(padded(capacity)), present_(padded(capacity)) {
    set_size(capacity);
  }

  int64_t capacity() const { return capacity_; }

  // How many exponents the row has, at most its capacity.
  void set_size(int64_t size) {
    if (size == size_) return;
    size_ = size;
    padded_ = padded(size);
    std::fill(present_.begin(), present_.end(), 0.0);
    std::fill_n(present_.begin(), size, 1.0);
    std::fill(values_.begin() + size, values_.end(), 0.0);
  }

  double& operator[](int64_t at) { return values_[at]; }

  // Sums of exp(-factor x), of x exp(-factor x) and of x² exp(-factor x).
  GaussianSums sums(double factor) const {
    DoubleSum weights, products, squares;
    for_each_vector([&](int64_t at, int part) {
      const doubles x = load_doubles(&values_[at]), weight = exponentials(at, factor), product = weight * x;
      weights.parts[part] += weight;
      products.parts[part] += product;
      squares.parts[part] += product * x;
    });
    return {weights.total(), products.total(), squares.total()};
  }

  double sum_of_weights(double factor) const {
    DoubleSum weights;
    for_each_vector([&](int64_t at, int part) { weights.parts[part] += exponentials(at, factor); });
    return weights.total();
  }

  // Adds scale * exp(-factor x) for the whole row.
  void add(double factor, double scale, float* out) const {
    for (int64_t at = 0; at < size_; at += kDoubles) {
      const doubles weights = exponentials(at, factor) * scale;
      const int64_t count = std::min<int64_t>(kDoubles, size_ - at);
      for (int64_t lane = 0; lane < count; ++lane) out[at + lane] += static_cast<float>(weights[lane]);
    }
  }

 private:
  // Calls function(place of the vector's first exponent, its part of a DoubleSum).
  template <class Function>
  void for_each_vector(const Function& function) const {
    for (int64_t at = 0; at < padded_; at += kDoubleLanes) {
#pragma GCC unroll 4
      for (int part = 0; part < kDoubleParts; ++part) function(at + part * kDoubles, part);
    }
  }

  doubles exponentials(int64_t at, double factor) const {
    return exponential(load_doubles(&values_[at]) * -factor) * load_doubles(&present_[at]);
  }

  static int64_t padded(int64_t size) { return (size + kDoubleLanes - 1) / kDoubleLanes * kDoubleLanes; }

  int64_t capacity_;
  int64_t size_ = 0;
  int64_t padded_ = 0;
  std::vector<double> values_;
  std::vector<double> present_;
};

}  // namespace actup
