// The search of candidates.cu over all pairs for GPUs of compute capability 9.0, whose warpgroups multiply
// twice as fast as warps do. It reads and writes the same, except that it has 16 lists per row.
//
// Two thread blocks form a cluster: each compares its own tile of rows with the same keys, two tiles at a
// time, and copies one of the two for both, so that keys are read half as often. In a thread block, one warp
// starts the copies of slabs, HOPPER_STAGES of them ahead, and two warpgroups of 64 rows each compare them
// with the keys. A launch divides the keys into HOPPER_PARTS parts, each with its own lists: more and smaller
// portions of work keep all multiprocessors busy to the end.
//
// STEPS    products of 16 coordinates in the last slab; candidate.h and constants.py have the other sizes
#ifndef STEPS
#define STEPS 4
#endif
#ifndef LISTS
#define LISTS 16
#endif

#include "collect.h"
#include "warpgroup.h"

constexpr int kStages = HOPPER_STAGES;
constexpr int kSlabBytes = 2 * SLAB;           // of a row
constexpr int kTileBytes = TILE * kSlabBytes;  // of one slab of a tile
constexpr int kStageBytes = 3 * kTileBytes;    // a tile of queries, then two tiles of keys
constexpr int kWarpgroups = 2, kWarpgroupWarps = 4, kCluster = 2;
constexpr int kWarpgroupBytes = kTileBytes / kWarpgroups;  // of the queries of a warpgroup

static_assert(LISTS == 4 * HOPPER_PARTS, "a row has a list for each part and each of 4 threads");
static_assert(HOPPER_THREADS == 32 * (kWarpgroups * kWarpgroupWarps + 1), "one warp copies");

// The portions of work of a cluster: two tiles of rows, compared with one part of the keys. All clusters work
// on the same part at the same time, so that a tile is read from memory once and then from the cache.
struct Portion {
  int first, last, row_pairs;
  int number, part, row_pair;
  int begin, end;  // of the tiles of keys

  __device__ Portion(int first, int last, int row_tiles)
      : first(first), last(last), row_pairs((row_tiles + 1) / 2) {
    number = (int)blockIdx.x / kCluster - (int)gridDim.x / kCluster;
    next();
  }

  __device__ bool done() const { return number >= row_pairs * HOPPER_PARTS; }
  __device__ void next() {
    number += gridDim.x / kCluster;
    part = number / row_pairs;
    row_pair = number % row_pairs;
    begin = first + (last - first) * part / HOPPER_PARTS;
    end = first + (last - first) * (part + 1) / HOPPER_PARTS;
  }
};

// The stages in shared memory, each with a barrier that says that it is full and one that says that the
// warpgroups of both thread blocks have read it.
struct Ring {
  Word base;
  Word parity;  // of the phase that is awaited next
  int stage = 0;

  __device__ Ring(Word base, Word parity) : base(base), parity(parity) {}
  __device__ Word memory() const { return base + stage * kStageBytes; }
  __device__ Word full(int stage) const { return base + kStages * kStageBytes + 8 * stage; }
  __device__ Word empty(int stage) const { return full(kStages + stage); }
  __device__ int previous() const { return stage ? stage - 1 : kStages - 1; }
  __device__ void next() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

struct Rows {
  const char *queries, *keys;
  size_t slab_bytes;  // of all rows
  int row_tiles, slabs;
};

// Copies the slabs of all portions, one stage after the other; called by one thread of each thread block.
__device__ inline void copy_portions(const Rows& rows, Ring ring, Portion portion, int rank) {
  for (; !portion.done(); portion.next()) {
    // The last tile of an odd number of them has no partner: the other thread block copies it too.
    const int row_tile = min(kCluster * portion.row_pair + rank, rows.row_tiles - 1);
    for (int t = portion.begin; t < portion.end; t += 2) {
      const char* query = rows.queries + (size_t)row_tile * kTileBytes;
      const char* key = rows.keys + (size_t)min(t + rank, portion.end - 1) * kTileBytes;
      for (int slab = 0; slab < rows.slabs; ++slab, ring.next()) {
        const Word full = ring.full(ring.stage);
        await_cluster_barrier(ring.empty(ring.stage), ring.parity);
        expect_bytes(full, kStageBytes);
        copy_bytes(ring.memory(), query, kTileBytes, full);
        copy_to_both(ring.memory() + (1 + rank) * kTileBytes, key, kTileBytes, full);
        query += rows.slab_bytes;
        key += rows.slab_bytes;
      }
    }
  }
}

// Adds the products of a slab, once it is copied.
template <int steps>
__device__ inline void compare_slab(WarpgroupSums& sums, const Ring& ring, int warpgroup) {
  await_barrier(ring.full(ring.stage), ring.parity);
  const Operand queries = operand_at(ring.memory() + warpgroup * kWarpgroupBytes);
  const Operand keys = operand_at(ring.memory() + kTileBytes);
  begin_products(sums);
#pragma unroll
  for (int k = 0; k < steps; ++k) add_products(sums, queries + k * kOperandStep, keys + k * kOperandStep);
  commit_products();
}

// The scores of 64 rows and two tiles of keys, less the thresholds.
__device__ inline void compare_tiles(WarpgroupSums& sums, const RowPair& rows, int slabs, Ring& ring,
                                     int warpgroup) {
  // One warp of the warpgroup tells both thread blocks that a stage may be overwritten.
  const int lane = threadIdx.x & 31;
  const bool tells = threadIdx.x % (32 * kWarpgroupWarps) < kCluster;
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int e = 0; e < 32; ++e) sums[i][e] = e & 2 ? -rows.threshold1 : -rows.threshold0;
  for (int slab = 0; slab < slabs - 1; ++slab, ring.next()) {
    compare_slab<4>(sums, ring, warpgroup);
    await_products<1>();  // those of the slab before
    if (slab && tells) arrive_in_cluster(ring.empty(ring.previous()), lane);
  }
  compare_slab<STEPS>(sums, ring, warpgroup);
  await_products<0>();
  pin(sums);
  if (tells) {
    arrive_in_cluster(ring.empty(ring.previous()), lane);
    arrive_in_cluster(ring.empty(ring.stage), lane);
  }
  ring.next();
}

// Needs more than one slab.
extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(HOPPER_THREADS, 1)
    find_candidates(const char* __restrict__ queries, const char* __restrict__ keys,
                    const float* __restrict__ thresholds, int* __restrict__ counts,
                    Candidate* __restrict__ candidates, int row_tiles, long long positions, int slabs,
                    int first, int last) {
  extern __shared__ __align__(1024) char memory[];
  const Word base = shared_address(memory);
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, quad = lane & 3;
  const int rank = blockIdx.x % kCluster;
  Ring ring(base, 0);
  Portion portion(first, last, row_tiles);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      initialize_barrier(ring.full(stage), 1);
      initialize_barrier(ring.empty(stage), kWarpgroups * kCluster);
    }
    publish_barriers();
  }
  synchronize_cluster();
  if (warp == kWarpgroups * kWarpgroupWarps) {
    const Rows rows{queries, keys, (size_t)positions * kSlabBytes, row_tiles, slabs};
    if (lane == 0) copy_portions(rows, Ring(base, 1), portion, rank);
  } else {
    for (; !portion.done(); portion.next()) {
      const int row_tile = kCluster * portion.row_pair + rank, list = 4 * portion.part + quad;
      const bool exists = row_tile < row_tiles;
      const float none = __int_as_float(0x7f800000);  // no score exceeds this threshold
      const size_t row = (size_t)row_tile * TILE + warp * 16 + (lane >> 2);
      RowPair rows{exists ? thresholds[row] : none, exists ? thresholds[row + 8] : none, 0, 0,
                   candidates + row * kRowCandidates + KEEP + list * LENGTH};
      for (int t = portion.begin; t < portion.end; t += 2) {
        WarpgroupSums sums;
        compare_tiles(sums, rows, slabs, ring, warp / kWarpgroupWarps);
#pragma unroll
        for (int i = 0; i < 4; ++i)  // an odd number of tiles ends with one alone
          if (i < 2 || t + 1 < portion.end) collect(sums[i], t * TILE + 64 * i + 2 * quad, rows);
        __syncwarp();  // the next products need all threads of a warp at once
      }
      if (exists) {
        counts[row * LISTS + list] = rows.count0;
        counts[(row + 8) * LISTS + list] = rows.count1;
      }
    }
  }
  synchronize_cluster();  // the other thread block still writes to this one's memory
}
