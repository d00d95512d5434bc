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

#include "common/buffer.hpp"
#include "common/matrix_product.hpp"
#include "common/parallel.hpp"
#include "common/random.h"
#include "neighbors/row_sample.hpp"
#include "neighbors/row_source.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

class Projection {
 public:
  // Keeps the columns that hold kKeptVariance of the variance, at most kMostColumns of them; `columns` if it
  // is not 0; or all, where that is less than twice as many. Its scale suits at least a share `kept` of the
  // rows; the rest may be far off.
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
  // What is worth representing: the largest sampled value, but not beyond five standard deviations.
  float largest() const { return largest_; }

  // Projects `count` rows of padded(width()) floats into rows of stride() floats.
  void project(const float* rows, int64_t count, float* out) const {
    multiply({rows, padded(width_), 1}, count, width_, basis_.data(), stride(), out);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t column = 0; column < stride(); ++column) out[row * stride() + column] -= offset_[column];
    }
  }

  static constexpr int64_t kMostColumns = 128;

 private:
  static constexpr int64_t kFewColumns = 48, kColumnStep = 8;
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
