// New rows on a finished map: each is placed independently, in vectors over its neighbours and the samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "graph/affinities.hpp"
#include "layout/points.hpp"
#include "transform/placement.h"

namespace actup {

// Points of the map by plane, padded to whole vectors with points of weight 0.
struct PointPlanes {
  int64_t size = 0, stride = 0;
  std::vector<float> coordinates;  // dimensions x stride
  std::vector<float> weights;      // stride

  PointPlanes(int64_t size, int dimensions)
      : size(size),
        stride((size + kBlock - 1) / kBlock * kBlock),
        coordinates(dimensions * stride, 0.0f),
        weights(stride, 0.0f) {}

  void set(int64_t at, const float* point, int dimensions, float weight) {
    for (int c = 0; c < dimensions; ++c) coordinates[c * stride + at] = point[c];
    weights[at] = weight;
  }
};

struct MapView {
  const float* rows;  // n x dimensions
  int64_t n;
  int dimensions;
};

// The samples of all epochs, which all rows share, and an index that finds a point among them.
class Samples {
 public:
  Samples(const MapView& map, const Placement& s)
      : per_epoch_(std::min<int64_t>(s.samples, map.n)),
        stride_((per_epoch_ + kBlock - 1) / kBlock * kBlock),
        planes_(s.epochs * stride_, map.dimensions) {
    places_.reserve(s.epochs * per_epoch_);
    for (int epoch = 0; epoch < s.epochs; ++epoch)
      for (int64_t draw = 0; draw < per_epoch_; ++draw) {
        const int64_t point = sampled_point(s.seed, epoch, static_cast<int>(draw), map.n, per_epoch_);
        const int64_t at = epoch * stride_ + draw;
        planes_.set(at, map.rows + point * map.dimensions, map.dimensions, 1.0f);
        places_.emplace_back(static_cast<int32_t>(point), static_cast<int32_t>(at));
      }
    std::sort(places_.begin(), places_.end());
  }

  const PointPlanes& planes() const { return planes_; }
  int64_t stride() const { return stride_; }  // from epoch to epoch

  // Sets weights[place] at every place at which a point was drawn.
  void set_weight(int32_t point, float weight, float* weights) const {
    auto at = std::lower_bound(places_.begin(), places_.end(), std::pair<int32_t, int32_t>{point, 0});
    for (; at != places_.end() && at->first == point; ++at) weights[at->second] = weight;
  }

 private:
  int64_t per_epoch_, stride_;
  PointPlanes planes_;
  std::vector<std::pair<int32_t, int32_t>> places_;  // (point, place), ascending
};

template <int D, Shape shape, class LossPolicy, bool normalized>
class RowPlacement {
 public:
  RowPlacement(const MapView& map, const Samples& samples, const Placement& s, int64_t k)
      : map_(map),
        samples_(samples),
        s_(s),
        k_(k),
        dimensions_(map.dimensions),
        neighbors_(k, map.dimensions),
        present_(samples.planes().weights),
        real_(neighbors_.stride, 0.0f),
        vectors_(2 * map.dimensions),
        numbers_(6 * map.dimensions) {
    std::fill_n(real_.begin(), k, 1.0f);
  }

  // weights: of the neighbours, in any scale.
  void place(const int32_t* ids, const float* weights, float* to) {
    float scale = 0, strength = 0;
    for (int64_t e = 0; e < k_; ++e) scale = normalized ? scale + weights[e] : std::max(scale, weights[e]);
    for (int64_t e = 0; e < k_; ++e) {
      neighbors_.set(e, map_.rows + int64_t{ids[e]} * map_.dimensions, map_.dimensions, weights[e] / scale);
      strength += weights[e] / scale;
    }
    for (int64_t e = 0; e < k_; ++e) samples_.set_weight(ids[e], 0.0f, present_.data());
    std::copy_n(map_.rows + int64_t{ids[best_start(ids)]} * map_.dimensions, map_.dimensions, to);
    for (int epoch = 0; epoch < s_.epochs; ++epoch) move(epoch, strength, to);
    for (int64_t e = 0; e < k_; ++e) samples_.set_weight(ids[e], 1.0f, present_.data());
  }

 private:
  static constexpr bool kHasSecond = normalized && LossPolicy::kHasSecondForce;

  float* attracted() { return &numbers_[0]; }
  float* near() { return &numbers_[dimensions_]; }
  float* near_second() { return &numbers_[2 * dimensions_]; }
  float* far() { return &numbers_[3 * dimensions_]; }
  float* far_second() { return &numbers_[4 * dimensions_]; }
  float* step() { return &numbers_[5 * dimensions_]; }

  // The neighbour at whose place the weighted sum of log q is largest; of equal ones, the smallest id.
  int64_t best_start(const int32_t* ids) const {
    int64_t best = 0;
    float highest = 0;
    for (int64_t e = 0; e < k_; ++e) {
      const float* y = map_.rows + int64_t{ids[e]} * map_.dimensions;
      float16 total = {};
      for (int64_t at = 0; at < neighbors_.stride; at += kBlock) {
        const float16 d2 = differences(neighbors_.coordinates.data(), neighbors_.stride, at, y, nullptr);
        total += load<float16>(&neighbors_.weights[at]) * logarithm(kernel<shape>(d2, s_.curve).q);
      }
      const float score = sum(total);
      if (e == 0 || score > highest || (score == highest && ids[e] < ids[best])) {
        best = e;
        highest = score;
      }
    }
    return best;
  }

  void move(int epoch, float strength, float* y) {
    float stiffness = 0, kernel_sum = 0;
    attract(y, stiffness, kernel_sum);
    KernelSums near_sums, far_sums;
    if constexpr (normalized)
      near_sums = repel(neighbors_.coordinates.data(), neighbors_.stride, real_.data(), neighbors_.stride, y,
                        near(), near_second());
    const int64_t first = epoch * samples_.stride();
    far_sums = repel(samples_.planes().coordinates.data() + first, samples_.planes().stride, &present_[first],
                     samples_.stride(), y, far(), far_second());
    const PlacementFactors f = placement_factors<LossPolicy, normalized>(
        s_, strength, static_cast<int>(k_), map_.n, kernel_sum, near_sums, far_sums);
    const float decay = placement_decay(s_, epoch), rate = placement_rate(s_, f, stiffness, decay);
    float squared = 0;
    for (int c = 0; c < dimensions_; ++c) {
      float force = f.attraction * attracted()[c] + f.far * far()[c];
      if constexpr (normalized) force += f.near * near()[c];
      if constexpr (kHasSecond) force += f.near_second * near_second()[c] + f.far_second * far_second()[c];
      step()[c] = rate * force;
      squared += step()[c] * step()[c];
    }
    const float longest = s_.step_cap * decay;
    const float shortened = squared > longest * longest ? longest / std::sqrt(squared) : 1.0f;
    for (int c = 0; c < dimensions_; ++c) y[c] += shortened * step()[c];
  }

  // Squared distances to 16 points. Stores the differences too, unless `delta` is null or D is 0.
  float16 differences(const float* planes, int64_t stride, int64_t at, const float* y, float16* delta) const {
    float16 d2 = broadcast<float16>(kTiny);
    for (int c = 0; c < dimensions_; ++c) {
      const float16 difference = y[c] - load<float16>(planes + c * stride + at);
      if (D > 0 && delta) delta[c] = difference;
      d2 += difference * difference;
    }
    return d2;
  }

  void attract(const float* y, float& stiffness, float& kernel_sum) {
    const float* planes = neighbors_.coordinates.data();
    const int64_t stride = neighbors_.stride;
    float16* force = vectors_.data();
    std::fill_n(force, dimensions_, float16{});
    float16 coefficients = {}, kernels = {};
    for (int64_t at = 0; at < stride; at += kBlock) {
      float16 delta[D ? D : 1];
      const Kernel<float16> pair = kernel<shape>(differences(planes, stride, at, y, delta), s_.curve);
      const float16 weight = load<float16>(&neighbors_.weights[at]);
      const float16 coefficient = weight * LossPolicy::attraction(pair);
      coefficients += coefficient;
      if constexpr (kHasSecond) kernels += weight * pair.q;
      for (int c = 0; c < dimensions_; ++c)
        force[c] += coefficient * (D ? delta[D ? c : 0] : y[c] - load<float16>(planes + c * stride + at));
    }
    for (int c = 0; c < dimensions_; ++c) attracted()[c] = sum(force[c]);
    stiffness = sum(coefficients);
    kernel_sum = sum(kernels);
  }

  // weights: 1 for the points that repel, 0 for those that do not.
  KernelSums repel(const float* planes, int64_t stride, const float* weights, int64_t count, const float* y,
                   float* to, float* to_second) {
    float16 stack[D ? 2 * D : 1];
    float16* force = D ? stack : vectors_.data();
    float16* second = force + dimensions_;
    std::fill_n(force, 2 * dimensions_, float16{});
    float16 q = {}, q_squared = {}, counted = {};
    for (int64_t at = 0; at < count; at += kBlock) {
      float16 delta[D ? D : 1];
      const float16 weight = load<float16>(weights + at);
      const float16 d2 = differences(planes, stride, at, y, delta);
      const auto pair = pair_repulsion<LossPolicy, normalized, shape>(d2, s_.curve, s_.epsilon);
      const float16 coefficient = weight * pair.coefficient, second_coefficient = weight * pair.second;
      if constexpr (normalized) q += weight * pair.q;
      if constexpr (kHasSecond) q_squared += weight * pair.q * pair.q;
      counted += weight;
      for (int c = 0; c < dimensions_; ++c) {
        const float16 difference = D ? delta[D ? c : 0] : y[c] - load<float16>(planes + c * stride + at);
        force[c] += coefficient * difference;
        if constexpr (kHasSecond) second[c] += second_coefficient * difference;
      }
    }
    for (int c = 0; c < dimensions_; ++c) {
      to[c] = sum(force[c]);
      if constexpr (kHasSecond) to_second[c] = sum(second[c]);
    }
    return {sum(q), sum(q_squared), sum(counted)};
  }

  const MapView& map_;
  const Samples& samples_;
  const Placement s_;
  const int64_t k_;
  const Dimensions<D> dimensions_;
  PointPlanes neighbors_;
  std::vector<float> present_;  // 1 for every sample that is not a neighbour of the row
  std::vector<float> real_;     // 1 for every neighbour, 0 for the padding
  std::vector<float16> vectors_;
  std::vector<float> numbers_;
};

struct PlacedRows {
  const NeighborRows& neighbors;  // ids are points of the map
  const MapView& map;
  const AffinitySettings& affinities;
  const Placement& placement;
  float* to;  // rows x dimensions
};

template <int D, Shape shape, class LossPolicy, bool normalized>
inline void place_all(const PlacedRows& work, int threads) {
  constexpr int64_t grain = 64;
  const int64_t k = work.neighbors.k;
  const Samples samples(work.map, work.placement);
  parallel_ranges(work.neighbors.rows, grain, threads, [&](int64_t begin, int64_t end) {
    RowPlacement<D, shape, LossPolicy, normalized> row(work.map, samples, work.placement, k);
    ExponentRow exponents(k);
    std::vector<float> weights(k);
    for (int64_t i = begin; i < end; ++i) {
      // A row's nearest neighbour is not at distance zero, so no mean distance of all rows is needed.
      row_weights(work.neighbors.distances + i * k, k, work.affinities, 0.0, exponents, weights.data());
      row.place(work.neighbors.ids + i * k, weights.data(), work.to + i * work.map.dimensions);
    }
  });
}

inline void place_rows(const PlacedRows& work, Loss loss, bool normalized, int threads) {
  with_dimensions(work.map.dimensions, [&](auto d) {
    with_shape(work.placement.curve, [&](auto shape) {
      with_loss(loss, [&](auto policy) {
        using LossPolicy = decltype(policy);
        constexpr int D = LossPolicy::kSpecializesDimensions ? d() : 0;
        if (normalized) return place_all<D, shape(), LossPolicy, true>(work, threads);
        if constexpr (shape() != Shape::tailed)  // tails belong to the normalised setting
          place_all<D, shape(), LossPolicy, false>(work, threads);
      });
    });
  });
}

}  // namespace actup
