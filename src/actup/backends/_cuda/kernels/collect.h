// Collects candidates from the accumulators of tensor cores: sums whose sign bit is 0.
#pragma once

#include "candidate.h"

// A thread's part of the two rows, i and i + 8, of an accumulator fragment.
struct RowPair {
  float threshold0, threshold1;
  int count0, count1;
  Candidate* list;  // of row i; that of row i + 8 is 8 rows further
};

// Appends the candidates among 16 sums, 4 fragments of 2 rows x 2 keys; `first_key` is the first key.
__device__ inline void append(const float (&sums)[16], int first_key, RowPair& rows) {
  Word passed = 0;
#pragma unroll
  for (int e = 0; e < 16; ++e) passed = __funnelshift_l(__float_as_uint(sums[e]), passed, 1);
  passed = ~passed & 0xffffu;  // bit 15 - e: the sign of sum e is 0
#pragma unroll 1
  while (passed) {
    const int e = __clz(passed) - 16;
    passed &= ~(0x8000u >> e);
    float eight[8], four[4];  // selects sums[e] without an index, which would move sums to local memory
#pragma unroll
    for (int i = 0; i < 8; ++i) eight[i] = e & 8 ? sums[8 + i] : sums[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) four[i] = e & 4 ? eight[4 + i] : eight[i];
    const bool second = e & 2;
    const float sum = second ? (e & 1 ? four[3] : four[2]) : (e & 1 ? four[1] : four[0]);
    const float score = sum + (second ? rows.threshold1 : rows.threshold0);
    const int at = second ? rows.count1 : rows.count0;
    if (at < LENGTH)
      rows.list[at + (second ? 8 * kRowCandidates : 0)] = {score, first_key + 2 * (e & ~3) + (e & 1)};
    rows.count0 += !second;
    rows.count1 += second;
  }
}

// Appends the candidates among 32 sums, 8 fragments. Usually there is none; one sign bit shows it.
__device__ inline void collect(const float (&sums)[32], int first_key, RowPair& rows) {
  int sign[2] = {-1, -1};
#pragma unroll
  for (int e = 0; e < 32; ++e) sign[e >> 4] &= __float_as_int(sums[e]);
  if ((sign[0] & sign[1]) < 0) return;
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    if (sign[part] < 0) continue;
    float some[16];
#pragma unroll
    for (int e = 0; e < 16; ++e) some[e] = sums[16 * part + e];
    append(some, first_key + 32 * part, rows);
  }
}
