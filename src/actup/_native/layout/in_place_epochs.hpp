// In-place epochs: attraction edge by edge over matchings, then a capped repulsion of all points; twice per
// epoch.
#pragma once

#include "common/parallel.hpp"
#include "layout/edge_sampling.h"
#include "layout/epoch_state.hpp"
#include "layout/horizon.hpp"
#include "layout/losses.h"
#include "layout/matchings.hpp"
#include "layout/optimizers.hpp"
#include "layout/repulsion_runs.hpp"

namespace actup {

inline Pairs<float16> gather_ends(const float* rows, const int32_t* ids) {
  const Pairs<float8> low = gather_pairs<2>(rows, ids), high = gather_pairs<2>(rows, ids + 16);
  return {concatenated(low.x, high.x), concatenated(low.y, high.y)};
}

inline void scatter_ends(float* rows, const int32_t* ids, int count, const Pairs<float16>& p) {
  scatter_pairs<2>(rows, ids, count, {low_half(p.x), low_half(p.y)});
  if (count > 8) scatter_pairs<2>(rows, ids + 16, count - 8, {high_half(p.x), high_half(p.y)});
}

// Moves both ends of up to 16 edges that share no point, `repeats` times, by rate * weight * attraction.
// Reads 16 edges and weights; those beyond `count` must be valid.
template <int D, Shape shape, class LossPolicy>
inline void pull_together(Points& points, const Edge* edges, const float* weights, int count, float rate,
                          int repeats, Curve curve) {
  const float16 step = rate * load<float16>(weights);
  const int32_t *heads = &edges->head,
                *tails = &edges->tail;  // Edge is a pair: every second number is a head
  float* rows = points.rows.data();
  if constexpr (D == 2) {
    Pairs<float16> head = gather_ends(rows, heads), tail = gather_ends(rows, tails);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const float16 dx = head.x - tail.x, dy = head.y - tail.y;
      const Kernel<float16> k = kernel<shape>(kTiny + dx * dx + dy * dy, curve);
      const float16 factor = step * LossPolicy::attraction(k);
      head.x -= factor * dx;
      head.y -= factor * dy;
      tail.x += factor * dx;
      tail.y += factor * dy;
    }
    scatter_ends(rows, heads, count, head);
    scatter_ends(rows, tails, count, tail);
  } else {
    const Dimensions<D> dimensions(points.dimensions);
    for (int repeat = 0; repeat < repeats; ++repeat) {
      float16 d2 = broadcast<float16>(kTiny);
      for (int c = 0; c < dimensions; ++c) {
        const float16 delta =
            gather<float16, 2>(rows, heads, dimensions, c) - gather<float16, 2>(rows, tails, dimensions, c);
        d2 += delta * delta;
      }
      const float16 factor = step * LossPolicy::attraction(kernel<shape>(d2, curve));
      for (int c = 0; c < dimensions; ++c) {
        const float16 head = gather<float16, 2>(rows, heads, dimensions, c);
        const float16 tail = gather<float16, 2>(rows, tails, dimensions, c);
        const float16 move = factor * (head - tail);
        for (int lane = 0; lane < count; ++lane) {
          rows[static_cast<int64_t>(edges[lane].head) * dimensions + c] = head[lane] - move[lane];
          rows[static_cast<int64_t>(edges[lane].tail) * dimensions + c] = tail[lane] + move[lane];
        }
      }
    }
  }
}

// As pull_together, but each end's move is multiplied by its mobility, and pinned ends are not written.
template <Shape shape, class LossPolicy>
inline void pull_by_mobility(Points& points, const float* mobility, const Edge* edges, const float* weights,
                             int count, float rate, int repeats, Curve curve) {
  const float16 step = rate * load<float16>(weights);
  const int32_t *heads = &edges->head, *tails = &edges->tail;
  const int dimensions = points.dimensions;
  float* rows = points.rows.data();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    float16 d2 = broadcast<float16>(kTiny);
    for (int c = 0; c < dimensions; ++c) {
      const float16 delta =
          gather<float16, 2>(rows, heads, dimensions, c) - gather<float16, 2>(rows, tails, dimensions, c);
      d2 += delta * delta;
    }
    const float16 factor = step * LossPolicy::attraction(kernel<shape>(d2, curve));
    for (int c = 0; c < dimensions; ++c) {
      const float16 head = gather<float16, 2>(rows, heads, dimensions, c);
      const float16 tail = gather<float16, 2>(rows, tails, dimensions, c);
      const float16 move = factor * (head - tail);
      for (int lane = 0; lane < count; ++lane) {
        const float of_head = mobility[edges[lane].head], of_tail = mobility[edges[lane].tail];
        if (of_head > 0) points.row(edges[lane].head)[c] = head[lane] - of_head * move[lane];
        if (of_tail > 0) points.row(edges[lane].tail)[c] = tail[lane] + of_tail * move[lane];
      }
    }
  }
}

class InPlaceEpochs final : public Epochs {
 public:
  InPlaceEpochs(Matchings matchings, const Settings& settings, int64_t n, int dimensions)
      : matchings_(std::move(matchings)) {
    if (settings.horizon > 0)
      horizon_ = Horizon(settings.horizon, (n + kPointsPerChunk - 1) / kPointsPerChunk, dimensions);
    with_dimensions(dimensions, [&](auto d) {
      with_shape(settings.curve, [&](auto shape) {
        if constexpr (shape() != Shape::tailed) {  // tails belong to the normalised setting
          with_loss(settings.loss, [&](auto loss) {
            pull_ = &InPlaceEpochs::pull_edges<d(), shape(), decltype(loss)>;
            push_ = &InPlaceEpochs::push_blocks<d(), shape(), decltype(loss)>;
          });
        }
      });
    });
  }

  void run(const EpochState& state) override {
    const Uninterrupted moving;
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

  void points_replaced() override { horizon_.forget(); }

  void visit_state(StateVisitor& visitor) override { horizon_.visit_state(visitor); }

 private:
  static constexpr int64_t kPointsPerChunk = 16 * kBlock;
  static constexpr int64_t kEdgesPerChunk = 2048;

  // Attraction along edges [begin, end) of one matching, `width` edges at a time: 1 where edges may share
  // points.
  template <int D, Shape shape, class LossPolicy>
  void pull_edges(const EpochState& state, int64_t begin, int64_t end, int width) const {
    constexpr int capacity = 512;
    const Settings& s = state.settings;
    const bool all_act = s.sampling == Sampling::exhaustive;
    const bool unit_weights = s.sampling == Sampling::scalar || s.sampling == Sampling::unbiased;
    const float rate = state.scheduled(s.schedule.learning_rate) * state.exaggeration() *
                       LossPolicy::leading_factors(s.curve, s.normalized).attraction;
    Edge edges[capacity + kBlock];
    float weights[capacity + kBlock];
    std::fill_n(weights, capacity + kBlock, 1.0f);
    for (int64_t from = begin; from < end; from += capacity) {
      const int size = static_cast<int>(std::min<int64_t>(capacity, end - from));
      const Edge* edge = &matchings_.edges[from];
      const float* weight = &matchings_.weights[from];
      int32_t act[capacity];
      for (int e = 0; e < size; ++e) act[e] = all_act || acts(weight[e], state.epoch);
      Edge* next = edges;  // written for every edge, advanced only if it acts: no branch to mispredict
      for (int e = 0; e < size; next += act[e++]) *next = edge[e];
      const int acting = static_cast<int>(next - edges);
      if (acting == 0) continue;
      if (!unit_weights) {
        float* to = weights;
        for (int e = 0; e < size; to += act[e++]) *to = acting_weight(s.sampling, weight[e]);
      }
      // Whole vectors are read, so the padding must not name points that another thread moves.
      std::fill_n(next, kBlock, edges[0]);
      for (int e = 0; e < acting; e += width) {
        const int count = std::min(width, acting - e);
        if (state.mobility) {
          pull_by_mobility<shape, LossPolicy>(state.points, state.mobility, edges + e, weights + e, count,
                                              rate, s.attraction_repeats(), s.curve);
        } else {
          pull_together<D, shape, LossPolicy>(state.points, edges + e, weights + e, count, rate,
                                              s.attraction_repeats(), s.curve);
        }
      }
    }
  }

  // Repulsion of blocks [begin, end).
  template <int D, Shape shape, class LossPolicy>
  void push_blocks(const EpochState& state, int64_t begin, int64_t end, int half) const {
    const Settings& s = state.settings;
    Points& points = state.points;
    const Dimensions<D> dimensions(points.dimensions);
    float16 stack[D ? D : 1];
    std::vector<float16> heap(D ? 0 : dimensions);
    float16* force = D ? stack : heap.data();
    const float rate = state.scheduled(s.schedule.learning_rate) *
                       LossPolicy::leading_factors(s.curve, s.normalized).repulsion * state.non_edge_weight *
                       state.repulsion_rate() / (2.0f * static_cast<float>(state.run_length));
    for (int64_t block = begin; block < end; ++block) {
      std::fill_n(force, dimensions, float16{});
      RunSums sums{force, nullptr};
      repel_by_run<D, shape, LossPolicy, false, false>(points, block,
                                                       run_start(s, points.n, state.epoch, block, half),
                                                       state.run_length, nullptr, s, sums);
      const float16 scale = rate * load<float16>(&state.mass[block * kBlock]);
      for (int c = 0; c < dimensions; ++c) force[c] *= scale;
      cap_length(force, dimensions, state.scheduled(s.schedule.step_cap));
      if (horizon_.active()) horizon_.remove_outward(points, block, force);
      const int64_t row = block * kBlock;
      const int valid = static_cast<int>(std::min<int64_t>(kBlock, points.n - row));
      if (state.mobility) {
        for (int lane = 0; lane < valid; ++lane)
          if (const float mobility = state.mobility[row + lane]; mobility > 0)
            for (int c = 0; c < dimensions; ++c) points.row(row + lane)[c] += mobility * force[c][lane];
        continue;
      }
      for (int lane = 0; lane < valid; ++lane)
        for (int c = 0; c < dimensions; ++c) points.row(row + lane)[c] += force[c][lane];
    }
  }

  Matchings matchings_;
  Horizon horizon_;
  void (InPlaceEpochs::*pull_)(const EpochState&, int64_t, int64_t, int) const = nullptr;
  void (InPlaceEpochs::*push_)(const EpochState&, int64_t, int64_t, int) const = nullptr;
};

}  // namespace actup
