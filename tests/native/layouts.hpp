// Small layouts with every combination of switches.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "inputs.hpp"
#include "layout/layout.hpp"
#include "layout/layout_parts.hpp"

namespace actup {

inline std::vector<float> run_layout(const OwnedGraph& graph, int dimensions, const Settings& settings,
                                     int threads, const PointInputs& inputs = {}) {
  const int64_t n = graph.view().n;
  const std::vector<float> start = random_values(n * dimensions, 4);
  Layout layout(graph.view(), start.data(), dimensions, settings, threads, inputs);
  layout.run(settings.n_epochs);
  std::vector<float> embedding(n * dimensions);
  layout.copy_embedding(embedding.data());
  return embedding;
}

// Rows [begin, end) of a graph, with offsets from 0.
inline OwnedGraph part_of(const OwnedGraph& graph, int64_t begin, int64_t end) {
  const int64_t first = graph.offsets[begin], last = graph.offsets[end];
  OwnedGraph part{{graph.offsets.begin() + begin, graph.offsets.begin() + end + 1},
                  {graph.ids.begin() + first, graph.ids.begin() + last},
                  {graph.weights.begin() + first, graph.weights.begin() + last}};
  for (int64_t& offset : part.offsets) offset -= first;
  return part;
}

// As run_layout, but made from parts where epochs are batch epochs, and with its state carried to a new
// layout half way.
inline std::vector<float> run_interrupted(const OwnedGraph& graph, int dimensions, const Settings& settings,
                                          int threads, const PointInputs& inputs = {}) {
  const int64_t n = graph.view().n;
  const std::vector<float> start = random_values(n * dimensions, 4);
  const auto make = [&] {
    if (settings.in_place)
      return std::make_unique<Layout>(graph.view(), start.data(), dimensions, settings, threads, inputs);
    LayoutParts parts(n, start.data(), dimensions, settings, threads);
    for (int pass = 0; pass < 3; ++pass) {
      for (const auto& [begin, end] : {std::pair{int64_t{0}, n / 3}, {n / 3, n / 3}, {n / 3, n}}) {
        const OwnedGraph part = part_of(graph, begin, end);
        parts.read(part.view(), static_cast<int64_t>(part.ids.size()));
      }
      parts.end_pass();
    }
    return parts.finish(start.data(), inputs);
  };
  const auto first = make(), second = make();
  first->run(settings.n_epochs / 2);
  SavedState state = saved_state(*first);
  restore_state(*second, state);
  second->run(settings.n_epochs);
  std::vector<float> embedding(n * dimensions);
  second->copy_embedding(embedding.data());
  return embedding;
}

inline Settings base_settings(int n_epochs) {
  Settings s;
  s.n_epochs = n_epochs;
  s.schedule.learning_rate.assign(n_epochs, 1.0f);
  s.schedule.momentum.assign(n_epochs, 0.5f);
  s.schedule.exaggeration.assign(n_epochs, 1.0f);
  s.schedule.step_cap.assign(n_epochs, 1.0f);
  s.schedule.stiffness_floor.assign(n_epochs, 0.3f);
  s.schedule.dilation.assign(n_epochs, 0.0f);
  s.repulsion_mass = RepulsionMass::strength;
  s.negatives = 20;
  return s;
}

template <class Visit>
void for_each_setting(const Visit& visit) {
  for (const bool in_place : {false, true})
    for (const bool normalized : {false, true})
      for (const Loss loss : {Loss::kl, Loss::frobenius})
        for (const Sampling sampling :
             {Sampling::exhaustive, Sampling::scalar, Sampling::accelerated, Sampling::unbiased})
          for (const RepulsionMass mass : {RepulsionMass::per_edge, RepulsionMass::strength}) {
            if (in_place && (normalized || mass == RepulsionMass::per_edge)) continue;
            Settings s = base_settings(4);
            s.in_place = in_place;
            s.normalized = normalized;
            s.loss = loss;
            s.sampling = sampling;
            s.repulsion_mass = mass;
            s.symmetric_attraction = sampling == Sampling::scalar;
            s.curve.a = s.curve.b = loss == Loss::kl ? 1.0f : 0.9f;
            visit(s);
          }
}

// The repulsions by all points: every loss, method and optimiser.
template <class Visit>
void for_each_field(const Visit& visit) {
  for (const bool normalized : {false, true})
    for (const Loss loss : {Loss::kl, Loss::frobenius})
      for (const Repulsion repulsion : {Repulsion::exact, Repulsion::mesh, Repulsion::barnes_hut})
        for (const Optimizer optimizer : {Optimizer::step, Optimizer::gains, Optimizer::stiffness}) {
          Settings s = base_settings(4);
          s.schedule.expansion_begin = 1;
          s.schedule.expansion_end = 3;
          s.normalized = normalized;
          s.loss = loss;
          s.repulsion = repulsion;
          s.optimizer = optimizer;
          if (optimizer == Optimizer::stiffness) s.schedule.dilation[1] = s.schedule.dilation[2] = 0.01f;
          visit(s);
        }
}

// A third of the points pinned, a third free, the others between.
inline std::vector<float> some_mobility(int64_t n) {
  std::vector<float> mobility = random_values(n, 5, 3);
  for (float& value : mobility) value = std::clamp(value - 1, 0.0f, 1.0f);
  return mobility;
}

// Batch updates with the density term: every optimiser, the two kernels, sampled and exact repulsion.
template <class Visit>
void for_each_density(const Visit& visit) {
  for (const Optimizer optimizer : {Optimizer::step, Optimizer::gains, Optimizer::stiffness})
    for (const float b : {1.0f, 0.9f})
      for (const Repulsion repulsion : {Repulsion::sampled, Repulsion::exact}) {
        Settings s = base_settings(4);
        s.optimizer = optimizer;
        s.curve.b = b;
        s.repulsion = repulsion;
        s.density_weight = 2;
        s.density_shift = 0.1f;
        s.density_begin = 1;
        visit(s);
      }
}

}  // namespace actup
