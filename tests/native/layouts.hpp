// Small layouts with every combination of switches.
#pragma once

#include <algorithm>
#include <vector>

#include "inputs.hpp"
#include "layout/layout.hpp"

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

inline Settings base_settings(int n_epochs) {
  Settings s;
  s.n_epochs = n_epochs;
  s.schedule.learning_rate.assign(n_epochs, 1.0f);
  s.schedule.momentum.assign(n_epochs, 0.5f);
  s.schedule.exaggeration.assign(n_epochs, 1.0f);
  s.schedule.step_cap.assign(n_epochs, 1.0f);
  s.schedule.stiffness_floor.assign(n_epochs, 0.3f);
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
