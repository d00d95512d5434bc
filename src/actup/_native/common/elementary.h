// Elementary functions in plain arithmetic, to about one unit in the last place.
//
// The functions of mathematical libraries differ between libraries, and even between processors: glibc's use
// fused multiply-add where there is one. These give the same bits everywhere, because IEEE 754 prescribes the
// result of every operation that they use. On GPUs, whose bits differ anyway, they are the library's.
#pragma once

#include "common/device.h"

#if defined(__CUDACC__)

namespace actup {

ACTUP_DEVICE inline double exponential(double x) { return exp(x); }
ACTUP_DEVICE inline double natural_logarithm(double x) { return log(x); }
ACTUP_DEVICE inline double power(double x, double y) { return pow(x, y); }
ACTUP_DEVICE inline double cosine(double x) { return cos(x); }
ACTUP_DEVICE inline double sine(double x) { return sin(x); }

}  // namespace actup

#else

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace actup {

// The polynomial with `count` coefficients from coefficients[first] on, lowest power first, in Estrin's form,
// whose dependency chains are short. powers: x, x^2, x^4, x^8, ... as far as they are needed.
template <int first, int count, class Coefficient, class Real>
[[gnu::always_inline]] inline Real polynomial(const Coefficient* coefficients, const Real* powers) {
  if constexpr (count == 1) {
    return coefficients[first] - Real{};
  } else if constexpr (count == 2) {
    return coefficients[first] + coefficients[first + 1] * powers[0];
  } else {
    constexpr int half = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
    constexpr int power = std::countr_zero(static_cast<unsigned>(half));
    if constexpr (count - half == 1) {
      return polynomial<first, half>(coefficients, powers) + coefficients[first + half] * powers[power];
    } else {
      return polynomial<first, half>(coefficients, powers) +
             polynomial<first + half, count - half>(coefficients, powers) * powers[power];
    }
  }
}

// The same for an array, at x.
template <int count, class Coefficient, class Real>
[[gnu::always_inline]] inline Real polynomial(const Coefficient (&coefficients)[count], const Real& x) {
  Real powers[8] = {x};
#pragma GCC unroll 8
  for (int at = 1; (1 << at) < count; ++at) powers[at] = powers[at - 1] * powers[at - 1];
  return polynomial<0, count>(coefficients, powers);
}

// n * kLn2High is exact for whole numbers n up to 2^20.
constexpr double kLn2High = 0x1.62e42fefp-1, kLn2Low = 7.440617110012397e-11;
constexpr double kLog2E = 1.4426950408889634;
constexpr double kRoundingMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer

// e^r = 1 + r + r^2 times this polynomial for |r| <= ln(2)/2, to 2e-17.
constexpr double kExponentialSeries[] = {
    0.5000000000000001,    0.16666666666666669,    0.04166666666662374,    0.008333333333330032,
    0.0013888888917406447, 0.00019841269863201828, 2.4801520996825697e-05, 2.7557268229963227e-06,
    2.76202305675069e-07,  2.5100494788905042e-08};

// 2^n for -1022 <= n <= 1023.
inline double power_of_two(int n) { return std::bit_cast<double>(static_cast<int64_t>(n + 1023) << 52); }

// e^(x + low), where |low| is small next to 1.
inline double exponential_of_sum(double x, double low) {
  const double shifted = x * kLog2E + kRoundingMagic, n = shifted - kRoundingMagic;
  const double high = x - n * kLn2High, rest = n * kLn2Low - low, r = high - rest;
  const double lost = (high - r) - rest;
  const double value = 1 + (r + (lost + r * r * polynomial(kExponentialSeries, r)));
  if (std::fabs(x) < 708)
    return value * std::bit_cast<double>((std::bit_cast<int64_t>(shifted) + 1023) << 52);
  if (x != x) return x;
  if (x > 709.8) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  const int whole = static_cast<int>(n), half = whole / 2;  // 2^whole itself may be out of range
  return value * power_of_two(half) * power_of_two(whole - half);
}
inline double exponential(double x) { return exponential_of_sum(x, 0); }

// x > 0 as mantissa * 2^exponent, sqrt(1/2) <= mantissa < sqrt(2).
struct MantissaAndExponent {
  double mantissa;
  double exponent;
};
inline MantissaAndExponent mantissa_and_exponent(double x) {
  const bool subnormal = x < 0x1p-1022;
  const auto bits = std::bit_cast<int64_t>(subnormal ? x * 0x1p54 : x);
  const int64_t exponent = (bits - 0x3FE6A09E667F3BCD) >> 52;
  return {std::bit_cast<double>(bits - exponent * (int64_t{1} << 52)),
          static_cast<double>(exponent - (subnormal ? 54 : 0))};
}

// log((1 + s)/(1 - s)) = 2 s + s^3 times this series in s^2.
constexpr double kLogarithmSeries[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                       2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};

// What is left to add to f for log(1 + f), -0.3 < f < 0.42.
inline double logarithm_correction(double f) {
  const double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
  return s * (half_square + z * polynomial(kLogarithmSeries, z)) - half_square;
}

// The natural logarithm; not a number for x < 0.
inline double natural_logarithm(double x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : x - x + std::sqrt(-1.0);
  if (x > std::numeric_limits<double>::max()) return x;
  const auto [mantissa, exponent] = mantissa_and_exponent(x);
  const double f = mantissa - 1;
  return exponent * kLn2High + ((exponent * kLn2Low + logarithm_correction(f)) + f);
}

// log2 x, exact for powers of two.
inline double binary_logarithm(double x) {
  const auto [mantissa, exponent] = mantissa_and_exponent(x);
  const double f = mantissa - 1;
  return exponent + (f + logarithm_correction(f)) * kLog2E;
}

// log(1 + x) for x > -1.
inline double logarithm_of_one_plus(double x) {
  const double sum = 1 + x;
  return natural_logarithm(sum) + (x - (sum - 1)) / sum;
}

// A number as an unevaluated sum.
struct Parts {
  double high;
  double low;
};

// The exact product, for numbers far from overflow and underflow.
inline Parts exact_product(double a, double b) {
  const auto upper_half = [](double x) {
    const double shifted = x * 134217729;  // 2^27 + 1
    return shifted - (shifted - x);
  };
  const double product = a * b, a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

// The natural logarithm of x > 0, with about ten more bits than a double has.
inline Parts logarithm_parts(double x) {
  const auto [mantissa, exponent] = mantissa_and_exponent(x);
  const double f = mantissa - 1, divisor = 2 + f, divisor_low = f - (divisor - 2);
  const double s = f / divisor;
  const Parts product = exact_product(s, divisor);
  const double s_low = ((f - product.high) - product.low - s * divisor_low) / divisor, z = s * s;
  const double first = exponent * kLn2High, high = first + 2 * s;
  const double low =
      ((first - high) + 2 * s) + (exponent * kLn2Low + (2 * s_low + s * z * polynomial(kLogarithmSeries, z)));
  return {high + low, (high - (high + low)) + low};
}

// x^y for x >= 0. The relative error grows with |y log x|, to 1e-15 where the result leaves the range.
[[gnu::noinline]] inline double power(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (y == 0.5) return std::sqrt(x);
  if (y == 1) return x;
  if (y == 1.5) return x * std::sqrt(x);
  if (y == 2) return x * x;
  if (y == 3) return x * x * x;
  if (x == 0) return y > 0 ? 0 : std::numeric_limits<double>::infinity();
  const Parts logarithm = logarithm_parts(x), product = exact_product(y, logarithm.high);
  return exponential_of_sum(product.high, product.low + y * logarithm.low);
}

struct CosineAndSine {
  double cosine;
  double sine;
};

[[gnu::noinline]] inline CosineAndSine cosine_and_sine(double x) {
  // Angles so large that a unit in their last place is 1e-10 and more may lose what is below that.
  if (std::fabs(x) > 1e6) x = std::remainder(x, 6.283185307179586);             // which is exact
  const double n = (x * 0.6366197723675814 + kRoundingMagic) - kRoundingMagic;  // quarters of a turn
  // pi/2 in three parts: the products of n with the first two are exact.
  const double r = ((x - n * 1.5707963267341256) - n * 6.077100506303966e-11) - n * 2.0222662487959506e-21;
  constexpr double even[] = {1 / 24.0,        -1 / 720.0,         1 / 40320.0,         -1 / 3628800.0,
                             1 / 479001600.0, -1 / 87178291200.0, 1 / 20922789888000.0};
  constexpr double odd[] = {-1 / 6.0,        1 / 120.0,        -1 / 5040.0,          1 / 362880.0,
                            -1 / 39916800.0, 1 / 6227020800.0, -1 / 1307674368000.0, 1 / 355687428096000.0};
  const double z = r * r, half = 0.5 * z, rest = 1 - half;
  const double c = rest + (((1 - rest) - half) + z * z * polynomial(even, z));
  const double s = r + r * z * polynomial(odd, z);
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}
inline double cosine(double x) { return cosine_and_sine(x).cosine; }
inline double sine(double x) { return cosine_and_sine(x).sine; }

// arcsin x = x + x^3 times this series in x^2.
struct ArcsineSeries {
  double coefficients[26];
  constexpr ArcsineSeries() : coefficients{} {
    double binomial = 1;  // (2n)! / (2^n n!)^2
    for (int n = 1; n <= 26; ++n) {
      binomial *= (2 * n - 1) / (2.0 * n);
      coefficients[n - 1] = binomial / (2 * n + 1);
    }
  }
};

// For |x| <= 1.
[[gnu::noinline]] inline double arcsine(double x) {
  constexpr ArcsineSeries series;
  const double size = std::fabs(x);
  const bool small = size <= 0.5;
  const double root = small ? size : std::sqrt((1 - size) / 2), z = root * root;
  const double arc = root + root * z * polynomial(series.coefficients, z);
  const double result = small ? arc : 1.5707963267948966 - (2 * arc - 6.123233995736766e-17);
  return x < 0 ? -result : result;
}

// The inverse of the hyperbolic cosine, for x >= 1.
inline double area_cosine(double x) {
  const double above = x - 1;
  return logarithm_of_one_plus(above + std::sqrt(above * (above + 2)));
}

}  // namespace actup

#endif
