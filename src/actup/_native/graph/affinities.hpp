// Affinities: how the distances of a row become similarities p(j|i). One policy each, for the graph and for
// new rows alike.
//
// To add an affinity, add its policy here and its line to ACTUP_AFFINITIES of bandwidth.h. A policy has
//   weigh(distances, k, settings, mean_of_all, row, out)
//       adds the similarities of one row to out, which is zero. k: its connected neighbours. `row` is a
//       buffer of k exponents, whose capacity is the number of neighbours that were searched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/buffer.hpp"
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
  double local_connectivity = 1;     // affinity "umap": which neighbour's distance is subtracted
  float union_share = 1;             // symmetrization "umap": union (1) to intersection (0)
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
    const double rho = umap_rho(distances, k, settings.local_connectivity);
    const double subtracted = settings.distance == Distance::pseudo ? rho : 0;
    for (int64_t at = 0; at < k; ++at) row[at] = umap_exponent(distances[at], subtracted);
    const double mean = rho > 0 ? sum_of(distances, k) / static_cast<double>(k + 1) : mean_of_all;
    const double target = binary_logarithm(static_cast<double>(row.capacity() + 1));
    const double sigma = umap_sigma(target, umap_sigma_floor(mean),
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

// p(j|i) of one row; 0 for neighbours that are disconnected from it.
inline void row_weights(const float* distances, int64_t k, const AffinitySettings& settings,
                        double mean_of_all, ExponentRow& row, float* out) {
  std::fill_n(out, k, 0.0f);
  const int64_t connected = connected_count(distances, k);
  if (connected == 0) return;
  row.set_size(connected);
  with_affinity(settings.affinity,
                [&](auto policy) { policy.weigh(distances, connected, settings, mean_of_all, row, out); });
}

// Of every row: how many neighbours are connected to it, and the sum of their distances.
inline void row_sums(const float* distances, int64_t rows, int64_t k, int threads, double* sums,
                     int64_t* connected) {
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      connected[row] = connected_count(distances + row * k, k);
      sums[row] = sum_of(distances + row * k, connected[row]);
    }
  });
}

// Adds the share of these rows to the mean distance of all rows. count: the distances of all rows, each
// point's own among them. Rows are added one by one, so that the mean is the same however rows are divided.
inline double add_means(const double* sums, int64_t rows, int64_t count, double before) {
  for (int64_t row = 0; row < rows; ++row) before += sums[row] / static_cast<double>(count);
  return before;
}

inline double mean_of_all_rows(const NeighborRows& neighbors, int threads) {
  std::vector<double> sums(neighbors.rows);
  std::vector<int64_t> connected(neighbors.rows);
  row_sums(neighbors.distances, neighbors.rows, neighbors.k, threads, sums.data(), connected.data());
  const int64_t count = std::accumulate(connected.begin(), connected.end(), neighbors.rows);
  return add_means(sums.data(), neighbors.rows, count, 0);
}

// p(j|i) of every neighbour of some rows of a graph of so many points, in the order of the neighbours.
inline void range_affinities(const NeighborRows& neighbors, int64_t points, const AffinitySettings& settings,
                             double mean_of_all, int threads, float* out) {
  const int64_t k = neighbors.k;
  parallel_ranges(neighbors.rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    ExponentRow exponents(k);
    for (int64_t row = begin; row < end; ++row) {
      check_row(neighbors, row, points);
      row_weights(neighbors.distances + row * k, k, settings, mean_of_all, exponents, out + row * k);
    }
  });
}

// The symmetric graph of p(i,j).
inline SparseRows affinity_graph(const NeighborRows& neighbors, const AffinitySettings& settings,
                                 int threads) {
  const double mean_of_all = mean_of_all_rows(neighbors, threads);
  Buffer<float> weights(neighbors.rows * neighbors.k);
  set_progress_range(0, 0.6);
  range_affinities(neighbors, neighbors.rows, settings, mean_of_all, threads, weights.data());
  return symmetric_graph({neighbors.ids, weights.data(), neighbors.rows, neighbors.k},
                         {settings.symmetrization, settings.union_share}, {0.6, 1}, threads);
}

// p(j|i) of rows that are no points of the graph: each row depends on its own distances alone. out: (rows,
// k).
inline void row_affinities(const float* distances, int64_t rows, int64_t k, const AffinitySettings& settings,
                           int threads, float* out) {
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    ExponentRow exponents(k);
    for (int64_t row = begin; row < end; ++row)
      row_weights(distances + row * k, k, settings, 0, exponents, out + row * k);
  });
}

struct BandwidthSettings {
  double target;              // of a row's sum of p
  double local_connectivity;  // which neighbour's distance is rho
  int max_steps;              // of the search for sigma
};

// umap-learn's sigma and rho of every row. The first distance of a row is the one to itself, which counts in
// means but not in the sum of p; infinite distances count in neither.
inline void umap_bandwidths(const float* distances, int64_t rows, int64_t k,
                            const BandwidthSettings& settings, int threads, float* sigmas, float* rhos) {
  std::vector<double> sums(rows);
  std::vector<int64_t> counts(rows);
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      counts[row] = connected_count(distances + row * k, k);
      sums[row] = sum_of(distances + row * k, counts[row]);
    }
  });
  double total = 0;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) {
    total += sums[row];
    count += counts[row];
  }
  const double mean_of_all = count > 0 ? total / static_cast<double>(count) : 0;
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    ExponentRow exponents(k);
    for (int64_t row = begin; row < end; ++row) {
      const float* own = distances + row * k;
      rhos[row] = static_cast<float>(umap_rho(own, counts[row], settings.local_connectivity));
      exponents.set_size(std::max<int64_t>(counts[row] - 1, 0));
      for (int64_t at = 1; at < counts[row]; ++at) exponents[at - 1] = umap_exponent(own[at], rhos[row]);
      const double mean = rhos[row] > 0 ? sums[row] / static_cast<double>(counts[row]) : mean_of_all;
      const auto row_sum = [&](double sigma) { return exponents.sum_of_weights(1 / sigma); };
      sigmas[row] = static_cast<float>(
          umap_sigma(settings.target, umap_sigma_floor(mean), row_sum, settings.max_steps));
    }
  });
}

// Raises every row of weights, from above 0 to 1, to the power at which the row's sum is `target`, as
// umap-learn resets local metrics.
inline void sharpened_rows(const int64_t* offsets, int64_t rows, const float* weights, double target,
                           int max_steps, int threads, float* out) {
  parallel_ranges(rows, kRowsPerTask, threads, [&](int64_t begin, int64_t end) {
    int64_t longest = 0;
    for (int64_t row = begin; row < end; ++row) longest = std::max(longest, offsets[row + 1] - offsets[row]);
    ExponentRow exponents(longest);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = offsets[row], size = offsets[row + 1] - first;
      if (size == 0) continue;
      exponents.set_size(size);
      for (int64_t at = 0; at < size; ++at) exponents[at] = -natural_logarithm(weights[first + at]);
      Bisection power{1};
      for (int step = 0; step < max_steps; ++step) {
        const double excess = exponents.sum_of_weights(power.at) - target;
        if (-1e-5 < excess && excess < 1e-5) break;
        excess > 0 ? power.raise() : power.lower();
      }
      std::fill_n(out + first, size, 0.0f);
      exponents.add(power.at, 1, out + first);
    }
  });
}

}  // namespace actup
