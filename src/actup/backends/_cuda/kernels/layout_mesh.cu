// The mesh: points to grid, the product of the spectra, and the influence function of a grid.
//
// POTENTIAL  a number of PotentialKind, potentials.h
#ifndef POTENTIAL
#define POTENTIAL 0
#endif

#include "layout/potential_table.h"
#include "mesh_view.h"

using namespace actup;

namespace {

using Potential = PolicyOfPotential<static_cast<PotentialKind>(POTENTIAL)>::Policy;
constexpr float kOne =
    8388608.0f;  // the weight 1 as an integer: sums of integers do not depend on their order
constexpr int kSpreadPoints = SPREAD_POINTS;  // per thread block: their sum at a grid point is below 2^32
constexpr int kPointsPerThread = kSpreadPoints / kThreads;
constexpr int kSharedGridPoints = 6144;

__device__ inline int64_t thread_number() {
  return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
}

// Calls add(row, column, weight as an integer) for the 16 grid points around a point.
template <class Add>
__device__ inline void spread_point(const MeshPlace& at, const Add& add) {
#pragma unroll
  for (int row = 0; row < 4; ++row) {
    const float wy = spline_weight(at.t, row) * kOne;
#pragma unroll
    for (int column = 0; column < 4; ++column)
      add(at.row - 1 + row, at.column - 1 + column, __float2uint_rn(wy * spline_weight(at.s, column)));
  }
}

struct GridBox {
  int low_row, low_column, high_row, high_column;
};

// The grid points that the points of this thread block touch.
__device__ inline GridBox touched_box(const MeshPlace* at, const bool* valid) {
  __shared__ GridBox box;
  if (threadIdx.x == 0) box = {1 << 30, 1 << 30, -1, -1};
  __syncthreads();
  GridBox own = {1 << 30, 1 << 30, -1, -1};
#pragma unroll
  for (int k = 0; k < kPointsPerThread; ++k)
    if (valid[k])
      own = {min(own.low_row, at[k].row - 1), min(own.low_column, at[k].column - 1),
             max(own.high_row, at[k].row + 2), max(own.high_column, at[k].column + 2)};
  for (int other = 16; other > 0; other /= 2)
    own = {min(own.low_row, __shfl_xor_sync(kAll, own.low_row, other)),
           min(own.low_column, __shfl_xor_sync(kAll, own.low_column, other)),
           max(own.high_row, __shfl_xor_sync(kAll, own.high_row, other)),
           max(own.high_column, __shfl_xor_sync(kAll, own.high_column, other))};
  if (threadIdx.x % 32 == 0) {
    atomicMin(&box.low_row, own.low_row);
    atomicMin(&box.low_column, own.low_column);
    atomicMax(&box.high_row, own.high_row);
    atomicMax(&box.high_column, own.high_column);
  }
  __syncthreads();
  return box;
}

}  // namespace

// Spreads every point over 16 grid points of `sums` (rows x columns), which is 0 before. Consecutive points
// are near each other, so a thread block first adds up its points in shared memory, if they lie close enough
// together.
extern "C" __global__ void __launch_bounds__(kThreads)
    spread(const State* state, const Row* y, int64_t n, float spacing, int rows, int columns,
           unsigned long long* sums) {
  __shared__ unsigned kept[kSharedGridPoints];
  MeshPlace at[kPointsPerThread];
  bool valid[kPointsPerThread];
#pragma unroll
  for (int k = 0; k < kPointsPerThread; ++k) {  // the threads of a warp take points that are not consecutive
    const int number = threadIdx.x % 32 * (kSpreadPoints / 32) + threadIdx.x / 32 * kPointsPerThread + k;
    const int64_t i = blockIdx.x * static_cast<int64_t>(kSpreadPoints) + number;
    valid[k] = i < n;
    at[k] = mesh_place(y[valid[k] ? i : n - 1], {nullptr, nullptr, spacing, rows, columns}, *state);
  }
  const GridBox box = touched_box(at, valid);
  const int width = box.high_column - box.low_column + 1, size = width * (box.high_row - box.low_row + 1);
  const auto add_to_all = [&](int row, int column, unsigned weight) {
    atomicAdd(sums + static_cast<int64_t>(row) * columns + column, static_cast<unsigned long long>(weight));
  };
  if (size > kSharedGridPoints) {
#pragma unroll
    for (int k = 0; k < kPointsPerThread; ++k)
      if (valid[k]) spread_point(at[k], add_to_all);
    return;
  }
  for (int index = threadIdx.x; index < size; index += kThreads) kept[index] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kPointsPerThread; ++k)
    if (valid[k])
      spread_point(at[k], [&](int row, int column, unsigned weight) {
        atomicAdd(&kept[(row - box.low_row) * width + column - box.low_column], weight);
      });
  __syncthreads();
  for (int index = threadIdx.x; index < size; index += kThreads)
    if (kept[index]) add_to_all(box.low_row + index / width, box.low_column + index % width, kept[index]);
}

// Copies the sums at the grid points as floats to the first quarter of a grid of twice the size, and clears
// them.
extern "C" __global__ void take_cells(unsigned long long* sums, int rows, int columns, float* grid) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= columns) return;
  const int64_t at = static_cast<int64_t>(row) * columns + column;
  grid[2 * static_cast<int64_t>(row) * columns + column] = static_cast<float>(sums[at]) * (1 / kOne);
  sums[at] = 0;
}

// The product may overwrite the spectrum.
extern "C" __global__ void multiply(const float* influence, int64_t size, const float2* spectrum,
                                    float2* product) {
  const int64_t i = thread_number();
  if (i >= size) return;
  const float factor = influence[i];
  const float2 value = spectrum[i];
  product[i] = {factor * value.x, factor * value.y};
}

// --- once per grid ---

namespace {

// The table of UMAP's potential, by Simpson's rule between knots. One thread block; each thread integrates a
// stretch of the table.
__device__ inline void tabulate_umap(const Constants* constants, float* table) {
  const Curve curve = constants->curve;
  const float epsilon = constants->repulsion_epsilon;
  __shared__ double stretches[1024];
  constexpr int knots = PotentialTable::kKnots, size = (knots + 1023) / 1024;
  const double reach = fmin(static_cast<double>(PotentialTable::limit(curve.b)), PotentialTable::knot(knots));
  const auto force = [&](double d2) {
    return static_cast<double>(
        UmapPotential::repulsion<Shape::powered>(static_cast<float>(d2), curve, epsilon));
  };
  const auto between_knots = [&](int i) {
    const double low = PotentialTable::knot(i), high = PotentialTable::knot(i + 1);
    if (high > reach) return 0.0;
    return (high - low) / 6 * (force(low) + 4 * force(0.5 * (low + high)) + force(high));
  };
  const int first = threadIdx.x * size, last = min(knots, first + size);
  double sum = 0;
  for (int i = last - 1; i >= first; --i) sum += between_knots(i);
  stretches[threadIdx.x] = sum;
  __syncthreads();
  double integral = PotentialTable::tail(reach, curve);
  if (threadIdx.x == 0) table[knots] = static_cast<float>(integral);
  for (int later = 1023; later > threadIdx.x; --later) integral += stretches[later];
  for (int i = last - 1; i >= first; --i) table[i] = static_cast<float>(integral += between_knots(i));
}

template <class Potential>
__device__ inline float potential_at(float d2, Curve curve, const float* table) {
  if constexpr (Potential::kOfKernel) {
    return Potential::value(kernel<kShape>(d2 + kTiny, curve));
  } else {
    return PotentialTable::look_up(table, d2);
  }
}

}  // namespace

static_assert(PotentialTable::kKnots == POTENTIAL_KNOTS);

// Only for potentials that are not a function of the kernel.
extern "C" __global__ void __launch_bounds__(1024) tabulate(const Constants* constants, float* table) {
  if constexpr (!Potential::kOfKernel) tabulate_umap(constants, table);
}

// The potential around grid point 0 of a periodic grid.
extern "C" __global__ void sample_potential(const Constants* constants, const float* table, float spacing,
                                            int line, int rows, int columns, float* grid) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= columns) return;
  const Curve curve = constants->curve;
  const float x = line ? 0.0f : spacing * static_cast<float>(min(column, columns - column));
  const float y = spacing * static_cast<float>(min(row, rows - row));
  const float d2 = fminf(x * x + y * y, PotentialTable::limit(curve.b));
  grid[static_cast<int64_t>(row) * columns + column] = potential_at<Potential>(d2, curve, table);
}

namespace {

struct Frequency {  // of one axis; see influence.hpp
  float k, weight, alias, alias_weight, sum, slope;
  __device__ Frequency(int i, int size) {
    constexpr double pi = 3.14159265358979323846;
    const double own = pi * i / size, other = own - 2 * pi;
    k = static_cast<float>(own);
    weight = static_cast<float>(spline_spectrum_squared(own));
    alias = static_cast<float>(other);
    alias_weight = static_cast<float>(spline_spectrum_squared(other));
    sum = static_cast<float>(spline_alias_sum(own));
    slope = static_cast<float>(spline_alias_slope(own));
  }
};

}  // namespace

extern "C" __global__ void tabulate_frequencies(int size, float* table) {
  const int i = thread_number();
  if (i <= size) reinterpret_cast<Frequency*>(table)[i] = Frequency(i, size);
}

// The best influence function at all frequencies (2 rows x columns + 1), from the potential's spectrum on a
// grid `finer` times as fine; divided by the number of grid points, as the transforms do not. Also as a
// complex spectrum.
extern "C" __global__ void influence(const float2* spectrum, const float* of_rows, const float* of_columns,
                                     int finer, int rows, int columns, float* influence, float2* as_complex) {
  const int l = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (l > columns) return;
  const int k = min(row, 2 * rows - row);
  const Frequency x = reinterpret_cast<const Frequency*>(of_columns)[l];
  const Frequency y = reinterpret_cast<const Frequency*>(of_rows)[k];
  const int64_t stride = static_cast<int64_t>(finer) * columns + 1;
  const auto own = [&](int a, int b) { return spectrum[a * stride + b].x; };
  float wanted = influence_term(x.k, x.k, x.weight, y.k, y.k, y.weight, own(k, l));
  if (finer > 1) {
    const int mirrored_k = 2 * rows - k, mirrored_l = 2 * columns - l;
    wanted += influence_term(x.k, x.alias, x.alias_weight, y.k, y.k, y.weight, own(k, mirrored_l));
    wanted += influence_term(x.k, x.k, x.weight, y.k, y.alias, y.alias_weight, own(mirrored_k, l));
    wanted += influence_term(x.k, x.alias, x.alias_weight, y.k, y.alias, y.alias_weight,
                             own(mirrored_k, mirrored_l));
  }
  float best = wanted / influence_norm(x.sum, x.slope, y.sum, y.slope);
  if (k == 0 && l == 0) best = own(0, 0);  // was 0/0
  best /= static_cast<float>(finer * finer) * 4.0f * static_cast<float>(rows) * static_cast<float>(columns);
  const int64_t at = static_cast<int64_t>(row) * (columns + 1) + l;
  influence[at] = best;
  as_complex[at] = {best, 0.0f};
}

// A point's potential at the point itself, from the mesh's potential around grid point 0 of a grid with rows
// of `stride`: see subtract_self() of mesh_formulas.h.
extern "C" __global__ void self_potential(const float* around, int stride, float* self) {
  __shared__ double overlap[4][3];  // takes long: each thread computes one
  const int p = threadIdx.x / 3, q = threadIdx.x % 3;
  if (threadIdx.x < 12) overlap[p][q] = spline_overlap(p, q);
  __syncthreads();
  if (threadIdx.x >= 9) return;
  double sum = 0;
  for (int e = 0; e < 4; ++e)
    for (int f = 0; f < 4; ++f) sum += overlap[e][p] * overlap[f][q] * around[f * stride + e];
  self[threadIdx.x] = static_cast<float>(sum);
}
