// Optimisers of batch epochs: how a force becomes a step. One policy each, with its state of every point.
//
// To add an optimiser, add its policy here and its line to ACTUP_OPTIMIZERS of settings.h. docs/layout.md,
// "Steps", is the specification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "layout/points.hpp"
#include "layout/relabelled_graph.hpp"
#include "layout/state_visitor.hpp"

namespace actup {

struct StepRule {  // of one epoch
  float learning_rate;
  float momentum;
  float cap;
  float force_scale;
  float gradient_clip;
  float stiffness_scale;  // turns the sum of a point's coefficients into the stiffness of its force
  float stiffness_floor;
  float dilation;  // what the distance of every point from the middle of the map grows by, relative to it
};

inline float16 clamp(float16 v, float low, float high) {
  v = v < low ? broadcast<float16>(low) : v;
  return v > high ? broadcast<float16>(high) : v;
}

// Shortens the steps of 16 points to at most `cap`.
inline void cap_length(float16* step, int dimensions, float cap) {
  float16 squared = {};
  for (int c = 0; c < dimensions; ++c) squared += step[c] * step[c];
  const int16 too_long = squared > cap * cap;
  bool any = false;
  for (int lane = 0; lane < kBlock; ++lane) any |= too_long[lane] != 0;
  if (!any) return;
  const float16 scale = too_long ? cap / square_root(squared) : broadcast<float16>(1.0f);
  for (int c = 0; c < dimensions; ++c) step[c] *= scale;
}

// The steps of all points, which start at 0 and have momentum. A block has dimensions x 16 values.
class BatchOptimizer {
 public:
  explicit BatchOptimizer(int64_t n, int dimensions)
      : dimensions_(dimensions), steps_(padded_to_blocks(n) * dimensions, 0.0f) {}
  virtual ~BatchOptimizer() = default;

  // Makes the next steps of a block from its forces.
  virtual void advance(int64_t block, const float* force, const StepRule& rule) = 0;

  // Where the attraction stores the sum of each point's coefficients; null if the optimiser needs no such
  // sum.
  virtual float* stiffness() { return nullptr; }

  // Whether the map is kept centred and watched while it expands: see balance.hpp.
  virtual bool tracks_balance() const { return false; }

  // The steps, and what else is carried from epoch to epoch.
  virtual void visit_state(StateVisitor& visitor) { visitor.visit("steps", steps_); }

  const float* steps(int64_t block) const { return &steps_[first(block)]; }
  void stop() { std::fill(steps_.begin(), steps_.end(), 0.0f); }

 protected:
  int64_t first(int64_t block) const { return block * dimensions_ * kBlock; }

  // step <- momentum step + rate F, shortened to the cap. rates: what multiplies the force of each point.
  void advance_capped(int64_t block, const float* force, float16 rates, const StepRule& rule) {
    float16 squared = {};
    for (int c = 0; c < dimensions_; ++c) {
      const int64_t at = first(block) + c * kBlock;
      const float16 step =
          rule.momentum * load<float16>(&steps_[at]) + rates * load<float16>(force + c * kBlock);
      squared += step * step;
      store(&steps_[at], step);
    }
    const int16 too_long = squared > rule.cap * rule.cap;
    const float16 scale = too_long ? rule.cap / square_root(squared) : broadcast<float16>(1.0f);
    for (int c = 0; c < dimensions_; ++c) {
      const int64_t at = first(block) + c * kBlock;
      store(&steps_[at], scale * load<float16>(&steps_[at]));
    }
  }

  int dimensions_;
  std::vector<float> steps_;
};

// One learning rate for all points, and capped steps.
class StepOptimizer final : public BatchOptimizer {
 public:
  StepOptimizer(const RelabelledGraph& graph, const Settings&, int dimensions)
      : BatchOptimizer(graph.size(), dimensions) {}

  void advance(int64_t block, const float* force, const StepRule& rule) override {
    advance_capped(block, force, broadcast<float16>(rule.learning_rate), rule);
  }
};

// A gain per coordinate, which grows while force and step agree (Jacobs 1988, as in t-SNE's reference code).
class GainsOptimizer final : public BatchOptimizer {
 public:
  GainsOptimizer(const RelabelledGraph& graph, const Settings&, int dimensions)
      : BatchOptimizer(graph.size(), dimensions), gains_(steps_.size(), 1.0f) {}

  void advance(int64_t block, const float* force, const StepRule& rule) override {
    for (int c = 0; c < dimensions_; ++c)
      advance_coordinates(first(block) + c * kBlock, load<float16>(force + c * kBlock), rule);
  }

  void visit_state(StateVisitor& visitor) override {
    BatchOptimizer::visit_state(visitor);
    visitor.visit("gains", gains_);
  }

 private:
  void advance_coordinates(int64_t at, float16 force, const StepRule& rule) {
    const float16 step = load<float16>(&steps_[at]);
    const float16 gain = load<float16>(&gains_[at]);
    const float16 adapted = clamp(force * step > 0.0f ? gain + 0.2f : gain * 0.8f, 0.01f, 1000.0f);
    const float16 clipped =
        clamp(rule.force_scale * force * adapted, -rule.gradient_clip, rule.gradient_clip);
    store(&gains_[at], adapted);
    store(&steps_[at], rule.learning_rate * clipped + rule.momentum * step);
  }

  std::vector<float> gains_;
};

// Each point's force is divided by its stiffness, so that there is no learning rate to choose.
class StiffnessOptimizer final : public BatchOptimizer {
 public:
  StiffnessOptimizer(const RelabelledGraph& graph, const Settings& s, int dimensions)
      : BatchOptimizer(graph.size(), dimensions),
        stiffness_(padded_to_blocks(graph.size()), 0.0f),
        full_stiffness_(stiffness_.size()) {
    const double mean = graph.size() ? graph.total / static_cast<double>(graph.size()) : 0;
    std::fill(full_stiffness_.begin(), full_stiffness_.end(), static_cast<float>(mean));
    if (!s.normalized) std::copy(graph.strength.begin(), graph.strength.end(), full_stiffness_.begin());
  }

  void advance(int64_t block, const float* force, const StepRule& rule) override {
    const float16 stiffness = rule.stiffness_scale * load<float16>(&stiffness_[block * kBlock]);
    const float16 least = rule.stiffness_floor * load<float16>(&full_stiffness_[block * kBlock]);
    const float16 used = (stiffness > least ? stiffness : least) + kTiny * kTiny;
    advance_capped(block, force, rule.learning_rate / used, rule);
  }

  float* stiffness() override { return stiffness_.data(); }
  bool tracks_balance() const override { return true; }

 private:
  std::vector<float> stiffness_;       // sums of the coefficients of attraction
  std::vector<float> full_stiffness_;  // what these sums would be if all neighbours were at distance 0
};

inline std::unique_ptr<BatchOptimizer> make_optimizer(const RelabelledGraph& graph, const Settings& s,
                                                      int dimensions) {
#define ACTUP_CASE(name, policy) \
  case Optimizer::name:          \
    return std::make_unique<policy>(graph, s, dimensions);
  switch (s.optimizer) { ACTUP_OPTIMIZERS(ACTUP_CASE) }
#undef ACTUP_CASE
  __builtin_unreachable();
}

}  // namespace actup
