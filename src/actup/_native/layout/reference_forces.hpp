// The forces of t-SNE's KL divergence on points, exerted by reference points: those of another map, or the
// points themselves. In double precision and one evaluation at a time, for callers that make their own steps.
//
// The kernel is q = (1 + d2/dof)^-dof with slope s = 1/(1 + d2/dof), as in kernel.h for a = b = 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/elementary.h"
#include "common/parallel.hpp"
#include "layout/points.hpp"

namespace actup {

struct MapView {  // n rows of `dimensions` coordinates
  int64_t n;
  int dimensions;
  const double* rows;
};

struct SimilarityView {  // compressed rows: one row per point, one column per reference point
  const int64_t* offsets;
  const int32_t* indices;
  const double* weights;
};

// Writes sum_j w s (y_i - x_j) of every point to `force`. Returns the sum of w log(w/q) over all edges if
// `measure` is true, else 0.
template <int D>
double attract(const SimilarityView& edges, const MapView& points, const MapView& reference, double dof,
               bool measure, double* force, int threads) {
  constexpr int64_t rows = 64;  // of one chunk
  const Dimensions<D> dimensions(points.dimensions);
  std::vector<double> divergences((points.n + rows - 1) / rows, 0.0);
  parallel_ranges(points.n, rows, threads, [&](int64_t first, int64_t last) {
    double divergence = 0;
    for (int64_t i = first; i < last; ++i) {
      const double* own = points.rows + i * dimensions;
      double* sum = force + i * dimensions;
      std::fill_n(sum, static_cast<int>(dimensions), 0.0);
      for (int64_t edge = edges.offsets[i]; edge < edges.offsets[i + 1]; ++edge) {
        const double weight = edges.weights[edge];
        const double* other = reference.rows + static_cast<int64_t>(edges.indices[edge]) * dimensions;
        double d2 = 0;
        for (int c = 0; c < dimensions; ++c) d2 += (own[c] - other[c]) * (own[c] - other[c]);
        const double base = 1 + d2 / dof;
        const double pull = weight / base;
        for (int c = 0; c < dimensions; ++c) sum[c] += pull * (own[c] - other[c]);
        if (measure && weight > 0)
          divergence += weight * (natural_logarithm(weight) + dof * natural_logarithm(base));
      }
    }
    divergences[first / rows] = divergence;
  });
  double total = 0;
  for (const double divergence : divergences) total += divergence;
  return total;
}

// Writes sum_k s q (y_i - x_k) of every point to `force` and sum_k q to `sums`, over all reference points.
template <int D>
void repel(const MapView& points, const MapView& reference, double dof, double* force, double* sums,
           int threads) {
  typedef double Lanes __attribute__((vector_size(64)));
  constexpr int64_t lanes = 8;
  const Dimensions<D> dimensions(points.dimensions);
  const int64_t padded = (reference.n + lanes - 1) / lanes * lanes;
  std::vector<double> planes(padded * dimensions, 0.0);
  for (int64_t k = 0; k < reference.n; ++k)
    for (int c = 0; c < dimensions; ++c) planes[c * padded + k] = reference.rows[k * dimensions + c];
  parallel_ranges(points.n, 16, threads, [&](int64_t first, int64_t last) {
    std::vector<Lanes> difference(dimensions), push(dimensions);
    for (int64_t i = first; i < last; ++i) {
      checkpoint();
      const double* own = points.rows + i * dimensions;
      Lanes sum = {};
      std::fill(push.begin(), push.end(), Lanes{});
      for (int64_t k = 0; k < padded; k += lanes) {
        Lanes d2 = {};
        for (int c = 0; c < dimensions; ++c) {
          Lanes x;
          __builtin_memcpy(&x, &planes[c * padded + k], sizeof x);
          difference[c] = own[c] - x;
          d2 += difference[c] * difference[c];
        }
        const Lanes base = 1.0 + d2 / dof;
        Lanes slope = 1.0 / base, q = slope;
        if (dof != 1)
          for (int lane = 0; lane < lanes; ++lane) q[lane] = power(base[lane], -dof);
        for (int64_t lane = reference.n - k; lane < lanes; ++lane) q[lane] = 0;
        sum += q;
        for (int c = 0; c < dimensions; ++c) push[c] += (slope * q) * difference[c];
      }
      const auto total = [](const Lanes& v) {
        return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
      };
      sums[i] = total(sum);
      for (int c = 0; c < dimensions; ++c) force[i * dimensions + c] = total(push[c]);
    }
  });
}

}  // namespace actup
