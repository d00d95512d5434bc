// A sample of rows relative to its mean, read in chunks: all of it may not fit in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/random.h"
#include "neighbors/row_source.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// Stratified sample of `count` row ids, ascending: one random row from each of `count` equal ranges.
inline std::vector<int64_t> sample_rows(int64_t rows, int64_t count, uint64_t seed) {
  count = std::min(rows, count);
  std::vector<int64_t> sample(count);
  for (int64_t at = 0; at < count; ++at) {
    const int64_t begin = rows * at / count, end = rows * (at + 1) / count;
    sample[at] = begin + random_below(random_bits(seed, 0, static_cast<uint32_t>(at), 0), end - begin);
  }
  return sample;
}

class RowSample {
 public:
  RowSample(const RowSource& rows, std::vector<int64_t> ids, int threads)
      : rows_(rows), ids_(std::move(ids)), stride_(padded(rows.width())), mean_(stride_), threads_(threads) {
    chunk_rows_ = std::clamp<int64_t>(kFloatsPerChunk / stride_, 48, std::max<int64_t>(count(), 48));
  }

  int64_t count() const { return static_cast<int64_t>(ids_.size()); }
  int64_t stride() const { return stride_; }
  int64_t chunk_rows() const { return chunk_rows_; }
  int threads() const { return threads_; }
  const std::vector<float>& mean() const { return mean_; }

  // Calls function(first, count, values) for chunks of up to chunk_rows() rows: stride() floats per row,
  // minus the mean.
  template <class Function>
  void for_each_chunk(const Function& function) const {
    if (values_.size() == 0) values_ = Buffer<float>(chunk_rows_ * stride_);
    for (int64_t first = 0; first < count(); first += chunk_rows_) {
      const int64_t rows_in_chunk = std::min(chunk_rows_, count() - first);
      parallel_ranges(rows_in_chunk, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          float* const row = values_.data() + at * stride_;
          rows_.read(ids_[first + at], row);
          for (int64_t column = 0; column < stride_; ++column) row[column] -= mean_[column];
        }
      });
      function(first, rows_in_chunk, values_.data());
    }
  }

  // Finds the mean and removes outliers from the sample, which would distort it, until no more are found. At
  // least a share `min_kept_share` of the rows stays.
  void center(double min_kept_share) {
    const auto min_kept = static_cast<int64_t>(std::ceil(min_kept_share * static_cast<double>(count())));
    for (int64_t before = 0; before != count();) {
      before = count();
      shift_to_mean();
      const std::vector<double> squares = squared_norms();
      std::vector<double> sorted(squares);
      std::nth_element(sorted.begin(), sorted.begin() + before / 2, sorted.end());
      double bound = kOutlierDistance * kOutlierDistance * sorted[before / 2];
      if (min_kept > 0) {
        std::nth_element(sorted.begin(), sorted.begin() + (min_kept - 1), sorted.end());
        bound = std::max(bound, sorted[min_kept - 1]);
      }
      int64_t kept = 0;
      for (int64_t row = 0; row < before; ++row) {
        if (!(squares[row] > bound && bound > 0)) ids_[kept++] = ids_[row];
      }
      ids_.resize(kept);
    }
  }

  // Squared distances from the mean.
  std::vector<double> squared_norms() const {
    std::vector<double> squares(count());
    for_each_chunk([&](int64_t first, int64_t rows_in_chunk, const float* values) {
      parallel_ranges(rows_in_chunk, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          float16 sums{};
          for (int64_t column = 0; column < stride_; column += kWideLanes) {
            const float16 wide = load_wide(values + at * stride_ + column);
            sums += wide * wide;
          }
          squares[first + at] = sum(sums);
        }
      });
    });
    return squares;
  }

 private:
  static constexpr int64_t kFloatsPerChunk = 1 << 20;  // 4 MiB
  static constexpr double kOutlierDistance = 5;        // in units of the median distance from the mean

  void shift_to_mean() {
    std::vector<double> sums(stride_);
    for_each_chunk([&](int64_t, int64_t rows_in_chunk, const float* values) {
      parallel_ranges(stride_, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = 0; at < rows_in_chunk; ++at) {
          for (int64_t column = begin; column < end; ++column) sums[column] += values[at * stride_ + column];
        }
      });
    });
    for (int64_t column = 0; column < stride_; ++column) {
      mean_[column] += static_cast<float>(sums[column] / static_cast<double>(count()));
    }
  }

  const RowSource& rows_;
  std::vector<int64_t> ids_;
  int64_t stride_;
  std::vector<float> mean_;
  int threads_;
  int64_t chunk_rows_;
  mutable Buffer<float> values_;  // of one chunk
};

}  // namespace actup
