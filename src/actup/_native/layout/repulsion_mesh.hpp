// Repulsion through a particle mesh, in one and two dimensions: the points' potential on a grid gives force
// and sums at once.
//
// Points are spread over a grid with cubic B-splines, the grid is convolved with the potential, and potential
// and gradient are read back through the same splines. The potential of a point at the point itself is known
// and subtracted.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common/buffer.hpp"
#include "layout/influence.hpp"
#include "layout/points.hpp"

namespace actup {

class Mesh {
 public:
  // spacing: the usual distance of the grid's lines. It is less while all points are close together, so that
  // they span enough lines, and more if they are so far apart that a side would have more than `largest`
  // lines.
  Mesh(const MeshPotential& potential, float spacing, int largest)
      : potential_(potential), usual_spacing_(spacing), largest_(HalfTransform::smooth_size(largest)) {
    if (static_cast<float>(largest_ - kMarginLines) < kMinLargest)
      throw std::invalid_argument("a side of the mesh must have room for 80 lines");
  }

  // The most lines of a side for a number of points and dimensions. 2304 bound the memory to about 110 MB.
  static int usual_largest(int64_t n, int dimensions) {
    if (dimensions == 1) return 16384;
    return n <= 20000 ? 1024 : 2304;
  }

  // Calls take(i, force, potential) for every point, from several threads: force[c] is the sum over k != i of
  // the repulsion (yi - yk), without its leading factor, and potential is the sum of U over them. Returns the
  // sum of all potentials (Z, if U is the kernel). x and y have n coordinates; y is null in one dimension.
  template <class Take>
  double repel(int64_t n, const float* x, const float* y, int threads, const Take& take) {
    if (n == 0) return 0;
    line_ = !y;
    if (line_) {  // the line runs along the columns: threads share the work by bands of rows
      const auto swapped = [&](int64_t i, const float* force, float potential) {
        take(i, force + 1, potential);
      };
      if (static_cast<int64_t>(zeros_.size()) < n) zeros_.assign(n, 0.0f);
      return repel_plane(n, zeros_.data(), x, threads, swapped);
    }
    return repel_plane(n, x, y, threads, take);
  }

  // The distance of the grid's lines in the last call. If it is larger than the usual one, the points were
  // too far apart, and the force is inaccurate.
  float spacing() const { return grid_size_.spacing; }
  int rows() const { return grid_size_.rows; }
  int columns() const { return grid_size_.columns; }

  struct Grid {
    float spacing = 0;
    int rows = 0, columns = 0;  // lines; 0: not chosen yet
    bool operator==(const Grid&) const = default;
  };
  Grid grid() const { return grid_size_; }

  // Goes on with a grid that another mesh of the same potential had, for as long as it suits the points.
  void keep_grid(const Grid& grid) {
    convolution_.reset();
    grid_size_ = grid;
  }

 private:
  static constexpr int kMarginLines = 6;         // beyond the span of the points, so that splines stay inside
  static constexpr float kMinSpanLines = 58;     // a small map spans at least as many lines ...
  static constexpr float kMinSpacing = 1 / 9.f;  // ... unless they would be closer than this times the usual
                                                 // spacing, which resolves any potential
  static constexpr float kSpacingStep = 1.2f;    // spacings are the usual one times a power of this
  static constexpr float kMinLargest = 1.01f * kSpacingStep * kMinSpanLines;  // lines of a small map, at most
  static constexpr int kBandRows = 8;        // more than the four that a spline touches
  static constexpr int kBandsPerThread = 4;  // with fewer, threads take rows
  static constexpr int64_t kPointsPerChunk = 1024;

  struct Placed {
    float column, row;  // in grid lines
    int32_t id;
  };

  struct Box {
    float low[2], high[2];
    float not_finite = 0;  // not 0 if a coordinate is infinite or NaN
  };

  template <class Take>
  double repel_plane(int64_t n, const float* x, const float* y, int threads, const Take& take) {
    choose_grid(bounds(n, x, y, threads), threads);
    sort_by_row(n, x, y, threads);
    spread(threads);
    convolution_->apply(grid_.data(), threads);
    std::vector<double> sums((n + kPointsPerChunk - 1) / kPointsPerChunk);
    parallel_ranges(n, kPointsPerChunk, threads, [&](int64_t begin, int64_t end) {
      sums[begin / kPointsPerChunk] = read(begin, end, take);
    });
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
  }

  static Box bounds(int64_t n, const float* x, const float* y, int threads) {
    constexpr float huge = std::numeric_limits<float>::max();
    std::vector<Box> boxes((n + 4095) / 4096);
    parallel_ranges(n, 4096, threads, [&](int64_t begin, int64_t end) {
      Box& box = boxes[begin / 4096];
      for (int c = 0; c < 2; ++c) {
        const float* plane = c ? y : x;
        float16 low = broadcast<float16>(huge), high = -low, difference = {};
        float last[kBlock];
        for (int64_t i = begin; i < end; i += kBlock) {
          const float* from = plane + i;
          if (i + kBlock > end) {
            for (int lane = 0; lane < kBlock; ++lane) last[lane] = plane[std::min(i + lane, end - 1)];
            from = last;
          }
          const float16 v = load<float16>(from);
          low = v < low ? v : low;
          high = v > high ? v : high;
          difference += v - v;  // 0, unless v is infinite or NaN
        }
        box.low[c] = huge;
        box.high[c] = -huge;
        for (int lane = 0; lane < kBlock; ++lane) {
          box.low[c] = std::min(box.low[c], low[lane]);
          box.high[c] = std::max(box.high[c], high[lane]);
          box.not_finite += difference[lane];
        }
      }
    });
    Box all = boxes[0];
    bool finite = true;
    for (const Box& box : boxes)
      for (int c = 0; c < 2; ++c) {
        all.low[c] = std::min(all.low[c], box.low[c]);
        all.high[c] = std::max(all.high[c], box.high[c]);
        finite = finite && box.not_finite == 0;
      }
    if (!finite || !std::isfinite(all.high[0] - all.low[0] + all.high[1] - all.low[1]))
      throw std::domain_error("the mesh needs finite positions: the layout has diverged");
    return all;
  }

  // --- the grid ---

  void choose_grid(const Box& box, int threads) {
    const float width = box.high[0] - box.low[0], height = box.high[1] - box.low[1];
    const float spacing = choose_spacing(std::max(width, height));
    const Grid grid{spacing, choose_size(height / spacing, rows()), choose_size(width / spacing, columns())};
    if (!convolution_ || grid != grid_size_) make_grid(grid, threads);
    const auto origin = [&](float span, int size) {
      return 0.5f * (static_cast<float>(size - 1) - span / spacing);
    };
    low_[0] = box.low[0];
    low_[1] = box.low[1];
    origin_[0] = origin(width, grid.columns);
    origin_[1] = origin(height, grid.rows);
  }

  // Frees the old grid before it makes the new one, so that both are never in memory. If this is interrupted,
  // there is no convolution, and the next call makes the same grid, because grid_size_ is still the old one.
  void make_grid(const Grid& grid, int threads) {
    convolution_.reset();
    grid_ = Buffer<float>();
    auto influence = std::make_unique<Influence>(potential_, grid.spacing, grid.rows, grid.columns, line_,
                                                 tables_, threads);
    auto convolution =
        std::make_unique<Convolution>(tables_.transform(grid.rows), tables_.transform(grid.columns));
    convolution->set_kernel(*influence, threads);
    self_ = influence->self_potential(threads);
    influence.reset();
    grid_ = Buffer<float>(int64_t{grid.rows} * convolution->stride());
    convolution_ = std::move(convolution);
    grid_size_ = grid;
  }

  // A power of kSpacingStep times the usual spacing. The current spacing is kept while it is suitable.
  float choose_spacing(float span) const {
    constexpr float kSlack = 1.0002f;  // for rounding errors
    float chosen = usual_spacing_;
    const float needed = span / static_cast<float>(largest_ - kMarginLines);
    if (needed > usual_spacing_) {
      if (spacing() >= needed && spacing() <= kSpacingStep * kSpacingStep * needed) return spacing();
      while (chosen < kSlack * needed) chosen *= kSpacingStep;
      return chosen;
    }
    const float wanted = std::clamp(span / kMinSpanLines, kMinSpacing * usual_spacing_, usual_spacing_);
    if (spacing() >= needed && spacing() <= kSpacingStep * wanted && kSpacingStep * spacing() > wanted &&
        spacing() <= usual_spacing_)
      return spacing();
    while (chosen > kSlack * wanted) chosen /= kSpacingStep;
    return chosen;
  }

  // The lines of a side, with some room for the points to spread. The current number is kept until the points
  // need more or leave much of the grid empty.
  int choose_size(float lines, int current) const {
    const int needed = static_cast<int>(lines) + kMarginLines;
    if (needed <= current && (current == 64 || needed > 0.7f * static_cast<float>(current))) return current;
    const int roomy = static_cast<int>(1.1f * static_cast<float>(needed));
    return std::min(largest_, HalfTransform::smooth_size(roomy));
  }

  // --- points to grid and back ---

  // Counting sort. The chunks depend on n only, so that the order does not depend on the number of threads.
  void sort_by_row(int64_t n, const float* x, const float* y, int threads) {
    const int64_t grain = std::max<int64_t>(4096, (n + 63) / 64), chunks = (n + grain - 1) / grain;
    const int rows = this->rows();
    const float inverse = 1 / spacing();
    const auto place = [&](float v, int c) { return (v - low_[c]) * inverse + origin_[c]; };
    std::vector<int32_t> next(chunks * rows, 0);
    parallel_ranges(n, grain, threads, [&](int64_t begin, int64_t end) {
      int32_t* count = &next[begin / grain * rows];
      for (int64_t i = begin; i < end; ++i) ++count[static_cast<int>(place(y[i], 1))];
    });
    row_starts_.resize(rows + 1);
    int32_t total = 0;
    for (int row = 0; row < rows; ++row) {
      row_starts_[row] = total;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const int32_t count = std::exchange(next[chunk * rows + row], total);
        total += count;
      }
    }
    row_starts_[rows] = total;
    placed_.resize(n);
    parallel_ranges(n, grain, threads, [&](int64_t begin, int64_t end) {
      int32_t* at = &next[begin / grain * rows];
      for (int64_t i = begin; i < end; ++i) {
        const Placed p{place(x[i], 0), place(y[i], 1), static_cast<int32_t>(i)};
        placed_[at[static_cast<int>(p.row)]++] = p;
      }
    });
  }

  // The points of even bands of rows come first, then those of odd ones; in a band they come in their order.
  // Band by band takes least time; row by row, many threads share the work better. The sums are the same.
  void spread(int threads) {
    const int bands = (rows() + kBandRows - 1) / kBandRows;
    if (bands / kBandsPerThread < threads) {
      parallel_chunks(rows(), threads, [&](int64_t row) { spread_onto_row(static_cast<int>(row)); });
    } else {
      for (int odd = 0; odd < 2; ++odd)
        parallel_chunks((bands + 1 - odd) / 2, threads,
                        [&](int64_t half) { spread_band(static_cast<int>(2 * half + odd)); });
    }
  }

  // Adds the points of a band. Two even bands, or two odd ones, touch no common row, so that threads may take
  // them at the same time. An even band first clears the rows up to the next even band.
  void spread_band(int band) {
    const int stride = convolution_->stride(), first = band * kBandRows;
    if (band % 2 == 0) {
      const int from = std::max(0, first - 1);
      const int to = first + 2 * kBandRows >= rows() ? rows() : first + 2 * kBandRows - 1;
      std::fill(row_of(from), row_of(from) + static_cast<int64_t>(to - from) * stride, 0.0f);
    }
    for (int32_t k = row_starts_[first]; k < row_starts_[std::min(rows(), first + kBandRows)]; ++k) {
      const Placed& p = placed_[k];
      const int column = static_cast<int>(p.column), row = static_cast<int>(p.row);
      const float4 wx = spline_weights(p.column - static_cast<float>(column));
      const float4 wy = spline_weights(p.row - static_cast<float>(row));
      float* cell = row_of(row - 1) + column - 1;
      for (int r = 0; r < 4; ++r, cell += stride) store(cell, load<float4>(cell) + wy[r] * wx);
    }
  }

  // Adds to one row of the grid what the points in the rows near it add to it.
  void spread_onto_row(int row) {
    float* const cells = row_of(row);
    std::fill_n(cells, convolution_->stride(), 0.0f);
    const int first = std::max(0, row - 2), last = std::min(rows() - 1, row + 1);
    const int border = last / kBandRows * kBandRows;  // where the band of the last of them begins
    const bool last_band_first = border > first && border / kBandRows % 2 == 0;
    if (last_band_first) add_rows(border, last + 1, row, cells);
    add_rows(first, last_band_first ? border : last + 1, row, cells);
  }

  // Adds the points in rows [first, end), which lie near `row`, to the cells of that row.
  void add_rows(int first, int end, int row, float* cells) {
    for (int from = first; from < end; ++from) {
      const int r = row - (from - 1);  // the row's number among the four that the points' splines touch
      for (int32_t k = row_starts_[from]; k < row_starts_[from + 1]; ++k) {
        const Placed& p = placed_[k];
        const int column = static_cast<int>(p.column);
        const float4 wx = spline_weights(p.column - static_cast<float>(column));
        const float4 wy = spline_weights(p.row - static_cast<float>(from));
        float* cell = cells + column - 1;
        store(cell, load<float4>(cell) + wy[r] * wx);
      }
    }
  }

  // Calls take() with force and potential of the points placed_[begin, end). Returns the sum of their
  // potentials.
  template <class Take>
  double read(int64_t begin, int64_t end, const Take& take) const {
    const int stride = convolution_->stride();
    const float factor = potential_.force_factor() / spacing();
    double total = 0;
    for (int64_t first = begin; first < end; first += kBlock) {
      const int count = static_cast<int>(std::min<int64_t>(kBlock, end - first));
      float at[2][kBlock] = {}, found[3][kBlock] = {};  // places in the cells; potential and its slopes
      for (int quad = 0; quad < count; quad += 4) {
        float4 sums[3][4] = {};
        for (int lane = 0; lane < std::min(4, count - quad); ++lane) {
          const Placed& p = placed_[first + quad + lane];
          const int column = static_cast<int>(p.column), row = static_cast<int>(p.row);
          const float s = p.column - static_cast<float>(column), t = p.row - static_cast<float>(row);
          const float4 wy = spline_weights(t), dy = spline_slopes(t);
          const float* cell = &grid_[static_cast<int64_t>(row - 1) * stride + column - 1];
          float4 value = {}, slope = {};
          for (int r = 0; r < 4; ++r, cell += stride) {
            value += wy[r] * load<float4>(cell);
            slope += dy[r] * load<float4>(cell);
          }
          const float4 wx = spline_weights(s);
          sums[0][lane] = wx * value;
          sums[1][lane] = spline_slopes(s) * value;
          sums[2][lane] = wx * slope;
          at[0][quad + lane] = s;
          at[1][quad + lane] = t;
        }
        for (int kind = 0; kind < 3; ++kind) store(found[kind] + quad, sums_of(sums[kind]));
      }
      const float16 s = load<float16>(at[0]), t = load<float16>(at[1]);
      float16 potential = load<float16>(found[0]);
      float16 slope_x = load<float16>(found[1]), slope_y = load<float16>(found[2]);
      float16 cos_x[3], sin_x[3], cos_y[3], sin_y[3];
      harmonics(s, cos_x, sin_x);
      harmonics(t, cos_y, sin_y);
      subtract_self(self_[0].data(), cos_x, sin_x, cos_y, sin_y, potential, slope_x, slope_y);
      for (int lane = 0; lane < count; ++lane) {
        const float force[2] = {-factor * slope_x[lane], -factor * slope_y[lane]};
        total += static_cast<double>(potential[lane]);
        take(placed_[first + lane].id, force, potential[lane]);
      }
    }
    return total;
  }

  // cos and sin of 0, 2 pi t and 4 pi t, for 0 <= t < 1, to about 1e-4: series around t = 1/2.
  static void harmonics(float16 t, float16* cosine, float16* sine) {
    const float16 z = t - 0.5f, z2 = z * z;
    cosine[0] = broadcast<float16>(1.0f);
    sine[0] = float16{};
    cosine[1] =
        -1.0f +
        z2 * (19.7392088f +
              z2 * (-64.9393940f +
                    z2 * (85.4568172f + z2 * (-60.2446414f + z2 * (26.4262567f + z2 * -7.90353637f)))));
    sine[1] =
        z * (-6.28318531f +
             z2 * (41.3417022f +
                   z2 * (-81.6052493f +
                         z2 * (76.7058598f + z2 * (-42.0586940f + z2 * (15.0946426f + z2 * -3.81995258f))))));
    cosine[2] = 2.0f * cosine[1] * cosine[1] - 1.0f;
    sine[2] = 2.0f * cosine[1] * sine[1];
  }

  float* row_of(int row) { return &grid_[static_cast<int64_t>(row) * convolution_->stride()]; }

  MeshPotential potential_;
  float usual_spacing_;
  int largest_;
  bool line_ = false;  // one dimension; the same in all calls
  Grid grid_size_;
  float low_[2] = {}, origin_[2] = {};
  GridTables tables_;
  SelfPotential self_{};
  std::unique_ptr<Convolution> convolution_;
  Buffer<float> grid_;
  std::vector<float> zeros_;  // the second coordinates of points in one dimension
  std::vector<int32_t> row_starts_;
  std::vector<Placed> placed_;  // by row
};

}  // namespace actup
