// The layout under an output metric: UMAP's cross-entropy with sampled negatives, point by point.
//
// In an epoch, each point makes a step for each of its edges that acts and for each of its negatives. It
// reads the other points where they were before the epoch and writes only itself, so that all points can move
// at the same time. docs/layout.md, "Output metrics", is the specification.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "common/parallel.hpp"
#include "common/random.h"
#include "layout/checks.hpp"
#include "layout/edge_sampling.h"
#include "layout/output_metrics.h"
#include "layout/relabelled_graph.hpp"
#include "layout/settings.h"
#include "layout/state_visitor.hpp"

namespace actup {

// What the steps of a point read.
struct MetricForces {
  double a = 1, b = 1;    // of the kernel
  double parameter = 2;   // the metric's p
  double attraction = 1;  // factor of every attraction
  double epsilon = 0.001;
};

constexpr double kLargestForce = 4;  // along each axis, as in umap-learn

// One point on its way: its internal coordinates and the steps that move it.
template <class Metric>
class MovingPoint {
 public:
  MovingPoint(const MetricForces& forces, int coordinates)
      : forces_(forces), coordinates_(coordinates), at_(coordinates), gradient_(coordinates) {}

  double* at() { return at_.data(); }

  // The force of -log q, times `size`: towards the other point.
  void attract(const double* other, double size) {
    const double distance = distance_to(other);
    if (!(distance > 0)) return;
    const double powered = forces_.a * power(distance, 2 * forces_.b);
    step(-2 * forces_.b * powered / (distance * (1 + powered)), size * forces_.attraction);
  }

  // The force of -log(1 - q), times `size`: away from the other point.
  void repel(const double* other, double size) {
    const double distance = distance_to(other);
    if (!(distance > 0)) return;
    const double powered = forces_.a * power(distance, 2 * forces_.b);
    step(2 * forces_.b * distance / ((forces_.epsilon + distance * distance) * (1 + powered)), size);
  }

 private:
  double distance_to(const double* other) {
    return Metric::distance(at_.data(), other, coordinates_, forces_.parameter, gradient_.data());
  }

  void step(double slope, double size) {
    for (int c = 0; c < coordinates_; ++c)
      at_[c] += Metric::kStep * size * std::clamp(slope * gradient_[c], -kLargestForce, kLargestForce);
    Metric::settle(at_.data(), coordinates_);
  }

  const MetricForces forces_;
  const int coordinates_;
  std::vector<double> at_, gradient_;
};

class MetricLayout {
 public:
  virtual ~MetricLayout() = default;
  virtual void run(int until) = 0;
  virtual void copy_embedding(float* to) const = 0;
  virtual void visit_state(StateVisitor& visitor) = 0;
  void steer(const Steering& steering) { steering_ = steering; }
  int epoch() const { return epoch_; }
  int64_t size() const { return n_; }
  int dimensions() const { return dimensions_; }

 protected:
  MetricLayout(int64_t n, int dimensions) : n_(n), dimensions_(dimensions) {}
  int64_t n_;
  int dimensions_;
  int epoch_ = 0;
  Steering steering_;
};

template <class Metric>
class MetricEpochs : public MetricLayout {
 public:
  // start: n x dimensions. The graph is read here and not kept.
  MetricEpochs(const GraphView& graph, const float* start, int dimensions, const Settings& settings,
               double parameter, int threads)
      : MetricLayout(graph.n, dimensions),
        s_(settings),
        threads_(threads),
        coordinates_(Metric::internal(dimensions)),
        parameter_(parameter) {
    check_settings(s_, dimensions);
    if (Metric::kDimensions && dimensions != Metric::kDimensions)
      throw std::invalid_argument("the output metric needs another number of dimensions");
    std::vector<int32_t> same_order(n_);
    std::iota(same_order.begin(), same_order.end(), 0);
    const float weakest = s_.prune && s_.n_epochs > 0 ? 1.0f / static_cast<float>(s_.n_epochs) : 0.0f;
    const RelabelledGraph relative(graph, std::move(same_order), weakest, threads);
    rows_ = relative.copied_rows(threads);
    mass_ = relative.strength;
    if (s_.repulsion_mass != RepulsionMass::strength)
      std::copy(relative.degree.begin(), relative.degree.end(), mass_.begin());
    now_.resize(n_ * coordinates_);
    next_.resize(n_ * coordinates_);
    for (int64_t i = 0; i < n_; ++i)
      read_point<Metric>(start + i * dimensions, &now_[i * coordinates_], dimensions);
  }

  // An exception from a checkpoint leaves the points as they were after the last whole epoch.
  void run(int until) override {
    for (until = std::min(until, s_.n_epochs); epoch_ < until; ++epoch_) {
      const MetricForces forces{s_.curve.a, s_.curve.b, parameter_,
                                static_cast<double>(s_.attraction_repeats()) *
                                    (s_.schedule.exaggeration[epoch_] * steering_.exaggeration),
                                s_.repulsion_epsilon};
      parallel_ranges(n_, 64, threads_, [&](int64_t begin, int64_t end) {
        MovingPoint<Metric> point(forces, coordinates_);
        for (int64_t i = begin; i < end; ++i) move(i, point);
      });
      std::swap(now_, next_);
    }
  }

  void copy_embedding(float* to) const override {
    for (int64_t i = 0; i < n_; ++i)
      Metric::to_map(&now_[i * coordinates_], to + i * dimensions_, dimensions_);
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.visit_number("epoch", epoch_, 0, s_.n_epochs);
    visit_steering(visitor, steering_);
    visitor.visit("points", now_);
  }

 private:
  void move(int64_t i, MovingPoint<Metric>& point) {
    const double rate = s_.schedule.learning_rate[epoch_];
    std::copy_n(&now_[i * coordinates_], coordinates_, point.at());
    for (int64_t e = rows_.offsets[i]; e < rows_.offsets[i + 1]; ++e) {
      const bool all = s_.sampling == Sampling::exhaustive;
      if (!all && !acts(rows_.weights[e], epoch_)) continue;
      const float weight = all ? rows_.weights[e] : acting_weight(s_.sampling, rows_.weights[e]);
      point.attract(&now_[int64_t{rows_.ids[e]} * coordinates_], rate * weight);
    }
    const double size =
        rate * (s_.repulsion_rate * steering_.repulsion) * mass_[i] / static_cast<double>(s_.negatives);
    for (int64_t draw = 0; draw < s_.negatives; ++draw) {
      const uint64_t bits = random_bits(s_.seed, static_cast<uint32_t>(epoch_), static_cast<uint32_t>(i),
                                        static_cast<uint32_t>(draw));
      const int64_t other = random_below(bits, n_);
      if (other != i) point.repel(&now_[other * coordinates_], size);
    }
    std::copy_n(point.at(), coordinates_, &next_[i * coordinates_]);
  }

  const Settings s_;
  const int threads_;
  const int coordinates_;  // internal ones of a point
  const double parameter_;
  EdgeRows rows_;
  std::vector<float> mass_;
  std::vector<double> now_, next_;  // n x coordinates
};

inline std::unique_ptr<MetricLayout> make_metric_layout(const GraphView& graph, const float* start,
                                                        int dimensions, OutputMetric metric, double parameter,
                                                        const Settings& settings, int threads) {
  return with_output_metric(metric, [&](auto policy) -> std::unique_ptr<MetricLayout> {
    return std::make_unique<MetricEpochs<decltype(policy)>>(graph, start, dimensions, settings, parameter,
                                                            threads);
  });
}

// Distances of m pairs of points in internal coordinates, and their gradients with respect to the first ones.
inline void output_distances(OutputMetric metric, double parameter, const double* x, const double* y,
                             int64_t m, int coordinates, double* distances, double* gradients) {
  with_output_metric(metric, [&](auto policy) {
    for (int64_t i = 0; i < m; ++i)
      distances[i] = decltype(policy)::distance(x + i * coordinates, y + i * coordinates, coordinates,
                                                parameter, gradients + i * coordinates);
  });
}

}  // namespace actup
