// Layout: the positions of all points, and epochs that move them. docs/layout.md is its specification.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "layout/batch_epochs.hpp"
#include "layout/checks.hpp"
#include "layout/in_place_epochs.hpp"
#include "layout/relabelled_graph.hpp"
#include "layout/state_visitor.hpp"

namespace actup {

// Numbers of every point, in the order of the graph; null: not given.
struct PointInputs {
  const float* mobility = nullptr;   // from 0 (pinned) to 1 (free)
  const float* log_radii = nullptr;  // of the data, standardised: for Settings::density_weight
};

// order[new] = old. A run of consecutive points must be a random sample where runs repel; otherwise points
// near each other on the map are near each other in memory. Empty: in the order of the strongest edges, which
// pays where a core's cache does not hold all points.
inline std::vector<int32_t> layout_order(const Settings& s, int64_t n, const float* start, int dimensions,
                                         int threads) {
  constexpr int64_t kEdgeOrderMinPoints = 30'000;
  if (s.in_place || s.repulsion == Repulsion::sampled) return random_order(n, s.seed, threads);
  if (n >= kEdgeOrderMinPoints) return {};
  return morton_order(n, start, dimensions, threads);
}

// The smallest relative weight of an edge that is kept.
inline float weakest_edge(const Settings& s) {
  return s.prune && s.n_epochs > 0 ? 1.0f / static_cast<float>(s.n_epochs) : 0.0f;
}

class Layout {
 public:
  // start: n x dimensions, in the order of the graph. Graph, start and inputs are read here and not kept.
  Layout(const GraphView& graph, const float* start, int dimensions, const Settings& settings, int threads,
         const PointInputs& inputs = {})
      : s_(settings), threads_(threads) {
    check_settings(s_, dimensions);
    RelabelledGraph relabelled(graph, layout_order(settings, graph.n, start, dimensions, threads),
                               weakest_edge(settings), threads);
    if (s_.in_place) {
      epochs_ = std::make_unique<InPlaceEpochs>(relabelled.matchings(), s_, graph.n, dimensions);
    } else {
      epochs_ = std::make_unique<BatchEpochs>(relabelled, relabelled.copied_rows(threads), s_, dimensions,
                                              inputs.log_radii);
    }
    begin(relabelled, start, dimensions, inputs);
  }

  // Batch epochs on a graph whose rows have been copied part by part.
  Layout(RelabelledGraph relabelled, EdgeRows rows, const float* start, int dimensions,
         const Settings& settings, int threads, const PointInputs& inputs = {})
      : s_(settings), threads_(threads) {
    check_settings(s_, dimensions);
    epochs_ = std::make_unique<BatchEpochs>(relabelled, std::move(rows), s_, dimensions, inputs.log_radii);
    begin(relabelled, start, dimensions, inputs);
  }

  int epoch() const { return epoch_; }
  int64_t size() const { return points_.n; }
  int dimensions() const { return points_.dimensions; }

  // An exception from a checkpoint leaves the points as they were after the last whole epoch, from where
  // run() goes on.
  void run(int until) {
    for (until = std::min(until, s_.n_epochs); epoch_ < until; ++epoch_)
      epochs_->run({s_, steering_, points_, mass_.data(), mobility_.empty() ? nullptr : mobility_.data(),
                    p_max_, non_edge_weight_, run_length_, epoch_, threads_});
  }

  // From the next epoch on, attraction and repulsion are multiplied by these factors.
  void steer(const Steering& steering) { steering_ = steering; }

  // Goes on from other places, n x dimensions in the order of the graph; the steps keep their momentum.
  void replace_points(const float* places) {
    place_points(places);
    epochs_->points_replaced();
  }

  // All that later epochs depend on, besides the graph and the settings. Points are in the layout's own
  // order.
  void visit_state(StateVisitor& visitor) {
    visitor.visit_same(
        "inputs", inputs_hash(),
        "state is of a layout of another graph or start: restore it into a layout of the same");
    visitor.visit_number("epoch", epoch_, 0, s_.n_epochs);
    visit_steering(visitor, steering_);
    visitor.visit("points", points_.rows.data(), points_.n * points_.dimensions);
    epochs_->visit_state(visitor);
    if (visitor.restores()) points_.copy_rows_to_planes(0, points_.n);
  }

  // n x dimensions, in the order of the graph.
  void copy_embedding(float* to) const {
    for (int64_t i = 0; i < points_.n; ++i)
      std::copy_n(points_.row(i), points_.dimensions, to + int64_t{order_[i]} * points_.dimensions);
  }

 private:
  // What the epochs read of the graph, the start and the inputs.
  void begin(RelabelledGraph& relabelled, const float* start, int dimensions, const PointInputs& inputs) {
    const int64_t n = relabelled.size();
    const bool sampled = s_.repulsion == Repulsion::sampled;
    p_max_ = relabelled.total > 0 ? static_cast<float>(1 / relabelled.total) : 0.0f;
    if (s_.mean_non_edge_weight && relabelled.edges > 0)
      non_edge_weight_ = static_cast<float>(1 - relabelled.total / static_cast<double>(relabelled.edges));
    run_length_ = sampled ? std::min(s_.negatives, n) : n;
    if (s_.negatives_per_edge()) run_length_ = std::min(n, relabelled.largest_degree());
    mass_.assign(padded_to_blocks(n), 0.0f);
    for (int64_t i = 0; i < n; ++i)
      mass_[i] = s_.repulsion_mass == RepulsionMass::strength ? relabelled.strength[i]
                                                              : static_cast<float>(relabelled.degree[i]);
    order_ = std::move(relabelled.order);
    points_ = Points(n, dimensions, sampled ? run_length_ : 0);
    place_points(start);
    const bool all_free = !inputs.mobility || std::all_of(inputs.mobility, inputs.mobility + n,
                                                          [](float mobility) { return mobility == 1; });
    if (!all_free) {
      mobility_.assign(padded_to_blocks(n), 0.0f);
      for (int64_t i = 0; i < n; ++i) mobility_[i] = inputs.mobility[order_[i]];
    }
  }

  // Differs, almost surely, for layouts of another graph or start: of the order of the points, which follows
  // from the start or the seed, and of their strengths or degrees and mobility.
  int64_t inputs_hash() const {
    uint64_t hash = 0xCBF29CE484222325;  // FNV-1a, over words
    const auto add = [&](uint32_t word) { hash = (hash ^ word) * 0x100000001B3; };
    for (const int32_t id : order_) add(static_cast<uint32_t>(id));
    for (const float mass : mass_) add(std::bit_cast<uint32_t>(mass));
    for (const float mobility : mobility_) add(std::bit_cast<uint32_t>(mobility));
    add(std::bit_cast<uint32_t>(p_max_));
    return static_cast<int64_t>(hash >> 1);
  }

  void place_points(const float* places) {
    for (int64_t i = 0; i < points_.n; ++i)
      std::copy_n(places + int64_t{order_[i]} * points_.dimensions, points_.dimensions, points_.row(i));
    points_.copy_rows_to_planes(0, points_.n);
  }

  Settings s_;
  Steering steering_;
  int threads_;
  int epoch_ = 0;
  float p_max_ = 0;
  float non_edge_weight_ = 1;
  int64_t run_length_ = 0;
  std::vector<int32_t> order_;  // order_[relabelled] = original
  Points points_;
  std::vector<float> mass_;      // strength or degree of each point
  std::vector<float> mobility_;  // of each point; empty: all points are free
  std::unique_ptr<Epochs> epochs_;
};

}  // namespace actup
