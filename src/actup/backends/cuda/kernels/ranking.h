// The kernels that choose among candidates: the best ones of a row between two launches, and in the end the
// neighbours. Included by candidates.cu, which has the types.
#pragma once

// A float's bits in the order of the numbers, and back.
__device__ inline Word ordered(float x) {
  const Word bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(Word bits) {
  return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

// Keeps the best KEEP of a row's candidates and raises its threshold just above the last of them, so that
// copies of that one do not come again in numbers. A warp per row; `fresh`: nothing was kept before.
extern "C" __global__ void __launch_bounds__(256)
    select_candidates(Candidate* __restrict__ room, const int* __restrict__ counts,
                      const int* __restrict__ order, const float* __restrict__ squares,
                      float* __restrict__ thresholds, unsigned char* __restrict__ overflowed, int rows,
                      int fresh) {
  constexpr int kKept = (KEEP + 31) / 32, kNew = LISTS * LENGTH / 32;
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows || order[row] < 0) return;
  Candidate* mine = room + (size_t)row * kRoom;
  const int list = lane % LISTS, offset = lane / LISTS;
  int count = counts[(size_t)row * LISTS + list];
  if (__any_sync(~0u, count > LENGTH) && lane == 0) overflowed[row] = 1;
  count = min(count, LENGTH);
  if (!fresh && __all_sync(~0u, count == 0)) return;
  Word score[kKept + kNew];
  int column[kKept + kNew];
#pragma unroll
  for (int e = 0; e < kKept + kNew; ++e) {
    score[e] = 0;
    column[e] = -1;
    const int kept = e * 32 + lane, found = (e - kKept) * (32 / LISTS) + offset;
    const bool present = e < kKept ? !fresh && kept < KEEP : found < count;
    if (present) {
      const Candidate candidate = mine[e < kKept ? kept : KEEP + list * LENGTH + found];
      score[e] = candidate.column < 0 ? 0 : ordered(candidate.score);
      column[e] = candidate.column;
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
  int kept = 0;
  const Word before = (1u << lane) - 1;
  for (int equal = 0; equal < 2; ++equal) {
#pragma unroll
    for (int e = 0; e < kKept + kNew; ++e) {
      const bool keep = column[e] >= 0 && (equal ? score[e] == bound : score[e] > bound);
      const Word mask = __ballot_sync(~0u, keep);
      const int to = kept + __popc(mask & before);
      if (keep && to < KEEP) mine[to] = {unordered(score[e]), column[e]};
      kept += __popc(mask);
    }
  }
  for (int e = kept + lane; e < KEEP; e += 32) mine[e] = {0.0f, -1};
  if (lane == 0 && bound) {
    const float last = unordered(bound);
    thresholds[row] = last + 2e-6f * (fabsf(last) + 0.5f * squares[row]);
  }
}

// How far distances of the rounded rows, scaled, may be from the true ones, for a pair that is `apart`.
struct Errors {
  float square, length, rounding, worst;
  int columns;

  // Of a squared distance, from the sum on tensor cores: each step of 16 columns rounds, and so did the first
  // scores, which began at a large number.
  __device__ float of_sum(float apart) const {
    const float reach = length + apart;
    return 2 * (5e-7f * (1 + 0.0625f * columns) * reach * reach + 0.02f);
  }
  // Of a distance, from the rounding of both rows.
  __device__ float of_rows(float apart) const {
    return rounding + fminf(worst, 4.9e-4f * (length + apart) + 1e-6f);
  }
  __device__ float distance(float score) const { return sqrtf(fmaxf(0.0f, square - 2 * score)); }
  __device__ float least(float score) const {
    const float apart = distance(score);
    return sqrtf(fmaxf(0.0f, apart * apart - of_sum(apart))) - of_rows(apart);
  }
  __device__ float most(float score) const {
    const float apart = distance(score);
    return sqrtf(apart * apart + of_sum(apart)) + of_rows(apart);
  }
};

// The rank-th largest of the kept scores of a row, by a warp; the smallest number if there are fewer.
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
  return found ? unordered(found) : kNowhere;
}

// Compares the kept candidates in float32, but for those that are certainly too far, and writes the best k of
// every row by (distance, id). A row is flagged unless what it never saw is proven to be further away: those
// columns scored less than the threshold, up to the rounding of rows and sums. A warp per row. `exact` is 0
// if not all columns were looked at; only rows with too few candidates are flagged then.
extern "C" __global__ void __launch_bounds__(256)
    rank_candidates(const float* __restrict__ points, int columns, const int* __restrict__ order,
                    const Candidate* __restrict__ room, const float* __restrict__ thresholds,
                    const float* __restrict__ squares, const float* __restrict__ rounding,
                    const unsigned char* __restrict__ overflowed, const Word* __restrict__ longest,
                    const Word* __restrict__ worst, const int* __restrict__ all_order, int first_row,
                    int rows, int k, int exact, int* __restrict__ ids, float* __restrict__ sums,
                    int* __restrict__ flagged, int* __restrict__ flags) {
  __shared__ float distance[8][KEEP];
  __shared__ int id[8][KEEP];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.x * 8 + warp;
  if (row >= rows) return;
  const int self = order[row];
  if (self < 0) return;
  const float* x = points + (size_t)self * columns;
  const Candidate* kept = room + (size_t)row * kRoom;
  const Errors errors{squares[row], sqrtf(squares[row]), rounding[row], __uint_as_float(*worst), columns};
  const float reach = errors.most(kept_score(kept, k + 1));  // the row itself is one of them
  const int sub = lane / LANES, part = lane % LANES;
  for (int begin = 0; begin < KEEP; begin += 32 / LANES) {
    const int at = begin + sub;
    int other = -1;
    if (at < KEEP) {
      const Candidate candidate = kept[at];
      if (candidate.column >= 0 && errors.least(candidate.score) <= reach)
        other = all_order[candidate.column];
    }
    if (other == self) other = -1;
    float sum = 0;
    if (other >= 0) {
      const float* y = points + (size_t)other * columns;
#pragma unroll 4
      for (int c = part; c < columns; c += LANES) {
        const float difference = x[c] - __ldg(y + c);
        sum += difference * difference;
      }
    }
#pragma unroll
    for (int apart = LANES / 2; apart; apart >>= 1) sum += __shfl_xor_sync(~0u, sum, apart);
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
  const float nearest = errors.least(thresholds[row]);  // that can be missing
  const bool proven =
      last >= 0 && (!exact || (!overflowed[row] && sqrtf(last) * scale_of(*longest) < nearest));
  if (!proven) flagged[atomicAdd(flags, 1)] = self;
}
