// The repulsion of a batch epoch: one interface for runs of negatives, mesh and tree.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "layout/epoch_state.hpp"
#include "layout/losses.h"
#include "layout/repulsion_field.hpp"
#include "layout/repulsion_runs.hpp"

namespace actup {

// Where the repulsion writes: blocks x dimensions x 16.
struct RepulsionForces {
  float* force;
  float* second;          // of the loss's second force; null if it has none
  const int32_t* counts;  // negatives of each point this epoch; null unless they differ
};

// An epoch first calls repel_all(), then repel_block() for every block, after the attraction has set
// `counts`. A method does all its work in one of the two, which returns its sums over the pairs.
class BatchRepulsion {
 public:
  virtual ~BatchRepulsion() = default;
  virtual ForceSums repel_all(const EpochState&, const RepulsionForces&) { return {}; }
  virtual ForceSums repel_block(const EpochState&, int64_t, const RepulsionForces&) const { return {}; }

  // What is carried from epoch to epoch.
  virtual void visit_state(StateVisitor&) {}
};

// Every block is repelled by a run of negatives: a random one ("sampled") or all points ("exact").
template <int D, Shape shape, class LossPolicy, bool normalized, bool counted>
class RunRepulsion final : public BatchRepulsion {
 public:
  ForceSums repel_block(const EpochState& state, int64_t block, const RepulsionForces& to) const override {
    const Points& points = state.points;
    const Dimensions<D> dimensions(points.dimensions);
    constexpr int on_stack = D ? 2 * D : 16;
    float16 stack[on_stack];
    std::vector<float16> heap(2 * dimensions > on_stack ? 2 * dimensions : 0);
    float16* force = heap.empty() ? stack : heap.data();
    float16* second = force + dimensions;
    std::fill_n(force, 2 * dimensions, float16{});
    RunSums sums{force, second};
    const int32_t* counts = counted ? &to.counts[block * kBlock] : nullptr;
    const int64_t length = counted ? *std::max_element(counts, counts + kBlock) : state.run_length;
    repel_by_run<D, shape, LossPolicy, normalized, counted>(
        points, block, run_start(state.settings, points.n, state.epoch, block, 0), length, counts,
        state.settings, sums);
    for (int c = 0; c < dimensions; ++c) {
      store(&to.force[(block * dimensions + c) * kBlock], force[c]);
      if constexpr (normalized && LossPolicy::kHasSecondForce)
        store(&to.second[(block * dimensions + c) * kBlock], second[c]);
    }
    return {sums.q, sums.q_squared, 0, static_cast<double>(sums.samples)};
  }
};

// All points at once, through the potential of all points: by mesh or tree.
class FieldRepulsion final : public BatchRepulsion {
 public:
  template <class LossPolicy>
  FieldRepulsion(const Settings& s, int64_t n, int dimensions, LossPolicy)
      : first_(s, n, dimensions, potential_kind<LossPolicy>(s.normalized)) {
    if (s.normalized && LossPolicy::kHasSecondForce)
      second_ = std::make_unique<RepulsionField>(s, n, dimensions, LossPolicy::SecondPotential::kKind);
  }

  ForceSums repel_all(const EpochState& state, const RepulsionForces& to) override {
    const Points& points = state.points;
    if (points.n < 2) return {};
    const double first = first_.repel(points, state.threads, to.force);
    const double q = second_ ? second_->repel(points, state.threads, to.second) : first;
    return {q, first, 0, static_cast<double>(points.n * (points.n - 1))};
  }

  void visit_state(StateVisitor& visitor) override {
    first_.visit_state(visitor, "first_field");
    if (second_) second_->visit_state(visitor, "second_field");
  }

 private:
  RepulsionField first_;
  std::unique_ptr<RepulsionField> second_;
};

// The one place that decides what computes the repulsion.
inline std::unique_ptr<BatchRepulsion> make_repulsion(const Settings& s, int64_t n, int dimensions) {
  std::unique_ptr<BatchRepulsion> made;
  with_loss(s.loss, [&](auto loss) {
    using LossPolicy = decltype(loss);
    if (s.repulsion == Repulsion::mesh || s.repulsion == Repulsion::barnes_hut) {
      made = std::make_unique<FieldRepulsion>(s, n, dimensions, loss);
      return;
    }
    with_dimensions(dimensions, [&](auto d) {
      with_shape(s.curve, [&](auto shape) {
        with_flag(s.normalized, [&](auto normalized) {
          with_flag(s.negatives_per_edge(), [&](auto counted) {
            if constexpr (normalized() || shape() != Shape::tailed)  // tails belong to the normalised setting
              made = std::make_unique<RunRepulsion<d(), shape(), LossPolicy, normalized(), counted()>>();
          });
        });
      });
    });
  });
  return made;
}

}  // namespace actup
