// Affinities: how the distances of a row become similarities p(j|i). One policy each, for the graph and for
// new rows alike.
//
// To add an affinity, add its policy here and its line to ACTUP_AFFINITIES of bandwidth.h. A policy has
//   weigh(distances, k, settings, mean_of_all, row, out)
//       adds the similarities of one row to out, which is zero. `row` is a buffer of k exponents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/elementary.h"
#include "common/parallel.hpp"
#include "graph/exponent_row.hpp"
#include "graph/neighbor_rows.hpp"
#include "graph/symmetric_graph.hpp"

namespace actup {

struct AffinitySettings {
  Affinity affinity;
  Distance distance;
  Symmetrization symmetrization;
  std::vector<double> perplexities;  // affinity "gaussian": the mean over what each of them gives
  double sigma;                      // affinity "fixed_sigma"
};

inline double sum_of(const float* values, int64_t count) {
  double total = 0;
  for (int64_t at = 0; at < count; ++at) total += values[at];
  return total;
}

// UMAP's fuzzy set. Mean distances count the point itself, at distance zero, as umap-learn's do. mean_of_all:
// of all rows, used where all distances of a row are zero.
struct UmapAffinity {
  static void weigh(const float* distances, int64_t k, const AffinitySettings& settings, double mean_of_all,
                    ExponentRow& row, float* out) {
    double rho = 0;
    for (int64_t at = k - 1; at >= 0; --at) {
      if (distances[at] > 0) rho = distances[at];
    }
    const double subtracted = settings.distance == Distance::pseudo ? rho : 0;
    for (int64_t at = 0; at < k; ++at) row[at] = umap_exponent(distances[at], subtracted);
    const double mean = rho > 0 ? sum_of(distances, k) / static_cast<double>(k + 1) : mean_of_all;
    const double sigma = umap_sigma(binary_logarithm(static_cast<double>(k + 1)), umap_sigma_floor(mean),
                                    [&](double sigma) { return row.sum_of_weights(1 / sigma); });
    row.add(1 / sigma, 1, out);
  }
};

// Fills a row with d^2 - d_nearest^2 and returns its mean.
inline double fill_squares(const float* distances, int64_t k, ExponentRow& row) {
  double mean = 0;
  for (int64_t at = 0; at < k; ++at) {
    const double distance = distances[at], nearest = distances[0];
    row[at] = (distance - nearest) * (distance + nearest);
    mean += row[at] / static_cast<double>(k);
  }
  return mean;
}

// Adds a Gaussian of total weight `share`.
inline void add_gaussian(double beta, double share, const ExponentRow& row, float* out) {
  row.add(beta, share / row.sum_of_weights(beta), out);
}

// t-SNE's Gaussian, the mean over several perplexities; uniform where k neighbours cannot reach a perplexity.
struct GaussianAffinity {
  static void weigh(const float* distances, int64_t k, const AffinitySettings& settings, double,
                    ExponentRow& row, float* out) {
    const double mean = fill_squares(distances, k, row);
    for (const double perplexity : settings.perplexities) {
      const bool reachable = static_cast<double>(k) > perplexity && mean > 0;
      const double beta = reachable ? gaussian_beta(natural_logarithm(perplexity), 1 / mean,
                                                    [&](double beta) { return row.sums(beta); })
                                    : 0;
      add_gaussian(beta, 1 / static_cast<double>(settings.perplexities.size()), row, out);
    }
  }
};

// A Gaussian of the same width for all rows.
struct FixedSigmaAffinity {
  static void weigh(const float* distances, int64_t k, const AffinitySettings& settings, double,
                    ExponentRow& row, float* out) {
    fill_squares(distances, k, row);
    add_gaussian(1 / (2 * settings.sigma * settings.sigma), 1, row, out);
  }
};

// All neighbours alike.
struct UniformAffinity {
  static void weigh(const float*, int64_t k, const AffinitySettings&, double, ExponentRow&, float* out) {
    std::fill_n(out, k, 1.0f);
  }
};

// Calls choose(policy) with the policy of an affinity.
template <class Choose>
inline auto with_affinity(Affinity affinity, const Choose& choose) {
#define ACTUP_CASE(name, policy) ACTUP_CHOOSE_POLICY(Affinity, name, policy)
  switch (affinity) { ACTUP_AFFINITIES(ACTUP_CASE) }
#undef ACTUP_CASE
  __builtin_unreachable();
}

// p(j|i) of one row.
inline void row_weights(const float* distances, int64_t k, const AffinitySettings& settings,
                        double mean_of_all, ExponentRow& row, float* out) {
  std::fill_n(out, k, 0.0f);
  with_affinity(settings.affinity,
                [&](auto policy) { policy.weigh(distances, k, settings, mean_of_all, row, out); });
}

// p(j|i) of every neighbour of all rows, in the order of the neighbours.
inline void affinities(const NeighborRows& neighbors, const AffinitySettings& settings, int threads,
                       float* out) {
  const int64_t k = neighbors.k;
  std::vector<double> sums(neighbors.rows);
  parallel_ranges(neighbors.rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      check_row(neighbors, row);
      sums[row] = sum_of(neighbors.distances + row * k, k);
    }
  });
  double mean_of_all = 0;
  for (double row_sum : sums) mean_of_all += row_sum / static_cast<double>(neighbors.rows * (k + 1));
  set_progress_range(0, 0.6);
  parallel_ranges(neighbors.rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    ExponentRow exponents(k);
    for (int64_t row = begin; row < end; ++row)
      row_weights(neighbors.distances + row * k, k, settings, mean_of_all, exponents, out + row * k);
  });
}

// The symmetric graph of p(i,j).
inline SparseRows affinity_graph(const NeighborRows& neighbors, const AffinitySettings& settings,
                                 int threads) {
  const auto weights = std::make_unique_for_overwrite<float[]>(neighbors.rows * neighbors.k);
  affinities(neighbors, settings, threads, weights.get());
  set_progress_range(0.6, 1);
  return symmetric_graph(neighbors, weights.get(), settings.symmetrization, threads);
}

}  // namespace actup
