// New rows on a finished map under an output metric: each is placed independently, as docs/layout.md says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/metric_epochs.hpp"
#include "transform/new_rows.hpp"

namespace actup {

template <class Metric>
class MetricPlacement {
 public:
  // points: the map in internal coordinates.
  MetricPlacement(const std::vector<double>& points, int64_t n, const Placement& s, double parameter,
                  int64_t k, int dimensions)
      : points_(points),
        n_(n),
        samples_(std::min<int64_t>(s.samples, n)),
        s_(s),
        parameter_(parameter),
        k_(k),
        dimensions_(dimensions),
        coordinates_(Metric::internal(dimensions)),
        gradient_(coordinates_),
        row_({s.curve.a, s.curve.b, parameter, s.attraction, s.epsilon}, coordinates_) {}

  // weights: of the neighbours, in any scale; they become relative to the largest.
  void place(const int32_t* ids, float* weights, float* to) {
    const float largest = *std::max_element(weights, weights + k_);
    double strength = 0;
    for (int64_t e = 0; e < k_; ++e) {
      weights[e] /= largest;
      strength += weights[e];
    }
    std::copy_n(point(ids[best_start(ids, weights)]), coordinates_, row_.at());
    for (int epoch = 0; epoch < s_.epochs; ++epoch) move(epoch, ids, weights, strength);
    Metric::to_map(row_.at(), to, dimensions_);
  }

 private:
  static constexpr double kFirstRate = 0.25;  // as in umap-learn: a quarter of the layout's

  const double* point(int64_t id) const { return &points_[id * coordinates_]; }

  // The neighbour at whose place the weighted sum of log q is largest; of equal ones, the smallest id.
  int64_t best_start(const int32_t* ids, const float* weights) {
    int64_t best = 0;
    double highest = 0;
    for (int64_t e = 0; e < k_; ++e) {
      double score = 0;
      for (int64_t f = 0; f < k_; ++f) {
        const double distance =
            Metric::distance(point(ids[e]), point(ids[f]), coordinates_, parameter_, gradient_.data());
        if (distance > 0)
          score -= weights[f] * logarithm_of_one_plus(s_.curve.a * power(distance, 2.0 * s_.curve.b));
      }
      if (e == 0 || score > highest || (score == highest && ids[e] < ids[best])) {
        best = e;
        highest = score;
      }
    }
    return best;
  }

  void move(int epoch, const int32_t* ids, const float* weights, double strength) {
    const double rate = kFirstRate * placement_decay(s_, epoch);
    for (int64_t e = 0; e < k_; ++e) row_.attract(point(ids[e]), rate * weights[e]);
    const double mass = s_.mass_is_degree ? static_cast<double>(k_) : strength;
    const double size = rate * s_.repulsion * mass / static_cast<double>(samples_);
    for (int64_t draw = 0; draw < samples_; ++draw) {
      const int64_t other = sampled_point(s_.seed, epoch, static_cast<int>(draw), n_, samples_);
      if (std::find(ids, ids + k_, static_cast<int32_t>(other)) == ids + k_) row_.repel(point(other), size);
    }
  }

  const std::vector<double>& points_;
  const int64_t n_, samples_;
  const Placement s_;
  const double parameter_;
  const int64_t k_;
  const int dimensions_, coordinates_;
  std::vector<double> gradient_;
  MovingPoint<Metric> row_;
};

inline void place_rows_under(const PlacedRows& work, OutputMetric metric, double parameter, int threads) {
  with_output_metric(metric, [&](auto policy) {
    using Metric = decltype(policy);
    const int64_t n = work.map.n, k = work.neighbors.k;
    const int dimensions = work.map.dimensions, coordinates = Metric::internal(dimensions);
    std::vector<double> points(n * coordinates);
    for (int64_t i = 0; i < n; ++i)
      read_point<Metric>(work.map.rows + i * dimensions, &points[i * coordinates], dimensions);
    parallel_ranges(work.neighbors.rows, 16, threads, [&](int64_t begin, int64_t end) {
      MetricPlacement<Metric> row(points, n, work.placement, parameter, k, dimensions);
      ExponentRow exponents(k);
      std::vector<float> weights(k);
      for (int64_t i = begin; i < end; ++i) {
        row_weights(work.neighbors.distances + i * k, k, work.affinities, 0.0, exponents, weights.data());
        row.place(work.neighbors.ids + i * k, weights.data(), work.to + i * dimensions);
      }
    });
  });
}

}  // namespace actup
