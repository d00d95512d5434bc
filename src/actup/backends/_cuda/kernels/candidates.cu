// Candidates for the nearest neighbours of every row, from 16-bit products on tensor cores.
//
// The score of a pair is x·y - |y|²/2: the larger, the nearer. Rows are centred, scaled and rounded to 16
// bits (ranking.cu); one launch compares all rows with a range of keys. An accumulator starts at minus its
// row's threshold, so a pair is a candidate if the sign bit of the finished sum is 0. Each list of candidates
// belongs to one thread: no atomics, and the same lists in every run. Between launches, ranking.cu keeps the
// best KEEP of a row and raises its threshold.
//
// Queries are compared with keys: both are rows of X. Their coordinates are stored in slabs of 64.
//
// With CELLS, keys are stored relative to the centre of their cell, and the queries of a tile of rows once for
// every cell it is compared with, relative to that cell's centre (encode_queries of ranking.cu).
//
// Hopper GPUs compare all pairs of rows of several slabs by candidates_hopper.cu instead.
//
// NARROW   one slab is enough
// CELLS    tiles are compared with lists of tiles, cell by cell
// STEPS    products of 16 coordinates in the last slab; candidate.h and constants.py have the other sizes
#ifndef STEPS
#define STEPS 4
#endif

#include "collect.h"
#include "tiles.h"

constexpr int kTile = TILE;
constexpr int kSlabBytes = 2 * SLAB;            // of a row
constexpr int kTileBytes = kTile * kSlabBytes;  // of one slab of a tile

#ifdef NARROW
// Up to 62 coordinates: 4 warps of 32 rows each, whose queries stay in registers; LISTS is 4.
constexpr int kStages = NARROW_STAGES;

extern "C" __global__ void __launch_bounds__(CANDIDATE_THREADS, NARROW_BLOCKS)
    find_candidates(const char* __restrict__ queries, const char* __restrict__ keys,
                    const float* __restrict__ thresholds, int* __restrict__ counts,
                    Candidate* __restrict__ candidates, int row_tiles, long long positions, int slabs,
                    const int* tile_lists, const int* ends, const int* list_of, int stride, int probes,
                    const float* __restrict__ starts, int first, int last) {
  extern __shared__ __align__(1024) char memory[];
  const Word base = shared_address(memory);
  const int thread = threadIdx.x, lane = thread & 31, group = lane >> 2, quad = lane & 3;
  Walk walk({tile_lists, ends, list_of, stride, probes}, first, last, row_tiles);
  Prefetch ahead(walk);
  const auto fetch = [&](int stage) {
    if (!ahead.walk.done()) {
      const char* from = keys + (size_t)ahead.tile() * kTileBytes + thread * 16;
      const Word to = base + stage * kTileBytes + thread * 16;
#pragma unroll
      for (int i = 0; i < 8; ++i) copy_chunk(to + i * 2048, from + i * 2048);
      ahead.next();
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage);
  int stage = 0;
  const Word key_row = ((lane & 7) + ((lane >> 4) << 3)) * kSlabBytes;
  for (; !walk.done(); walk.next()) {
    const int row_in_tile = (thread >> 5) * 32 + group;
    const size_t row = (size_t)walk.block * kTile + row_in_tile;
    RowPair rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const size_t at = row + 16 * i;
      rows[i] = {thresholds[at], thresholds[at + 8], 0, 0,
                 candidates + at * kRowCandidates + KEEP + quad * LENGTH};
    }
    Word query[2][STEPS][4];
    float start[2][2];
    const auto load_queries = [&](size_t tile) {  // a tile of rows, or with CELLS that tile for one cell
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const size_t at = tile * kTile + row_in_tile + 16 * i;
        const char* from = queries + at * kSlabBytes + quad * 4;
#pragma unroll
        for (int k = 0; k < STEPS; ++k)
#pragma unroll
          for (int part = 0; part < 4; ++part)  // rows i and i + 8 at coordinates 0-7, then at 8-15
            query[i][k][part] =
                *(const Word*)(from + (part & 1) * 1024 + (((2 * k + (part >> 1)) ^ group) << 4));
        start[i][0] = (starts ? starts[at] : 0.0f) - rows[i].threshold0;
        start[i][1] = (starts ? starts[at + 8] : 0.0f) - rows[i].threshold1;
      }
    };
#ifndef CELLS
    load_queries(walk.block);
#endif
    for (int t = walk.begin; t < walk.end; ++t) {
#ifdef CELLS
      if (walk.enters_cell(t)) load_queries(walk.slot());
#endif
      await_copies<kStages - 2>();
      __syncthreads();
      fetch((stage + kStages - 1) % kStages);
      const Word key = base + stage * kTileBytes + key_row;
      stage = (stage + 1) % kStages;
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float sums[2][32];
#pragma unroll
        for (int k = 0; k < STEPS; ++k) {
          const Word chunk = ((2 * k + ((lane >> 3) & 1)) ^ (lane & 7)) << 4;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            Word b0, b1, b2, b3;
            load_matrix(key + (side * 4 + j) * 2048 + chunk, b0, b1, b2, b3);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              if (k == 0) {
                multiply_first(&sums[i][8 * j], query[i][k], b0, b1, start[i][0], start[i][1]);
                multiply_first(&sums[i][8 * j + 4], query[i][k], b2, b3, start[i][0], start[i][1]);
              } else {
                multiply(&sums[i][8 * j], query[i][k], b0, b1);
                multiply(&sums[i][8 * j + 4], query[i][k], b2, b3);
              }
            }
          }
        }
        const int first_key = walk.tile(t) * kTile + side * 64 + 2 * quad;
#pragma unroll
        for (int i = 0; i < 2; ++i) collect(sums[i], first_key, rows[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      counts[(row + 16 * i) * LISTS + quad] = rows[i].count0;
      counts[(row + 16 * i + 8) * LISTS + quad] = rows[i].count1;
    }
  }
}

#else
// Any number of coordinates: 4 warps of 64 rows x 64 keys; slabs of queries and keys pass through shared
// memory; LISTS is 8.
constexpr int kStages = WIDE_STAGES;

extern "C" __global__ void __launch_bounds__(CANDIDATE_THREADS, WIDE_BLOCKS)
    find_candidates(const char* __restrict__ queries, const char* __restrict__ keys,
                    const float* __restrict__ thresholds, int* __restrict__ counts,
                    Candidate* __restrict__ candidates, int row_tiles, long long positions, int slabs,
                    const int* tile_lists, const int* ends, const int* list_of, int stride, int probes,
                    const float* __restrict__ starts, int first, int last) {
  extern __shared__ __align__(1024) char memory[];
  const Word base = shared_address(memory);
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const int group = lane >> 2, quad = lane & 3, down = warp >> 1, across = warp & 1;
  const size_t slab_bytes = (size_t)positions * kSlabBytes;
  Walk walk({tile_lists, ends, list_of, stride, probes}, first, last, row_tiles);
  Prefetch ahead(walk);
  int ahead_slab = 0;
  const auto fetch = [&](int stage) {
    if (!ahead.walk.done()) {
#ifdef CELLS
      ahead.walk.enters_cell(ahead.position);
      const char* query = queries + (ahead.walk.slot() * slabs + ahead_slab) * kTileBytes + thread * 16;
#else
      const char* query =
          queries + ahead_slab * slab_bytes + (size_t)ahead.walk.block * kTileBytes + thread * 16;
#endif
      const char* key = keys + ahead_slab * slab_bytes + (size_t)ahead.tile() * kTileBytes + thread * 16;
      const Word to = base + stage * 2 * kTileBytes + thread * 16;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        copy_chunk(to + i * 2048, query + i * 2048);
        copy_chunk(to + kTileBytes + i * 2048, key + i * 2048);
      }
      if (++ahead_slab == slabs) {
        ahead_slab = 0;
        ahead.next();
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) fetch(stage);
  int stage = 0;
  for (; !walk.done(); walk.next()) {
    const int row_in_tile = down * 64 + group;
    const size_t row = (size_t)walk.block * kTile + row_in_tile;
    const int list = across * 4 + quad;
    int found[8] = {};
    for (int t = walk.begin; t < walk.end; ++t) {
      float sums[4][32];
#ifdef CELLS
      walk.enters_cell(t);
      const float* cell_starts = starts + walk.slot() * kTile + row_in_tile;
#endif
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float start0 = -__ldg(thresholds + row + 16 * i), start1 = -__ldg(thresholds + row + 16 * i + 8);
#ifdef CELLS
        start0 += __ldg(cell_starts + 16 * i), start1 += __ldg(cell_starts + 16 * i + 8);
#endif
#pragma unroll
        for (int e = 0; e < 32; ++e) sums[i][e] = e & 2 ? start1 : start0;
      }
      for (int slab = 0; slab < slabs; ++slab) {
        await_copies<kStages - 2>();
        __syncthreads();
        fetch((stage + kStages - 1) % kStages);
        const Word tile = base + stage * 2 * kTileBytes;
        stage = (stage + 1) % kStages;
        const Word query = tile + down * 8192 + (lane & 15) * kSlabBytes;
        const Word key = tile + kTileBytes + across * 8192 + ((lane & 7) + ((lane >> 4) << 3)) * kSlabBytes;
        const int steps = slab == slabs - 1 ? STEPS : 4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (k >= steps) break;
          const Word query_chunk = ((2 * k + (lane >> 4)) ^ (lane & 7)) << 4;
          const Word key_chunk = ((2 * k + ((lane >> 3) & 1)) ^ (lane & 7)) << 4;
          Word b[8][2];
#pragma unroll
          for (int j = 0; j < 4; ++j)
            load_matrix(key + j * 2048 + key_chunk, b[2 * j][0], b[2 * j][1], b[2 * j + 1][0],
                        b[2 * j + 1][1]);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            Word a[4];
            load_matrix(query + i * 2048 + query_chunk, a[0], a[1], a[2], a[3]);
#pragma unroll
            for (int j = 0; j < 8; ++j) multiply(&sums[i][4 * j], a, b[j][0], b[j][1]);
          }
        }
      }
      const int first_key = walk.tile(t) * kTile + across * 64 + 2 * quad;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const size_t at = row + 16 * i;
        RowPair rows{__ldg(thresholds + at), __ldg(thresholds + at + 8), found[2 * i], found[2 * i + 1],
                     candidates + at * kRowCandidates + KEEP + list * LENGTH};
        collect(sums[i], first_key, rows);
        found[2 * i] = rows.count0;
        found[2 * i + 1] = rows.count1;
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) counts[(row + 8 * i) * LISTS + list] = found[i];
  }
}
#endif
