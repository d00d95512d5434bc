// From neighbours to the graph: each row's similarities, then both directions merged into symmetric rows.
//
// Every row is one thread's work and every sum has a fixed order, so threads change nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common/exponential.hpp"
#include "common/parallel.hpp"
#include "graph/bandwidth.h"

namespace actup {

struct NeighborRows {
  const int32_t* ids;      // (rows, k)
  const float* distances;  // (rows, k), ascending in a row
  int64_t rows;
  int64_t k;
};

struct AffinitySettings {
  Affinity affinity;
  Distance distance;
  Symmetrization symmetrization;
  std::vector<double> perplexities;  // affinity "gaussian": the mean of what each of them gives
  double sigma;                      // affinity "fixed_sigma"
};

struct SparseRows {
  std::unique_ptr<int64_t[]> offsets;
  std::unique_ptr<int32_t[]> ids;
  std::unique_ptr<float[]> weights;
  int64_t rows;
  int64_t edges() const { return offsets[rows]; }
};

// A row of exponents in whole vectors; what fills up the last one counts for nothing.
class ExponentRow {
 public:
  explicit ExponentRow(int64_t size)
      : size_(size),
        vectors_((size + kDoubles - 1) / kDoubles),
        values_(vectors_ * kDoubles),
        present_(vectors_ * kDoubles) {
    std::fill_n(present_.begin(), size, 1.0);
  }

  double& operator[](int64_t at) { return values_[at]; }

  // Sums of exp(-factor x) and of x exp(-factor x).
  GaussianSums sums(double factor) const {
    doubles weights = {}, products = {};
    for (int64_t v = 0; v < vectors_; ++v) {
      const doubles weight = exponentials(v, factor);
      weights += weight;
      products += weight * load_doubles(&values_[v * kDoubles]);
    }
    return {sum(weights), sum(products)};
  }

  double sum_of_weights(double factor) const {
    doubles weights = {};
    for (int64_t v = 0; v < vectors_; ++v) weights += exponentials(v, factor);
    return sum(weights);
  }

  // Adds scale * exp(-factor x) for the whole row.
  void add(double factor, double scale, float* out) const {
    for (int64_t v = 0; v < vectors_; ++v) {
      const doubles weights = exponentials(v, factor) * scale;
      const int64_t count = std::min<int64_t>(kDoubles, size_ - v * kDoubles);
      for (int64_t lane = 0; lane < count; ++lane) {
        out[v * kDoubles + lane] += static_cast<float>(weights[lane]);
      }
    }
  }

 private:
  doubles exponentials(int64_t v, double factor) const {
    return exponential(load_doubles(&values_[v * kDoubles]) * -factor) *
           load_doubles(&present_[v * kDoubles]);
  }

  int64_t size_;
  int64_t vectors_;
  std::vector<double> values_;
  std::vector<double> present_;
};

constexpr int64_t kRowGrain = 512;

inline double sum_of(const float* values, int64_t count) {
  double total = 0;
  for (int64_t at = 0; at < count; ++at) total += values[at];
  return total;
}

// UMAP's p(j|i) of one row. Means count the point itself, at distance zero, as umap-learn's do.
inline void umap_row(const float* distances, int64_t k, Distance kind, double mean_of_all, ExponentRow& row,
                     float* out) {
  double rho = 0;
  for (int64_t at = k - 1; at >= 0; --at) {
    if (distances[at] > 0) rho = distances[at];
  }
  const double subtracted = kind == Distance::pseudo ? rho : 0;
  for (int64_t at = 0; at < k; ++at) row[at] = umap_exponent(distances[at], subtracted);
  const double mean = rho > 0 ? sum_of(distances, k) / static_cast<double>(k + 1) : mean_of_all;
  const double sigma = umap_sigma(std::log2(static_cast<double>(k + 1)), umap_sigma_floor(mean),
                                  [&](double sigma) { return row.sum_of_weights(1 / sigma); });
  row.add(1 / sigma, 1, out);
}

// t-SNE's p(j|i) of one row, the mean over several perplexities; uniform where one is out of reach. With a
// sigma of its own, that is the only width.
inline void gaussian_row(const float* distances, int64_t k, const AffinitySettings& settings,
                         ExponentRow& row, float* out) {
  double mean = 0;
  for (int64_t at = 0; at < k; ++at) {
    const double distance = distances[at], nearest = distances[0];
    row[at] = (distance - nearest) * (distance + nearest);
    mean += row[at] / static_cast<double>(k);
  }
  const auto add_share = [&](double beta, double share) {
    row.add(beta, share / row.sum_of_weights(beta), out);
  };
  if (settings.affinity == Affinity::fixed_sigma)
    return add_share(1 / (2 * settings.sigma * settings.sigma), 1);
  for (const double perplexity : settings.perplexities) {
    const bool reachable = static_cast<double>(k) > perplexity && mean > 0;
    const double beta =
        reachable ? gaussian_beta(std::log(perplexity), 1 / mean, [&](double beta) { return row.sums(beta); })
                  : 0;
    add_share(beta, 1 / static_cast<double>(settings.perplexities.size()));
  }
}

inline void check_row(const NeighborRows& neighbors, int64_t row) {
  float previous = 0;
  for (int64_t at = row * neighbors.k; at < (row + 1) * neighbors.k; ++at) {
    const float distance = neighbors.distances[at];
    if (!(distance >= previous && distance <= std::numeric_limits<float>::max())) {
      throw std::invalid_argument(
          "neighbour distances must be finite, at least 0 and ascending in every row");
    }
    if (neighbors.ids[at] < 0 || neighbors.ids[at] >= neighbors.rows || neighbors.ids[at] == row) {
      throw std::invalid_argument(
          "neighbour ids must be other rows of the data: from 0 to n - 1, not the row's own");
    }
    previous = distance;
  }
}

// p(j|i) for every neighbour, in the neighbours' order.
inline void affinities(const NeighborRows& neighbors, const AffinitySettings& settings, int threads,
                       float* out) {
  const int64_t k = neighbors.k;
  std::vector<double> sums(neighbors.rows);
  parallel_ranges(neighbors.rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      check_row(neighbors, row);
      sums[row] = sum_of(neighbors.distances + row * k, k);
    }
  });
  double mean_of_all = 0;
  for (double row_sum : sums) mean_of_all += row_sum / static_cast<double>(neighbors.rows * (k + 1));
  parallel_ranges(neighbors.rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    ExponentRow exponents(k);
    for (int64_t row = begin; row < end; ++row) {
      const float* distances = neighbors.distances + row * k;
      float* to = out + row * k;
      std::fill_n(to, k, settings.affinity == Affinity::uniform ? 1.0f : 0.0f);
      if (settings.affinity == Affinity::umap) {
        umap_row(distances, k, settings.distance, mean_of_all, exponents, to);
      } else if (settings.affinity != Affinity::uniform) {
        gaussian_row(distances, k, settings, exponents, to);
      }
    }
  });
}

// A directed edge's target (or source) and weight in one word: sorting words sorts by id.
struct WeightedId {
  uint64_t word;
  static WeightedId of(int64_t id, float weight) {
    return {static_cast<uint64_t>(id) << 32 | std::bit_cast<uint32_t>(weight)};
  }
  int32_t id() const { return static_cast<int32_t>(word >> 32); }
  float weight() const { return std::bit_cast<float>(static_cast<uint32_t>(word)); }
};

// Every row's edges by ascending id.
inline std::unique_ptr<WeightedId[]> sorted_edges(const NeighborRows& neighbors, const float* weights,
                                                  int threads) {
  auto edges = std::make_unique_for_overwrite<WeightedId[]>(neighbors.rows * neighbors.k);
  parallel_ranges(neighbors.rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      WeightedId* first = edges.get() + row * neighbors.k;
      for (int64_t at = 0; at < neighbors.k; ++at) {
        first[at] = WeightedId::of(neighbors.ids[row * neighbors.k + at], weights[row * neighbors.k + at]);
      }
      std::sort(first, first + neighbors.k, [](WeightedId a, WeightedId b) { return a.word < b.word; });
      for (int64_t at = 1; at < neighbors.k; ++at) {
        if (first[at].id() == first[at - 1].id()) {
          throw std::invalid_argument("neighbour ids must differ within a row");
        }
      }
    }
  });
  return edges;
}

struct Transposed {
  std::unique_ptr<int64_t[]> offsets;
  std::unique_ptr<WeightedId[]> edges;  // by ascending id in every row
};

// The edges by target, through a counting sort. Rows are dealt to a fixed number of parts; each part knows
// where its edges of a target begin, so that parts can be placed side by side in any order.
inline Transposed transposed(const WeightedId* edges, int64_t rows, int64_t k, int threads) {
  constexpr int64_t kMostParts = 8, kLeastRows = 1 << 14;
  const int64_t parts = std::clamp<int64_t>(rows / kLeastRows, 1, kMostParts);
  const auto part_begin = [&](int64_t part) { return rows * part / parts * k; };
  std::vector<std::vector<int32_t>> counts(parts);
  parallel_chunks(parts, threads, [&](int64_t part) {
    counts[part].assign(rows, 0);
    for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at) ++counts[part][edges[at].id()];
  });
  Transposed result{std::make_unique_for_overwrite<int64_t[]>(rows + 1),
                    std::make_unique_for_overwrite<WeightedId[]>(rows * k)};
  int64_t offset = 0;
  for (int64_t row = 0; row < rows; ++row) {
    result.offsets[row] = offset;
    int32_t before = 0;  // from a count to the place of the part's first edge within the row
    for (int64_t part = 0; part < parts; ++part) before += std::exchange(counts[part][row], before);
    offset += before;
  }
  result.offsets[rows] = offset;
  parallel_chunks(parts, threads, [&](int64_t part) {
    for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at) {
      const int32_t target = edges[at].id();
      result.edges[result.offsets[target] + counts[part][target]++] =
          WeightedId::of(at / k, edges[at].weight());
    }
  });
  return result;
}

// Calls emit(id, weight) for every id in either list, ascending, unless the weight is zero.
template <class Emit>
inline void merge_row(const WeightedId* out, const WeightedId* out_end, const WeightedId* in,
                      const WeightedId* in_end, Symmetrization kind, const Emit& emit) {
  while (out != out_end || in != in_end) {
    const int32_t out_id = out != out_end ? out->id() : std::numeric_limits<int32_t>::max();
    const int32_t in_id = in != in_end ? in->id() : std::numeric_limits<int32_t>::max();
    const int32_t id = std::min(out_id, in_id);
    const float p = out_id == id ? (out++)->weight() : 0.0f;
    const float q = in_id == id ? (in++)->weight() : 0.0f;
    const float weight = symmetrized(kind, p, q);
    if (weight > 0) emit(id, weight);
  }
}

inline SparseRows symmetric_graph(const NeighborRows& neighbors, const float* weights, Symmetrization kind,
                                  int threads) {
  const int64_t rows = neighbors.rows, k = neighbors.k;
  const auto edges = sorted_edges(neighbors, weights, threads);
  const Transposed incoming = transposed(edges.get(), rows, k, threads);
  const auto merge = [&](int64_t row, const auto& emit) {
    merge_row(edges.get() + row * k, edges.get() + (row + 1) * k,
              incoming.edges.get() + incoming.offsets[row], incoming.edges.get() + incoming.offsets[row + 1],
              kind, emit);
  };
  SparseRows graph{std::make_unique_for_overwrite<int64_t[]>(rows + 1), nullptr, nullptr, rows};
  graph.offsets[0] = 0;
  parallel_ranges(rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t count = 0;
      merge(row, [&](int32_t, float) { ++count; });
      graph.offsets[row + 1] = count;
    }
  });
  for (int64_t row = 0; row < rows; ++row) graph.offsets[row + 1] += graph.offsets[row];
  graph.ids = std::make_unique_for_overwrite<int32_t[]>(graph.edges());
  graph.weights = std::make_unique_for_overwrite<float[]>(graph.edges());
  parallel_ranges(rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t at = graph.offsets[row];
      merge(row, [&](int32_t id, float weight) {
        graph.ids[at] = id;
        graph.weights[at++] = weight;
      });
    }
  });
  return graph;
}

// The symmetric graph of p(i,j): no self loops, no zeros, ids ascending in every row.
inline SparseRows affinity_graph(const NeighborRows& neighbors, const AffinitySettings& settings,
                                 int threads) {
  const auto weights = std::make_unique_for_overwrite<float[]>(neighbors.rows * neighbors.k);
  affinities(neighbors, settings, threads, weights.get());
  return symmetric_graph(neighbors, weights.get(), settings.symmetrization, threads);
}

}  // namespace actup
