// The metrics: how two rows' columns add up to a distance. Serves CPU and GPU.
//
// A metric is one of three sums over columns, taken over rows that may have been brought to another form
// first (neighbors_exact.hpp does it while it packs them):
//
//   euclidean, manhattan, chebyshev   rows as they are
//   cosine                            rows divided by their length; 1 - cos = |u - v|²/2 has no cancellation
//   correlation                       the same after subtracting each row's mean
//
// A row of length zero has no direction. It is at distance 0 from other such rows, because equal rows always
// are, and at distance 1 from all others (scikit-learn agrees on the latter, says 1 for the former; SciPy
// says nan to both). One more column does it: 1 in rows of length zero, else 0.
#pragma once

#include "vectors.h"

namespace actup {

enum class Metric { euclidean, manhattan, chebyshev, cosine, correlation };

inline constexpr bool uses_directions(Metric metric) {
  return metric == Metric::cosine || metric == Metric::correlation;
}

// Of floats or vectors of them.
template <class T>
inline T larger(T x, T y) {
  return x > y ? x : y;
}
inline float magnitude(float x) { return __builtin_fabsf(x); }
template <class Vector>
inline Vector magnitude(Vector x) {
  return std::bit_cast<Vector>(std::bit_cast<typename Traits<Vector>::Ints>(x) & 0x7FFFFFFF);
}

// add(sum, x, y): the sum with one more column; join(a, b): two such sums of different columns. Neither ever
// makes a sum smaller, so a pair whose sum has passed a bound is beyond it for good. T is a float or a
// vector.
struct SquaredDifferences {
  template <class T>
  static T add(T sum, T x, T y) {
    const T difference = x - y;
    return sum + difference * difference;
  }
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
};

struct AbsoluteDifferences {
  template <class T>
  static T add(T sum, T x, T y) {
    return sum + magnitude(x - y);
  }
  template <class T>
  static T join(T a, T b) {
    return a + b;
  }
};

struct LargestDifference {
  template <class T>
  static T add(T sum, T x, T y) {
    return larger(sum, magnitude(x - y));
  }
  template <class T>
  static T join(T a, T b) {
    return larger(a, b);
  }
};

// The distance a finished sum stands for.
inline float distance_of(Metric metric, float sum) {
  if (uses_directions(metric)) return sum / 2;
  return metric == Metric::euclidean ? __builtin_sqrtf(sum) : sum;
}

}  // namespace actup
