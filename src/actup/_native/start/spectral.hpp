// Spectral coordinates: the leading eigenvectors of D^-1/2 W D^-1/2, the normalised form of a symmetric
// graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/graph_view.hpp"
#include "start/subspace.hpp"

namespace actup {

constexpr int64_t kGraphRowsPerTask = 1024;

class NormalizedGraph {
 public:
  NormalizedGraph(const GraphView& graph, int threads)
      : graph_(graph), weights_(graph.offsets[graph.n]), root_degree_(graph.n) {
    parallel_ranges(graph.n, kGraphRowsPerTask, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double degree = 0;
        for (int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) degree += graph.weights[e];
        root_degree_[i] = static_cast<float>(std::sqrt(degree));
      }
    });
    parallel_ranges(graph.n, kGraphRowsPerTask, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
          const float both = root_degree_[i] * root_degree_[graph.indices[e]];  // is 0 only if the weight is
          weights_[e] = both > 0 ? graph.weights[e] / both : 0.0f;
        }
    });
  }

  int64_t rows() const { return static_cast<int64_t>(root_degree_.size()); }
  const std::vector<float>& root_degree() const { return root_degree_; }

  void apply(const Block& x, const Block& previous, Block& out, float alpha, float beta, float gamma,
             int threads) const {
    parallel_ranges(rows(), kGraphRowsPerTask, threads, [&](int64_t begin, int64_t end) {
      for (int p = 0; p < x.panels(); ++p)
        apply_rows(x.panel(p), previous.panel(p), out.panel(p), begin, end, alpha, beta, gamma);
    });
  }

 private:
  void apply_rows(const ColumnLanes* x, const ColumnLanes* previous, ColumnLanes* out, int64_t begin,
                  int64_t end, float alpha, float beta, float gamma) const {
    for (int64_t i = begin; i < end; ++i) {
      ColumnLanes even = {}, odd = {};
      int64_t e = graph_.offsets[i];
      const int64_t stop = graph_.offsets[i + 1];
      for (; e + 1 < stop; e += 2) {
        even += weights_[e] * x[graph_.indices[e]];
        odd += weights_[e + 1] * x[graph_.indices[e + 1]];
      }
      if (e < stop) even += weights_[e] * x[graph_.indices[e]];
      ColumnLanes result = alpha * (even + odd) + beta * x[i];
      if (gamma != 0) result += gamma * previous[i];
      out[i] = result;
    }
  }

  const GraphView graph_;
  std::vector<float> weights_;
  std::vector<float> root_degree_;
};

// The eigenvectors of the `dimensions` largest eigenvalues after the trivial one, 1 with vector sqrt(degree),
// as columns (n, dimensions) of unit length. A point without edges gets 0. Needs n > dimensions.
inline void spectral_coordinates(const GraphView& view, int dimensions, uint64_t seed, int threads,
                                 float* vectors, double* values) {
  const NormalizedGraph graph(view, threads);
  Spectrum spectrum;
  spectrum.low = -1;
  spectrum.top = 1;
  spectrum.cut = 0.9;  // the leading eigenvalues of nearly every neighbour graph are larger
  spectrum.first_degree = 20;
  spectrum.last_degree = 200;
  spectrum.budget =
      static_cast<int>(std::clamp<int64_t>(12'000'000 / view.n, 100, 2000));  // bounds the time to seconds
  spectrum.tolerance = 0.005;
  spectrum.known = graph.root_degree().data();
  leading_eigenvectors(graph, spectrum, dimensions, seed, threads, vectors, values);
  for (int64_t i = 0; i < view.n; ++i)
    if (graph.root_degree()[i] == 0) std::fill_n(vectors + i * dimensions, dimensions, 0.0f);
  fix_signs(vectors, view.n, dimensions);
}

}  // namespace actup
