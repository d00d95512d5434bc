// The CPU's metrics: how two rows' columns add up to a distance. (The GPU has its own, in
// kernels/rows.cu and scan.cu.)
//
// A metric is a sum over columns, taken over rows that may have been brought to another form first:
//
//   euclidean, manhattan, chebyshev   rows as they are
//   minkowski, canberra, hamming      rows as they are
//   braycurtis                        rows as they are; the ratio of two sums
//   cosine                            rows divided by their length; 1 - cos = |u - v|²/2 has no cancellation
//   correlation                       the same after subtracting each row's mean
//   hellinger                         cosine of the square roots; the distance is the root of 1 - cos
//   softmax_hellinger                 hellinger of e^x: the roots are e^(x/2)
//   inner_product                     M - <x, y>, M the largest squared length: |u - v|²/2 after two more
//                                     columns, (√(M - |x|²), 0) for points and (0, √(M - |x|²)) for queries;
//                                     of a query longer than all points, M is the mean of both squares
//   jaccard and the others below      which columns are not zero: counts, see presence_distance()
//
// A row of length zero has no direction. It is at distance 0 from other such rows, because equal rows always
// are, and at distance 1 from all others (scikit-learn agrees on the latter, says 1 for the former; SciPy
// says nan to both). One more column does it: 1 in rows of length zero, else 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/vectors.h"

namespace actup {

enum class Metric {
  euclidean,
  manhattan,
  chebyshev,
  cosine,
  correlation,
  hellinger,
  softmax_hellinger,
  inner_product,
  minkowski,
  canberra,
  hamming,
  braycurtis,
  jaccard,
  dice,
  matching,
  kulsinski,
  rogerstanimoto,
  russellrao,
  sokalmichener,
  sokalsneath,
  yule,
};

inline constexpr bool uses_directions(Metric metric) {
  return metric == Metric::cosine || metric == Metric::correlation || metric == Metric::hellinger ||
         metric == Metric::softmax_hellinger;
}
inline constexpr bool uses_presence(Metric metric) { return metric >= Metric::jaccard; }
// Whether distances grow with the rows.
inline constexpr bool has_unit(Metric metric) {
  return metric == Metric::euclidean || metric == Metric::manhattan || metric == Metric::chebyshev ||
         metric == Metric::minkowski || metric == Metric::inner_product;
}

// A power of two that brings values up to `largest` near 1.
inline float unit_for(float largest) {
  return largest > 0 ? std::ldexp(1.0f, std::clamp(-std::ilogb(largest), -120, 120)) : 1.0f;
}

// Of floats or vectors of them.
template <class T>
inline T larger(T x, T y) {
  return x > y ? x : y;
}
inline float magnitude(float x) { return __builtin_fabsf(x); }
inline double magnitude(double x) { return __builtin_fabs(x); }
template <class Vector>
inline Vector magnitude(Vector x) {
  return std::bit_cast<Vector>(std::bit_cast<typename Traits<Vector>::Ints>(x) & 0x7FFFFFFF);
}
inline double where(bool condition, double value) { return condition ? value : 0; }
inline double power(double x, float b) { return std::pow(x, static_cast<double>(b)); }

// What inner products with a query are taken from: none is larger.
inline double largest_product(double longest, double query_square) {
  return (longest + (query_square > longest ? query_square : longest)) / 2;
}

// A Sum adds up columns: add(state, x, y) is the state with one more column, join(a, b) that of the columns
// of both, value(state) what is compared; T is a number or a vector of them. If it grows, a pair whose value
// has passed a bound is beyond it for good. A sum of differences depends on x - y alone.
struct PlainSum {
  static constexpr bool kGrows = true;
  static constexpr bool kOfDifferences = true;
  template <class T>
  using State = T;
  template <class T>
  T join(T a, T b) const {
    return a + b;
  }
  template <class T>
  T value(T state) const {
    return state;
  }
};

struct SquaredDifferences : PlainSum {
  template <class T>
  T add(T sum, T x, T y) const {
    const T difference = x - y;
    return sum + difference * difference;
  }
};

struct AbsoluteDifferences : PlainSum {
  template <class T>
  T add(T sum, T x, T y) const {
    return sum + magnitude(x - y);
  }
};

struct LargestDifference : PlainSum {
  template <class T>
  T add(T sum, T x, T y) const {
    return larger(sum, magnitude(x - y));
  }
  template <class T>
  T join(T a, T b) const {
    return larger(a, b);
  }
};

struct PoweredDifferences : PlainSum {
  float exponent, unit;  // what multiplies differences first
  float least;           // whose power is a normal float
  explicit PoweredDifferences(float p, float unit = 1)
      : exponent(p), unit(unit), least(std::max(1e-30f, std::exp2(-125 / p))) {}
  template <class T>
  T add(T sum, T x, T y) const {
    const T difference = magnitude(x - y) * unit;
    return sum + where(difference > least, power(difference, exponent));
  }
};

struct RelativeDifferences : PlainSum {  // canberra
  static constexpr bool kOfDifferences = false;
  template <class T>
  T add(T sum, T x, T y) const {
    const T total = magnitude(x) + magnitude(y);
    return sum + where(total > 0.0f, magnitude(x - y) / total);
  }
};

struct UnequalColumns : PlainSum {  // hamming
  static constexpr bool kOfDifferences = false;
  template <class T>
  T add(T sum, T x, T y) const {
    return sum + where(x != y, x - x + 1.0f);
  }
};

struct DifferencesOverSums {  // braycurtis
  static constexpr bool kGrows = false;
  static constexpr bool kOfDifferences = false;
  template <class T>
  struct State {
    T differences, totals;
  };
  template <class T>
  State<T> add(State<T> sums, T x, T y) const {
    return {sums.differences + magnitude(x - y), sums.totals + magnitude(x + y)};
  }
  template <class T>
  State<T> join(State<T> a, State<T> b) const {
    return {a.differences + b.differences, a.totals + b.totals};
  }
  template <class T>
  T value(State<T> sums) const {
    return where(sums.totals > 0.0f, sums.differences / sums.totals);
  }
};

// Gives function(sum) the Sum of a metric of columns; `p` is minkowski's.
template <class Function>
auto with_sum(Metric metric, float p, const Function& function) {
  switch (metric) {
    case Metric::manhattan:
      return function(AbsoluteDifferences{});
    case Metric::chebyshev:
      return function(LargestDifference{});
    case Metric::minkowski:
      return function(PoweredDifferences{p});
    case Metric::canberra:
      return function(RelativeDifferences{});
    case Metric::hamming:
      return function(UnequalColumns{});
    case Metric::braycurtis:
      return function(DifferencesOverSums{});
    default:
      return function(SquaredDifferences{});
  }
}

// The distance a finished sum stands for.
inline float distance_of(Metric metric, float sum, int64_t columns = 1, float p = 2) {
  switch (metric) {
    case Metric::euclidean:
      return __builtin_sqrtf(sum);
    case Metric::cosine:
    case Metric::correlation:
    case Metric::inner_product:
      return sum / 2;
    case Metric::hellinger:
    case Metric::softmax_hellinger:
      return __builtin_sqrtf(sum / 2);
    case Metric::hamming:
      return sum / static_cast<float>(columns);
    case Metric::minkowski:
      return std::pow(sum, 1 / p);
    default:
      return sum;
  }
}

// The distance between two rows of which x and y columns are not zero, `both` of them in both; umap-learn's
// definitions, so equal rows are at distance 0 (of SciPy's russellrao and kulsinski they are not).
inline float presence_distance(Metric metric, float both, float x, float y, float columns) {
  const float only_x = x - both, only_y = y - both, unequal = only_x + only_y;
  if (unequal == 0) return 0;
  switch (metric) {
    case Metric::jaccard:
      return unequal / (unequal + both);
    case Metric::dice:
      return unequal / (unequal + 2 * both);
    case Metric::matching:
      return unequal / columns;
    case Metric::kulsinski:
      return (unequal - both + columns) / (unequal + columns);
    case Metric::russellrao:
      return (columns - both) / columns;
    case Metric::sokalsneath:
      return unequal / (unequal + both / 2);
    case Metric::yule:
      if (only_x * only_y == 0) return 0;
      return 2 * only_x * only_y / (both * (columns - both - unequal) + only_x * only_y);
    default:  // rogerstanimoto, sokalmichener
      return 2 * unequal / (columns + unequal);
  }
}

}  // namespace actup
