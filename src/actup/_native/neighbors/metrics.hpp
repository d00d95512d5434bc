// The table of the CPU's metrics: the enum, its Python names, the facts and the formulas are generated from
// it. (The GPU has its own formulas, in backends/_cuda/kernels/rows.cu and scan.cu.)
//
// To add a metric of columns: write its Sum in column_sums.hpp, unless one fits, and add a row to
// ACTUP_COLUMN_METRICS. To add a presence metric: add a row to ACTUP_PRESENCE_METRICS.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "neighbors/column_sums.hpp"

namespace actup {

// What rows are transformed to before their columns are compared.
//
// A direction is a row divided by its norm: 1 - cos = |u - v|²/2 has no cancellation. A row of zeros has no
// direction. It is at distance 0 from other such rows, because equal rows always are, and at distance 1 from
// all others. (scikit-learn agrees on the latter and says 1 for the former; SciPy says nan to both.) One more
// column achieves this: 1 in rows of zeros, 0 in others.
//
// Equal norms make M - <x, y>, with M the largest squared norm of a point, a squared difference |u - v|²/2:
// two more columns hold (√(M - |x|²), 0) in points and (0, √(M - |x|²)) in queries. For a query with a larger
// norm than all points, M is the mean of both squared norms.
enum class Transform {
  none,
  direction,
  centered_direction,     // the direction after subtracting the row's mean
  root_direction,         // the direction of the square roots
  exponential_direction,  // the direction of e^(x/2)
  equal_norm,
  presence,  // which columns are nonzero
};

// clang-format off

// ROW(name, Transform, whether distances scale with the rows, Sum over columns, distance). The Sum may use
// `p` (minkowski's) and `scale`; the distance is a formula of `sum`, `columns` (their number) and `p`.
#define ACTUP_COLUMN_METRICS(ROW)                                                                              \
  ROW(euclidean,         none,                  true,  SquaredDifferences{},         __builtin_sqrtf(sum))     \
  ROW(manhattan,         none,                  true,  AbsoluteDifferences{},        sum)                      \
  ROW(chebyshev,         none,                  true,  LargestDifference{},          sum)                      \
  ROW(cosine,            direction,             false, SquaredDifferences{},         sum / 2)                  \
  ROW(correlation,       centered_direction,    false, SquaredDifferences{},         sum / 2)                  \
  ROW(hellinger,         root_direction,        false, SquaredDifferences{},         __builtin_sqrtf(sum / 2)) \
  ROW(softmax_hellinger, exponential_direction, false, SquaredDifferences{},         __builtin_sqrtf(sum / 2)) \
  ROW(inner_product,     equal_norm,            true,  SquaredDifferences{},         sum / 2)                  \
  ROW(minkowski,         none,                  true,  PoweredDifferences(p, scale), minkowski_root(sum, p))   \
  ROW(canberra,          none,                  false, RelativeDifferences{},        sum)                      \
  ROW(hamming,           none,                  false, UnequalColumns{},             sum / columns)            \
  ROW(braycurtis,        none,                  false, DifferencesOverTotals{},      sum)

// ROW(name, distance): a formula of the numbers of columns that are nonzero in `both` rows, in `only_x`, in
// `only_y`, in one of them (`unequal`), and of all `columns`. It is used where unequal > 0. The definitions are
// umap-learn's: equal rows are at distance 0, which is not so for SciPy's russellrao and kulsinski.
#define ACTUP_PRESENCE_METRICS(ROW)                                         \
  ROW(jaccard,        unequal / (unequal + both))                           \
  ROW(dice,           unequal / (unequal + 2 * both))                       \
  ROW(matching,       unequal / columns)                                    \
  ROW(kulsinski,      (unequal - both + columns) / (unequal + columns))     \
  ROW(rogerstanimoto, 2 * unequal / (columns + unequal))                    \
  ROW(russellrao,     (columns - both) / columns)                           \
  ROW(sokalmichener,  2 * unequal / (columns + unequal))                    \
  ROW(sokalsneath,    unequal / (unequal + both / 2))                       \
  ROW(yule,           only_x * only_y == 0 ? 0 : 2 * only_x * only_y /      \
                          (both * (columns - both - unequal) + only_x * only_y))

// clang-format on

enum class Metric {
#define ROW(name, ...) name,
  ACTUP_COLUMN_METRICS(ROW) ACTUP_PRESENCE_METRICS(ROW)
#undef ROW
};

struct MetricFacts {
  const char* name;
  Transform transform;
  bool scales_with_rows;
};

// In the order of the enum.
inline constexpr MetricFacts kMetrics[] = {
#define ROW(name, transform, scales_with_rows, ...) {#name, Transform::transform, scales_with_rows},
    ACTUP_COLUMN_METRICS(ROW)
#undef ROW
#define ROW(name, ...) {#name, Transform::presence, false},
        ACTUP_PRESENCE_METRICS(ROW)
#undef ROW
};

inline constexpr const MetricFacts& facts(Metric metric) { return kMetrics[static_cast<int>(metric)]; }
inline constexpr Transform transform_of(Metric metric) { return facts(metric).transform; }
inline constexpr bool scales_with_rows(Metric metric) { return facts(metric).scales_with_rows; }
inline constexpr bool uses_presence(Metric metric) { return transform_of(metric) == Transform::presence; }
inline constexpr bool uses_directions(Metric metric) {
  return transform_of(metric) >= Transform::direction &&
         transform_of(metric) <= Transform::exponential_direction;
}

[[gnu::noinline]] inline float minkowski_root(float sum, float p) {
  return static_cast<float>(power(static_cast<double>(sum), 1 / static_cast<double>(p)));
}

// Calls function(sum) with the Sum of a metric of columns.
template <class Function>
auto with_sum(Metric metric, float p, const Function& function, [[maybe_unused]] float scale = 1) {
  if (metric == Metric::minkowski && p == 3) return function(CubedDifferences(scale));
  switch (metric) {
#define ROW(name, transform, scales_with_rows, sum, ...) \
  case Metric::name:                                     \
    return function(sum);
    ACTUP_COLUMN_METRICS(ROW)
#undef ROW
    default:
      return function(SquaredDifferences{});
  }
}

// The distance of two rows from the value of their Sum. The value itself for presence metrics.
inline float distance_of(Metric metric, float sum, int64_t column_count = 1, float p = 2) {
  const auto columns = static_cast<float>(column_count);
  switch (metric) {
#define ROW(name, transform, scales_with_rows, sum_of_columns, distance) \
  case Metric::name:                                                     \
    return distance;
    ACTUP_COLUMN_METRICS(ROW)
#undef ROW
    default:
      return sum;
  }
}

// The distance of two rows with x and y nonzero columns, `both` of them in both rows.
inline float presence_distance(Metric metric, float both, float x, float y, float columns) {
  const float only_x = x - both, only_y = y - both, unequal = only_x + only_y;
  if (unequal == 0) return 0;
  switch (metric) {
#define ROW(name, distance) \
  case Metric::name:        \
    return distance;
    ACTUP_PRESENCE_METRICS(ROW)
#undef ROW
    default:
      return 0;
  }
}

// A power of two that scales values up to `largest` to about 1.
inline float power_of_two_scale(float largest) {
  return largest > 0 ? std::ldexp(1.0f, std::clamp(-std::ilogb(largest), -120, 120)) : 1.0f;
}

// An upper bound of the inner products with a query; distances are this bound minus the product.
inline double inner_product_bound(double largest_squared_norm, double query_squared_norm) {
  return (largest_squared_norm +
          (query_squared_norm > largest_squared_norm ? query_squared_norm : largest_squared_norm)) /
         2;
}

}  // namespace actup
