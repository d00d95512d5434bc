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
#include "matrix_product.hpp"
#include "parallel.hpp"
#include "random.h"
#include "row_source.hpp"
#include "typed_rows.hpp"

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

// Sampled rows, read some at a time: together they may be more than there is room for.
class RowSample {
 public:
  RowSample(const RowSource& rows, std::vector<int64_t> ids, int threads)
      : rows_(rows),
        ids_(std::move(ids)),
        stride_((rows.width() + kWide - 1) / kWide * kWide),
        mean_(stride_),
        threads_(threads) {
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

class Projection {
 public:
  // Keeps the columns that hold kKeptVariance of the variance, at most kMostColumns of them; exactly
  // `columns` if it is not 0. Its scale suits at least a share `kept` of the rows; the rest may be far off.
  Projection(const RowSource& rows, int64_t columns, double kept, uint64_t seed, int threads)
      : width_(rows.width()) {
    RowSample sample(rows, sample_rows(rows.count(), sample_size(), seed), threads);
    sample.center(kept);
    columns_ = std::min(columns ? columns : kMostColumns, width_);
    if (2 * columns_ < width_ || (!columns && width_ > kMostColumns)) {
      find_components(sample, seed);
      if (!columns) drop_columns(sample);
      transpose_vectors();
      vectors_ = Buffer<float>();
    } else {
      columns_ = width_;
      basis_ = Buffer<float>(width_ * stride());
      basis_.clear();
      for (int64_t at = 0; at < width_; ++at) basis_[at * stride() + at] = 1;
    }
    fold_rotation(sample.mean(), seed);
    largest_ = largest_projected(sample);
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
  static constexpr int kIterations = 3;

  int64_t sample_size() const { return std::clamp<int64_t>((int64_t{1} << 22) / width_, 1024, 4096); }

  // Repeats V <- orthonormal(Sᵀ S V).
  void find_components(const RowSample& sample, uint64_t seed) {
    vectors_ = Buffer<float>(columns_ * width_);
    for (int64_t at = 0; at < vectors_.size(); ++at) {
      const uint64_t bits = random_bits(seed, 1, static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32));
      vectors_[at] = random_signed(bits);
    }
    orthonormalize();
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      transpose_vectors();
      vectors_.clear();
      for_each_image(sample, [&](int64_t count, const float* values, const float* images) {
        add_products(sample, count, values, images);
      });
      orthonormalize();
    }
  }

  // Adds Sᵀ times the images of some rows of S to the vectors.
  void add_products(const RowSample& sample, int64_t count, const float* values, const float* images) {
    constexpr int64_t kColumnsAtOnce = 48;
    parallel_ranges(width_, kColumnsAtOnce, sample.threads(), [&](int64_t begin, int64_t end) {
      std::vector<float> products((end - begin) * stride());
      multiply({values + begin, 1, sample.stride()}, end - begin, count, images, stride(), products.data());
      for (int64_t vector = 0; vector < columns_; ++vector) {
        for (int64_t at = begin; at < end; ++at) {
          vectors_[vector * width_ + at] += products[(at - begin) * stride() + vector];
        }
      }
    });
  }

  // function(count, rows, their projections without an offset), some rows at a time.
  template <class Function>
  void for_each_image(const RowSample& sample, const Function& function) const {
    Buffer<float> images(sample.at_once() * stride());
    sample.for_each_block([&](int64_t, int64_t count, const float* values) {
      parallel_ranges(count, 48, sample.threads(), [&](int64_t begin, int64_t end) {
        multiply({values + begin * sample.stride(), sample.stride(), 1}, end - begin, width_, basis_.data(),
                 stride(), images.data() + begin * stride());
      });
      function(count, values, images.data());
    });
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
  void drop_columns(const RowSample& sample) {
    transpose_vectors();
    const std::vector<double> variances = projected(sample).variances;
    double total = 0, kept = 0;
    for (const double square : sample.squared_lengths()) total += square;
    int64_t needed = 0;
    while (needed < columns_ && kept < kKeptVariance * total / static_cast<double>(sample.count())) {
      kept += variances[needed++];
    }
    needed = std::max<int64_t>(needed, kFewColumns);
    columns_ = std::min(columns_, (needed + kColumnStep - 1) / kColumnStep * kColumnStep);
  }

  // Rotates basis_, and finds offset_.
  void fold_rotation(const std::vector<float>& mean, uint64_t seed) {
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
        total += static_cast<double>(mean[at]) * basis_[at * stride() + column];
      offset_[column] = static_cast<float>(total);
    }
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

  struct Projected {
    std::vector<double> variances;  // by column
    float largest = 0;
  };

  Projected projected(const RowSample& sample) const {
    Projected result{std::vector<double>(stride())};
    for_each_image(sample, [&](int64_t count, const float*, const float* images) {
      for (int64_t at = 0; at < count * stride(); ++at) {
        result.variances[at % stride()] += static_cast<double>(images[at]) * images[at];
        result.largest = std::max(result.largest, std::fabs(images[at]));
      }
    });
    for (double& variance : result.variances) variance /= static_cast<double>(sample.count());
    return result;
  }

  float largest_projected(const RowSample& sample) const {
    const Projected result = projected(sample);
    const double deviation = std::sqrt(*std::max_element(result.variances.begin(), result.variances.end()));
    return std::min(1.05f * result.largest, static_cast<float>(5 * deviation));
  }

  int64_t width_;
  int64_t columns_ = 0;
  Buffer<float> vectors_;
  Buffer<float> basis_;
  std::vector<float> offset_;
  float largest_ = 0;
};

}  // namespace actup
