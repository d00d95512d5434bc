// Settings: the part of a Recipe that the layout reads, as plain numbers. backends/_cpu.py fills it.
#pragma once

#include "common/choices.h"
#include "common/device.h"
#if !defined(__CUDACC__)
#include <vector>
#endif

namespace actup {

constexpr int kBlock = 16;  // points that share a run of negatives: the lanes of a float16

// Each choice below is one list: see choices.h.

#define ACTUP_LOSSES(VALUE) \
  VALUE(kl, KlLoss)         \
  VALUE(frobenius, FrobeniusLoss)  // policies: losses.h
enum class Loss : int { ACTUP_LOSSES(ACTUP_ENUMERATOR) };

#define ACTUP_SAMPLINGS(VALUE) VALUE(exhaustive) VALUE(scalar) VALUE(accelerated) VALUE(unbiased)
enum class Sampling : int { ACTUP_SAMPLINGS(ACTUP_ENUMERATOR) };

#define ACTUP_REPULSIONS(VALUE) VALUE(sampled) VALUE(exact) VALUE(mesh) VALUE(barnes_hut)
enum class Repulsion : int { ACTUP_REPULSIONS(ACTUP_ENUMERATOR) };  // make_repulsion() of repulsion.hpp

#define ACTUP_REPULSION_MASSES(VALUE) VALUE(per_edge) VALUE(degree) VALUE(strength)
enum class RepulsionMass : int { ACTUP_REPULSION_MASSES(ACTUP_ENUMERATOR) };

#define ACTUP_OPTIMIZERS(VALUE) \
  VALUE(step, StepOptimizer)    \
  VALUE(gains, GainsOptimizer)  \
  VALUE(stiffness, StiffnessOptimizer)  // policies: optimizers.hpp
enum class Optimizer : int { ACTUP_OPTIMIZERS(ACTUP_ENUMERATOR) };

// The similarity of two points of the map is (1 + a d^2b / dof)^-dof. With dof = 1 that is 1/(1 + a d^2b); a
// smaller dof gives heavier tails.
struct Curve {
  float a = 1;
  float b = 1;
  float dof = 1;
};

#if !defined(__CUDACC__)  // the GPU reads them as arrays and constants: see backends/_cuda/state.py

struct Schedule {  // one value per epoch
  std::vector<float> learning_rate;
  std::vector<float> momentum;
  std::vector<float> exaggeration;
  std::vector<float> step_cap;
  std::vector<float> stiffness_floor;
  std::vector<float> dilation;
  int expansion_begin = 0;
  int expansion_end = 0;
  float momentum_after_stop = 0;  // for the rest of the expansion, once the map has stopped growing
};

struct Steering {  // factors that a caller may change between two epochs; 1: as the settings say
  float exaggeration = 1;
  float repulsion = 1;
};

struct Settings {
  int n_epochs = 0;
  Curve curve;
  bool normalized = false;
  bool rate_in_points = false;  // normalised Frobenius: its force is multiplied by Z/10
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
  float horizon = 0;  // in place: in root-mean-square radii of the map; 0: no horizon
  bool in_place = false;
  Optimizer optimizer = Optimizer::step;
  bool prune = true;
  float force_scale = 1;
  float gradient_clip = 1;
  float density_weight = 0;  // of the correlation between the local radii of map and data; 0: no such term
  float density_shift = 0;   // added to the variance of the map's log radii
  int density_begin = 0;     // the first epoch with this term
  uint64_t seed = 0;
  Schedule schedule;

  bool negatives_per_edge() const { return repulsion_mass == RepulsionMass::per_edge; }
  int attraction_repeats() const { return symmetric_attraction ? 2 : 1; }
};

#endif

}  // namespace actup
