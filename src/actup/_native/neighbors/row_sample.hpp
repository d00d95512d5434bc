// A sample of rows around its mean, read some at a time: together they may be more than there is room for.
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

// `count` rows spread over all of them, ascending, by chance within equal stretches.
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
    at_once_ = std::clamp<int64_t>(kFloatsAtOnce / stride_, 48, std::max<int64_t>(count(), 48));
  }

  int64_t count() const { return static_cast<int64_t>(ids_.size()); }
  int64_t stride() const { return stride_; }
  int64_t at_once() const { return at_once_; }
  int threads() const { return threads_; }
  const std::vector<float>& mean() const { return mean_; }

  // function(first, count, values) for all rows, at_once() or fewer at a time: stride() floats each, less the
  // mean.
  template <class Function>
  void for_each_block(const Function& function) const {
    Buffer<float> values(at_once_ * stride_);
    for (int64_t first = 0; first < count(); first += at_once_) {
      const int64_t some = std::min(at_once_, count() - first);
      parallel_ranges(some, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          float* const row = values.data() + at * stride_;
          rows_.read(ids_[first + at], row);
          for (int64_t column = 0; column < stride_; ++column) row[column] -= mean_[column];
        }
      });
      function(first, some, values.data());
    }
  }

  // Finds the mean, without the rows far from all others, which would draw it and everything else to them:
  // they leave the sample. At least a share `kept` of the rows stays.
  void center(double kept) {
    const auto least = static_cast<int64_t>(std::ceil(kept * static_cast<double>(count())));
    for (int64_t before = 0; before != count();) {
      before = count();
      shift_to_mean();
      const std::vector<double> squares = squared_lengths();
      std::vector<double> sorted(squares);
      std::nth_element(sorted.begin(), sorted.begin() + before / 2, sorted.end());
      double bound = kOutlier * kOutlier * sorted[before / 2];
      if (least > 0) {
        std::nth_element(sorted.begin(), sorted.begin() + (least - 1), sorted.end());
        bound = std::max(bound, sorted[least - 1]);
      }
      int64_t stay = 0;
      for (int64_t row = 0; row < before; ++row) {
        if (!(squares[row] > bound && bound > 0)) ids_[stay++] = ids_[row];
      }
      ids_.resize(stay);
    }
  }

  // Squared distances from the mean.
  std::vector<double> squared_lengths() const {
    std::vector<double> squares(count());
    for_each_block([&](int64_t first, int64_t some, const float* values) {
      parallel_ranges(some, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
          float16 sums{};
          for (int64_t column = 0; column < stride_; column += kWide) {
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
  static constexpr int64_t kFloatsAtOnce = 1 << 20;
  static constexpr double kOutlier = 5;  // in units of the median distance from the mean

  void shift_to_mean() {
    std::vector<double> sums(stride_);
    for_each_block([&](int64_t, int64_t some, const float* values) {
      parallel_ranges(stride_, 64, threads_, [&](int64_t begin, int64_t end) {
        for (int64_t at = 0; at < some; ++at) {
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
  int64_t at_once_;
};

}  // namespace actup
