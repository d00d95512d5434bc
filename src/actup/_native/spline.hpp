// Cubic B-splines: how a point is spread over the four nearest grid lines of each direction, and read back.
#pragma once

#include <cmath>

#include "vectors.h"

namespace actup {

// The weights of the grid lines i - 1 ... i + 2 for a point at i + t, 0 <= t < 1.
inline float4 spline_weights(float t) {
  constexpr float4 c0 = {1 / 6.0f, 4 / 6.0f, 1 / 6.0f, 0.0f}, c1 = {-0.5f, 0.0f, 0.5f, 0.0f};
  constexpr float4 c2 = {0.5f, -1.0f, 0.5f, 0.0f}, c3 = {-1 / 6.0f, 0.5f, -0.5f, 1 / 6.0f};
  return c0 + t * (c1 + t * (c2 + t * c3));
}

// Their derivatives by t.
inline float4 spline_slopes(float t) {
  constexpr float4 c0 = {-0.5f, 0.0f, 0.5f, 0.0f}, c1 = {1.0f, -2.0f, 1.0f, 0.0f};
  constexpr float4 c2 = {-0.5f, 1.5f, -1.5f, 0.5f};
  return c0 + t * (c1 + t * c2);
}

// The square of the spline's spectrum at an angular frequency per grid line.
inline double spline_spectrum_squared(double k) {
  return std::abs(k) < 1e-9 ? 1.0 : std::pow(std::sin(k / 2) / (k / 2), 8);
}

// Sums over all aliases k + 2 pi m: of the squared spectrum, and of (k + 2 pi m)^2 times it.
inline double spline_alias_sum(double k) {
  return (2416 + 2382 * std::cos(k) + 240 * std::cos(2 * k) + 2 * std::cos(3 * k)) / 5040;
}
inline double spline_alias_slope(double k) {
  return (2 - 2 * std::cos(k)) * (66 + 52 * std::cos(k) + 2 * std::cos(2 * k)) / 120;
}

}  // namespace actup
