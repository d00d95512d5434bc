// Settings: the part of a Recipe that the layout reads, as plain numbers. backends/cpu.py fills it.
#pragma once

#include "common/device.h"
#if !defined(__CUDACC__)
#include <vector>
#endif

namespace actup {

constexpr int kBlock = 16;  // points that share a run of negatives: the lanes of a float16

enum class Loss : int { kl, frobenius };
enum class Sampling : int { exhaustive, scalar, accelerated, unbiased };
enum class Repulsion : int { sampled, exact, mesh, barnes_hut };
enum class RepulsionMass : int { per_edge, degree, strength };
enum class Optimizer : int { step, gains, stiffness };

// The similarity of two points of the map, (1 + a d^2b / dof)^-dof. dof = 1: 1/(1 + a d^2b); less: heavier
// tails.
struct Curve {
  float a = 1;
  float b = 1;
  float dof = 1;
};

#if !defined(__CUDACC__)  // a GPU gets these as arrays and constants: see backends/cuda/layout.py

struct Schedule {  // one value per epoch
  std::vector<float> learning_rate;
  std::vector<float> momentum;
  std::vector<float> exaggeration;
  std::vector<float> step_cap;
  std::vector<float> stiffness_floor;
  int expansion_begin = 0;
  int expansion_end = 0;
  float rested_momentum = 0;
};

struct Settings {
  int n_epochs = 0;
  Curve curve;
  bool normalized = false;
  bool rate_in_points = false;  // normalised Frobenius: its force is taken times Z/10
  double partition = 0;         // normalised KL: Z is this times n^2; 0: the sum over the repelling pairs
  Loss loss = Loss::kl;
  bool symmetric_attraction = false;
  Sampling sampling = Sampling::exhaustive;
  Repulsion repulsion = Repulsion::sampled;
  int64_t negatives = 1;
  RepulsionMass repulsion_mass = RepulsionMass::degree;
  float repulsion_rate = 1;
  bool mean_non_edge_weight = false;
  float repulsion_epsilon = 0.001f;
  float mesh_spacing = 0.5f;
  float theta = 0.5f;
  float horizon = 0;  // in place: root-mean-square radii of the map; 0: none
  bool in_place = false;
  Optimizer optimizer = Optimizer::step;
  bool prune = true;
  float force_scale = 1;
  float gradient_clip = 1;
  uint64_t seed = 0;
  Schedule schedule;
};

#endif

}  // namespace actup
