// How the columns of two rows add up: one Sum per formula. metrics.hpp says which metric uses which Sum.
//
// A Sum has, where T is a number or a vector of numbers:
//   State<T>            what is accumulated over the columns
//   add(state, x, y)    the state after one more column
//   combine(a, b)       the state of the columns of both
//   value(state)        the number that is compared
//   kMonotonic          more columns never lower the value, so a pair whose value has passed a bound can be
//                       abandoned
//   kOnlyDifferences    columns add f(x - y), so factors of the columns can multiply the differences
//   kCheap              a column costs so little that rows are not converted to float32 first
#pragma once

#include <algorithm>
#include <bit>

#include "common/elementary.h"
#include "common/vectors.h"

namespace actup {

// The same names for numbers and for vectors of floats.
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
inline double power(double x, float b) { return power(x, static_cast<double>(b)); }

// What most Sums share: the state is the sum itself.
struct PlainSum {
  static constexpr bool kMonotonic = true;
  static constexpr bool kOnlyDifferences = true;
  static constexpr bool kCheap = false;
  template <class T>
  using State = T;
  template <class T>
  T combine(T a, T b) const {
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
  static constexpr bool kCheap = true;
  template <class T>
  T add(T sum, T x, T y) const {
    return sum + magnitude(x - y);
  }
};

struct LargestDifference : PlainSum {
  static constexpr bool kCheap = true;
  template <class T>
  T add(T sum, T x, T y) const {
    return larger(sum, magnitude(x - y));
  }
  template <class T>
  T combine(T a, T b) const {
    return larger(a, b);
  }
};

struct PoweredDifferences : PlainSum {
  float exponent;
  float scale;     // multiplies the differences, so that their powers do not overflow or underflow
  float smallest;  // smaller differences count as 0: their powers would be subnormal
  explicit PoweredDifferences(float p, float scale = 1)
      : exponent(p), scale(scale), smallest(std::max(1e-30f, static_cast<float>(power(2.0, -125.0 / p)))) {}
  template <class T>
  T add(T sum, T x, T y) const {
    const T difference = magnitude(x - y) * scale;
    return sum + where(difference > smallest, power(difference, exponent));
  }
};

// PoweredDifferences with an exponent of 3: products are faster than a power.
struct CubedDifferences : PlainSum {
  float scale, smallest;
  explicit CubedDifferences(float scale = 1)
      : scale(scale), smallest(static_cast<float>(power(2.0, -125.0 / 3))) {}
  template <class T>
  T add(T sum, T x, T y) const {
    const T difference = magnitude(x - y) * scale;
    return sum + where(difference > smallest, difference * difference * difference);
  }
};

struct RelativeDifferences : PlainSum {
  static constexpr bool kOnlyDifferences = false;
  template <class T>
  T add(T sum, T x, T y) const {
    const T total = magnitude(x) + magnitude(y);
    return sum + where(total > 0.0f, magnitude(x - y) / total);
  }
};

struct UnequalColumns : PlainSum {
  static constexpr bool kOnlyDifferences = false;
  template <class T>
  T add(T sum, T x, T y) const {
    return sum + where(x != y, x - x + 1.0f);
  }
};

// The state is not a number: PairDistances and SparseForm handle it separately.
struct DifferencesOverTotals {
  static constexpr bool kMonotonic = false;
  static constexpr bool kOnlyDifferences = false;
  static constexpr bool kCheap = false;
  template <class T>
  struct State {
    T differences, totals;
  };
  template <class T>
  State<T> add(State<T> sums, T x, T y) const {
    return {sums.differences + magnitude(x - y), sums.totals + magnitude(x + y)};
  }
  template <class T>
  State<T> combine(State<T> a, State<T> b) const {
    return {a.differences + b.differences, a.totals + b.totals};
  }
  template <class T>
  T value(State<T> sums) const {
    return where(sums.totals > 0.0f, sums.differences / sums.totals);
  }
};

}  // namespace actup
