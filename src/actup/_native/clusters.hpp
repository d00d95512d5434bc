// Points grouped by k-means on their codes, and the order that puts each cluster's points side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "buffer.hpp"
#include "codes.hpp"
#include "parallel.hpp"
#include "projection.hpp"
#include "random.h"

namespace actup {

class Clusters {
 public:
  // `codes` holds `points` rows of encoder.stride() codes.
  Clusters(const int8_t* codes, int64_t points, const Encoder& encoder, uint64_t seed, int threads)
      : stride_(encoder.stride()), groups_(encoder.groups()), offset_(encoder.offset()) {
    const int64_t wanted =
        std::clamp<int64_t>(std::llround(2 * std::sqrt(static_cast<double>(points))), 1, points);
    find_centers(codes, points, wanted, seed, threads);
    std::vector<int32_t> labels(points);
    assign(codes, points, threads, labels.data());
    sort_points(labels, 4 * (points / wanted + kBlock));
    pack_centers();
  }

  int64_t count() const { return static_cast<int64_t>(starts_.size()) - 1; }
  // Cluster c holds order()[starts()[c]] ... order()[starts()[c + 1] - 1].
  const std::vector<int32_t>& order() const { return order_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  const PackedCodes& centers() const { return packed_; }

  // The nearest center of each of some rows of codes; ties go to the smaller number.
  void assign(const int8_t* codes, int64_t points, int threads, int32_t* labels) const {
    parallel_ranges(points, 192, threads, [&](int64_t begin, int64_t end) {
      const int64_t count = end - begin;
      std::vector<const int8_t*> queries(count);
      std::vector<int32_t> thresholds(count, PackedCodes::kLowestScore);
      for (int64_t at = 0; at < count; ++at) queries[at] = codes + (begin + at) * stride_;
      with_instructions([&](auto set) {
        scan<decltype(set)>(packed_.view(), queries.data(), thresholds.data(), count,
                            [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
                              for (; mask; mask &= mask - 1) {
                                const int lane = std::countr_zero(mask);
                                if (scores[lane] < thresholds[query]) continue;
                                thresholds[query] = scores[lane] + 1;  // only a better one from now on
                                labels[begin + query] = static_cast<int32_t>(first + lane);
                              }
                            });
      });
    });
  }

 private:
  static constexpr int kIterations = 4;
  static constexpr int64_t kPointsPerCenter = 64;

  void find_centers(const int8_t* codes, int64_t points, int64_t wanted, uint64_t seed, int threads) {
    const std::vector<int64_t> sample = sample_rows(points, wanted * kPointsPerCenter, seed + 1);
    const auto size = static_cast<int64_t>(sample.size());
    Buffer<int8_t> gathered(size * stride_);
    for (int64_t at = 0; at < size; ++at) {
      std::memcpy(gathered.data() + at * stride_, codes + sample[at] * stride_, stride_);
    }
    centers_.resize(wanted * stride_);
    for (int64_t center = 0; center < wanted; ++center) {
      copy_center(center, gathered.data() + center * size / wanted * stride_);
    }
    std::vector<int32_t> labels(size);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      pack_centers();
      assign(gathered.data(), size, threads, labels.data());
      move_centers(gathered, labels, wanted, random_bits(seed, 3, iteration, 0));
    }
    pack_centers();
  }

  // Each center to the mean of its points. One without points starts again at a sampled point.
  void move_centers(const Buffer<int8_t>& sample, const std::vector<int32_t>& labels, int64_t wanted,
                    uint64_t seed) {
    std::vector<int32_t> sums(wanted * stride_), counts(wanted);
    for (size_t at = 0; at < labels.size(); ++at) {
      const int8_t* const codes = sample.data() + static_cast<int64_t>(at) * stride_;
      int32_t* const sum = sums.data() + labels[at] * stride_;
      for (int64_t column = 0; column < stride_; ++column) sum[column] += codes[column];
      ++counts[labels[at]];
    }
    for (int64_t center = 0; center < wanted; ++center) {
      if (counts[center] == 0) {
        const int64_t chosen = random_below(random_bits(seed, 0, static_cast<uint32_t>(center), 0),
                                            static_cast<int64_t>(labels.size()));
        copy_center(center, sample.data() + chosen * stride_);
        continue;
      }
      for (int64_t column = 0; column < stride_; ++column) {
        const double mean = static_cast<double>(sums[center * stride_ + column]) / counts[center];
        centers_[center * stride_ + column] = static_cast<int8_t>(std::lrint(mean));
      }
    }
  }

  void copy_center(int64_t center, const int8_t* codes) {
    std::memcpy(centers_.data() + center * stride_, codes, stride_);
  }

  // By cluster, then by id. A cluster of more than `largest` points (copies of one row, say) is cut into
  // several with the same center, or its points would all be compared with one another.
  void sort_points(const std::vector<int32_t>& labels, int64_t largest) {
    const auto wanted = static_cast<int64_t>(centers_.size()) / stride_;
    std::vector<int64_t> ends(wanted + 1);
    for (int32_t label : labels) ++ends[label + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<int8_t> centers;
    for (int64_t center = 0; center < wanted; ++center) {
      for (int64_t begin = ends[center]; begin < ends[center + 1]; begin += largest) {
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

  void pack_centers() {
    const auto count = static_cast<int64_t>(centers_.size()) / stride_;
    const int64_t blocks = (count + kBlock - 1) / kBlock;
    packed_ = PackedCodes(blocks, groups_, offset_);
    for (int64_t block = 0; block < blocks; ++block) {
      packed_.pack(block, std::min(kBlock, count - block * kBlock),
                   [&](int64_t point) { return centers_.data() + (block * kBlock + point) * stride_; });
    }
  }

  int64_t stride_, groups_;
  int offset_;
  std::vector<int8_t> centers_;
  PackedCodes packed_;
  std::vector<int32_t> order_;
  std::vector<int64_t> starts_;
};

}  // namespace actup
