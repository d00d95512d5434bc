// The candidates of a row, as candidates.cu or candidates_hopper.cu writes and ranking.cu reads them: the
// kept ones, then the lists of new ones.
//
// KEEP     candidates kept per row
// LISTS    lists per row, a divisor of 32: candidates.cu has 4 if NARROW, else 8, and candidates_hopper.cu 16
// LENGTH   capacity of a list; LISTS * LENGTH is a multiple of 32
#pragma once

#ifndef KEEP
#define KEEP 32
#endif
#ifndef LISTS
#define LISTS 8
#endif
#ifndef LENGTH
#define LENGTH 48
#endif

typedef unsigned int Word;

struct alignas(8) Candidate {
  float score;
  int column;  // position of the key; -1: none
};

constexpr int kRowCandidates = KEEP + LISTS * LENGTH;  // capacity of a row
constexpr float kPaddingScore = -60000.0f;             // of keys that only fill up a tile
