// GraphView: a symmetric graph in compressed rows (CSR), owned by the caller.
#pragma once

#include <cstdint>

namespace actup {

struct GraphView {
  int64_t n;
  const int64_t* offsets;  // n + 1
  const int32_t* indices;
  const float* weights;
};

}  // namespace actup
