// A sketch of sparse rows: a sparse random projection to kColumns dense columns. Each original column is
// added to or subtracted from kEntries random ones.
//
// The expected squared difference is kEntries times the original one, so points near a row in the sketch are
// near it under many metrics of sparse rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/random.h"
#include "neighbors/row_metric.hpp"
#include "neighbors/row_source.hpp"
#include "neighbors/sparse_pairs.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

class SparseSketch : public RowSource {
 public:
  // For inner products, queries are multiplied to have the largest norm of a point; see ComparedRows.
  SparseSketch(const CsrRows& rows, const RowMetric& row_metric, bool queries)
      : rows_(rows), row_metric_(row_metric), queries_(queries) {}

  int64_t count() const override { return rows_.rows; }
  int64_t width() const override { return kColumns + (is_inner_product() ? 1 : 0); }

  void read(int64_t row, float* out) const override {
    std::fill_n(out, padded(width()), 0.0f);
    double squares = 0;
    for (int64_t at = rows_.offsets[row]; at < rows_.offsets[row + 1]; ++at) {
      const float value = value_of(at);
      squares += static_cast<double>(value) * value;
      uint64_t bits = random_bits(0, 0, static_cast<uint32_t>(rows_.ids[at]), 0);
      for (int entry = 0; entry < kEntries; ++entry, bits >>= 16) {
        out[bits % kColumns] += bits & 0x8000 ? -value : value;
      }
    }
    if (is_inner_product()) {
      const double factor =
          queries_ && squares > 0 ? std::sqrt(row_metric_.largest_squared_norm / squares) : 1;
      for (int64_t column = 0; column < kColumns; ++column) out[column] *= static_cast<float>(factor);
      if (!queries_) {
        out[kColumns] = static_cast<float>(
            std::sqrt(kEntries * std::max(0.0, row_metric_.largest_squared_norm - squares)));
      }
    } else if (uses_directions(row_metric_.metric) || uses_presence(row_metric_.metric)) {
      divide_by_norm(out);
    }
  }

  static constexpr int64_t kColumns = 512;  // below 2^15: 16 random bits hold a column and a sign

 private:
  static constexpr int kEntries = 4;

  bool is_inner_product() const { return transform_of(row_metric_.metric) == Transform::equal_norm; }

  float value_of(int64_t at) const {
    const float value = rows_.values[at];
    if (uses_presence(row_metric_.metric)) return value != 0 ? 1.0f : 0.0f;
    if (!row_metric_.factors.empty()) return static_cast<float>(value * row_metric_.factors[rows_.ids[at]]);
    return transform_of(row_metric_.metric) == Transform::root_direction ? std::sqrt(value) : value;
  }

  static void divide_by_norm(float* out) {
    double squares = 0;
    for (int64_t column = 0; column < kColumns; ++column)
      squares += static_cast<double>(out[column]) * out[column];
    const auto factor = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
    for (int64_t column = 0; column < kColumns; ++column) out[column] *= factor;
  }

  CsrRows rows_;
  const RowMetric& row_metric_;
  bool queries_;
};

}  // namespace actup
