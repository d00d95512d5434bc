// Density: the term of densMAP, which makes the local radii of the map follow those of the data.
//
// The log radius of point i is rho_i = log(epsilon + m_i), where m_i is the mean of its squared edge lengths,
// weighted by the kernel. The forces increase C = cov(rho, R) / sqrt(var(rho) + shift), where R are the
// standardised log radii of the data. docs/layout.md, "Density", is the specification.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/elementary.h"
#include "common/parallel.hpp"
#include "layout/attraction.hpp"
#include "layout/epoch_state.hpp"
#include "layout/points.hpp"
#include "layout/relabelled_graph.hpp"

namespace actup {

class Density {
 public:
  Density() = default;

  // data_radii: the standardised log radii of the data, in the order of the graph.
  Density(const RelabelledGraph& graph, const float* data_radii)
      : total_(graph.total),
        data_radii_(graph.size()),
        map_radii_(graph.size()),
        pulls_(2 * graph.size() + 16, 0.0f),
        chunk_sums_((graph.size() + kPointsPerChunk - 1) / kPointsPerChunk) {
    for (int64_t i = 0; i < graph.size(); ++i) data_radii_[i] = data_radii[graph.order[i]];
  }

  bool acts(const Settings& s, int epoch) const {
    return s.density_weight > 0 && epoch >= s.density_begin && !data_radii_.empty();
  }

  // Computes all radii, their moments, and what each point contributes to the forces of this epoch.
  void prepare(const EpochState& state, const EdgeRows& rows) {
    with_map(state, [&](auto d, auto shape) {
      parallel_ranges(state.points.n, kPointsPerChunk, state.threads,
                      [&](int64_t begin, int64_t end) { measure<d(), shape()>(state, rows, begin, end); });
    });
    settle(state.settings, state.exaggeration());
    parallel_ranges(state.points.n, kPointsPerChunk, state.threads,
                    [&](int64_t begin, int64_t end) { weigh(begin, end); });
  }

  // Subtracts the density forces of a block from its attraction (dimensions x 16), whose factor is negative,
  // and adds the sums of their absolute coefficients to its stiffness, if that is not null.
  void add_block(const EpochState& state, const EdgeRows& rows, int64_t block, float* attraction,
                 float* stiffness) const {
    with_map(state, [&](auto d, auto shape) {
      const int64_t begin = block * kBlock, end = std::min(state.points.n, begin + kBlock);
      for (int64_t i = begin; i < end; ++i)
        add_row<d(), shape()>(state, rows, i, attraction + (i - begin),
                              stiffness ? stiffness + (i - begin) : nullptr);
    });
  }

 private:
  static constexpr int64_t kPointsPerChunk = 256;
  static constexpr double kEpsilon = 1e-8;  // added to a mean squared edge length, as in umap-learn

  // Calls work(dimensions, shape) with both as compile-time constants.
  template <class Work>
  static void with_map(const EpochState& state, const Work& work) {
    with_dimensions(state.points.dimensions, [&](auto d) {
      with_shape(state.settings.curve, [&](auto shape) {
        if constexpr (shape() != Shape::tailed) work(d, shape);  // tails belong to the normalised setting
      });
    });
  }

  struct Sums {  // over the points that have an edge
    double points = 0, map = 0, map_squared = 0, data = 0, product = 0;

    void add(const Sums& other) {
      points += other.points;
      map += other.map;
      map_squared += other.map_squared;
      data += other.data;
      product += other.product;
    }
  };

  // The radii of points [begin, end). pulls_ becomes 1/((epsilon + m) sum of kernels), and m.
  template <int D, Shape shape>
  void measure(const EpochState& state, const EdgeRows& rows, int64_t begin, int64_t end) {
    Sums sums;
    for (int64_t i = begin; i < end; ++i) {
      float8 kernels = {}, squares = {};
      const int64_t first = rows.offsets[i], count = rows.offsets[i + 1] - first;
      for (int64_t e = 0; e < count; e += 8) {
        const int8 valid = lane_numbers<float8>() < static_cast<int32_t>(count - e);
        const float8 d2 = squared_lengths<D>(state.points, i, &rows.ids[first + e]);
        const float8 q = where(valid, kernel<shape>(d2, state.settings.curve).q);
        kernels += q;
        squares += q * d2;
      }
      const double total = sum(kernels);
      map_radii_[i] = 0;
      pulls_[2 * i] = pulls_[2 * i + 1] = 0;
      if (!(total > 0)) continue;  // a point without edges has no radius
      const double mean = sum(squares) / total, radius = natural_logarithm(kEpsilon + mean);
      map_radii_[i] = radius;
      pulls_[2 * i] = static_cast<float>(1 / ((kEpsilon + mean) * total));
      pulls_[2 * i + 1] = static_cast<float>(mean);
      sums.points += 1;
      sums.map += radius;
      sums.map_squared += radius * radius;
      sums.data += data_radii_[i];
      sums.product += radius * data_radii_[i];
    }
    chunk_sums_[begin / kPointsPerChunk] = sums;
  }

  // The moments of all radii.
  void settle(const Settings& s, float exaggeration) {
    Sums all;
    for (const Sums& sums : chunk_sums_) all.add(sums);
    const double n = std::max(all.points, 1.0);
    mean_ = all.map / n;
    data_mean_ = all.data / n;
    const double variance = std::max(0.0, all.map_squared / n - mean_ * mean_) + s.density_shift;
    const double covariance = all.product / n - mean_ * data_mean_;
    slope_ = variance > 0 ? covariance / variance : 0;
    // The attraction is multiplied by 2ab e f; the density forces have the factor f and no exaggeration.
    const double lead = 2.0 * s.curve.a * s.curve.b * exaggeration;
    factor_ = variance > 0 ? s.density_weight * total_ / (n * std::sqrt(variance) * lead) : 0;
  }

  // pulls_ becomes the two numbers from which the coefficients of a point's edges follow.
  void weigh(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double weight = (data_radii_[i] - data_mean_) - slope_ * (map_radii_[i] - mean_);
      const double pull = factor_ * weight * pulls_[2 * i];
      pulls_[2 * i + 1] = static_cast<float>(pull * pulls_[2 * i + 1]);
      pulls_[2 * i] = static_cast<float>(pull);
    }
  }

  template <int D, Shape shape>
  void add_row(const EpochState& state, const EdgeRows& rows, int64_t i, float* attraction,
               float* stiffness) const {
    const Points& points = state.points;
    const Dimensions<D> dimensions(points.dimensions);
    const Curve curve = state.settings.curve;
    const float* self = points.row(i);
    const int64_t first = rows.offsets[i], count = rows.offsets[i + 1] - first;
    float8 absolute = {};
    for (int64_t e = 0; e < count; e += 8) {
      const int32_t* ids = &rows.ids[first + e];
      const int8 valid = lane_numbers<float8>() < static_cast<int32_t>(count - e);
      const Kernel<float8> k = kernel<shape>(squared_lengths<D>(points, i, ids), curve);
      const Pairs<float8> other = gather_pairs(pulls_.data(), ids);
      const float8 lengthens = (1.0f - curve.b * (1.0f - k.q)) * (pulls_[2 * i] + other.x);
      const float8 reweighs = curve.a * curve.b * k.slope * (pulls_[2 * i + 1] + other.y);
      const float8 coefficient = where(valid, k.q * (lengthens + reweighs));
      absolute += coefficient < 0.0f ? -coefficient : coefficient;
      for (int c = 0; c < dimensions; ++c)
        attraction[c * kBlock] -=
            sum(coefficient * (self[c] - gather<float8>(points.rows.data(), ids, dimensions, c)));
    }
    if (stiffness) *stiffness += sum(absolute);
  }

  template <int D>
  static float8 squared_lengths(const Points& points, int64_t i, const int32_t* ids) {
    const float* self = points.row(i);
    float8 d2 = broadcast<float8>(kTiny);
    if constexpr (D == 2) {
      const Pairs<float8> other = gather_pairs(points.rows.data(), ids);
      d2 += (self[0] - other.x) * (self[0] - other.x) + (self[1] - other.y) * (self[1] - other.y);
    } else {
      const Dimensions<D> dimensions(points.dimensions);
      for (int c = 0; c < dimensions; ++c) {
        const float8 delta = self[c] - gather<float8>(points.rows.data(), ids, dimensions, c);
        d2 += delta * delta;
      }
    }
    return d2;
  }

  double total_ = 0;  // sum of all relative weights, both directions
  std::vector<float> data_radii_;
  std::vector<double> map_radii_;
  std::vector<float> pulls_;  // two per point
  std::vector<Sums> chunk_sums_;
  double mean_ = 0, data_mean_ = 0, slope_ = 0, factor_ = 0;  // of this epoch
};

}  // namespace actup
