// Cubic B-splines: the weights with which a point is spread over the four nearest grid lines of each
// direction, and with which the grid is read back.
#pragma once

#include "common/device.h"
#include "common/elementary.h"
#include "common/vectors.h"

namespace actup {

// The weight of grid line i - 1 + line (line 0 ... 3) for a point at i + t, 0 <= t < 1, is a cubic in t.
// These are the coefficients of t^power of the weight and of its derivative.
ACTUP_DEVICE constexpr float spline_coefficient(int power, int line) {
  constexpr float table[4][4] = {{1 / 6.0f, 4 / 6.0f, 1 / 6.0f, 0.0f},
                                 {-0.5f, 0.0f, 0.5f, 0.0f},
                                 {0.5f, -1.0f, 0.5f, 0.0f},
                                 {-1 / 6.0f, 0.5f, -0.5f, 1 / 6.0f}};
  return table[power][line];
}
ACTUP_DEVICE constexpr float spline_slope_coefficient(int power, int line) {
  constexpr float table[3][4] = {
      {-0.5f, 0.0f, 0.5f, 0.0f}, {1.0f, -2.0f, 1.0f, 0.0f}, {-0.5f, 1.5f, -1.5f, 0.5f}};
  return table[power][line];
}

ACTUP_DEVICE inline float spline_weight(float t, int line) {
  return spline_coefficient(0, line) +
         t * (spline_coefficient(1, line) +
              t * (spline_coefficient(2, line) + t * spline_coefficient(3, line)));
}
ACTUP_DEVICE inline float spline_slope(float t, int line) {
  return spline_slope_coefficient(0, line) +
         t * (spline_slope_coefficient(1, line) + t * spline_slope_coefficient(2, line));
}

#if !defined(__CUDACC__)
// All four lines at once.
inline float4 spline_weights(float t) {
  constexpr float4 c0 = {spline_coefficient(0, 0), spline_coefficient(0, 1), spline_coefficient(0, 2),
                         spline_coefficient(0, 3)};
  constexpr float4 c1 = {spline_coefficient(1, 0), spline_coefficient(1, 1), spline_coefficient(1, 2),
                         spline_coefficient(1, 3)};
  constexpr float4 c2 = {spline_coefficient(2, 0), spline_coefficient(2, 1), spline_coefficient(2, 2),
                         spline_coefficient(2, 3)};
  constexpr float4 c3 = {spline_coefficient(3, 0), spline_coefficient(3, 1), spline_coefficient(3, 2),
                         spline_coefficient(3, 3)};
  return c0 + t * (c1 + t * (c2 + t * c3));
}

inline float4 spline_slopes(float t) {
  constexpr float4 c0 = {spline_slope_coefficient(0, 0), spline_slope_coefficient(0, 1),
                         spline_slope_coefficient(0, 2), spline_slope_coefficient(0, 3)};
  constexpr float4 c1 = {spline_slope_coefficient(1, 0), spline_slope_coefficient(1, 1),
                         spline_slope_coefficient(1, 2), spline_slope_coefficient(1, 3)};
  constexpr float4 c2 = {spline_slope_coefficient(2, 0), spline_slope_coefficient(2, 1),
                         spline_slope_coefficient(2, 2), spline_slope_coefficient(2, 3)};
  return c0 + t * (c1 + t * c2);
}
#endif

// The square of the spline's spectrum at an angular frequency per grid line.
ACTUP_DEVICE inline double spline_spectrum_squared(double k) {
  const double root = fabs(k) < 1e-9 ? 1.0 : sine(k / 2) / (k / 2), square = root * root;
  return square * square * (square * square);
}

// Sums over all aliases k + 2 pi m: of the squared spectrum, and of (k + 2 pi m)^2 times the squared
// spectrum.
ACTUP_DEVICE inline double spline_alias_sum(double k) {
  return (2416 + 2382 * cosine(k) + 240 * cosine(2 * k) + 2 * cosine(3 * k)) / 5040;
}
ACTUP_DEVICE inline double spline_alias_slope(double k) {
  return (2 - 2 * cosine(k)) * (66 + 52 * cosine(k) + 2 * cosine(2 * k)) / 120;
}

// How much two splines that are e grid lines apart overlap at a point, as a cosine series in the point's
// place s in its cell: the coefficient of cos(2 pi p s). Both signs of e are counted.
ACTUP_DEVICE inline double spline_overlap(int e, int p) {
  constexpr int places = 32;
  constexpr double pi = 3.14159265358979323846;
  double series = 0;
  for (int i = 0; i < places; ++i) {
    const float s = static_cast<float>(i) / places;
    for (int j = 0; j + e < 4; ++j)
      series += (e ? 2.0 : 1.0) * (p ? 2.0 : 1.0) / places * spline_weight(s, j) * spline_weight(s, j + e) *
                cosine(2 * pi * p * i / places);
  }
  return series;
}

}  // namespace actup
