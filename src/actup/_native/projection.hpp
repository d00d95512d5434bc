// An orthonormal projection to fewer columns that keeps most of the variance and spreads it evenly.
//
// The basis spans the leading principal components of a sample of rows, found by subspace iteration; then it
// is turned by random signs and a Hadamard matrix, so that one scale of integer codes suits all columns.
// Distances never grow under it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "compared_rows.hpp"
#include "matrix_product.hpp"
#include "parallel.hpp"
#include "random.h"

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

class Projection {
 public:
  // Keeps the columns that hold kKeptVariance of the variance, at most kMostColumns of them; exactly
  // `columns` if it is not 0. Its scale suits at least a share `kept` of the rows; the rest may be far off.
  Projection(const ComparedRows& rows, int64_t columns, double kept, uint64_t seed, int threads)
      : width_(rows.width()) {
    const int64_t widest = columns ? columns : kMostColumns;
    const std::vector<int64_t> sample = sample_rows(rows.rows().rows, sample_size(), seed);
    const int64_t stride = padded(width_);
    Buffer<float> values(static_cast<int64_t>(sample.size()) * stride);
    parallel_ranges(sample.size(), 64, threads, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) rows.read(sample[at], values.data() + at * stride);
    });
    const int64_t count = center(values, static_cast<int64_t>(sample.size()), stride, kept);
    columns_ = std::min(widest, width_);
    vectors_ = Buffer<float>(columns_ * width_);
    if (2 * columns_ < width_ || (!columns && width_ > kMostColumns)) {
      find_components(values, count, stride, seed, threads);
      if (!columns) drop_columns(values, count, stride, threads);
    } else {
      columns_ = width_;
      vectors_ = Buffer<float>(columns_ * width_);
      vectors_.clear();
      for (int64_t at = 0; at < width_; ++at) vectors_[at * width_ + at] = 1;
    }
    fold_rotation(seed);
    largest_ = largest_projected(values, count, stride, threads);
  }

  int64_t columns() const { return columns_; }
  // Columns as project() writes them; those beyond columns() are 0.
  int64_t stride() const { return padded(columns_); }
  int64_t width() const { return width_; }
  // What is worth representing: the largest sampled value, but not beyond five standard deviations.
  float largest() const { return largest_; }

  // Projects `count` rows of padded(width()) floats into rows of stride() floats.
  void project(const float* rows, int64_t count, float* out) const {
    multiply({rows, padded(width_), 1}, count, width_, basis_.data(), stride(), out);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t column = 0; column < stride(); ++column) out[row * stride() + column] -= offset_[column];
    }
  }

  static int64_t padded(int64_t columns) { return (columns + kWide - 1) / kWide * kWide; }

 private:
  static constexpr int64_t kFewColumns = 48, kMostColumns = 128, kColumnStep = 8;
  static constexpr double kKeptVariance = 0.91;
  static constexpr double kOutlier = 5;  // in units of the median distance from the mean
  static constexpr int kIterations = 3;

  int64_t sample_size() const { return std::clamp<int64_t>((int64_t{1} << 22) / width_, 1024, 4096); }

  // Subtracts the mean from the sampled rows, without those far from all others, which would draw the mean,
  // the components and the scale to them. Returns how many rows are left.
  int64_t center(Buffer<float>& values, int64_t count, int64_t stride, double kept) {
    const auto least = static_cast<int64_t>(std::ceil(kept * static_cast<double>(count)));
    mean_.assign(stride, 0);
    for (int64_t before = 0; before != count;) {
      before = count;
      shift_to_mean(values, count, stride);
      std::vector<double> squares(count);
      for (int64_t row = 0; row < count; ++row) {
        const float* const from = values.data() + row * stride;
        squares[row] = std::max(0.0, dot(from, from));
      }
      std::vector<double> sorted(squares);
      std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.end());
      double bound = kOutlier * kOutlier * sorted[count / 2];
      if (least > 0) {
        std::nth_element(sorted.begin(), sorted.begin() + (least - 1), sorted.end());
        bound = std::max(bound, sorted[least - 1]);
      }
      count = 0;
      for (int64_t row = 0; row < before; ++row) {
        if (squares[row] > bound && bound > 0) continue;
        std::copy_n(values.data() + row * stride, stride, values.data() + count++ * stride);
      }
    }
    return count;
  }

  void shift_to_mean(Buffer<float>& values, int64_t count, int64_t stride) {
    std::vector<double> sums(stride);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t column = 0; column < stride; ++column) sums[column] += values[row * stride + column];
    }
    for (double& sum : sums) sum /= static_cast<double>(count);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t column = 0; column < stride; ++column) {
        values[row * stride + column] -= static_cast<float>(sums[column]);
      }
    }
    for (int64_t column = 0; column < stride; ++column) mean_[column] += static_cast<float>(sums[column]);
  }

  // Repeats V <- orthonormal(Sᵀ S V).
  void find_components(const Buffer<float>& values, int64_t count, int64_t stride, uint64_t seed,
                       int threads) {
    for (int64_t at = 0; at < vectors_.size(); ++at) {
      const uint64_t bits = random_bits(seed, 1, static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32));
      vectors_[at] = random_signed(bits);
    }
    orthonormalize();
    const int64_t wide = padded(columns_);
    Buffer<float> images(count * wide), sums(width_ * wide);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      transpose_vectors();
      parallel_ranges(count, 48, threads, [&](int64_t begin, int64_t end) {
        multiply({values.data() + begin * stride, stride, 1}, end - begin, width_, basis_.data(), wide,
                 images.data() + begin * wide);
      });
      parallel_ranges(width_, 48, threads, [&](int64_t begin, int64_t end) {
        multiply({values.data() + begin, 1, stride}, end - begin, count, images.data(), wide,
                 sums.data() + begin * wide);
      });
      for (int64_t vector = 0; vector < columns_; ++vector) {
        for (int64_t at = 0; at < width_; ++at) vectors_[vector * width_ + at] = sums[at * wide + vector];
      }
      orthonormalize();
    }
  }

  // Gram-Schmidt, twice; a vector that depends on those before it becomes 0.
  void orthonormalize() {
    for (int64_t vector = 0; vector < columns_; ++vector) {
      float* const v = vectors_.data() + vector * width_;
      const double before = dot(v, v);
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t earlier = 0; earlier < vector; ++earlier) {
          const float* const u = vectors_.data() + earlier * width_;
          const auto share = static_cast<float>(dot(u, v));
          for (int64_t at = 0; at < width_; ++at) v[at] -= share * u[at];
        }
      }
      const double squares = dot(v, v);
      const float factor =
          squares > 1e-9 * before && squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f;
      for (int64_t at = 0; at < width_; ++at) v[at] *= factor;
    }
  }

  double dot(const float* u, const float* v) const {
    float16 sums{};
    int64_t at = 0;
    for (; at + kWide <= width_; at += kWide) sums += load_wide(u + at) * load_wide(v + at);
    double total = sum(sums);
    for (; at < width_; ++at) total += static_cast<double>(u[at]) * v[at];
    return total;
  }

  // basis_ (width x stride) from vectors_ (columns x width).
  void transpose_vectors() {
    basis_ = Buffer<float>(width_ * stride());
    basis_.clear();
    for (int64_t vector = 0; vector < columns_; ++vector) {
      for (int64_t at = 0; at < width_; ++at) basis_[at * stride() + vector] = vectors_[vector * width_ + at];
    }
  }

  // Subspace iteration orders the components by falling variance; the last ones may not be worth having.
  void drop_columns(const Buffer<float>& values, int64_t count, int64_t stride, int threads) {
    const std::vector<double> variances = projected_variances(values, count, stride, threads);
    double total = 0, kept = 0;
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t at = 0; at < width_; ++at) {
        total += static_cast<double>(values[row * stride + at]) * values[row * stride + at];
      }
    }
    int64_t needed = 0;
    while (needed < columns_ && kept < kKeptVariance * total / count) kept += variances[needed++];
    needed = std::max<int64_t>(needed, kFewColumns);
    columns_ = std::min(columns_, (needed + kColumnStep - 1) / kColumnStep * kColumnStep);
  }

  // basis_ and offset_ from the first columns_ of vectors_, rotated.
  void fold_rotation(uint64_t seed) {
    transpose_vectors();
    std::vector<float> signs(columns_);
    for (int64_t column = 0; column < columns_; ++column) {
      signs[column] = random_bits(seed, 2, static_cast<uint32_t>(column), 0) & 1 ? 1.0f : -1.0f;
    }
    int64_t size = 1;
    while (2 * size <= columns_) size *= 2;
    for (int64_t at = 0; at < width_; ++at) {
      float* const row = basis_.data() + at * stride();
      for (int64_t column = 0; column < columns_; ++column) row[column] *= signs[column];
      hadamard(row, size);  // the last columns too, where there is no power of two of them
      if (size < columns_) hadamard(row + columns_ - size, size);
    }
    offset_.assign(stride(), 0);
    for (int64_t column = 0; column < stride(); ++column) {
      double total = 0;
      for (int64_t at = 0; at < width_; ++at)
        total += static_cast<double>(mean_[at]) * basis_[at * stride() + column];
      offset_[column] = static_cast<float>(total);
    }
    vectors_ = Buffer<float>();
  }

  static void hadamard(float* values, int64_t size) {
    for (int64_t step = 1; step < size; step *= 2) {
      for (int64_t begin = 0; begin < size; begin += 2 * step) {
        for (int64_t at = begin; at < begin + step; ++at) {
          const float x = values[at], y = values[at + step];
          values[at] = x + y;
          values[at + step] = x - y;
        }
      }
    }
    const float factor = 1 / std::sqrt(static_cast<float>(size));
    for (int64_t at = 0; at < size; ++at) values[at] *= factor;
  }

  Buffer<float> images(const Buffer<float>& values, int64_t count, int64_t stride_in, int threads) const {
    Buffer<float> projected(count * stride());
    parallel_ranges(count, 48, threads, [&](int64_t begin, int64_t end) {
      multiply({values.data() + begin * stride_in, stride_in, 1}, end - begin, width_, basis_.data(),
               stride(), projected.data() + begin * stride());
    });
    return projected;
  }

  std::vector<double> projected_variances(const Buffer<float>& values, int64_t count, int64_t stride_in,
                                          int threads) {
    transpose_vectors();
    const Buffer<float> projected = images(values, count, stride_in, threads);
    std::vector<double> variances(stride());
    for (int64_t at = 0; at < projected.size(); ++at) {
      variances[at % stride()] += static_cast<double>(projected[at]) * projected[at] / count;
    }
    return variances;
  }

  float largest_projected(const Buffer<float>& values, int64_t count, int64_t stride_in, int threads) const {
    const Buffer<float> projected = images(values, count, stride_in, threads);
    std::vector<double> variances(stride());
    float largest = 0;
    for (int64_t at = 0; at < projected.size(); ++at) {
      variances[at % stride()] += static_cast<double>(projected[at]) * projected[at] / count;
      largest = std::max(largest, std::fabs(projected[at]));
    }
    const double deviation = std::sqrt(*std::max_element(variances.begin(), variances.end()));
    return std::min(1.05f * largest, static_cast<float>(5 * deviation));
  }

  int64_t width_;
  int64_t columns_ = 0;
  std::vector<float> mean_;
  Buffer<float> vectors_;
  Buffer<float> basis_;
  std::vector<float> offset_;
  float largest_ = 0;
};

}  // namespace actup
