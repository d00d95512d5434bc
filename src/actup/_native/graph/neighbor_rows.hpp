// NeighborRows: the neighbours of consecutive rows, owned by the caller.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace actup {

// A neighbour that is disconnected from its row has the id -1 and an infinite distance.
struct NeighborRows {
  const int32_t* ids;      // (rows, k)
  const float* distances;  // (rows, k), ascending in a row
  int64_t rows;
  int64_t k;
  int64_t first_row = 0;  // the number of the first of these rows in the data
};

constexpr int64_t kRowsPerTask = 512;

// How many neighbours of a row are connected to it; they come first.
inline int64_t connected_count(const float* distances, int64_t k) {
  while (k > 0 && distances[k - 1] > std::numeric_limits<float>::max()) --k;
  return k;
}

// points: how many rows the data has.
inline void check_row(const NeighborRows& neighbors, int64_t row, int64_t points) {
  float previous = 0;
  for (int64_t at = row * neighbors.k; at < (row + 1) * neighbors.k; ++at) {
    const float distance = neighbors.distances[at];
    if (neighbors.ids[at] == -1 && distance == std::numeric_limits<float>::infinity()) {
      previous = distance;
      continue;
    }
    if (!(distance >= previous && distance <= std::numeric_limits<float>::max())) {
      throw std::invalid_argument(
          "neighbour distances must be finite, at least 0 and ascending in every row");
    }
    if (neighbors.ids[at] < 0 || neighbors.ids[at] >= points ||
        neighbors.ids[at] == neighbors.first_row + row) {
      throw std::invalid_argument(
          "neighbour ids must be other rows of the data: from 0 to n - 1, not the row's own");
    }
    previous = distance;
  }
}

}  // namespace actup
