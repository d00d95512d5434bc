// Landmarks: the mean codes of clusters of the rows. In a large map, points start around the place of their
// landmark.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/random.h"
#include "neighbors/clusters.hpp"
#include "neighbors/codes.hpp"
#include "neighbors/compared_rows.hpp"

namespace actup {

struct Landmarks {
  // About `wanted` landmarks: clusters without rows are left out, and large clusters are divided.
  Landmarks(const TypedRows& rows, Metric metric, int64_t wanted, uint64_t seed, int threads)
      : labels(rows.rows) {
    const ComparedRows points(rows, RowMetric{metric}, threads);
    const Encoder encoder(points, 0, kUnclippedShare, seed, threads);
    const Buffer<int8_t> codes = encoder.encode(points, threads);
    const Clusters clusters(codes.data(), rows.rows, encoder, wanted, seed, threads);
    count = clusters.count();
    columns = encoder.stride();
    means.resize(count * columns);
    parallel_ranges(count, 16, threads, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> sums(columns);
      for (int64_t cluster = begin; cluster < end; ++cluster) {
        const int64_t first = clusters.starts()[cluster], last = clusters.starts()[cluster + 1];
        std::fill(sums.begin(), sums.end(), 0);
        for (int64_t place = first; place < last; ++place) {
          const int32_t row = clusters.order()[place];
          labels[row] = static_cast<int32_t>(cluster);
          for (int64_t c = 0; c < columns; ++c) sums[c] += codes[row * columns + c];
        }
        for (int64_t c = 0; c < columns; ++c) {
          means[cluster * columns + c] = static_cast<float>(sums[c]) / static_cast<float>(last - first);
        }
      }
    });
  }

  std::vector<int32_t> labels;  // the landmark of each row
  std::vector<float> means;     // (count, columns)
  int64_t count, columns;

 private:
  static constexpr double kUnclippedShare = 0.99;  // of the rows; codes of the others may be clipped
};

// A random place for every row, within `reach` of its landmark's place along each axis: out (rows, width),
// places (landmarks, width).
inline void scatter_around(const float* places, const int32_t* labels, int64_t rows, int64_t width,
                           float reach, uint64_t seed, int threads, float* out) {
  parallel_ranges(rows, 4096, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < width; ++c) {
        const uint64_t bits = random_bits(seed, 0, static_cast<uint32_t>(row), static_cast<uint32_t>(c));
        out[row * width + c] = places[labels[row] * width + c] + reach * random_signed(bits);
      }
    }
  });
}

}  // namespace actup
