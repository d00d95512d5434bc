// Steps: how a force becomes a move, by one of three optimisers that all have momentum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/points.hpp"

namespace actup {

struct StepRule {  // of one epoch
  float learning_rate;
  float momentum;
  float cap;
  float force_scale;
  float gradient_clip;
  float stiffness_scale;  // turns sums of coefficients into the stiffness of the force
  float stiffness_floor;
};

inline float16 clamp(float16 v, float low, float high) {
  v = v < low ? broadcast<float16>(low) : v;
  return v > high ? broadcast<float16>(high) : v;
}

// Shortens the steps of 16 points to at most `cap`.
inline void cap_length(float16* step, int dimensions, float cap) {
  float16 squared = {};
  for (int c = 0; c < dimensions; ++c) squared += step[c] * step[c];
  const int16 long_ones = squared > cap * cap;
  bool any = false;
  for (int lane = 0; lane < kBlock; ++lane) any |= long_ones[lane] != 0;
  if (!any) return;
  const float16 scale = long_ones ? cap / square_root(squared) : broadcast<float16>(1.0f);
  for (int c = 0; c < dimensions; ++c) step[c] *= scale;
}

class StepState {
 public:
  StepState() = default;
  StepState(int64_t size, bool gains) : steps_(size, 0.0f), gains_(gains ? size : 0, 1.0f) {}

  const float* at(int64_t first) const { return &steps_[first]; }

  void stop() { std::fill(steps_.begin(), steps_.end(), 0.0f); }

  // Each advances the steps of one block: dimensions x 16 values from `first` on.

  void advance_gains(int64_t first, int dimensions, const float* force, const StepRule& rule) {
    for (int c = 0; c < dimensions; ++c)
      advance_gain(first + c * kBlock, load<float16>(force + c * kBlock), rule);
  }

  // share: what multiplies the force of each point.
  void advance_capped(int64_t first, int dimensions, const float* force, float16 share,
                      const StepRule& rule) {
    float16 squared = {};
    for (int c = 0; c < dimensions; ++c) {
      const int64_t at = first + c * kBlock;
      const float16 step =
          rule.momentum * load<float16>(&steps_[at]) + share * load<float16>(force + c * kBlock);
      squared += step * step;
      store(&steps_[at], step);
    }
    const int16 long_ones = squared > rule.cap * rule.cap;
    const float16 scale = long_ones ? rule.cap / square_root(squared) : broadcast<float16>(1.0f);
    for (int c = 0; c < dimensions; ++c) {
      const int64_t at = first + c * kBlock;
      store(&steps_[at], scale * load<float16>(&steps_[at]));
    }
  }

 private:
  void advance_gain(int64_t at, float16 force, const StepRule& rule) {
    const float16 step = load<float16>(&steps_[at]);
    const float16 gain = load<float16>(&gains_[at]);
    const float16 adapted = clamp(force * step > 0.0f ? gain + 0.2f : gain * 0.8f, 0.01f, 1000.0f);
    const float16 clipped =
        clamp(rule.force_scale * force * adapted, -rule.gradient_clip, rule.gradient_clip);
    store(&gains_[at], adapted);
    store(&steps_[at], rule.learning_rate * clipped + rule.momentum * step);
  }

  std::vector<float> steps_;
  std::vector<float> gains_;
};

}  // namespace actup
