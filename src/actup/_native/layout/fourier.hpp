// Convolution of a real grid with an even kernel, free of wrap-around, by fast Fourier transforms.
//
// A vector holds the same element of several rows (or columns), which are transformed side by side, so no
// lane ever needs another. The grid is padded to twice its size in both directions, but the padding is never
// stored or read: the first stage of a transform (radix 8) knows that half of its input is zero, the last one
// of an inverse that half of its output is not wanted. The stages between split a transform into eight short
// ones that fit the first-level cache. Frequencies stay in the order the stages leave them in.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/vectors.h"

namespace actup {

// As wide as a register. The lanes are independent, so the width changes no bit of the result.
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

// Times -i, or i in an inverse transform.
template <bool inverse>
inline Complex turn(const Complex& a) {
  if constexpr (inverse) return {-a.im, a.re};
  return {a.im, -a.re};
}

// Times (cos, sin), or its conjugate in an inverse transform.
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
    const Complex sum = v[1] + v[2], difference = 0.866025404f * turn<inverse>(v[1] - v[2]);
    const Complex rest = v[0] - 0.5f * sum;
    v[0] = v[0] + sum;
    v[1] = rest + difference;
    v[2] = rest - difference;
  } else if constexpr (radix == 4) {
    const Complex a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turn<inverse>(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
  } else {
    constexpr float cos1 = 0.309016994f, cos2 = -0.809016994f, sin1 = 0.951056516f, sin2 = 0.587785252f;
    const Complex p1 = v[1] + v[4], m1 = v[1] - v[4], p2 = v[2] + v[3], m2 = v[2] - v[3];
    const Complex a = v[0] + cos1 * p1 + cos2 * p2, b = turn<inverse>(sin1 * m1 + sin2 * m2);
    const Complex c = v[0] + cos2 * p1 + cos1 * p2, d = turn<inverse>(sin2 * m1 - sin1 * m2);
    v[0] = v[0] + p1 + p2;
    v[1] = a + b;
    v[2] = c + d;
    v[3] = c - d;
    v[4] = a - b;
  }
}

// Transforms of 2 * size elements of which the upper half is zero, and inverse transforms of which only the
// lower half is wanted. `size` is four times a product of 2, 3 and 5: see smooth_size().
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

  // The smallest size >= wanted, at least 64.
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
        w.push_back(static_cast<float>(std::cos(angle)));
        w.push_back(static_cast<float>(std::sin(angle)));
      }
    return w;
  }

  static constexpr float kDiagonal = 0.707106781f;

  template <class Input>
  void split(const Input& input, Complex* spectrum) const {
    for (int p = 0; p < part_; ++p) {
      const float* w = &first_[14 * p];
      Complex even[4], odd[4];
      for (int j = 0; j < 4; ++j) even[j] = input(p + j * part_);
      odd[0] = even[0];
      odd[1] = kDiagonal * (even[1] + turn<false>(even[1]));
      odd[2] = turn<false>(even[2]);
      odd[3] = kDiagonal * (turn<false>(even[3]) - even[3]);
      butterfly<4, false>(even);
      butterfly<4, false>(odd);
      spectrum[p] = even[0];
      for (int j = 0; j < 4; ++j) {
        if (j > 0) spectrum[2 * j * part_ + p] = rotate<false>(even[j], w + 4 * j - 2);
        spectrum[(2 * j + 1) * part_ + p] = rotate<false>(odd[j], w + 4 * j);
      }
    }
  }

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
      output(p + part_, even[1] + kDiagonal * (odd[1] + turn<true>(odd[1])));
      output(p + 2 * part_, even[2] + turn<true>(odd[2]));
      output(p + 3 * part_, even[3] + kDiagonal * (turn<true>(odd[3]) - odd[3]));
    }
  }

  // One stage over a part: butterflies, then rotations; in the inverse rotations, then butterflies.
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
  int part_;  // length of the eight short transforms
  std::vector<float> first_;
  std::vector<Stage> stages_;
  std::vector<int> places_;  // where a part holds its frequencies
};

// The transpose of kLanes vectors, by exchanging ever smaller off-diagonal squares.
template <int step, int... lane>
inline void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, lane...>) {
  const Lanes upper = __builtin_shufflevector(a, b, (lane & step ? kLanes + lane - step : lane)...);
  b = __builtin_shufflevector(a, b, (lane & step ? kLanes + lane : lane + step)...);
  a = upper;
}

template <int step = kLanes / 2>
inline void transpose(Lanes* square) {
  for (int i = 0; i < kLanes; ++i)
    if (!(i & step)) exchange<step>(square[i], square[i + step], std::make_integer_sequence<int, kLanes>{});
  if constexpr (step > 1) transpose<step / 2>(square);
}

// Room for one thread's transforms; kept, because the pool's threads are.
inline Complex* transform_scratch(size_t size) {
  thread_local std::vector<Complex> room;
  if (room.size() < size) room.resize(size);
  return room.data();
}

inline int group_count(int size) { return (size + kLanes - 1) / kLanes; }

// The spectrum of a kernel on a grid of 2 * columns x 2 * rows that is even in both directions, so real:
// value [group * (columns + 1) + l][lane] is at row frequency k = group * kLanes + lane <= rows and column
// frequency l <= columns. sample(row, column) gives the kernel at kLanes columns from `column` on.
template <class Sample>
std::vector<Lanes> even_spectrum(int rows, int columns, const Sample& sample, int threads) {
  const HalfTransform along_columns(rows), along_rows(columns);
  const int row_groups = group_count(rows + 1), column_groups = group_count(columns + 1);
  // An even sequence's transform is twice the real part of its lower half's, the first element halved, plus
  // the middle element with alternating sign. Two vectors share a transform as its real and imaginary part:
  // those with the numbers `group` and `group + pairs`.
  const int column_pairs = (column_groups + 1) / 2, row_pairs = (row_groups + 1) / 2;
  const auto even = [](const HalfTransform& transform, const Complex* spectrum, int k,
                       const Complex& middle) {
    const Complex both =
        spectrum[transform.place(k)] + spectrum[transform.place(k ? transform.length() - k : 0)];
    return k % 2 ? both - middle : both + middle;
  };
  std::vector<Lanes> halfway(static_cast<size_t>(2 * row_pairs) * 2 * column_pairs * kLanes);
  parallel_chunks(column_pairs, threads, [&](int64_t group) {
    Complex* spectrum = transform_scratch(2 * rows);
    const auto both = [&](int row) {
      return Complex{sample(row, static_cast<int>(group) * kLanes),
                     sample(row, static_cast<int>(group + column_pairs) * kLanes)};
    };
    along_columns.forward([&](int r) { return r == 0 ? 0.5f * both(0) : both(r); }, spectrum);
    const Complex middle = both(rows);
    for (int k = 0; k <= rows; ++k) {
      const Complex value = even(along_columns, spectrum, k, middle);
      Lanes* tile = &halfway[((k / kLanes) * 2 * column_pairs + group) * kLanes + k % kLanes];
      tile[0] = value.re;
      tile[column_pairs * kLanes] = value.im;
    }
  });
  std::vector<Lanes> result(static_cast<size_t>(2 * row_pairs) * (columns + 1));
  parallel_chunks(row_pairs, threads, [&](int64_t group) {
    Complex* spectrum = transform_scratch(2 * columns);
    Lanes* row = &halfway[group * 2 * column_pairs * kLanes];
    Lanes* other = row + row_pairs * 2 * column_pairs * kLanes;
    for (int c = 0; c < 2 * column_pairs; ++c) {
      transpose(row + c * kLanes);
      transpose(other + c * kLanes);
    }
    const auto both = [&](int c) { return Complex{row[c], other[c]}; };
    along_rows.forward([&](int c) { return c == 0 ? 0.5f * both(0) : both(c); }, spectrum);
    for (int l = 0; l <= columns; ++l) {
      const Complex value = even(along_rows, spectrum, l, both(columns));
      result[group * (columns + 1) + l] = value.re;
      result[(group + row_pairs) * (columns + 1) + l] = value.im;
    }
  });
  return result;
}

// Convolves a grid of rows x columns (both from HalfTransform::smooth_size) in place.
class Convolution {
 public:
  Convolution(int rows, int columns)
      : along_columns_(rows),
        along_rows_(columns),
        row_groups_(group_count(rows + 1)),
        column_groups_(stride_of(columns) / kLanes),
        halfway_(static_cast<size_t>(row_groups_) * column_groups_ * kLanes),
        factors_(static_cast<size_t>(row_groups_) * 2 * columns) {}

  int rows() const { return along_columns_.size(); }
  int columns() const { return along_rows_.size(); }
  // Between the rows of the grid. The elements from columns() on have to be 0 and stay so.
  int stride() const { return stride_of(columns()); }

  // spectrum(group, l) gives the kernel's spectrum, laid out as by even_spectrum().
  template <class Spectrum>
  void set_kernel(const Spectrum& spectrum, int threads) {
    const int length = along_rows_.length();
    const float scale = 0.5f / (static_cast<float>(length) * along_columns_.length());
    parallel_chunks(row_groups_, threads, [&](int64_t group) {
      Lanes* row = &factors_[group * length];
      for (int l = 0; l <= columns(); ++l) {
        Lanes value = scale * spectrum(group, l);
        for (int lane = 0; lane < kLanes; ++lane)
          if (group * kLanes + lane > rows()) value[lane] = 0;
        row[along_rows_.place(l)] = value;
        if (l > 0) row[along_rows_.place(length - l)] = value;
      }
    });
  }

  void apply(float* grid, int threads) {
    parallel_chunks(column_groups_ / 2, threads, [&](int64_t group) { columns_forward(grid, group); });
    parallel_chunks(row_groups_, threads, [&](int64_t group) { convolve_rows(group); });
    parallel_chunks(column_groups_ / 2, threads, [&](int64_t group) { columns_inverse(grid, group); });
  }

 private:
  // Columns are transformed in pairs of vectors, one as the real and one as the imaginary part.
  static int stride_of(int columns) { return (columns + 31) / 32 * 32; }

  Complex& halfway(int k, int64_t column_group) {
    return halfway_[(static_cast<size_t>(k / kLanes) * column_groups_ + column_group) * kLanes + k % kLanes];
  }

  void columns_forward(const float* grid, int64_t group) {
    Complex* spectrum = transform_scratch(along_columns_.length());
    const int64_t pair = group + column_groups_ / 2;
    along_columns_.forward(
        [&](int r) {
          const float* row = grid + static_cast<int64_t>(r) * stride();
          return Complex{load<Lanes>(row + group * kLanes), load<Lanes>(row + pair * kLanes)};
        },
        spectrum);
    for (int k = 0; k <= rows(); ++k) {  // twice the spectra of the two real columns; the factors halve them
      const Complex a = spectrum[along_columns_.place(k)];
      const Complex b = spectrum[along_columns_.place(k ? along_columns_.length() - k : 0)];
      halfway(k, group) = {a.re + b.re, a.im - b.im};
      halfway(k, pair) = {a.im + b.im, b.re - a.re};
    }
  }

  void convolve_rows(int64_t group) {
    Complex* data = transform_scratch(stride() + along_rows_.length());
    Complex* tiles = &halfway_[group * column_groups_ * kLanes];
    transpose_tiles(tiles, data);
    along_rows_.convolve(data, &factors_[group * along_rows_.length()], data + stride());
    transpose_tiles(data, tiles);
  }

  void transpose_tiles(const Complex* from, Complex* to) const {
    for (int c = 0; c < column_groups_ * kLanes; c += kLanes) {
      Lanes re[kLanes], im[kLanes];
      for (int i = 0; i < kLanes; ++i) re[i] = from[c + i].re;
      transpose(re);
      for (int i = 0; i < kLanes; ++i) to[c + i].re = re[i];
      for (int i = 0; i < kLanes; ++i) im[i] = from[c + i].im;
      transpose(im);
      for (int i = 0; i < kLanes; ++i) to[c + i].im = im[i];
    }
  }

  void columns_inverse(float* grid, int64_t group) {
    Complex* spectrum = transform_scratch(along_columns_.length());
    const int64_t pair = group + column_groups_ / 2;
    for (int k = 0; k <= rows(); ++k) {
      const Complex a = halfway(k, group), b = halfway(k, pair);
      spectrum[along_columns_.place(k)] = {a.re - b.im, a.im + b.re};
      if (k > 0 && k < rows())
        spectrum[along_columns_.place(along_columns_.length() - k)] = {a.re + b.im, b.re - a.im};
    }
    along_columns_.inverse(spectrum, [&](int r, const Complex& value) {
      float* row = grid + static_cast<int64_t>(r) * stride();
      store(row + group * kLanes, value.re);
      store(row + pair * kLanes, value.im);
    });
  }

  HalfTransform along_columns_;
  HalfTransform along_rows_;
  int row_groups_;
  int column_groups_;
  std::vector<Complex> halfway_;  // columns transformed, rows not yet: tiles of kLanes x kLanes
  std::vector<Lanes> factors_;
};

}  // namespace actup
