// Improves lists of neighbours: refine_rows runs a refinement round, merge_lists merges two lists.
//
// In a refinement round every row is compared with the neighbours of its neighbours. The round reads copies
// of the lists from before it, so the result does not depend on the order of the rows.
//
// A warp per row. A hash table in shared memory deduplicates the ids; the new ones are compared in float32,
// and the best K of the old and the new ones are written by (distance, id).
//
// K      neighbours of a row
// OFFER  how many of its nearest neighbours each neighbour offers, at most K
// LANES  threads that share one distance
#ifndef K
#define K 15
#endif
#ifndef OFFER
#define OFFER 15
#endif
#ifndef LANES
#define LANES 8
#endif

#include "row_value.h"

typedef unsigned int Word;
typedef unsigned long long Key;  // the bits of a sum, which is at least 0, then the id: sorts by both

constexpr int kWarps = REFINE_WARPS;
constexpr int kOffered = K * OFFER;
constexpr int slots_for(int ids) {  // a power of two; the ids fill at most two thirds of the slots
  int slots = 32;
  while (2 * slots < 3 * ids) slots *= 2;
  return slots;
}
constexpr int kSlots = slots_for(kOffered + K + 1);

// Enters an id into the hash table; returns whether it is new.
__device__ inline bool enter(int* table, int id) {
  for (Word slot = (Word)id * 2654435761u;; ++slot) {
    const int before = atomicCAS(table + slot % kSlots, -1, id);
    if (before == -1) return true;
    if (before == id) return false;
  }
}

// order (positions): the rows in an order that keeps neighbours close together, -1 for padding; old_* and the
// outputs are (n, K). Rows without an improvement are not written.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    refine_rows(const Value* __restrict__ points, int columns, const int* __restrict__ order, int positions,
                const int* __restrict__ old_ids, const float* __restrict__ old_sums, int* __restrict__ ids,
                float* __restrict__ sums) {
  __shared__ int tables[kWarps][kSlots];
  __shared__ Key lists[kWarps][K + kOffered];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, position = blockIdx.x * kWarps + warp;
  if (position >= positions) return;
  const int self = order[position];
  if (self < 0) return;
  int* table = tables[warp];
  Key* list = lists[warp];
  for (int slot = lane; slot < kSlots; slot += 32) table[slot] = -1;
  __syncwarp();
  for (int e = lane; e <= K; e += 32) {
    const int id = e < K ? old_ids[(size_t)self * K + e] : self;
    enter(table, id);
    if (e < K) list[e] = Key(__float_as_uint(old_sums[(size_t)self * K + e])) << 32 | (Word)id;
  }
  __syncwarp();
  const Word before = (1u << lane) - 1;
  int met = K;  // length of the list: the old neighbours, then ids to compare with
  for (int begin = 0; begin < kOffered; begin += 32) {
    const int e = begin + lane;
    int id = -1;
    if (e < kOffered) {
      const int offered = old_ids[(size_t)(Word)list[e / OFFER] * K + e % OFFER];
      if (enter(table, offered)) id = offered;
    }
    const Word mask = __ballot_sync(~0u, id >= 0);
    if (id >= 0) list[met + __popc(mask & before)] = (Word)id;
    met += __popc(mask);
  }
  __syncwarp();
  const Key bound = list[K - 1];
  const Value* x = points + (size_t)self * columns;
  const int sub = lane / LANES, part = lane % LANES;
  int kept = K;  // never more than the entries that have been read
  for (int begin = K; begin < met; begin += 32 / LANES) {
    const int at = begin + sub;
    const int other = at < met ? (int)(Word)list[at] : self;
    const Value* y = points + (size_t)other * columns;
    float sum = 0;
#pragma unroll 8
    for (int c = part; c < columns; c += LANES) {
      const float difference = value_at(x + c) - value_at(y + c);
      sum += difference * difference;
    }
#pragma unroll
    for (int apart = LANES / 2; apart; apart >>= 1) sum += __shfl_xor_sync(~0u, sum, apart);
    const Key key = Key(__float_as_uint(sum)) << 32 | (Word)other;
    const bool nearer = part == 0 && at < met && key < bound;
    const Word mask = __ballot_sync(~0u, nearer);
    __syncwarp();  // all threads have read their entry before one is overwritten
    if (nearer) list[kept + __popc(mask & before)] = key;
    kept += __popc(mask);
    __syncwarp();
  }
  if (kept == K) return;
  for (int at = lane; at < kept; at += 32) {
    const Key key = list[at];
    int rank = 0;
    for (int e = 0; e < kept; ++e) rank += list[e] < key;
    if (rank >= K) continue;
    ids[(size_t)self * K + rank] = (int)(Word)key;
    sums[(size_t)self * K + rank] = __uint_as_float((Word)(key >> 32));
  }
}

// Merges a row's own list and a new one, both (count, K), into the best K by (distance, id). Ids of the new
// list count the rows of a pair of blocks: `first` is added to those below `cut`, `second` to the others. An
// id of -1 in the own list is an empty entry. A warp per row.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    merge_lists(int count, const int* __restrict__ new_ids, const float* __restrict__ new_sums, int cut,
                int first, int second, int* __restrict__ ids, float* __restrict__ sums) {
  __shared__ Key lists[kWarps][2 * K];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.x * kWarps + warp;
  if (row >= count) return;
  Key* list = lists[warp];
  for (int e = lane; e < K; e += 32) {
    const size_t at = (size_t)row * K + e;
    list[e] = ids[at] < 0 ? ~Key(0) : Key(__float_as_uint(sums[at])) << 32 | (Word)ids[at];
    const int id = new_ids[at] + (new_ids[at] < cut ? first : second);
    list[K + e] = Key(__float_as_uint(new_sums[at])) << 32 | (Word)id;
  }
  __syncwarp();
  for (int e = K + lane; e < 2 * K; e += 32) {  // drop known ids, whose sums may differ in their last bits
    const Word id = (Word)list[e];
    for (int known = 0; known < K; ++known)
      if ((Word)list[known] == id) list[e] = ~Key(0);
  }
  __syncwarp();
  for (int e = lane; e < 2 * K; e += 32) {
    const Key key = list[e];
    if (key == ~Key(0)) continue;
    int rank = 0;
    for (int other = 0; other < 2 * K; ++other) rank += list[other] < key;
    if (rank >= K) continue;
    ids[(size_t)row * K + rank] = (int)(Word)key;
    sums[(size_t)row * K + rank] = __uint_as_float((Word)(key >> 32));
  }
}
