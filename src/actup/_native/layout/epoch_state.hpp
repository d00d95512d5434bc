// EpochState: what an epoch reads and moves; and the interface of the two kinds of epochs.
#pragma once

#include "layout/points.hpp"
#include "layout/settings.h"
#include "layout/state_visitor.hpp"

namespace actup {

struct EpochState {
  const Settings& settings;
  const Steering& steering;
  Points& points;
  const float* mass;  // strength or degree of each point, padded to whole blocks
  const float*
      mobility;  // the factor of each point's moves, padded to whole blocks; null: all points are free
  float p_max;   // the largest edge weight after all weights are scaled to sum to 1
  float non_edge_weight;
  int64_t run_length;  // negatives of a point, at most
  int epoch;
  int threads;

  float scheduled(const std::vector<float>& values) const { return values[epoch]; }
  float exaggeration() const { return scheduled(settings.schedule.exaggeration) * steering.exaggeration; }
  // Settings::repulsion_rate belongs to the unnormalised setting.
  float repulsion_rate() const {
    return (settings.normalized ? 1.0f : settings.repulsion_rate) * steering.repulsion;
  }
};

class Epochs {
 public:
  virtual ~Epochs() = default;
  virtual void run(const EpochState& state) = 0;

  // What is carried from epoch to epoch, besides the points.
  virtual void visit_state(StateVisitor&) {}

  // Called when the points have been put somewhere else between two epochs.
  virtual void points_replaced() {}
};

}  // namespace actup
