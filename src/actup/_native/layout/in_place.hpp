// In-place epochs: edge by edge over matchings, then a capped repulsion of all points; twice per epoch.
#pragma once

#include "common/parallel.hpp"
#include "layout/attraction.hpp"
#include "layout/horizon.hpp"
#include "layout/optimizers.hpp"
#include "layout/repulsion_sampled.hpp"

namespace actup {

// What an in-place epoch reads and moves.
struct InPlaceState {
  const Settings& settings;
  Points& points;
  const float* mass;  // strength or degree of each point
  float non_edge_weight;
  int64_t run_length;
  int epoch;
  int threads;

  float scheduled(const std::vector<float>& values) const { return values[epoch]; }
  LeadingFactors lead() const { return leading_factors(settings.curve, settings.normalized, settings.loss); }
};

class InPlaceEpochs {
 public:
  InPlaceEpochs() = default;
  InPlaceEpochs(Matchings matchings, const Settings& settings, int64_t n, int dimensions)
      : matchings_(std::move(matchings)) {
    if (settings.horizon > 0)
      horizon_ = Horizon(settings.horizon, (n + kPointsPerChunk - 1) / kPointsPerChunk, dimensions);
    with_dimensions(dimensions, [&](auto d) {
      with_shape(settings.curve, [&](auto shape) {
        if constexpr (shape() != Shape::tailed) {  // which only the normalised setting has
          with_flag(settings.loss == Loss::frobenius, [&](auto frobenius) {
            constexpr Loss loss = frobenius() ? Loss::frobenius : Loss::kl;
            pull_ = &InPlaceEpochs::pull_edges<d(), shape(), loss>;
            push_ = &InPlaceEpochs::push_blocks<d(), shape(), loss>;
          });
        }
      });
    });
  }

  void run(const InPlaceState& state) {
    Points& points = state.points;
    if (horizon_.active()) horizon_.prepare(points);
    for (int half = 0; half < 2; ++half) {
      for (int colour = half; colour < matchings_.colours(); colour += 2) {
        const int64_t begin = matchings_.offsets[colour], size = matchings_.offsets[colour + 1] - begin;
        parallel_ranges(size, kEdgesPerChunk, state.threads, [&](int64_t from, int64_t to) {
          (this->*pull_)(state, begin + from, begin + to, kBlock);
        });
      }
      if (half == 1) {
        const int64_t overflow = matchings_.offsets[matchings_.colours()];
        (this->*pull_)(state, overflow, matchings_.offsets.back(), 1);
      }
      parallel_ranges(points.n, kPointsPerChunk, state.threads, [&](int64_t begin, int64_t end) {
        points.copy_rows_to_planes(begin, end);
        if (horizon_.active()) horizon_.measure(begin / kPointsPerChunk, points, begin, end);
      });
      if (horizon_.active()) horizon_.settle(points);
      parallel_ranges((points.n + kBlock - 1) / kBlock, kPointsPerChunk / kBlock, state.threads,
                      [&](int64_t begin, int64_t end) { (this->*push_)(state, begin, end, half); });
    }
  }

 private:
  static constexpr int64_t kPointsPerChunk = 16 * kBlock;
  static constexpr int64_t kEdgesPerChunk = 2048;

  // Edges [begin, end) of one matching, `width` at a time (1 where edges may share points).
  template <int D, Shape shape, Loss loss>
  void pull_edges(const InPlaceState& state, int64_t begin, int64_t end, int width) const {
    constexpr int capacity = 512;
    const Settings& s = state.settings;
    const bool all_act = s.sampling == Sampling::exhaustive;
    const bool equal = s.sampling == Sampling::scalar || s.sampling == Sampling::unbiased;
    const float rate = state.scheduled(s.schedule.learning_rate) * state.scheduled(s.schedule.exaggeration) *
                       state.lead().attraction;
    Edge edges[capacity + kBlock];
    float weights[capacity + kBlock];
    std::fill_n(weights, capacity + kBlock, 1.0f);
    for (int64_t from = begin; from < end; from += capacity) {
      const int size = static_cast<int>(std::min<int64_t>(capacity, end - from));
      const Edge* edge = &matchings_.edges[from];
      const float* weight = &matchings_.weights[from];
      int32_t act[capacity];
      for (int e = 0; e < size; ++e) act[e] = all_act || acts(weight[e], state.epoch);
      Edge* next = edges;  // written at every edge, advanced past those that act: no branch to guess
      for (int e = 0; e < size; next += act[e++]) *next = edge[e];
      const int acting = static_cast<int>(next - edges);
      if (acting == 0) continue;
      if (!equal) {
        float* to = weights;
        for (int e = 0; e < size; to += act[e++]) *to = acting_weight(s.sampling, weight[e]);
      }
      // Whole vectors are read, so what lies beyond the acting edges has to be no other thread's point.
      std::fill_n(next, kBlock, edges[0]);
      for (int e = 0; e < acting; e += width)
        pull_together<D, shape, loss>(state.points, edges + e, weights + e, std::min(width, acting - e), rate,
                                      s.symmetric_attraction ? 2 : 1, s.curve);
    }
  }

  template <int D, Shape shape, Loss loss>
  void push_blocks(const InPlaceState& state, int64_t begin, int64_t end, int half) const {
    const Settings& s = state.settings;
    Points& points = state.points;
    const Dimensions<D> dimensions(points.dimensions);
    float16 stack[D ? D : 1];
    std::vector<float16> heap(D ? 0 : dimensions);
    float16* force = D ? stack : heap.data();
    const float rate = state.scheduled(s.schedule.learning_rate) * state.lead().repulsion *
                       state.non_edge_weight * s.repulsion_rate /
                       (2.0f * static_cast<float>(state.run_length));
    for (int64_t block = begin; block < end; ++block) {
      std::fill_n(force, dimensions, float16{});
      RunSums sums{force, nullptr};
      repel<D, shape, loss, false, false>(points, block, run_start(s, points.n, state.epoch, block, half),
                                          state.run_length, nullptr, s, sums);
      const float16 share = rate * load<float16>(&state.mass[block * kBlock]);
      for (int c = 0; c < dimensions; ++c) force[c] *= share;
      cap_length(force, dimensions, state.scheduled(s.schedule.step_cap));
      if (horizon_.active()) horizon_.hold(points, block, force);
      const int64_t row = block * kBlock;
      const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
      for (int lane = 0; lane < valid; ++lane)
        for (int c = 0; c < dimensions; ++c) points.row(row + lane)[c] += force[c][lane];
    }
  }

  Matchings matchings_;
  Horizon horizon_;
  void (InPlaceEpochs::*pull_)(const InPlaceState&, int64_t, int64_t, int) const = nullptr;
  void (InPlaceEpochs::*push_)(const InPlaceState&, int64_t, int64_t, int) const = nullptr;
};

}  // namespace actup
