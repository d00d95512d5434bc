// Settings: the part of a Recipe that the layout reads, as plain numbers. backends/cpu.py fills it.
#pragma once

#include <cstdint>

namespace actup {

enum class Loss : int { kl, frobenius };
enum class Sampling : int { exhaustive, scalar, accelerated, unbiased };
enum class RepulsionMass : int { per_edge, degree, strength };

struct Settings {
  int n_epochs = 0;
  float a = 1;
  float b = 1;
  bool normalized = false;
  Loss loss = Loss::kl;
  bool symmetric_attraction = false;
  Sampling sampling = Sampling::exhaustive;
  bool exact_repulsion = false;
  int64_t negatives = 1;
  RepulsionMass repulsion_mass = RepulsionMass::degree;
  float repulsion_rate = 1;
  bool mean_non_edge_weight = false;
  float repulsion_epsilon = 0.001f;
  bool in_place = false;
  bool gains = false;
  bool prune = true;
  float learning_rate = 1;
  float decay_start = 0;
  float decay_power = 1;
  float momentum = 0;
  float exaggeration = 1;
  float exaggeration_share = 0;
  float step_cap = 4;
  float force_scale = 1;
  float gradient_clip = 1;
  uint64_t seed = 0;
};

}  // namespace actup
