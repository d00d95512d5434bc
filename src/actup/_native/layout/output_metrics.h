// Output metrics: distances between points of the map other than the Euclidean one, with their gradients.
//
// A metric is a policy: its number of internal coordinates, the conversion from and to the coordinates of the
// map, the size of its steps, the distance of two points and its gradient with respect to the first one, and
// what keeps a moved point valid. Distances may be energies: what is not above 0 counts as no distance at
// all. docs/layout.md, "Output metrics", is the specification.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/choices.h"
#include "common/elementary.h"

namespace actup {

#define ACTUP_OUTPUT_METRICS(VALUE)                         \
  VALUE(haversine, Haversine)                               \
  VALUE(hyperboloid, Hyperboloid)                           \
  VALUE(spherical_gaussian_energy, SphericalGaussianEnergy) \
  VALUE(diagonal_gaussian_energy, DiagonalGaussianEnergy)   \
  VALUE(gaussian_energy, GaussianEnergy)                    \
  VALUE(manhattan, Manhattan)                               \
  VALUE(chebyshev, Chebyshev)                               \
  VALUE(minkowski, Minkowski)                               \
  VALUE(cosine, Cosine)                                     \
  VALUE(correlation, Correlation)                           \
  VALUE(canberra, Canberra)                                 \
  VALUE(braycurtis, BrayCurtis)
enum class OutputMetric : int { ACTUP_OUTPUT_METRICS(ACTUP_ENUMERATOR) };

constexpr double kPi = 3.141592653589793;
constexpr double kLogTwoPi = 1.8378770664093453;

inline double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }

// The angle of (c, s) from the first axis, from -pi to pi; c^2 + s^2 = 1.
inline double angle_of(double c, double s) {
  if (std::fabs(s) > std::fabs(c)) return s > 0 ? kPi / 2 - arcsine(c) : arcsine(c) - kPi / 2;
  return c >= 0 ? arcsine(s) : (s >= 0 ? kPi : -kPi) - arcsine(s);
}

struct PlainCoordinates {
  static constexpr int kDimensions = 0;  // of the map; 0: any number
  static constexpr double kStep = 0.3;  // factor of all steps, chosen so that learning rate 1 suits the space
  static int internal(int dimensions) { return dimensions; }
  static void from_map(const float* from, double* to, int dimensions) { std::copy_n(from, dimensions, to); }
  static void to_map(const double* from, float* to, int dimensions) {
    for (int c = 0; c < dimensions; ++c) to[c] = static_cast<float>(from[c]);
  }
  static void settle(double*, int) {}
};

// Angles on the unit sphere. The map has the polar angle and the longitude, inside are unit vectors: they
// have no pole at which a small step is a large angle.
struct Haversine {
  static constexpr int kDimensions = 2;
  static constexpr double kStep = 0.03;
  static int internal(int) { return 3; }
  static void from_map(const float* from, double* to, int) {
    const CosineAndSine polar = cosine_and_sine(from[0]), longitude = cosine_and_sine(from[1]);
    to[0] = polar.sine * longitude.cosine;
    to[1] = polar.sine * longitude.sine;
    to[2] = polar.cosine;
  }
  static void to_map(const double* from, float* to, int) {
    const double radius = std::sqrt(from[0] * from[0] + from[1] * from[1]);
    to[0] = static_cast<float>(angle_of(from[2], radius));
    to[1] = radius > 0 ? static_cast<float>(angle_of(from[0] / radius, from[1] / radius)) : 0.0f;
  }
  static void settle(double* x, int) {
    const double length = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (int c = 0; c < 3; ++c) x[c] /= length;
  }
  static double distance(const double* x, const double* y, int, double, double* gradient) {
    double chord2 = 0, product = 0;
    for (int c = 0; c < 3; ++c) {
      chord2 += (x[c] - y[c]) * (x[c] - y[c]);
      product += x[c] * y[c];
    }
    const double half_chord = std::min(std::sqrt(chord2) / 2, 1.0);
    const double sine_of_angle = 2 * half_chord * std::sqrt(1 - half_chord * half_chord);
    const double factor = sine_of_angle > 0 ? 1 / sine_of_angle : 0;  // equal or opposite points: any way
    for (int c = 0; c < 3; ++c) gradient[c] = (product * x[c] - y[c]) * factor;
    return 2 * arcsine(half_chord);
  }
};

// Distances on the hyperboloid of curvature -1: the coordinate that is not in the map is sqrt(1 + |x|^2).
struct Hyperboloid : PlainCoordinates {
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    double xx = 1, yy = 1, xy = 0;
    for (int c = 0; c < n; ++c) {
      xx += x[c] * x[c];
      yy += y[c] * y[c];
      xy += x[c] * y[c];
    }
    const double x0 = std::sqrt(xx), y0 = std::sqrt(yy), inner = std::max(x0 * y0 - xy, 1.0);
    const double root = std::sqrt((inner - 1) * (inner + 1)), factor = root > 0 ? 1 / root : 0;
    for (int c = 0; c < n; ++c) gradient[c] = (x[c] * (y0 / x0) - y[c]) * factor;
    return area_cosine(inner);
  }
};

// Keeps the variances, from column 2 on, so large that no energy is below 0: one of 0 is complete overlap.
inline void keep_variances(double* x, int count, double least) {
  for (int c = 2; c < 2 + count; ++c) x[c] = std::max(std::fabs(x[c]), least);
}
constexpr double kLeastVariance = 0.07957747154594767;        // 1/(4 pi): log(2 pi (v + v)) = 0
constexpr double kLeastTurnedVariance = 0.19947114020071635;  // log det (2 v I) + log(2 pi) = 0

// Minus the logarithm of the overlap of two Gaussians of the plane: columns 0 and 1 are their means.
// Column 2 is the variance.
struct SphericalGaussianEnergy : PlainCoordinates {
  static constexpr int kDimensions = 3;
  static void settle(double* x, int) { keep_variances(x, 1, kLeastVariance); }
  static double distance(const double* x, const double* y, int, double, double* gradient) {
    const double u = x[0] - y[0], v = x[1] - y[1], d2 = u * u + v * v;
    const double variance = x[2] + y[2];
    gradient[0] = u / variance;
    gradient[1] = v / variance;
    gradient[2] = 1 / variance - d2 / (2 * variance * variance);
    return d2 / (2 * variance) + natural_logarithm(variance) + kLogTwoPi;
  }
};

// Columns 2 and 3 are the variances along the axes.
struct DiagonalGaussianEnergy : PlainCoordinates {
  static constexpr int kDimensions = 4;
  static void settle(double* x, int) { keep_variances(x, 2, kLeastVariance); }
  static double distance(const double* x, const double* y, int, double, double* gradient) {
    double energy = kLogTwoPi;
    for (int c = 0; c < 2; ++c) {
      const double u = x[c] - y[c];
      const double variance = x[2 + c] + y[2 + c];
      gradient[c] = u / variance;
      gradient[2 + c] = (1 / variance - u * u / (variance * variance)) / 2;
      energy += (u * u / variance + natural_logarithm(variance)) / 2;
    }
    return energy;
  }
};

// Columns 2 and 3 are the variances along axes that are turned by the angle in column 4.
struct GaussianEnergy : PlainCoordinates {
  static constexpr int kDimensions = 5;
  static void settle(double* x, int) { keep_variances(x, 2, kLeastTurnedVariance); }
  static double distance(const double* x, const double* y, int, double, double* gradient) {
    const double u = x[0] - y[0], v = x[1] - y[1];
    double s11 = 0, s12 = 0, s22 = 0;
    const CosineAndSine turn = cosine_and_sine(x[4]);
    for (const double* point : {x, y}) {
      const CosineAndSine t = point == x ? turn : cosine_and_sine(point[4]);
      const double width = point[2], height = point[3];
      s11 += width * t.cosine * t.cosine + height * t.sine * t.sine;
      s12 += (width - height) * t.sine * t.cosine;
      s22 += width * t.sine * t.sine + height * t.cosine * t.cosine;
    }
    const double determinant = s11 * s22 - s12 * s12;
    // a = S^-1 (u, v), and G = S^-1 - a a^T is the energy's derivative with respect to S.
    const double a1 = (s22 * u - s12 * v) / determinant, a2 = (s11 * v - s12 * u) / determinant;
    const double g11 = s22 / determinant - a1 * a1, g12 = -s12 / determinant - a1 * a2,
                 g22 = s11 / determinant - a2 * a2;
    const double c = turn.cosine, s = turn.sine;
    gradient[0] = 2 * a1;
    gradient[1] = 2 * a2;
    gradient[2] = c * c * g11 + 2 * c * s * g12 + s * s * g22;
    gradient[3] = s * s * g11 - 2 * c * s * g12 + c * c * g22;
    gradient[4] = 2 * (x[2] - x[3]) * (c * s * (g22 - g11) + (c * c - s * s) * g12);
    return u * a1 + v * a2 + natural_logarithm(determinant) + kLogTwoPi;
  }
};

struct Manhattan : PlainCoordinates {
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    double total = 0;
    for (int c = 0; c < n; ++c) {
      total += std::fabs(x[c] - y[c]);
      gradient[c] = sign(x[c] - y[c]);
    }
    return total;
  }
};

struct Chebyshev : PlainCoordinates {
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    int largest = 0;
    for (int c = 0; c < n; ++c) {
      gradient[c] = 0;
      if (std::fabs(x[c] - y[c]) > std::fabs(x[largest] - y[largest])) largest = c;
    }
    gradient[largest] = sign(x[largest] - y[largest]);
    return std::fabs(x[largest] - y[largest]);
  }
};

struct Minkowski : PlainCoordinates {
  static double distance(const double* x, const double* y, int n, double p, double* gradient) {
    double largest = 0, total = 0;  // relative to the largest difference nothing overflows
    for (int c = 0; c < n; ++c) largest = std::max(largest, std::fabs(x[c] - y[c]));
    if (!(largest > 0)) {
      std::fill_n(gradient, n, 0.0);
      return 0;
    }
    for (int c = 0; c < n; ++c) {
      const double ratio = std::fabs(x[c] - y[c]) / largest, powered = power(ratio, p - 1);
      gradient[c] = sign(x[c] - y[c]) * powered;
      total += powered * ratio;
    }
    const double root = power(total, 1 / p), scale = root / total;
    for (int c = 0; c < n; ++c) gradient[c] *= scale;
    return largest * root;
  }
};

// One minus the cosine of the angle at the origin, from `centre_x` and `centre_y` on each axis.
inline double cosine_distance(const double* x, const double* y, int n, double centre_x, double centre_y,
                              double* gradient) {
  double xx = 0, yy = 0, xy = 0;
  for (int c = 0; c < n; ++c) {
    xx += (x[c] - centre_x) * (x[c] - centre_x);
    yy += (y[c] - centre_y) * (y[c] - centre_y);
    xy += (x[c] - centre_x) * (y[c] - centre_y);
  }
  if (!(xx > 0 && yy > 0)) {
    std::fill_n(gradient, n, 0.0);
    return xx > 0 || yy > 0 ? 1 : 0;
  }
  const double scale = 1 / (std::sqrt(xx) * std::sqrt(yy)), cosine = xy * scale;
  for (int c = 0; c < n; ++c) gradient[c] = cosine * (x[c] - centre_x) / xx - (y[c] - centre_y) * scale;
  return std::max(1 - cosine, 0.0);
}

struct Cosine : PlainCoordinates {
  static constexpr double kStep = 0.1;
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    return cosine_distance(x, y, n, 0, 0, gradient);
  }
};

struct Correlation : PlainCoordinates {  // the gradient of the centred vectors has mean 0 by itself
  static constexpr double kStep = 0.1;
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    double mean_x = 0, mean_y = 0;
    for (int c = 0; c < n; ++c) {
      mean_x += x[c];
      mean_y += y[c];
    }
    return cosine_distance(x, y, n, mean_x / n, mean_y / n, gradient);
  }
};

struct Canberra : PlainCoordinates {
  static constexpr double kStep = 0.1;
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    double total = 0;
    for (int c = 0; c < n; ++c) {
      const double size = std::fabs(x[c]) + std::fabs(y[c]), difference = std::fabs(x[c] - y[c]);
      gradient[c] = size > 0 ? sign(x[c] - y[c]) / size - difference * sign(x[c]) / (size * size) : 0.0;
      total += size > 0 ? difference / size : 0.0;
    }
    return total;
  }
};

struct BrayCurtis : PlainCoordinates {
  static constexpr double kStep = 0.1;
  static double distance(const double* x, const double* y, int n, double, double* gradient) {
    double differences = 0, sums = 0;
    for (int c = 0; c < n; ++c) {
      differences += std::fabs(x[c] - y[c]);
      sums += std::fabs(x[c] + y[c]);
    }
    const double result = sums > 0 ? differences / sums : 0.0;
    for (int c = 0; c < n; ++c)
      gradient[c] = sums > 0 ? (sign(x[c] - y[c]) - result * sign(x[c] + y[c])) / sums : 0.0;
    return result;
  }
};

// The internal coordinates of a point of the map.
template <class Metric>
inline void read_point(const float* from, double* to, int dimensions) {
  Metric::from_map(from, to, dimensions);
  Metric::settle(to, Metric::internal(dimensions));
}

// Calls choose(policy) with the policy of a metric.
template <class Choose>
inline auto with_output_metric(OutputMetric metric, const Choose& choose) {
  switch (metric) {
#define ACTUP_CHOOSE(...) ACTUP_CHOOSE_POLICY(OutputMetric, __VA_ARGS__)
    ACTUP_OUTPUT_METRICS(ACTUP_CHOOSE)
#undef ACTUP_CHOOSE
  }
  __builtin_unreachable();
}

}  // namespace actup
