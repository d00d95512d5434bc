// Sums over all pairs of points of a map, and over the edges of a graph, from which the losses are computed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "common/vectors.h"
#include "graph/graph_view.hpp"
#include "layout/kernel.h"
#include "layout/points.hpp"

namespace actup {

// Over all ordered pairs of different points.
struct PairSums {
  double kernel = 0;    // q
  double square = 0;    // q^2
  double log_rest = 0;  // log(1 - q); only if dof is 1
};

// Over all stored edges with their weights w.
struct EdgeSums {
  double kernel = 0;      // w q
  double log_kernel = 0;  // w log q
  double log_rest = 0;    // w log(1 - q); only if dof is 1
};

// 1 - q = a d^2b q, without cancellation where q is near 1. dof is 1.
template <class Real>
inline Real rest(const Kernel<Real>& k, Real d2, Curve curve) {
  return curve.a * (k.slope * d2);
}

// log q, also where q itself underflows.
inline double log_kernel(float d2, float q, Curve curve) {
  if (curve.dof == 1) return std::log(static_cast<double>(q));
  return -curve.dof * std::log1p(curve.a / curve.dof * std::pow(static_cast<double>(d2), curve.b));
}

// Adds up a run of vectors: q and q^2 as sums of floats, log(1 - q) as a product whose exponents are added up
// separately. A run has at most kMaxVectors vectors, so that the product of mantissas, each below 2, stays
// below 2^64.
class PairRun {
 public:
  static constexpr int kMaxVectors = 64;

  void add(const Kernel<float16>& k, float16 one_minus_q) {
    kernel_ += k.q;
    square_ += k.q * k.q;
    const int16 bits = std::bit_cast<int16>(one_minus_q);
    exponents_ += (bits >> 23) - 127;
    mantissas_ *= std::bit_cast<float16>((bits & 0x7FFFFF) | 0x3F800000);
  }

  void add_masked(const Kernel<float16>& k, float16 one_minus_q, int16 mask) {
    const int16 one = std::bit_cast<int16>(broadcast<float16>(1.0f));
    const int16 factor = (std::bit_cast<int16>(one_minus_q) & mask) | (one & ~mask);
    add({where<float16>(mask, k.q), k.slope}, std::bit_cast<float16>(factor));
  }

  void flush(PairSums& sums) const {
    double product[2] = {1, 1};
    int64_t exponent = 0;
    for (int lane = 0; lane < 16; ++lane) {
      sums.kernel += kernel_[lane];
      sums.square += square_[lane];
      exponent += exponents_[lane];
      product[lane / 8] *= mantissas_[lane];  // below 2^512
    }
    sums.log_rest += exponent * 0.6931471805599453 + std::log(product[0]) + std::log(product[1]);
  }

 private:
  float16 kernel_{};
  float16 square_{};
  int16 exponents_{};
  float16 mantissas_ = broadcast<float16>(1.0f);
};

// The pairs (i, j) with j > i and j in [begin, end), which starts at a multiple of 16.
template <int D, Shape shape>
void add_pairs_of_point(const Points& points, int64_t i, int64_t begin, int64_t end, Curve curve,
                        PairSums& sums) {
  const Dimensions<D> dimensions(points.dimensions);
  const float* own = points.row(i);
  PairRun run;
  const auto visit = [&](int64_t j, auto add) {
    float16 d2 = broadcast<float16>(kTiny);
    for (int c = 0; c < dimensions; ++c) {
      const float16 difference = load<float16>(points.plane(c) + j) - own[c];
      d2 += difference * difference;
    }
    const Kernel<float16> k = kernel<shape>(d2, curve);
    add(k, rest(k, d2, curve));
  };
  const auto visit_some = [&](int64_t j) {
    const int16 ids = lane_numbers<float16>() + static_cast<int32_t>(j);
    const int16 mask = (ids > static_cast<int32_t>(i)) & (ids < static_cast<int32_t>(end));
    visit(j, [&](const auto& k, float16 r) { run.add_masked(k, r, mask); });
  };
  int64_t j = std::max(begin, (i + 1) / 16 * 16);
  if (j <= i && j < end) {
    visit_some(j);
    j += 16;
  }
  for (; j + 16 <= end; j += 16) visit(j, [&](const auto& k, float16 r) { run.add(k, r); });
  if (j < end) visit_some(j);
  run.flush(sums);
}

template <int D, Shape shape>
PairSums pair_sums(const Points& points, Curve curve, int threads) {
  constexpr int64_t rows = 64;                            // of one chunk
  constexpr int64_t columns = 16 * PairRun::kMaxVectors;  // of one run; they stay in the first-level cache
  std::vector<PairSums> partial((points.n + rows - 1) / rows);
  parallel_ranges(points.n, rows, threads, [&](int64_t first, int64_t last) {
    PairSums sums;
    for (int64_t begin = first / columns * columns; begin < points.n; begin += columns)
      for (int64_t i = first; i < last; ++i)
        add_pairs_of_point<D, shape>(points, i, begin, std::min(points.n, begin + columns), curve, sums);
    partial[first / rows] = sums;
  });
  PairSums total;
  for (const PairSums& sums : partial) {
    total.kernel += 2 * sums.kernel;
    total.square += 2 * sums.square;
    total.log_rest += 2 * sums.log_rest;
  }
  return total;
}

// The edges of points [first, last), eight at a time; lanes beyond the last edge of a point have weight 0.
template <Shape shape>
EdgeSums edge_sums_of_points(const Points& points, const GraphView& graph, int64_t first, int64_t last,
                             Curve curve) {
  EdgeSums sums;
  for (int64_t i = first; i < last; ++i) {
    for (int64_t edge = graph.offsets[i]; edge < graph.offsets[i + 1]; edge += 8) {
      const int count = static_cast<int>(std::min<int64_t>(8, graph.offsets[i + 1] - edge));
      float8 d2 = broadcast<float8>(kTiny);
      for (int lane = 0; lane < count; ++lane) {
        const float* other = points.row(graph.indices[edge + lane]);
        for (int c = 0; c < points.dimensions; ++c) {
          const float difference = points.row(i)[c] - other[c];
          d2[lane] += difference * difference;
        }
      }
      const Kernel<float8> k = kernel<shape>(d2, curve);
      const float8 one_minus_q = rest(k, d2, curve);
      for (int lane = 0; lane < count; ++lane) {
        const double weight = graph.weights[edge + lane];
        sums.kernel += weight * k.q[lane];
        sums.log_kernel += weight * log_kernel(d2[lane], k.q[lane], curve);
        sums.log_rest += weight * std::log(static_cast<double>(one_minus_q[lane]));
      }
    }
  }
  return sums;
}

template <Shape shape>
EdgeSums edge_sums(const Points& points, const GraphView& graph, Curve curve, int threads) {
  constexpr int64_t rows = 1024;
  std::vector<EdgeSums> partial((points.n + rows - 1) / rows);
  parallel_ranges(points.n, rows, threads, [&](int64_t first, int64_t last) {
    partial[first / rows] = edge_sums_of_points<shape>(points, graph, first, last, curve);
  });
  EdgeSums total;
  for (const EdgeSums& sums : partial) {
    total.kernel += sums.kernel;
    total.log_kernel += sums.log_kernel;
    total.log_rest += sums.log_rest;
  }
  return total;
}

// A map that the sums read: n x dimensions floats.
inline Points points_of_map(const float* rows, int64_t n, int dimensions) {
  Points points(n, dimensions, 0);
  std::copy_n(rows, n * dimensions, points.rows.begin());
  points.copy_rows_to_planes(0, n);
  return points;
}

inline PairSums pair_sums(const Points& points, Curve curve, int threads) {
  return with_shape(curve, [&](auto shape) {
    switch (points.dimensions) {
      case 2:
        return pair_sums<2, shape()>(points, curve, threads);
      case 3:
        return pair_sums<3, shape()>(points, curve, threads);
      default:
        return pair_sums<0, shape()>(points, curve, threads);
    }
  });
}

inline EdgeSums edge_sums(const Points& points, const GraphView& graph, Curve curve, int threads) {
  return with_shape(curve, [&](auto shape) { return edge_sums<shape()>(points, graph, curve, threads); });
}

}  // namespace actup
