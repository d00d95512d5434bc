// HalfTransform: fast Fourier transforms of sequences whose upper half is zero, several side by side.
//
// A vector holds the same element of several sequences, so no lane ever needs another. The upper half of the
// input is never stored or read: the first stage of a transform (radix 8) knows that it is zero, and the last
// stage of an inverse computes only the lower half of the output. The stages between split a transform into
// eight short ones that fit the first-level cache. Frequencies stay in the order in which the stages leave
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "common/elementary.h"
#include "common/vectors.h"

namespace actup {

// As wide as a register.
#if defined(__AVX512F__)
using Lanes = float16;
#elif defined(__AVX__)
using Lanes = float8;
#else
using Lanes = float4;
#endif
constexpr int kLanes = Traits<Lanes>::lanes;

struct Complex {
  Lanes re, im;
};

inline Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(float s, const Complex& a) { return {s * a.re, s * a.im}; }

// Multiplies by -i, or by i in an inverse transform.
template <bool inverse>
inline Complex times_i(const Complex& a) {
  if constexpr (inverse) return {-a.im, a.re};
  return {a.im, -a.re};
}

// Multiplies by w = (cos, sin), or by its conjugate in an inverse transform.
template <bool inverse>
inline Complex rotate(const Complex& a, const float* w) {
  if constexpr (inverse) return {a.re * w[0] + a.im * w[1], a.im * w[0] - a.re * w[1]};
  return {a.re * w[0] - a.im * w[1], a.im * w[0] + a.re * w[1]};
}

// The transform of 2, 3, 4 or 5 elements, in place.
template <int radix, bool inverse>
inline void butterfly(Complex* v) {
  static_assert(radix >= 2 && radix <= 5);
  if constexpr (radix == 2) {
    const Complex a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  } else if constexpr (radix == 3) {
    const Complex sum = v[1] + v[2], difference = 0.866025404f * times_i<inverse>(v[1] - v[2]);
    const Complex rest = v[0] - 0.5f * sum;
    v[0] = v[0] + sum;
    v[1] = rest + difference;
    v[2] = rest - difference;
  } else if constexpr (radix == 4) {
    const Complex a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = times_i<inverse>(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
  } else {
    constexpr float cos1 = 0.309016994f, cos2 = -0.809016994f, sin1 = 0.951056516f, sin2 = 0.587785252f;
    const Complex p1 = v[1] + v[4], m1 = v[1] - v[4], p2 = v[2] + v[3], m2 = v[2] - v[3];
    const Complex a = v[0] + cos1 * p1 + cos2 * p2, b = times_i<inverse>(sin1 * m1 + sin2 * m2);
    const Complex c = v[0] + cos2 * p1 + cos1 * p2, d = times_i<inverse>(sin2 * m1 - sin1 * m2);
    v[0] = v[0] + p1 + p2;
    v[1] = a + b;
    v[2] = c + d;
    v[3] = c - d;
    v[4] = a - b;
  }
}

// Transforms 2 * size elements, the upper half of which is zero; an inverse transform computes the lower half
// only. `size` is four times a product of powers of 2, 3 and 5: see smooth_size().
class HalfTransform {
 public:
  explicit HalfTransform(int size) : size_(size), part_(size / 4), first_(twiddles(2 * size, 8)) {
    std::vector<int> radices;
    int rest = part_;
    for (int radix : {5, 3, 4, 2})
      for (; rest % radix == 0; rest /= radix) radices.push_back(radix);
    int length = part_;
    places_.assign(1, 0);
    for (int radix : radices) {
      stages_.push_back({radix, length, twiddles(length, radix)});
      length /= radix;
    }
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {  // from the shortest block up
      const int inner = stage->length / stage->radix;
      std::vector<int> longer(stage->length);
      for (int k = 0; k < stage->length; ++k)
        longer[k] = k % stage->radix * inner + places_[k / stage->radix];
      places_ = std::move(longer);
    }
  }

  // The smallest accepted size >= wanted, at least 64.
  static int smooth_size(int wanted) {
    for (int size = std::max(64, (wanted + 3) / 4 * 4);; size += 4) {
      int rest = size;
      for (int factor : {2, 3, 5})
        while (rest % factor == 0) rest /= factor;
      if (rest == 1) return size;
    }
  }

  int size() const { return size_; }
  int length() const { return 2 * size_; }

  // Where a spectrum holds frequency k, 0 <= k < length().
  int place(int k) const { return k % 8 * part_ + places_[k / 8]; }

  // input(i) gives element i < size().
  template <class Input>
  void forward(const Input& input, Complex* spectrum) const {
    split(input, spectrum);
    for (int block = 0; block < 8; ++block) run_forward(spectrum + block * part_);
  }

  // output(i, value) takes element i < size() of the inverse, times length(). Overwrites the spectrum.
  template <class Output>
  void inverse(Complex* spectrum, const Output& output) const {
    for (int block = 0; block < 8; ++block) run_inverse(spectrum + block * part_);
    merge(spectrum, output);
  }

  // forward(), product with the real `factors` (in the order of the spectrum) and inverse(), of size()
  // elements in place.
  void convolve(Complex* data, const Lanes* factors, Complex* spectrum) const {
    split([data](int i) { return data[i]; }, spectrum);
    for (int block = 0; block < 8; ++block) {
      Complex* part = spectrum + block * part_;
      run_forward(part);
      for (int i = 0; i < part_; ++i) {
        const Lanes factor = factors[block * part_ + i];
        part[i] = {part[i].re * factor, part[i].im * factor};
      }
      run_inverse(part);
    }
    merge(spectrum, [data](int i, const Complex& value) { data[i] = value; });
  }

 private:
  struct Stage {
    int radix;
    int length;  // of the blocks it splits
    std::vector<float> twiddles;
  };

  // exp(-2 pi i p k / length) for p < length / radix, 0 < k < radix.
  static std::vector<float> twiddles(int length, int radix) {
    std::vector<float> w;
    for (int p = 0; p < length / radix; ++p)
      for (int k = 1; k < radix; ++k) {
        const double angle = -2 * std::numbers::pi * p * k / length;
        const auto [cosine, sine] = cosine_and_sine(angle);
        w.push_back(static_cast<float>(cosine));
        w.push_back(static_cast<float>(sine));
      }
    return w;
  }

  static constexpr float kHalfRoot = 0.707106781f;  // cos 45 degrees

  // The first stage: reads the lower half of the input and writes the eight parts.
  template <class Input>
  void split(const Input& input, Complex* spectrum) const {
    for (int p = 0; p < part_; ++p) {
      const float* w = &first_[14 * p];
      Complex even[4], odd[4];
      for (int j = 0; j < 4; ++j) even[j] = input(p + j * part_);
      odd[0] = even[0];
      odd[1] = kHalfRoot * (even[1] + times_i<false>(even[1]));
      odd[2] = times_i<false>(even[2]);
      odd[3] = kHalfRoot * (times_i<false>(even[3]) - even[3]);
      butterfly<4, false>(even);
      butterfly<4, false>(odd);
      spectrum[p] = even[0];
      for (int j = 0; j < 4; ++j) {
        if (j > 0) spectrum[2 * j * part_ + p] = rotate<false>(even[j], w + 4 * j - 2);
        spectrum[(2 * j + 1) * part_ + p] = rotate<false>(odd[j], w + 4 * j);
      }
    }
  }

  // The last stage of an inverse: reads the eight parts and writes the lower half of the output.
  template <class Output>
  void merge(const Complex* spectrum, const Output& output) const {
    for (int p = 0; p < part_; ++p) {
      const float* w = &first_[14 * p];
      Complex even[4], odd[4];
      even[0] = spectrum[p];
      for (int j = 0; j < 4; ++j) {
        if (j > 0) even[j] = rotate<true>(spectrum[2 * j * part_ + p], w + 4 * j - 2);
        odd[j] = rotate<true>(spectrum[(2 * j + 1) * part_ + p], w + 4 * j);
      }
      butterfly<4, true>(even);
      butterfly<4, true>(odd);
      output(p, even[0] + odd[0]);
      output(p + part_, even[1] + kHalfRoot * (odd[1] + times_i<true>(odd[1])));
      output(p + 2 * part_, even[2] + times_i<true>(odd[2]));
      output(p + 3 * part_, even[3] + kHalfRoot * (times_i<true>(odd[3]) - odd[3]));
    }
  }

  // One stage over a part: butterflies, then rotations; in an inverse transform the other way round.
  template <int radix, bool inverse>
  void pass(Complex* part, const Stage& stage) const {
    const int step = stage.length / radix;
    for (int p = 0; p < step; ++p) {
      const float* w = &stage.twiddles[2 * (radix - 1) * p];
      for (Complex* data = part + p; data < part + part_; data += stage.length) {
        Complex v[radix];
        for (int j = 0; j < radix; ++j) v[j] = data[j * step];
        if constexpr (inverse)
          for (int j = 1; j < radix; ++j) v[j] = rotate<true>(v[j], w + 2 * j - 2);
        butterfly<radix, inverse>(v);
        if constexpr (!inverse)
          for (int j = 1; j < radix; ++j) v[j] = rotate<false>(v[j], w + 2 * j - 2);
        for (int j = 0; j < radix; ++j) data[j * step] = v[j];
      }
    }
  }

  template <bool inverse>
  void pass(Complex* part, const Stage& stage) const {
    if (stage.radix == 4) pass<4, inverse>(part, stage);
    if (stage.radix == 2) pass<2, inverse>(part, stage);
    if (stage.radix == 3) pass<3, inverse>(part, stage);
    if (stage.radix == 5) pass<5, inverse>(part, stage);
  }

  void run_forward(Complex* part) const {
    for (const Stage& stage : stages_) pass<false>(part, stage);
  }

  void run_inverse(Complex* part) const {
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) pass<true>(part, *stage);
  }

  int size_;
  int part_;                  // length of the eight short transforms
  std::vector<float> first_;  // twiddles of the first stage
  std::vector<Stage> stages_;
  std::vector<int> places_;  // where a part holds each of its frequencies
};

}  // namespace actup
