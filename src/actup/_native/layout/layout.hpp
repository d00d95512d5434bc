// Layout: the optimiser's state, and what one epoch does to it. docs/layout.md is its specification.
#pragma once

#include <cmath>

#include "common/parallel.hpp"
#include "layout/attraction.hpp"
#include "layout/balance.hpp"
#include "layout/field.hpp"
#include "layout/in_place.hpp"
#include "layout/optimizers.hpp"
#include "layout/relabelled_graph.hpp"
#include "layout/repulsion_sampled.hpp"

namespace actup {

class Layout {
 public:
  // start: n x dimensions, in the order of the graph. The graph is read here and not kept.
  Layout(const GraphView& graph, const float* start, int dimensions, const Settings& settings, int threads)
      : s_(settings), threads_(threads) {
    const float weakest = s_.prune && s_.n_epochs > 0 ? 1.0f / static_cast<float>(s_.n_epochs) : 0.0f;
    const bool anywhere = s_.in_place || s_.repulsion == Repulsion::sampled;  // runs must be random points
    RelabelledGraph relabelled(
        graph,
        anywhere ? random_order(graph.n, s_.seed, threads) : place_order(graph.n, start, dimensions, threads),
        weakest, threads);
    if (s_.in_place) {
      in_place_ = InPlaceEpochs(relabelled.matchings(), s_, graph.n, dimensions);
    } else {
      relabelled.copy_rows(offsets_, ids_, weights_, threads);
    }
    p_max_ = relabelled.total > 0 ? static_cast<float>(1 / relabelled.total) : 0.0f;
    if (s_.mean_non_edge_weight && relabelled.edges > 0)
      non_edge_weight_ = static_cast<float>(1 - relabelled.total / static_cast<double>(relabelled.edges));

    const int64_t n = graph.n;
    run_length_ = s_.repulsion == Repulsion::sampled ? std::min(s_.negatives, n) : n;
    if (per_edge()) run_length_ = std::min<int64_t>(n, largest(relabelled.degree));
    mass_.assign(padded(n), 0.0f);
    for (int64_t i = 0; i < n; ++i)
      mass_[i] = s_.repulsion_mass == RepulsionMass::strength ? relabelled.strength[i]
                                                              : static_cast<float>(relabelled.degree[i]);
    if (s_.optimizer == Optimizer::stiffness) {
      const double mean = n ? relabelled.total / static_cast<double>(n) : 0;
      full_stiffness_.assign(padded(n), static_cast<float>(mean));
      if (!s_.normalized)
        std::copy(relabelled.strength.begin(), relabelled.strength.end(), full_stiffness_.begin());
    }
    order_ = std::move(relabelled.order);
    points_ = Points(n, dimensions, s_.repulsion == Repulsion::sampled ? run_length_ : 0);
    for (int64_t i = 0; i < n; ++i)
      std::copy_n(start + int64_t{order_[i]} * dimensions, dimensions, points_.row(i));
    points_.copy_rows_to_planes(0, n);

    if (!s_.in_place) {
      allocate_batch_state();
      choose_kernels();
    }
  }

  int epoch() const { return epoch_; }
  int64_t size() const { return points_.n; }
  int dimensions() const { return points_.dimensions; }

  void run(int until) {
    for (until = std::min(until, s_.n_epochs); epoch_ < until; ++epoch_) {
      if (s_.in_place) {
        in_place_.run({s_, points_, mass_.data(), non_edge_weight_, run_length_, epoch_, threads_});
      } else {
        batch_epoch();
      }
    }
  }

  // n x dimensions, in the order of the graph.
  void copy_embedding(float* to) const {
    for (int64_t i = 0; i < points_.n; ++i)
      std::copy_n(points_.row(i), points_.dimensions, to + int64_t{order_[i]} * points_.dimensions);
  }

 private:
  static constexpr int64_t kBlocksPerChunk = 16;

  struct Totals {  // of one chunk, then of all
    double q = 0, q_squared = 0, attraction = 0;
    int64_t samples = 0;
    Balance balance;
  };

  // F_i = attraction * A_i + share_of(i) * (repulsion * R_i + second * R'_i).
  struct Mixture {
    float attraction = 0;
    float repulsion = 0;
    float second = 0;
  };

  static int64_t padded(int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }
  static int64_t largest(const std::vector<int32_t>& v) {
    return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  }
  int64_t blocks() const { return padded(points_.n) / kBlock; }
  bool per_edge() const { return s_.repulsion_mass == RepulsionMass::per_edge; }
  bool second_force() const { return s_.normalized && s_.loss == Loss::frobenius; }
  int attraction_repeats() const { return s_.symmetric_attraction ? 2 : 1; }

  void allocate_batch_state() {
    const int64_t size = padded(points_.n) * points_.dimensions;
    attraction_.assign(size, 0.0f);
    repulsion_.assign(size, 0.0f);
    if (second_force()) second_.assign(size, 0.0f);
    if (per_edge()) counts_.assign(padded(points_.n), 0);
    if (s_.optimizer == Optimizer::stiffness) stiffness_.assign(padded(points_.n), 0.0f);
    if (s_.repulsion == Repulsion::mesh || s_.repulsion == Repulsion::barnes_hut) {
      field_ = Field(s_, points_, Field::main_kind(s_));
      if (second_force()) second_field_ = Field(s_, points_, PotentialKind::kernel);
    }
    steps_ = StepState(size, s_.optimizer == Optimizer::gains);
  }

  float scheduled(const std::vector<float>& values) const { return values[epoch_]; }

  // --- batch: all forces, then all steps ---

  void batch_epoch() {
    const int64_t chunks = (blocks() + kBlocksPerChunk - 1) / kBlocksPerChunk;
    totals_.assign(chunks, {});
    const Totals of_fields = repel_by_fields();
    parallel_chunks(chunks, threads_, [&](int64_t chunk) { (this->*forces_)(chunk); });
    Totals all = sum_totals();
    if (field_.active()) {
      all.q = of_fields.q;
      all.q_squared = of_fields.q_squared;
      all.samples = of_fields.samples;
    }
    const Mixture mixture = mix_forces(all);
    const StepRule rule = step_rule(all, mixture);
    parallel_ranges(blocks(), kBlocksPerChunk, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) step_block(block, mixture, rule, all);
    });
  }

  // Fills the repulsion, and the second one if there is one, from mesh or tree; their sums over all pairs.
  Totals repel_by_fields() {
    Totals totals;
    if (!field_.active() || points_.n < 2) return totals;
    const double sum = field_.repel(points_, threads_, repulsion_.data());
    totals.q = second_force() ? second_field_.repel(points_, threads_, second_.data()) : sum;
    totals.q_squared = sum;
    totals.samples = points_.n * (points_.n - 1);
    return totals;
  }

  Totals sum_totals() const {
    Totals all;
    for (const Totals& chunk : totals_) {
      all.q += chunk.q;
      all.q_squared += chunk.q_squared;
      all.attraction += chunk.attraction;
      all.samples += chunk.samples;
      all.balance.add(chunk.balance);
    }
    return all;
  }

  StepRule step_rule(const Totals& all, const Mixture& mixture) {
    const Schedule& schedule = s_.schedule;
    float momentum = scheduled(schedule.momentum);
    const bool expanding = epoch_ >= schedule.expansion_begin && epoch_ < schedule.expansion_end;
    if (expanding && !rested_ && s_.normalized && s_.loss == Loss::kl &&
        all.balance.attraction_wins(mixture.attraction, mixture.repulsion)) {
      rested_ = true;
      steps_.stop();
    }
    if (expanding && rested_) momentum = schedule.rested_momentum;
    const float scale = -mixture.attraction;
    return {scheduled(schedule.learning_rate),
            momentum,
            scheduled(schedule.step_cap),
            s_.force_scale,
            s_.gradient_clip,
            scale,
            scheduled(schedule.stiffness_floor) * scale /
                (scheduled(schedule.exaggeration) * static_cast<float>(attraction_repeats()))};
  }

  template <int D, Shape shape, Loss loss, bool normalized, bool counted>
  void forces_of_chunk(int64_t chunk) {
    const Dimensions<D> dimensions(points_.dimensions);
    float16 stack_force[D ? D : 1], stack_second[D ? D : 1];
    std::vector<float16> heap(D ? 0 : 2 * dimensions);
    float16* force = D ? stack_force : heap.data();
    float16* second = D ? stack_second : heap.data() + dimensions;
    Totals& totals = totals_[chunk];
    const int64_t last = std::min(blocks(), (chunk + 1) * kBlocksPerChunk);
    for (int64_t block = chunk * kBlocksPerChunk; block < last; ++block) {
      float* attraction = &attraction_[block * kBlock * dimensions];
      std::fill_n(attraction, kBlock * dimensions, 0.0f);
      const int64_t row_end = std::min(points_.n, (block + 1) * kBlock);
      attract_rows<D, shape, loss>(block * kBlock, row_end, attraction, totals);
      if (!field_.active()) repel_block<D, shape, loss, normalized, counted>(block, force, second, totals);
      if (s_.optimizer == Optimizer::stiffness)
        totals.balance.add_block(points_, block, attraction, &repulsion_[block * kBlock * dimensions]);
    }
  }

  template <int D, Shape shape, Loss loss, bool normalized, bool counted>
  void repel_block(int64_t block, float16* force, float16* second, Totals& totals) {
    const Dimensions<D> dimensions(points_.dimensions);
    std::fill_n(force, dimensions, float16{});
    std::fill_n(second, dimensions, float16{});
    RunSums sums{force, second};
    const int32_t* counts = counted ? &counts_[block * kBlock] : nullptr;
    const int64_t length = counted ? *std::max_element(counts, counts + kBlock) : run_length_;
    repel<D, shape, loss, normalized, counted>(points_, block, run_start(s_, points_.n, epoch_, block, 0),
                                               length, counts, s_, sums);
    for (int c = 0; c < dimensions; ++c) {
      store(&repulsion_[(block * dimensions + c) * kBlock], force[c]);
      if constexpr (normalized && loss == Loss::frobenius)
        store(&second_[(block * dimensions + c) * kBlock], second[c]);
    }
    totals.q += sums.q;
    totals.q_squared += sums.q_squared;
    totals.samples += sums.samples;
  }

  // The attractions on points [begin, end) of a block, several at a time where the curve takes long.
  template <int D, Shape shape, Loss loss>
  void attract_rows(int64_t begin, int64_t end, float* to, Totals& totals) {
    double* kernel_sum = second_force() ? &totals.attraction : nullptr;
    for (int64_t i = begin; i < end;) {
      int64_t together = 0;
      if constexpr (D > 0 && shape != Shape::unit) {
        using Rows = RowsAttraction<D, shape, loss>;
        if (s_.sampling == Sampling::exhaustive) together = Rows::rows_that_fit(offsets_.data(), i, end);
        if (together > 0) {
          Rows rows;
          rows.prepare(points_, offsets_.data(), ids_.data(), weights_.data(), i, i + together, s_.curve,
                       kernel_sum);
          for (const int64_t first = offsets_[i], stop = i + together; i < stop; ++i) {
            float force[D];
            const float stiffness = rows.add_up(offsets_[i] - first, offsets_[i + 1] - first, force);
            for (int c = 0; c < D; ++c) to[c * kBlock + i - begin] = force[c];
            if (!stiffness_.empty()) stiffness_[i] = stiffness;
            if (per_edge())
              counts_[i] = static_cast<int32_t>(std::min(offsets_[i + 1] - offsets_[i], points_.n));
          }
        }
      }
      if (together == 0) {
        attract_row<D, shape, loss>(i, to + i - begin, totals);
        ++i;
      }
    }
  }

  // The attraction on point i, written with a stride of one block.
  template <int D, Shape shape, Loss loss>
  void attract_row(int64_t i, float* to, Totals& totals) {
    const Dimensions<D> dimensions(points_.dimensions);
    const int32_t* ids = &ids_[offsets_[i]];
    const float* weights = &weights_[offsets_[i]];
    const int64_t count = offsets_[i + 1] - offsets_[i];
    double* kernel_sum = second_force() ? &totals.attraction : nullptr;
    float* stiffness = stiffness_.empty() ? nullptr : &stiffness_[i];
    if (stiffness) *stiffness = 0;
    float stack[D ? D : 1] = {};
    std::vector<float> heap(D ? 0 : dimensions, 0.0f);
    float* force = D ? stack : heap.data();
    int64_t acting = count;
    if (s_.sampling == Sampling::exhaustive) {
      attract<D, shape, loss>(points_, i, ids, weights, count, s_.curve, force, stiffness, kernel_sum);
    } else {
      acting = attract_acting<D, shape, loss>(i, ids, weights, count, force, stiffness, kernel_sum);
    }
    for (int c = 0; c < dimensions; ++c) to[c * kBlock] = force[c];
    if (per_edge()) counts_[i] = static_cast<int32_t>(std::min(acting, points_.n));
  }

  // Only the edges that act in this epoch, gathered into a small buffer first. Returns how many act.
  template <int D, Shape shape, Loss loss>
  int64_t attract_acting(int64_t i, const int32_t* ids, const float* weights, int64_t count, float* force,
                         float* stiffness, double* kernel_sum) const {
    constexpr int64_t capacity = 256;
    int32_t acting_ids[capacity + 8] = {};
    float acting_weights[capacity + 8];
    int64_t all = 0;
    for (int64_t begin = 0; begin < count; begin += capacity) {
      int64_t acting = 0;
      for (int64_t e = begin; e < std::min(count, begin + capacity); ++e) {
        acting_ids[acting] = ids[e];
        acting_weights[acting] = acting_weight(s_.sampling, weights[e]);
        acting += acts(weights[e], epoch_);
      }
      attract<D, shape, loss>(points_, i, acting_ids, acting_weights, acting, s_.curve, force, stiffness,
                              kernel_sum);
      all += acting;
    }
    return all;
  }

  Mixture mix_forces(const Totals& all) const {
    const LeadingFactors lead = leading_factors(s_.curve, s_.normalized, s_.loss);
    const float naive_or_p = s_.normalized && s_.sampling != Sampling::scalar ? p_max_ : 1.0f;
    Mixture m;
    m.attraction = -lead.attraction * scheduled(s_.schedule.exaggeration) *
                   static_cast<float>(attraction_repeats()) * naive_or_p;
    if (!s_.normalized) {
      m.repulsion = lead.repulsion * non_edge_weight_ * s_.repulsion_rate;
      return m;
    }
    if (!(all.q > 0)) return m;
    const double n = static_cast<double>(points_.n);
    if (s_.loss == Loss::kl) {  // a fixed Z needs the sum over all points, of which a run is a share
      const double Z = s_.partition > 0 ? s_.partition * n * static_cast<double>(run_length_) : all.q;
      m.repulsion = static_cast<float>(lead.repulsion / Z);
      return m;
    }
    const double pairs_per_sample = n * (n - 1) / static_cast<double>(all.samples);
    const double Z = all.q * pairs_per_sample, Q = all.q_squared * pairs_per_sample;
    const double s = all.attraction * naive_or_p / Z - Q / (Z * Z);
    const double scale = s_.rate_in_points ? kFrobeniusShare : 1 / Z;
    m.attraction = static_cast<float>(m.attraction * scale);
    m.repulsion = static_cast<float>(lead.repulsion / Z * n * scale);
    m.second = static_cast<float>(lead.repulsion * s * n * scale);
    return m;
  }

  // What multiplies the repulsion of each point of a block besides the mixture: g_i, or 1/m_i.
  float16 share_of(int64_t block) const {
    if (s_.normalized && s_.loss == Loss::kl) return broadcast<float16>(1.0f);
    if (!s_.normalized && !per_edge())
      return load<float16>(&mass_[block * kBlock]) / static_cast<float>(run_length_);
    if (!s_.normalized) return broadcast<float16>(1.0f);
    float16 share;
    for (int lane = 0; lane < kBlock; ++lane) {
      const int64_t m = per_edge() ? counts_[block * kBlock + lane] : run_length_;
      share[lane] = m > 0 ? 1.0f / static_cast<float>(m) : 0.0f;
    }
    return share;
  }

  void step_block(int64_t block, const Mixture& mixture, const StepRule& rule, const Totals& all) {
    const int dimensions = points_.dimensions;
    const int64_t first = block * dimensions * kBlock;
    const float16 share = share_of(block);
    for (int c = 0; c < dimensions; ++c) {  // the force replaces the attraction
      const int64_t at = first + c * kBlock;
      float16 force = mixture.attraction * load<float16>(&attraction_[at]) +
                      mixture.repulsion * share * load<float16>(&repulsion_[at]);
      if (!second_.empty()) force += mixture.second * share * load<float16>(&second_[at]);
      store(&attraction_[at], force);
    }
    const float* force = &attraction_[first];
    if (s_.optimizer == Optimizer::gains) {
      steps_.advance_gains(first, dimensions, force, rule);
    } else if (s_.optimizer == Optimizer::step) {
      steps_.advance_capped(first, dimensions, force, broadcast<float16>(rule.learning_rate), rule);
    } else {
      const float16 stiffness = rule.stiffness_scale * load<float16>(&stiffness_[block * kBlock]);
      const float16 least = rule.stiffness_floor * load<float16>(&full_stiffness_[block * kBlock]);
      const float16 used = (stiffness > least ? stiffness : least) + kTiny * kTiny;
      steps_.advance_capped(first, dimensions, force, rule.learning_rate / used, rule);
    }
    move_block(block, steps_.at(first), all.balance);
  }

  // Adds steps (dimensions x 16) to the points of a block; optimizer "stiffness" also keeps the map centred.
  void move_block(int64_t block, const float* steps, const Balance& balance) {
    const int64_t row = block * kBlock;
    const int valid = static_cast<int>(std::min<int64_t>(kBlock, points_.n - row));
    const bool centre = s_.optimizer == Optimizer::stiffness;
    for (int c = 0; c < points_.dimensions; ++c) {
      const float middle = centre ? static_cast<float>(balance.mean(c)) : 0.0f;
      for (int lane = 0; lane < valid; ++lane) {
        const float moved = points_.row(row + lane)[c] + (steps[c * kBlock + lane] - middle);
        points_.row(row + lane)[c] = moved;
        points_.set_plane(c, row + lane, moved);
      }
    }
  }

  // --- the right instance of each template, chosen once ---

  void choose_kernels() {
    with_dimensions(points_.dimensions, [&](auto d) {
      with_shape(s_.curve, [&](auto shape) {
        with_flag(s_.loss == Loss::frobenius, [&](auto frobenius) {
          constexpr int D = d();
          constexpr Loss loss = frobenius() ? Loss::frobenius : Loss::kl;
          constexpr bool tailed = shape() == Shape::tailed;  // then only normalised
          with_flag(s_.normalized, [&](auto normalized) {
            with_flag(per_edge(), [&](auto counted) {
              if constexpr (normalized() || !tailed)
                forces_ = &Layout::forces_of_chunk<D, shape(), loss, normalized(), counted()>;
            });
          });
        });
      });
    });
  }

  Settings s_;
  int threads_;
  int epoch_ = 0;
  float p_max_ = 0;
  float non_edge_weight_ = 1;
  int64_t run_length_ = 0;
  std::vector<int32_t> order_;  // order_[relabelled] = original
  Points points_;
  std::vector<float> mass_;  // strength or degree of each point

  std::vector<int64_t> offsets_;  // batch: rows of the relabelled graph
  std::vector<int32_t> ids_;
  std::vector<float> weights_;
  std::vector<float> attraction_, repulsion_, second_;  // blocks x dimensions x 16
  std::vector<int32_t> counts_;                         // negatives of each point this epoch, if per edge
  Field field_, second_field_;                          // mesh or tree, if the repulsion is one
  std::vector<float> stiffness_;                        // sums of the coefficients of attraction
  std::vector<float> full_stiffness_;                   // what they would be if all neighbours were close
  bool rested_ = false;                                 // the expansion has come to its end
  StepState steps_;
  std::vector<Totals> totals_;

  InPlaceEpochs in_place_;

  void (Layout::*forces_)(int64_t) = nullptr;
};

}  // namespace actup
