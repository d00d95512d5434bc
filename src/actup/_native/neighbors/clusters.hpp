// Clusters of points, by k-means on their codes, and the order that makes each cluster's points contiguous.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/random.h"
#include "neighbors/codes.hpp"
#include "neighbors/nearest_center.hpp"
#include "neighbors/projection.hpp"

namespace actup {

class Clusters {
 public:
  // `codes` holds `points` rows of encoder.stride() codes. Finds `wanted` clusters; fewer if some are empty,
  // more if large ones are split.
  Clusters(const int8_t* codes, int64_t points, const Encoder& encoder, int64_t wanted, uint64_t seed,
           int threads)
      : stride_(encoder.stride()), groups_(encoder.groups()), offset_(encoder.offset()) {
    wanted = std::min(wanted, points);
    const auto codes_of = [&](const std::vector<int64_t>& rows, int8_t* out) {
      for (size_t at = 0; at < rows.size(); ++at) {
        std::memcpy(out + at * stride_, codes + rows[at] * stride_, stride_);
      }
    };
    find_centers(codes_of, points, wanted, seed, threads);
    std::vector<int32_t> labels(points);
    assign(codes, points, threads, labels.data());
    sort_points(labels, 4 * (points / wanted + kCodeBlock));
    nearest_ = NearestCenter(center_rows());
  }

  // The same clusters, without keeping the codes of all rows in memory.
  Clusters(const RowSource& points, const Encoder& encoder, int64_t wanted, uint64_t seed, int threads)
      : stride_(encoder.stride()), groups_(encoder.groups()), offset_(encoder.offset()) {
    wanted = std::min(wanted, points.count());
    const auto codes_of = [&](const std::vector<int64_t>& rows, int8_t* out) {
      parallel_ranges(static_cast<int64_t>(rows.size()), 384, threads, [&](int64_t begin, int64_t end) {
        encoder.encode_rows(
            points, end - begin, [&](int64_t at) { return rows[begin + at]; }, out + begin * stride_);
      });
    };
    find_centers(codes_of, points.count(), wanted, seed, threads);
    constexpr int64_t kRowsPerChunk = 1 << 14;
    std::vector<int32_t> labels(points.count());
    Buffer<int8_t> codes(std::min(points.count(), kRowsPerChunk) * stride_);
    for (int64_t first = 0; first < points.count(); first += kRowsPerChunk) {
      std::vector<int64_t> rows(std::min(kRowsPerChunk, points.count() - first));
      std::iota(rows.begin(), rows.end(), first);
      codes_of(rows, codes.data());
      assign(codes.data(), static_cast<int64_t>(rows.size()), threads, labels.data() + first);
    }
    sort_points(labels, 4 * (points.count() / wanted + kCodeBlock));
    nearest_ = NearestCenter(center_rows());
  }

  // The number of clusters with which comparing centers and scanning clusters take about equally long.
  static int64_t balanced_count(int64_t points) {
    const auto wanted = std::llround(2 * std::sqrt(static_cast<double>(points)));
    return std::max<int64_t>(wanted, points / kMaxMeanClusterSize);
  }

  int64_t count() const { return static_cast<int64_t>(starts_.size()) - 1; }
  // Cluster c holds order()[starts()[c]] ... order()[starts()[c + 1] - 1].
  const std::vector<int32_t>& order() const { return order_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  const PackedCodes& centers() const { return nearest_.packed(); }
  const int8_t* center(int64_t cluster) const { return centers_.data() + cluster * stride_; }

  // The centers of the given clusters.
  PackedCodes packed_centers(const std::vector<int32_t>& clusters) const {
    return center_rows().packed(static_cast<int64_t>(clusters.size()),
                                [&](int64_t at) { return clusters[at]; });
  }

  // The nearest center of each of `points` rows of codes, or almost always the nearest; see NearestCenter.
  void assign(const int8_t* codes, int64_t points, int threads, int32_t* labels) const {
    nearest_.assign(codes, points, threads, labels);
  }

 private:
  static constexpr int kIterations = 4;
  static constexpr int64_t kMaxMeanClusterSize = 256;
  static constexpr int64_t kSamplesPerCenter = 64;  // k-means runs on a sample of this size

  // codes_of(rows, out) writes the codes of the given rows.
  template <class CodesOf>
  void find_centers(const CodesOf& codes_of, int64_t points, int64_t wanted, uint64_t seed, int threads) {
    const std::vector<int64_t> sample = sample_rows(points, wanted * kSamplesPerCenter, seed + 1);
    const auto size = static_cast<int64_t>(sample.size());
    Buffer<int8_t> gathered(size * stride_);
    codes_of(sample, gathered.data());
    centers_.resize(wanted * stride_);
    for (int64_t center = 0; center < wanted; ++center) {
      copy_center(center, gathered.data() + center * size / wanted * stride_);
    }
    std::vector<int32_t> labels(size);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      nearest_ = NearestCenter(center_rows());
      assign(gathered.data(), size, threads, labels.data());
      const uint64_t bits = random_bits(seed, 3, iteration, 0);
      move_to_means(gathered.data(), labels, stride_, centers_,
                    [&](int64_t center) {  // empty: moved to a sampled point
                      const int64_t chosen =
                          random_below(random_bits(bits, 0, static_cast<uint32_t>(center), 0), size);
                      copy_center(center, gathered.data() + chosen * stride_);
                    });
    }
    nearest_ = NearestCenter(center_rows());
  }

  void copy_center(int64_t center, const int8_t* codes) {
    std::memcpy(centers_.data() + center * stride_, codes, stride_);
  }

  // Sorts by cluster, then by id. A cluster of more than `max_size` points (duplicates of one row, for
  // example) is split into several with the same center: otherwise all of its points would be compared with
  // one another.
  void sort_points(const std::vector<int32_t>& labels, int64_t max_size) {
    const auto wanted = static_cast<int64_t>(centers_.size()) / stride_;
    std::vector<int64_t> ends(wanted + 1);
    for (int32_t label : labels) ++ends[label + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<int8_t> centers;
    for (int64_t center = 0; center < wanted; ++center) {
      for (int64_t begin = ends[center]; begin < ends[center + 1]; begin += max_size) {
        starts_.push_back(begin);
        centers.insert(centers.end(), centers_.begin() + center * stride_,
                       centers_.begin() + (center + 1) * stride_);
      }
    }
    starts_.push_back(static_cast<int64_t>(labels.size()));
    order_.resize(labels.size());
    for (size_t point = 0; point < labels.size(); ++point) {
      order_[ends[labels[point]]++] = static_cast<int32_t>(point);
    }
    centers_ = std::move(centers);
  }

  CodeRows center_rows() const {
    return {centers_.data(), static_cast<int64_t>(centers_.size()) / stride_, groups_, offset_};
  }

  int64_t stride_, groups_;
  int offset_;
  std::vector<int8_t> centers_;
  NearestCenter nearest_;
  std::vector<int32_t> order_;
  std::vector<int64_t> starts_;
};

}  // namespace actup
