// Convolution of a real grid with an even kernel, without wrap-around, by fast Fourier transforms.
//
// The grid is padded with zeros to twice its size in both directions, but the padding is never stored or
// read: see half_transform.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "layout/half_transform.hpp"

namespace actup {

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

// A buffer for the transforms of one thread. It is kept, because the threads of the pool are.
inline Complex* transform_scratch(size_t size) {
  thread_local std::vector<Complex> buffer;
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

inline int group_count(int size) { return (size + kLanes - 1) / kLanes; }

// The spectrum of a kernel on a grid of 2 * columns x 2 * rows, the sizes of the transforms. The kernel is
// even in both directions, so the spectrum is real: value [group * (columns + 1) + l][lane] belongs to row
// frequency k = group * kLanes + lane <= rows and column frequency l <= columns. sample(row, column) gives
// the kernel at kLanes columns from `column` on.
template <class Sample>
Buffer<Lanes> even_spectrum(const HalfTransform& along_columns, const HalfTransform& along_rows,
                            const Sample& sample, int threads) {
  const int rows = along_columns.size(), columns = along_rows.size();
  // The transform of an even sequence is twice the real part of the transform of its lower half, with the
  // first element halved, plus the middle element with alternating sign. Two vectors share a transform, as
  // its real and its imaginary part: those with the numbers `group` and `group + pairs`. Rounding
  // errors of one reach the other, so partners are equally many elements apart at every width.
  constexpr int kMaxLanes = 16;
  const auto pairs_of = [](int size) {
    return (size + 2 * kMaxLanes - 1) / (2 * kMaxLanes) * (kMaxLanes / kLanes);
  };
  const int column_pairs = pairs_of(columns + 1), row_pairs = pairs_of(rows + 1);
  const auto even = [](const HalfTransform& transform, const Complex* spectrum, int k,
                       const Complex& middle) {
    const Complex both =
        spectrum[transform.place(k)] + spectrum[transform.place(k ? transform.length() - k : 0)];
    return k % 2 ? both - middle : both + middle;
  };
  Buffer<Lanes> halfway(int64_t{2} * row_pairs * 2 * column_pairs * kLanes);
  halfway.clear();  // the loop below leaves out frequencies beyond `rows`
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
  Buffer<Lanes> result(int64_t{2} * row_pairs * (columns + 1));
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

// Convolves a grid of rows x columns, the sizes of the transforms, in place. They must outlive this object.
class Convolution {
 public:
  Convolution(const HalfTransform& along_columns, const HalfTransform& along_rows)
      : along_columns_(along_columns),
        along_rows_(along_rows),
        row_groups_(group_count(rows() + 1)),
        column_groups_(stride_of(columns()) / kLanes),
        halfway_(int64_t{row_groups_} * column_groups_ * kLanes),
        factors_(int64_t{row_groups_} * 2 * columns()) {
    halfway_.clear();  // apply() never writes frequencies beyond rows()
  }

  int rows() const { return along_columns_.size(); }
  int columns() const { return along_rows_.size(); }
  // The distance between rows of the grid. Elements from columns() on must be 0, and remain 0.
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
    return halfway_[(int64_t{k / kLanes} * column_groups_ + column_group) * kLanes + k % kLanes];
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
    for (int k = 0; k <= rows();
         ++k) {  // twice the spectra of the two real columns; set_kernel() halves them
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

  const HalfTransform& along_columns_;
  const HalfTransform& along_rows_;
  int row_groups_;
  int column_groups_;
  Buffer<Complex> halfway_;  // columns are transformed, rows are not: tiles of kLanes x kLanes
  Buffer<Lanes> factors_;
};

}  // namespace actup
