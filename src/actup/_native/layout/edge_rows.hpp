// EdgeRows: the rows of the relabelled graph that the layout keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "common/buffer.hpp"

namespace actup {

// Neighbours and relative weights of every point, followed by padding: whole vectors are read, 16 values at
// any place.
struct EdgeRows {
  static constexpr int64_t kPadding = 16;
  std::vector<int64_t> offsets;  // n + 1
  Buffer<int32_t> ids;
  Buffer<float> weights;
};

}  // namespace actup
