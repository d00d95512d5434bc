// An orthonormal projection to fewer columns that keeps most of the variance and spreads it evenly.
//
// The basis spans the leading principal components of a sample of rows, found by subspace iteration. It is
// then rotated by random signs and a Hadamard matrix, so that one scale of integer codes suits all columns.
// The projection never increases a distance.
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
  // Projects to `columns` columns; if that is 0, to as many as hold kKeptVariance of the variance, at most
  // kDefaultMaxColumns. Keeps all columns if there are fewer than twice as many. largest_value() suits at
  // least a share `min_kept_share` of the sampled rows; the others may be outliers.
  Projection(const RowSource& rows, int64_t columns, double min_kept_share, uint64_t seed, int threads)
      : width_(rows.width()) {
    RowSample sample(rows, sample_rows(rows.count(), sample_size(), seed), threads);
    sample.center(min_kept_share);
    columns_ = std::min(columns ? columns : kDefaultMaxColumns, width_);
    if (2 * columns_ < width_ || (!columns && width_ > kDefaultMaxColumns)) {
      find_components(sample, seed);
      if (!columns) drop_components(sample);
      transpose_vectors();
      vectors_ = Buffer<float>();
    } else {
      columns_ = width_;
      basis_ = Buffer<float>(width_ * stride());
      basis_.clear();
      for (int64_t at = 0; at < width_; ++at) basis_[at * stride() + at] = 1;
    }
    rotate(sample.mean(), seed);
    largest_value_ = find_largest_value(sample);
  }

  int64_t columns() const { return columns_; }
  // The number of columns that project() writes; those beyond columns() are 0.
  int64_t stride() const { return padded(columns_); }
  // The range that codes should represent: the largest sampled value, at most five standard deviations.
  float largest_value() const { return largest_value_; }

  // Projects `count` rows of padded(width()) floats into rows of stride() floats.
  void project(const float* rows, int64_t count, float* out) const {
    multiply({rows, padded(width_), 1}, count, width_, basis_.data(), stride(), out);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t column = 0; column < stride(); ++column) out[row * stride() + column] -= offset_[column];
    }
  }

  static constexpr int64_t kDefaultMaxColumns = 128;

 private:
  static constexpr int64_t kMinColumns = 48, kColumnStep = 8;  // kept columns are a multiple of the step
  static constexpr double kKeptVariance = 0.91;
  static constexpr int kIterations = 3;  // of subspace iteration

  int64_t sample_size() const { return std::clamp<int64_t>((int64_t{1} << 22) / width_, 1024, 4096); }

  // Repeats V <- orthonormal(Sᵀ S V).
  void find_components(const RowSample& sample, uint64_t seed) {
    vectors_ = Buffer<float>(columns_ * width_);
    for (int64_t at = 0; at < vectors_.size(); ++at) {
      if (at % (1 << 16) == 0) checkpoint();
      const uint64_t bits = random_bits(seed, 1, static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32));
      vectors_[at] = random_signed(bits);
    }
    orthonormalize();
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      transpose_vectors();
      vectors_.clear();
      for_each_projected_chunk(sample, [&](int64_t count, const float* values, const float* projections) {
        add_products(sample, count, values, projections);
      });
      orthonormalize();
    }
  }

  // Adds Sᵀ times the projections of `count` rows of S to the vectors.
  void add_products(const RowSample& sample, int64_t count, const float* values, const float* projections) {
    constexpr int64_t kColumnsPerChunk = 48;
    parallel_ranges(width_, kColumnsPerChunk, sample.threads(), [&](int64_t begin, int64_t end) {
      std::vector<float> products((end - begin) * stride());
      multiply({values + begin, 1, sample.stride()}, end - begin, count, projections, stride(),
               products.data());
      for (int64_t vector = 0; vector < columns_; ++vector) {
        for (int64_t at = begin; at < end; ++at) {
          vectors_[vector * width_ + at] += products[(at - begin) * stride() + vector];
        }
      }
    });
  }

  // Calls function(count, rows, their projections without the offset) for each chunk of the sample.
  template <class Function>
  void for_each_projected_chunk(const RowSample& sample, const Function& function) const {
    Buffer<float> projections(sample.chunk_rows() * stride());
    sample.for_each_chunk([&](int64_t, int64_t count, const float* values) {
      parallel_ranges(count, 48, sample.threads(), [&](int64_t begin, int64_t end) {
        multiply({values + begin * sample.stride(), sample.stride(), 1}, end - begin, width_, basis_.data(),
                 stride(), projections.data() + begin * stride());
      });
      function(count, values, projections.data());
    });
  }

  // Gram-Schmidt in two passes; a vector that depends linearly on previous ones becomes 0. The second pass of
  // a vector goes along with the first pass of the next one, because each step waits for the one before it.
  void orthonormalize() {
    double before = dot(vectors_.data(), vectors_.data());
    for (int64_t vector = 0; vector < columns_; ++vector) {
      checkpoint();
      float* const v = vectors_.data() + vector * width_;
      float* const next = vector + 1 < columns_ ? v + width_ : nullptr;
      const double next_before = next ? dot(next, next) : 0;
      for (int64_t earlier = 0; earlier < vector; ++earlier) {
        const float* const u = vectors_.data() + earlier * width_;
        if (next) {
          remove_shares(u, v, next);
        } else {
          remove_share(u, v);
        }
      }
      const double squares = dot(v, v);
      const float factor =
          squares > 1e-9 * before && squares > 0 ? static_cast<float>(1 / std::sqrt(squares)) : 0.0f;
      for (int64_t at = 0; at < width_; ++at) v[at] *= factor;
      if (next) remove_share(v, next);
      before = next_before;
    }
  }

  // Makes v orthogonal to u.
  void remove_share(const float* u, float* v) const {
    const auto share = static_cast<float>(dot(u, v));
    for (int64_t at = 0; at < width_; ++at) v[at] -= share * u[at];
  }

  void remove_shares(const float* u, float* v, float* w) const {
    float16 sums_v{}, sums_w{};
    int64_t at = 0;
    for (; at + kWideLanes <= width_; at += kWideLanes) {
      const float16 values = load_wide(u + at);
      sums_v += values * load_wide(v + at);
      sums_w += values * load_wide(w + at);
    }
    double total_v = sum(sums_v), total_w = sum(sums_w);
    for (; at < width_; ++at) {
      total_v += static_cast<double>(u[at]) * v[at];
      total_w += static_cast<double>(u[at]) * w[at];
    }
    const auto share_v = static_cast<float>(total_v), share_w = static_cast<float>(total_w);
    for (at = 0; at < width_; ++at) {
      v[at] -= share_v * u[at];
      w[at] -= share_w * u[at];
    }
  }

  double dot(const float* u, const float* v) const {
    float16 sums{};
    int64_t at = 0;
    for (; at + kWideLanes <= width_; at += kWideLanes) sums += load_wide(u + at) * load_wide(v + at);
    double total = sum(sums);
    for (; at < width_; ++at) total += static_cast<double>(u[at]) * v[at];
    return total;
  }

  // basis_ (width x stride) from vectors_ (columns x width).
  void transpose_vectors() {
    basis_ = Buffer<float>(width_ * stride());
    basis_.clear();
    for (int64_t vector = 0; vector < columns_; ++vector) {
      checkpoint();
      for (int64_t at = 0; at < width_; ++at) basis_[at * stride() + vector] = vectors_[vector * width_ + at];
    }
  }

  // Drops the last principal components if the first ones hold kKeptVariance of the variance: subspace
  // iteration sorts them by decreasing variance.
  void drop_components(const RowSample& sample) {
    transpose_vectors();
    const std::vector<double> variances = statistics(sample).variances;
    double total = 0, kept = 0;
    for (const double square : sample.squared_norms()) total += square;
    int64_t needed = 0;
    while (needed < columns_ && kept < kKeptVariance * total / static_cast<double>(sample.count())) {
      kept += variances[needed++];
    }
    needed = std::max<int64_t>(needed, kMinColumns);
    columns_ = std::min(columns_, (needed + kColumnStep - 1) / kColumnStep * kColumnStep);
  }

  // Rotates basis_ and computes offset_, the projection of the mean.
  void rotate(const std::vector<float>& mean, uint64_t seed) {
    std::vector<float> signs(columns_);
    for (int64_t column = 0; column < columns_; ++column) {
      signs[column] = random_bits(seed, 2, static_cast<uint32_t>(column), 0) & 1 ? 1.0f : -1.0f;
    }
    int64_t size = 1;
    while (2 * size <= columns_) size *= 2;
    for (int64_t at = 0; at < width_; ++at) {
      checkpoint();
      float* const row = basis_.data() + at * stride();
      for (int64_t column = 0; column < columns_; ++column) row[column] *= signs[column];
      hadamard(row, size);  // and the last `size` columns, if their number is not a power of two
      if (size < columns_) hadamard(row + columns_ - size, size);
    }
    offset_.assign(stride(), 0);
    for (int64_t column = 0; column < stride(); ++column) {
      checkpoint();
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

  struct Statistics {
    std::vector<double> variances;  // by column
    float largest = 0;
  };

  Statistics statistics(const RowSample& sample) const {
    Statistics result{std::vector<double>(stride())};
    for_each_projected_chunk(sample, [&](int64_t count, const float*, const float* projections) {
      for (const float* row = projections; row != projections + count * stride(); row += stride()) {
        for (int64_t column = 0; column < stride(); ++column) {
          result.variances[column] += static_cast<double>(row[column]) * row[column];
          result.largest = std::max(result.largest, std::fabs(row[column]));
        }
      }
    });
    for (double& variance : result.variances) variance /= static_cast<double>(sample.count());
    return result;
  }

  float find_largest_value(const RowSample& sample) const {
    const Statistics result = statistics(sample);
    const double deviation = std::sqrt(*std::max_element(result.variances.begin(), result.variances.end()));
    return std::min(1.05f * result.largest, static_cast<float>(5 * deviation));
  }

  int64_t width_;
  int64_t columns_ = 0;
  Buffer<float> vectors_;
  Buffer<float> basis_;
  std::vector<float> offset_;
  float largest_value_ = 0;
};

}  // namespace actup
