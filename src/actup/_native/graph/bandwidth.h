// From distances to similarities: the formulas, and the search for each row's bandwidth. Serves CPU and GPU.
//
// A search gets sums over a row from a callable, so that the CPU may add them up in vectors and the GPU over
// the threads of a warp.
#pragma once

#include "common/choices.h"
#include "common/device.h"
#include "common/elementary.h"

namespace actup {

// Each choice is one list: see choices.h.

#define ACTUP_AFFINITIES(VALUE)          \
  VALUE(umap, UmapAffinity)              \
  VALUE(gaussian, GaussianAffinity)      \
  VALUE(fixed_sigma, FixedSigmaAffinity) \
  VALUE(uniform, UniformAffinity)  // policies: affinities.hpp
enum class Affinity : int { ACTUP_AFFINITIES(ACTUP_ENUMERATOR) };

#define ACTUP_DISTANCES(VALUE) VALUE(pseudo) VALUE(plain)
enum class Distance : int { ACTUP_DISTANCES(ACTUP_ENUMERATOR) };

#define ACTUP_SYMMETRIZATIONS(VALUE) VALUE(umap) VALUE(tsne)
enum class Symmetrization : int { ACTUP_SYMMETRIZATIONS(ACTUP_ENUMERATOR) };

// A search for a positive number: doubles it until an upper bound is known, then bisects.
struct Bisection {
  double at;
  double low = 0;
  double high = 0;
  bool bounded = false;  // whether `high` is known

  ACTUP_DEVICE void raise() {
    low = at;
    at = bounded ? (low + high) / 2 : at * 2;
  }
  ACTUP_DEVICE void lower() {
    high = at;
    bounded = true;
    at = (low + high) / 2;
  }
};

// UMAP: p(j|i) = exp(-max(d - rho, 0)/sigma), rho the distance to the nearest neighbour not at distance zero.
// With plain distances, rho is taken as zero here.
ACTUP_DEVICE inline double umap_exponent(double distance, double rho) {
  return distance > rho ? distance - rho : 0;
}

// The distance that UMAP subtracts: that of neighbour number local_connectivity among those not at distance
// zero, interpolated between two neighbours where it is a fraction. The farthest one if there are fewer; zero
// if there is none. In float32, as in umap-learn. `distances` is ascending and finite.
ACTUP_DEVICE inline double umap_rho(const float* distances, int64_t k, double local_connectivity) {
  int64_t first = 0;
  while (first < k && !(distances[first] > 0)) ++first;
  const int64_t count = k - first;
  if (count == 0) return 0;
  if (static_cast<double>(count) < local_connectivity) return distances[k - 1];
  const int64_t whole = static_cast<int64_t>(local_connectivity);
  const double share = local_connectivity - static_cast<double>(whole);
  const double lower = whole > 0 ? distances[first + whole - 1] : 0;
  return static_cast<float>(share > 0 ? lower + share * (distances[first + whole] - lower) : lower);
}

// umap-learn's floor: sigma is at least this share of the mean distance (of the row, or of all rows where rho
// is zero). Without it, one very near neighbour could get all the weight.
ACTUP_DEVICE inline double umap_sigma_floor(double mean_distance) { return 1e-3 * mean_distance; }

// The sigma, at least `floor`, at which row_sum(sigma), the row's sum of p, is `target`. The sum grows with
// sigma. The steps are those of umap-learn, so that the same neighbours give the same weights, but there may
// be more of them: its 64 are too few for very large or small distances.
template <class RowSum>
ACTUP_DEVICE inline double umap_sigma(double target, double floor, const RowSum& row_sum,
                                      int max_steps = 256) {
  Bisection sigma{1};
  for (int step = 0; step < max_steps; ++step) {
    const double excess = row_sum(sigma.at) - target;
    if (-1e-5 < excess && excess < 1e-5) break;
    excess > 0 ? sigma.lower() : sigma.raise();
    if (sigma.bounded && sigma.high <= floor) break;
  }
  return sigma.at > floor ? sigma.at : floor;
}

// t-SNE: p(j|i) = exp(-beta x_j)/sum, x_j = d_j² less the smallest d² of the row, beta = 1/(2 sigma²).
struct GaussianSums {
  double weights;   // sum of exp(-beta x)
  double products;  // sum of x exp(-beta x)
  double squares;   // sum of x² exp(-beta x)
};

ACTUP_DEVICE inline double gaussian_entropy(double beta, const GaussianSums& sums) {
  return natural_logarithm(sums.weights) + beta * sums.products / sums.weights;
}

// Newton's next factor of beta, from dH/d(ln beta) = -beta² var(x); far from the solution at most fourfold,
// so that it stays on the side where the entropy still changes.
ACTUP_DEVICE inline double gaussian_beta_factor(double beta, double excess, const GaussianSums& sums) {
  constexpr double kMaxFactor = 4;
  const double mean = sums.products / sums.weights;
  const double slope = beta * beta * (sums.squares / sums.weights - mean * mean);
  if (!(slope > 0)) return excess > 0 ? kMaxFactor : 1 / kMaxFactor;
  const double step = excess / slope;  // of ln beta; 1 + step is e^step near the solution
  if (step > 0) return step < kMaxFactor - 1 ? 1 + step : kMaxFactor;
  return -step < kMaxFactor - 1 ? 1 / (1 - step) : 1 / kMaxFactor;
}

// The beta at which the row's entropy is `target`. The entropy falls as beta grows. `start` is a first guess
// of the right order of magnitude. If more neighbours share the smallest distance than the target allows,
// beta grows until they share all the weight.
template <class RowSums>
ACTUP_DEVICE inline double gaussian_beta(double target, double start, const RowSums& row_sums) {
  Bisection beta{start};
  for (int step = 0; step < 100; ++step) {
    const GaussianSums sums = row_sums(beta.at);
    const double excess = gaussian_entropy(beta.at, sums) - target;
    if (-1e-7 < excess && excess < 1e-7) break;
    if (excess > 0 && !(sums.products > 0)) break;  // the nearest ones have all the weight
    const double newton = beta.at * gaussian_beta_factor(beta.at, excess, sums);
    excess > 0 ? beta.raise() : beta.lower();
    if (newton > beta.low && !(beta.bounded && newton >= beta.high)) beta.at = newton;
  }
  return beta.at;
}

// One weight from the two directions; the arguments may be swapped without changing a bit.
ACTUP_DEVICE inline float symmetrized(Symmetrization kind, float p, float q) {
  return kind == Symmetrization::umap ? (p + q) - p * q : (p + q) / 2;
}

// UMAP's weight between the fuzzy union (union_share 1) and the fuzzy intersection (0) of both directions.
ACTUP_DEVICE inline float mixed_union(float p, float q, float union_share) {
  const float both = p * q;
  return union_share * ((p + q) - both) + (1 - union_share) * both;
}

}  // namespace actup
