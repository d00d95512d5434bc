// Placement: how a new row finds its place on a finished map; the formulas that CPU and GPU share.
//
// The map does not move. A row is attracted by its neighbours and repelled by samples of the map. All rows
// share the samples, so that a row's place depends on nothing but the row. docs/layout.md, "New rows", is the
// specification.
#pragma once

#include "common/random.h"
#include "layout/losses.h"

namespace actup {

struct Placement {  // transform/_placement.py computes the values; the GPU reads the same bytes
  uint64_t seed = 0;
  Curve curve;
  int32_t epochs = 0;
  int32_t samples = 0;      // points drawn per epoch, or all points if the map has fewer
  float attraction = 1;     // exaggeration, times 2 if both ends of an edge were pulled
  float repulsion = 1;      // unnormalised: repulsion_rate
  float epsilon = 0.001f;   // unnormalised KL
  float partition = 0;      // normalised: Z of a row if it is fixed, else 0
  float learning_rate = 1;  // falls linearly to zero, as does step_cap
  float step_cap = 1;
  float stiffness_floor = 0;
  int32_t mass_is_degree = 0;        // unnormalised: repulsion proportional to k, not to the sum of weights
  int32_t mean_non_edge_weight = 0;  // unnormalised: repulsion times one minus the mean weight
};

// The point of the map that is draw number `draw` of an epoch; the same for all rows.
ACTUP_DEVICE inline int64_t sampled_point(uint64_t seed, int epoch, int draw, int64_t n, int64_t samples) {
  if (samples >= n) return draw;
  return random_below(random_bits(seed, static_cast<uint32_t>(epoch), 0, static_cast<uint32_t>(draw)), n);
}

// The share of learning rate and step cap that is left in an epoch.
ACTUP_DEVICE inline float placement_decay(const Placement& s, int epoch) {
  return 1.0f - static_cast<float>(epoch) / static_cast<float>(s.epochs);
}

// Sums over the samples that are not neighbours of the row, or over its neighbours (normalised setting).
struct KernelSums {
  float q = 0;
  float q_squared = 0;
  float count = 0;
};

// The force is attraction * A + near * R(neighbours) + far * R(samples), the second forces likewise.
struct PlacementFactors {
  float attraction = 0;
  float near = 0, far = 0;
  float near_second = 0, far_second = 0;
  float stiffness_floor = 0;
};

// strength: the sum of the row's weights; weighted_q: the sum of weight times q, where the loss has a second
// force.
template <class LossPolicy, bool normalized>
ACTUP_DEVICE inline PlacementFactors placement_factors(const Placement& s, float strength, int k, int64_t n,
                                                       float weighted_q, const KernelSums& near,
                                                       const KernelSums& far) {
  PlacementFactors f;
  if constexpr (!normalized) {
    const LeadingFactors lead = LossPolicy::leading_factors(s.curve, false);
    const float degree = static_cast<float>(k);
    const float mass = s.mass_is_degree ? degree : strength;
    const float non_edge = s.mean_non_edge_weight ? 1.0f - strength / degree : 1.0f;
    f.attraction = -lead.attraction * s.attraction;
    f.far = far.count > 0 ? lead.repulsion * s.repulsion * non_edge * mass / far.count : 0.0f;
    f.stiffness_floor = s.stiffness_floor * lead.attraction * strength;
  } else {  // steps are relative to the stiffness, so the leading factor cancels
    const float points_per_sample = far.count > 0 ? static_cast<float>(n - k) / far.count : 0.0f;
    const float sum = near.q + points_per_sample * far.q;
    const float Z = s.partition > 0 ? s.partition : sum;
    const float repulsion = Z > 0 ? 1.0f / Z : 0.0f;
    f.attraction = -s.attraction;
    f.near = repulsion;
    f.far = repulsion * points_per_sample;
    if constexpr (LossPolicy::kHasSecondForce) {
      const float Q = near.q_squared + points_per_sample * far.q_squared;
      f.near_second = LossPolicy::second_factor(weighted_q, Q, repulsion);
      f.far_second = f.near_second * points_per_sample;
    }
    f.stiffness_floor = s.stiffness_floor * strength;
  }
  return f;
}

// What turns a force into a step.
ACTUP_DEVICE inline float placement_rate(const Placement& s, const PlacementFactors& f, float stiffness,
                                         float decay) {
  const float own = -f.attraction * stiffness;
  return s.learning_rate * decay / ((own > f.stiffness_floor ? own : f.stiffness_floor) + kTiny);
}

}  // namespace actup
