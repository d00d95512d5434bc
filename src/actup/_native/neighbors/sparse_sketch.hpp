// Sparse rows as a few dense columns: every column is added to some places, with signs, all by chance.
//
// Squared differences stay about what they were (four times as large), so points near a row here are near it
// in many metrics of sparse rows.
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
  // Queries of inner products are as long as the longest point; see ComparedRows.
  SparseSketch(const CsrRows& rows, const RowMetric& how, bool queries)
      : rows_(rows), how_(how), queries_(queries) {}

  int64_t count() const override { return rows_.rows; }
  int64_t width() const override { return kColumns + (product() ? 1 : 0); }

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
    if (product()) {
      const double stretch = queries_ && squares > 0 ? std::sqrt(how_.longest / squares) : 1;
      for (int64_t column = 0; column < kColumns; ++column) out[column] *= static_cast<float>(stretch);
      if (!queries_) {
        out[kColumns] = static_cast<float>(std::sqrt(kEntries * std::max(0.0, how_.longest - squares)));
      }
    } else if (uses_directions(how_.metric) || uses_presence(how_.metric)) {
      make_direction(out);
    }
  }

  static constexpr int64_t kColumns = 512;  // below 2^15

 private:
  static constexpr int kEntries = 4;

  bool product() const { return transform_of(how_.metric) == Transform::equal_norm; }

  float value_of(int64_t at) const {
    const float value = rows_.values[at];
    if (uses_presence(how_.metric)) return value != 0 ? 1.0f : 0.0f;
    if (!how_.factors.empty()) return static_cast<float>(value * how_.factors[rows_.ids[at]]);
    return transform_of(how_.metric) == Transform::root_direction ? std::sqrt(value) : value;
  }

  static void make_direction(float* out) {
    double squares = 0;
    for (int64_t column = 0; column < kColumns; ++column)
      squares += static_cast<double>(out[column]) * out[column];
    const auto factor = static_cast<float>(squares > 0 ? 1 / std::sqrt(squares) : 0);
    for (int64_t column = 0; column < kColumns; ++column) out[column] *= factor;
  }

  CsrRows rows_;
  const RowMetric& how_;
  bool queries_;
};

}  // namespace actup
