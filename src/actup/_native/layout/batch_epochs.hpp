// Batch epochs: all forces from the positions before the epoch, then all steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/parallel.hpp"
#include "layout/attraction.hpp"
#include "layout/balance.hpp"
#include "layout/density.hpp"
#include "layout/epoch_state.hpp"
#include "layout/losses.h"
#include "layout/optimizers.hpp"
#include "layout/relabelled_graph.hpp"
#include "layout/repulsion.hpp"

namespace actup {

class BatchEpochs final : public Epochs {
 public:
  // rows: those of the graph. log_radii: of the data, in the order of the graph; null: no density term.
  BatchEpochs(const RelabelledGraph& graph, EdgeRows rows, const Settings& s, int dimensions,
              const float* log_radii)
      : optimizer_(make_optimizer(graph, s, dimensions)),
        repulsion_method_(make_repulsion(s, graph.size(), dimensions)) {
    attraction_method_ = make_attraction(s, dimensions, std::move(rows));
    with_loss(s.loss, [&](auto loss) {
      has_second_force_ = s.normalized && loss.kHasSecondForce;
      divides_by_negatives_ = s.normalized && loss.kDividesByNegatives;
      watches_expansion_ = s.normalized && loss.kWatchesExpansion;
    });
    if (s.density_weight > 0 && log_radii) density_ = Density(graph, log_radii);
    const int64_t points = padded_to_blocks(graph.size());
    attraction_.assign(points * dimensions, 0.0f);
    repulsion_.assign(points * dimensions, 0.0f);
    if (has_second_force_) second_.assign(points * dimensions, 0.0f);
    if (s.negatives_per_edge()) counts_.assign(points, 0);
  }

  void run(const EpochState& state) override {
    const int64_t blocks = padded_to_blocks(state.points.n) / kBlock;
    const int64_t chunks = (blocks + kBlocksPerChunk - 1) / kBlocksPerChunk;
    const RepulsionForces repelled{repulsion_.data(), second_.data(), counts_.data()};
    density_acts_ = density_.acts(state.settings, state.epoch);
    if (density_acts_) density_.prepare(state, attraction_method_->rows());
    Totals all{repulsion_method_->repel_all(state, repelled), {}};
    chunk_totals_.assign(chunks, {});
    parallel_chunks(chunks, state.threads, [&](int64_t chunk) {
      const int64_t end = std::min(blocks, (chunk + 1) * kBlocksPerChunk);
      for (int64_t block = chunk * kBlocksPerChunk; block < end; ++block)
        add_forces(state, block, repelled, chunk_totals_[chunk]);
    });
    for (const Totals& chunk : chunk_totals_) {
      all.sums.add(chunk.sums);
      all.balance.add(chunk.balance);
    }
    const Uninterrupted moving;  // before this, nothing has changed that a second try would not overwrite
    const ForceFactors factors = factors_of(state, all.sums);
    const StepRule rule = step_rule(state, factors, all.balance);
    parallel_ranges(blocks, kBlocksPerChunk, state.threads, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) move_block(state, block, factors, rule, all.balance);
    });
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.visit_number("expansion_ended", expansion_ended_, 0, 1);
    optimizer_->visit_state(visitor);
    repulsion_method_->visit_state(visitor);
  }

 private:
  static constexpr int64_t kBlocksPerChunk = 16;

  struct Totals {  // of one chunk, then of all
    ForceSums sums;
    Balance balance;
  };

  // The attraction and repulsion of a block, without their factors, which need the sums over all points.
  void add_forces(const EpochState& state, int64_t block, const RepulsionForces& repelled, Totals& totals) {
    const int64_t first = block * kBlock * state.points.dimensions;
    float* const stiffness = optimizer_->stiffness();
    attraction_method_->attract_block(state, block,
                                      {&attraction_[first], stiffness ? stiffness + block * kBlock : nullptr,
                                       counts_.empty() ? nullptr : &counts_[block * kBlock],
                                       has_second_force_ ? &totals.sums.weighted_q : nullptr});
    if (density_acts_)
      density_.add_block(state, attraction_method_->rows(), block, &attraction_[first],
                         stiffness ? stiffness + block * kBlock : nullptr);
    totals.sums.add(repulsion_method_->repel_block(state, block, repelled));
    if (optimizer_->tracks_balance())
      totals.balance.add_block(state.points, block, &attraction_[first], &repulsion_[first]);
  }

  static ForceFactors factors_of(const EpochState& state, const ForceSums& sums) {
    const Settings& s = state.settings;
    const ForceSettings settings{s.curve,
                                 static_cast<double>(state.points.n),
                                 static_cast<double>(state.run_length),
                                 s.partition,
                                 s.normalized && s.sampling != Sampling::scalar ? state.p_max : 1.0f,
                                 state.exaggeration(),
                                 static_cast<float>(s.attraction_repeats()),
                                 state.non_edge_weight,
                                 state.repulsion_rate(),
                                 s.rate_in_points};
    return with_loss(s.loss,
                     [&](auto loss) { return force_factors<decltype(loss)>(s.normalized, sums, settings); });
  }

  // Also ends the expansion in the first epoch in which attraction wins.
  StepRule step_rule(const EpochState& state, const ForceFactors& factors, const Balance& balance) {
    const Settings& s = state.settings;
    const Schedule& schedule = s.schedule;
    float momentum = state.scheduled(schedule.momentum);
    const bool expanding = state.epoch >= schedule.expansion_begin && state.epoch < schedule.expansion_end;
    if (expanding && !expansion_ended_ && watches_expansion_ &&
        balance.attraction_wins(factors.attraction, factors.repulsion)) {
      expansion_ended_ = true;
      optimizer_->stop();
    }
    if (expanding && expansion_ended_) momentum = schedule.momentum_after_stop;
    const float scale = -factors.attraction;
    return {state.scheduled(schedule.learning_rate),
            momentum,
            state.scheduled(schedule.step_cap),
            s.force_scale,
            s.gradient_clip,
            scale,
            state.scheduled(schedule.stiffness_floor) * scale /
                (state.exaggeration() * static_cast<float>(s.attraction_repeats())),
            expansion_ended_ ? 0.0f : state.scheduled(schedule.dilation)};
  }

  // Each point's own factor of its repulsion, for the points of a block: g_i/repulsion_rate, or 1/m_i.
  float16 repulsion_scale(const EpochState& state, int64_t block) const {
    const bool per_edge = !counts_.empty();
    if (!state.settings.normalized && !per_edge)
      return load<float16>(&state.mass[block * kBlock]) / static_cast<float>(state.run_length);
    if (!divides_by_negatives_) return broadcast<float16>(1.0f);
    float16 scale;
    for (int lane = 0; lane < kBlock; ++lane) {
      const int64_t m = per_edge ? counts_[block * kBlock + lane] : state.run_length;
      scale[lane] = m > 0 ? 1.0f / static_cast<float>(m) : 0.0f;
    }
    return scale;
  }

  // Makes a force of the attraction and repulsion of a block, a step of the force, and moves the points.
  void move_block(const EpochState& state, int64_t block, const ForceFactors& factors, const StepRule& rule,
                  const Balance& balance) {
    Points& points = state.points;
    const int64_t first = block * points.dimensions * kBlock;
    const float16 scale = repulsion_scale(state, block);
    for (int c = 0; c < points.dimensions; ++c) {  // the force replaces the attraction
      const int64_t at = first + c * kBlock;
      float16 force = factors.attraction * load<float16>(&attraction_[at]) +
                      factors.repulsion * scale * load<float16>(&repulsion_[at]);
      if (!second_.empty()) force += factors.second * scale * load<float16>(&second_[at]);
      store(&attraction_[at], force);
    }
    optimizer_->advance(block, &attraction_[first], rule);
    const float* steps = optimizer_->steps(block);
    const int64_t row = block * kBlock;
    const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
    if (state.mobility) return move_by_mobility(points, row, valid, steps, state.mobility + row);
    for (int c = 0; c < points.dimensions; ++c) {
      const float middle = optimizer_->tracks_balance() ? static_cast<float>(balance.mean(c)) : 0.0f;
      for (int lane = 0; lane < valid; ++lane) {
        const float place = points.row(row + lane)[c];
        const float moved = place + (steps[c * kBlock + lane] - middle + rule.dilation * (place - middle));
        points.row(row + lane)[c] = moved;
        points.set_plane(c, row + lane, moved);
      }
    }
  }

  // Moves the points of a block by their steps times their mobility. The map is not centred, because its
  // pinned points say where it is.
  static void move_by_mobility(Points& points, int64_t row, int valid, const float* steps,
                               const float* mobility) {
    for (int lane = 0; lane < valid; ++lane) {
      if (mobility[lane] == 0) continue;  // not even the sign of a zero changes
      for (int c = 0; c < points.dimensions; ++c) {
        const float moved = points.row(row + lane)[c] + mobility[lane] * steps[c * kBlock + lane];
        points.row(row + lane)[c] = moved;
        points.set_plane(c, row + lane, moved);
      }
    }
  }

  std::unique_ptr<BatchOptimizer> optimizer_;
  std::unique_ptr<BatchRepulsion> repulsion_method_;
  std::unique_ptr<BatchAttraction> attraction_method_;
  bool has_second_force_ = false, divides_by_negatives_ = false, watches_expansion_ = false;
  Density density_;
  bool density_acts_ = false;  // in this epoch
  bool expansion_ended_ = false;
  std::vector<float> attraction_, repulsion_, second_;  // blocks x dimensions x 16
  std::vector<int32_t> counts_;                         // negatives of each point this epoch, if per edge
  std::vector<Totals> chunk_totals_;
};

}  // namespace actup
