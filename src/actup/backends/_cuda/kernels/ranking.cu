// The steps around candidates.cu: rows are rounded to 16 bits before it, the best candidates of a row are
// kept between its launches, and in the end the nearest of them become neighbours.
//
// LANES    threads that share one float32 distance; candidate.h has the other sizes
#ifndef LANES
#define LANES 32
#endif

#include "candidate.h"
#include "row_value.h"

typedef unsigned short Half;

constexpr float kLargestQuery = 60000.0f;  // of a coordinate of a query: far from all keys, and a 16-bit number

__device__ inline Half to_half(float x) {
  Half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
__device__ inline float from_half(Half h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
__device__ inline float warp_sum(float x) {
  for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(~0u, x, apart);
  return x;
}

// Where coordinate c of a row is stored: in slabs of 64 coordinates, whose 16-byte chunks are permuted to
// avoid bank conflicts of ldmatrix; Hopper's products of warpgroups know this permutation too.
__device__ inline size_t offset_of(long long rows, int row, int c) {
  return ((size_t)(c >> 6) * rows + row) * 64 + ((((c & 63) >> 3) ^ (row & 7)) << 3) + (c & 7);
}

// What is added to a row's squared length for inner products. They become distances with two more
// coordinates, s in one of them for a query and in the other for a key, where s² is the row's deficit: the
// largest squared length M minus the row's. Then |x - y|² + s² + t² = 2 (M - <x, y>), and these coordinates
// are never multiplied.
__device__ inline float deficit(const float* deficits, int row) { return deficits ? deficits[row] : 0.0f; }

// The largest squared length of the centred rows, as the bits of a float; a warp per row. The centre is that
// of the row's cell; without cells (`cells` is null), all rows have one.
extern "C" __global__ void longest_row(const Value* __restrict__ points, const float* __restrict__ centers,
                                       const int* __restrict__ cells, const float* __restrict__ deficits,
                                       int n, int columns, Word* longest) {
  const int lane = threadIdx.x & 31;
  float most = 0;
  const int warps = gridDim.x * blockDim.x >> 5;
  for (int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; row < n; row += warps) {
    const float* center = centers + (cells ? (size_t)cells[row] * columns : 0);
    float sum = 0;
    for (int c = lane; c < columns; c += 32) {
      const float x = value_at(points + (size_t)row * columns + c) - center[c];
      sum += x * x;
    }
    most = fmaxf(most, warp_sum(sum) + deficit(deficits, row));
  }
  if (lane == 0) atomicMax(longest, __float_as_uint(most));
}

// The power of two that scales the longest row to a length of 64 to 127.
__device__ inline float scale_of(Word longest) {
  const float length = sqrtf(__uint_as_float(longest));
  if (!(length > 1e-30f)) return 1.0f;
  return exp2f(floorf(log2f(127.0f / length)));
}

// Rounds rows to 16 bits, as queries (with 1 in two more coordinates) and as keys (with -|y|²/2 in these two,
// as a rounded value and its error). `order` is the row of X at every position, -1 for padding. With cells,
// `tile_cells` is the cell of every tile, and keys alone are written (`queries` is null): encode_queries makes
// the queries. A warp per position.
extern "C" __global__ void prepare_rows(const Value* __restrict__ points, const float* __restrict__ centers,
                                        const int* __restrict__ tile_cells,
                                        const float* __restrict__ deficits, const int* __restrict__ order,
                                        const Word* __restrict__ longest, int positions, int columns,
                                        int slabs, Half* __restrict__ queries, Half* __restrict__ keys,
                                        float* __restrict__ squares, float* __restrict__ rounding,
                                        Word* __restrict__ worst) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (at >= positions) return;
  const float* center = centers + (tile_cells ? (size_t)tile_cells[at / TILE] * columns : 0);
  const int row = order[at];
  const float scale = scale_of(*longest);
  float square = 0, error = 0;
  for (int c = lane; c < slabs * 64; c += 32) {
    Half h = 0;
    if (row >= 0 && c < columns) {
      const float x = (value_at(points + (size_t)row * columns + c) - center[c]) * scale;
      h = to_half(x);
      const float rounded = from_half(h);
      square += rounded * rounded;
      error += (x - rounded) * (x - rounded);
    }
    const size_t to = offset_of(positions, at, c);
    const bool extra = c == columns || c == columns + 1;
    if (queries) queries[to] = extra && row >= 0 ? to_half(1.0f) : h;
    if (!extra) keys[to] = h;
  }
  square = warp_sum(square) + (row < 0 ? 0.0f : deficit(deficits, row) * scale * scale);
  error = sqrtf(warp_sum(error));
  if (lane == 0) {
    squares[at] = square;
    rounding[at] = error;
    atomicMax(worst, __float_as_uint(error));
    const float value = row >= 0 ? -0.5f * square : kPaddingScore;
    const Half high = to_half(value);
    keys[offset_of(positions, at, columns)] = high;
    keys[offset_of(positions, at, columns + 1)] = row >= 0 ? to_half(value - from_half(high)) : to_half(0.0f);
  }
}

// Rounds the rows of some tiles relative to the centre of every cell that they are compared with, so that the
// rounding error is small beside the distances within a cell. For a row x, a key y = c + r of a cell with
// centre c, and q = x - c, the score x·y - |y|²/2 relative to the centre of x's own cell, whose distance from
// x is sqrt(square), is q·r - |r|²/2 + (square - |q|²)/2; `starts` are these last terms. around (cells,
// probes): the cells around each cell; order, squares and tile_cells begin at the first of the tiles. The
// queries of a tile and a probe are slabs of whole tiles. Eight threads per row and probe, each of which writes
// eight coordinates of every slab at once.
extern "C" __global__ void encode_queries(const Value* __restrict__ points, const float* __restrict__ centers,
                                          const int* __restrict__ around, const int* __restrict__ tile_cells,
                                          const int* __restrict__ order, const float* __restrict__ squares,
                                          const Word* __restrict__ longest, long long pairs, int probes,
                                          int columns, int slabs, Half* __restrict__ queries,
                                          float* __restrict__ starts) {
  const long long pair = ((long long)blockIdx.x * blockDim.x + threadIdx.x) >> 3;
  if (pair >= pairs) return;
  const int part = threadIdx.x & 7, row_in_tile = (int)(pair % TILE);
  const long long slot = pair / TILE;  // of a tile and a probe
  const int tile = (int)(slot / probes), at = tile * TILE + row_in_tile, row = order[at];
  const float* center = centers + (size_t)around[(size_t)tile_cells[tile] * probes + slot % probes] * columns;
  const Value* x = points + (size_t)max(row, 0) * columns;
  const float scale = scale_of(*longest);
  Half* to = queries + slot * slabs * TILE * 64;
  float square = 0;
  for (int slab = 0; slab < slabs; ++slab) {
    alignas(16) Half eight[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int c = slab * 64 + part * 8 + e;
      float value = row >= 0 && c < columns + 2 ? 1.0f : 0.0f;
      if (row >= 0 && c < columns) {
        value = (value_at(x + c) - center[c]) * scale;
        value = fminf(fmaxf(value, -kLargestQuery), kLargestQuery);
      }
      eight[e] = to_half(value);
      if (c < columns) square += from_half(eight[e]) * from_half(eight[e]);
    }
    *(uint4*)(to + offset_of(TILE, row_in_tile, slab * 64 + part * 8)) = *(const uint4*)eight;
  }
#pragma unroll
  for (int apart = 4; apart; apart >>= 1) square += __shfl_xor_sync(~0u, square, apart);
  if (part == 0) starts[slot * TILE + row_in_tile] = row < 0 ? 0.0f : 0.5f * (squares[at] - square);
}

// How far the points of the first launch, which looks at the first `first_tiles` tiles of each list, are at
// most from the centre of every cell, after scaling. lists (cells, stride) and ends (cells, probes) are those
// of tiles.h. A warp per cell.
extern "C" __global__ void first_reaches(const float* __restrict__ centers, const int* __restrict__ around,
                                         const int* __restrict__ lists, const int* __restrict__ ends,
                                         const float* __restrict__ squares, const Word* __restrict__ longest,
                                         int cells, int probes, int stride, int first_tiles, int columns,
                                         float* __restrict__ reaches) {
  const int cell = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (cell >= cells) return;
  const float scale = scale_of(*longest);
  float reach = 0;
  int begin = 0;
  for (int probe = 0; probe < probes && begin < first_tiles; ++probe) {
    const size_t pair = (size_t)cell * probes + probe;
    const int end = ends[pair];
    float apart = 0, square = 0;
    for (int c = lane; c < columns; c += 32) {
      const float x = centers[(size_t)around[pair] * columns + c] - centers[(size_t)cell * columns + c];
      apart += x * x;
    }
    for (int t = begin; t < end; ++t)
      for (int row = lane; row < TILE; row += 32)
        square = fmaxf(square, squares[(size_t)lists[(size_t)cell * stride + t] * TILE + row]);
    for (int e = 16; e; e >>= 1) square = fmaxf(square, __shfl_xor_sync(~0u, square, e));
    reach = fmaxf(reach, sqrtf(warp_sum(apart)) * scale + sqrtf(square));
    begin = end;
  }
  if (lane == 0) reaches[cell] = reach;
}

// Encodes a float so that the integers sort like the floats, and back.
__device__ inline Word ordered(float x) {
  const Word bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(Word bits) {
  return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

// Keeps the best KEEP of a row's candidates and raises its threshold just above the last of them, so that
// duplicates of that one do not fill the lists. A warp per row; `fresh`: nothing was kept before.
extern "C" __global__ void __launch_bounds__(THREADS)
    select_candidates(Candidate* __restrict__ candidates, const int* __restrict__ counts,
                      const int* __restrict__ order, const float* __restrict__ squares,
                      float* __restrict__ thresholds, unsigned char* __restrict__ overflowed, int rows,
                      int fresh) {
  constexpr int kKept = (KEEP + 31) / 32, kNew = LISTS * LENGTH / 32;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows || order[row] < 0) return;
  Candidate* mine = candidates + (size_t)row * kRowCandidates;
  const int list = lane % LISTS, offset = lane / LISTS;
  int count = counts[(size_t)row * LISTS + list];
  if (__any_sync(~0u, count > LENGTH) && lane == 0) overflowed[row] = 1;
  count = min(count, LENGTH);
  if (!fresh && __all_sync(~0u, count == 0)) return;
  Word score[kKept + kNew];
  int key[kKept + kNew];
#pragma unroll
  for (int e = 0; e < kKept + kNew; ++e) {
    score[e] = 0;
    key[e] = -1;
    const int kept = e * 32 + lane, found = (e - kKept) * (32 / LISTS) + offset;
    const bool present = e < kKept ? !fresh && kept < KEEP : found < count;
    if (present) {
      const Candidate candidate = mine[e < kKept ? kept : KEEP + list * LENGTH + found];
      score[e] = candidate.column < 0 ? 0 : ordered(candidate.score);
      key[e] = candidate.column;
    }
  }
  Word bound = 0;  // the KEEP-th largest, bit by bit
  for (int bit = 31; bit >= 0; --bit) {
    const Word raised = bound | 1u << bit;
    int above = 0;
#pragma unroll
    for (int e = 0; e < kKept + kNew; ++e) above += score[e] >= raised;
    above = __reduce_add_sync(~0u, above);
    if (above >= KEEP) bound = raised;
  }
  __syncwarp();  // all lanes have read their candidates before one is overwritten
  int kept = 0;
  const Word before = (1u << lane) - 1;
  for (int equal = 0; equal < 2; ++equal) {
#pragma unroll
    for (int e = 0; e < kKept + kNew; ++e) {
      const bool keep = key[e] >= 0 && (equal ? score[e] == bound : score[e] > bound);
      const Word mask = __ballot_sync(~0u, keep);
      const int to = kept + __popc(mask & before);
      if (keep && to < KEEP) mine[to] = {unordered(score[e]), key[e]};
      kept += __popc(mask);
    }
  }
  for (int e = kept + lane; e < KEEP; e += 32) mine[e] = {0.0f, -1};
  if (lane == 0 && bound) {
    const float last = unordered(bound);
    thresholds[row] = last + 2e-6f * (fabsf(last) + 0.5f * squares[row]);
  }
}

// Bounds of the error of the distances between a rounded, scaled row and others that are `apart` from it.
struct Errors {
  float square, length, rounding, worst;
  int columns;

  // Error of a squared distance from the sum on tensor cores: each step of 16 coordinates rounds. The sums of
  // the first scores started near 25,000, where a float32 has steps of 0.002.
  __device__ float of_sum(float apart) const {
    const float reach = length + apart, steps = 1 + 0.0625f * columns;
    return 2 * (5.2e-7f * steps * reach * reach + fmaxf(0.02f, 0.0022f * steps));
  }
  // Error of a distance from the rounding of both rows.
  __device__ float of_rows(float apart) const {
    return rounding + fminf(worst, 4.9e-4f * (length + apart) + 1e-6f);
  }
  __device__ float distance(float score) const { return sqrtf(fmaxf(0.0f, square - 2 * score)); }
  // Lower and upper bound of the true distance of a pair.
  __device__ float least(float score) const {
    const float apart = distance(score);
    return sqrtf(fmaxf(0.0f, apart * apart - of_sum(apart))) - of_rows(apart);
  }
  __device__ float most(float score) const {
    const float apart = distance(score);
    return sqrtf(apart * apart + of_sum(apart)) + of_rows(apart);
  }
};

// The rank-th largest of the kept scores of a row; kPaddingScore if there are fewer. Called by a whole warp.
__device__ inline float kept_score(const Candidate* kept, int rank) {
  constexpr int kPerLane = (KEEP + 31) / 32;
  const int lane = threadIdx.x & 31;
  Word score[kPerLane], found = 0;
#pragma unroll
  for (int e = 0; e < kPerLane; ++e) {
    const int at = e * 32 + lane;
    score[e] = at < KEEP && kept[at].column >= 0 ? ordered(kept[at].score) : 0;
  }
  for (int bit = 31; bit >= 0; --bit) {
    const Word raised = found | 1u << bit;
    int above = 0;
#pragma unroll
    for (int e = 0; e < kPerLane; ++e) above += score[e] >= raised;
    if (__reduce_add_sync(~0u, above) >= rank) found = raised;
  }
  return found ? unordered(found) : kPaddingScore;
}

// Compares the kept candidates in float32, except those that are certainly too far, and writes the best k of
// every row by (distance, id). A row is unproven unless all points that are not candidates are certainly
// farther: these scored less than the threshold, up to the rounding of rows and sums. A warp per row. `exact`
// is 0 if not all points were compared; then all kept candidates are compared in float32, and only rows with
// too few of them are unproven.
extern "C" __global__ void __launch_bounds__(THREADS)
    rank_candidates(const Value* __restrict__ points, const float* __restrict__ deficits, int columns,
                    const int* __restrict__ order, const Candidate* __restrict__ candidates,
                    const float* __restrict__ thresholds, const float* __restrict__ squares,
                    const float* __restrict__ rounding, const unsigned char* __restrict__ overflowed,
                    const Word* __restrict__ longest, const Word* __restrict__ worst,
                    const int* __restrict__ all_order, int first_row, int rows, int k, int exact,
                    int* __restrict__ ids, float* __restrict__ sums, int* __restrict__ unproven,
                    int* __restrict__ unproven_count) {
  constexpr int kWarps = THREADS / 32;
  __shared__ float distance[kWarps][KEEP];
  __shared__ int id[kWarps][KEEP];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.x * kWarps + warp;
  if (row >= rows) return;
  const int self = order[row];
  if (self < 0) return;
  const Value* x = points + (size_t)self * columns;
  const Candidate* kept = candidates + (size_t)row * kRowCandidates;
  const Errors errors{squares[row], sqrtf(squares[row]), rounding[row], __uint_as_float(*worst), columns};
  const float reach = errors.most(kept_score(kept, k + 1));  // the row itself may be one of them
  const int sub = lane / LANES, part = lane % LANES;
  for (int begin = 0; begin < KEEP; begin += 32 / LANES) {
    const int at = begin + sub;
    int other = -1;
    if (at < KEEP) {
      const Candidate candidate = kept[at];
      if (candidate.column >= 0 && (!exact || errors.least(candidate.score) <= reach))
        other = all_order[candidate.column];
    }
    if (other == self) other = -1;
    float sum = 0;
    if (other >= 0) {
      const Value* y = points + (size_t)other * columns;
#pragma unroll 4
      for (int c = part; c < columns; c += LANES) {
        const float difference = value_at(x + c) - value_at(y + c);
        sum += difference * difference;
      }
    }
#pragma unroll
    for (int apart = LANES / 2; apart; apart >>= 1) sum += __shfl_xor_sync(~0u, sum, apart);
    if (deficits && other >= 0) sum += deficits[self] + deficits[other];
    if (part == 0 && at < KEEP) {
      distance[warp][at] = other < 0 ? __int_as_float(0x7f800000) : sum;
      id[warp][at] = other < 0 ? 0x7fffffff : other;
    }
  }
  __syncwarp();
  float last = -1;
  for (int at = lane; at < KEEP; at += 32) {
    const float mine = distance[warp][at];
    const int name = id[warp][at];
    if (name == 0x7fffffff) continue;
    int rank = 0;
    for (int e = 0; e < KEEP; ++e)
      rank += distance[warp][e] < mine || (distance[warp][e] == mine && id[warp][e] < name);
    if (rank < k) {
      ids[(size_t)self * k + rank] = name;
      sums[(size_t)self * k + rank] = mine;
      if (rank == k - 1) last = mine;
    }
  }
  for (int apart = 16; apart; apart >>= 1) last = fmaxf(last, __shfl_xor_sync(~0u, last, apart));
  if (lane != 0) return;
  const float nearest = errors.least(thresholds[row]);  // a lower bound for points that are not candidates
  const bool proven =
      last >= 0 && (!exact || (!overflowed[row] && sqrtf(last) * scale_of(*longest) < nearest));
  if (!proven) unproven[atomicAdd(unproven_count, 1)] = self;
}
