// What the search for candidates and the choice among them share: the sizes of a row's lists.
//
// KEEP     candidates kept per row
// LISTS    lists per row: 4 if NARROW, else 8
// LENGTH   room of a list; LISTS * LENGTH is a multiple of 32
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
  int column;
};

constexpr int kRoom = KEEP + LISTS * LENGTH;  // what a row has: the kept ones, then the lists
constexpr float kNowhere = -60000.0f;         // the score of a column that is only there to fill a tile
