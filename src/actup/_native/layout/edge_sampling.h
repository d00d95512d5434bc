// Edge sampling: in which epochs an edge acts, and with which weight. Serves CPU and GPU.
#pragma once

#include "layout/settings.h"

namespace actup {

// Whether an edge of relative weight r acts in an epoch: in a share r of all epochs, evenly spread.
ACTUP_DEVICE inline bool acts(float r, int epoch) {
  return static_cast<int>(static_cast<float>(epoch + 1) * r) >
         static_cast<int>(static_cast<float>(epoch) * r);
}

// The weight of an attraction that acts, before p_max.
ACTUP_DEVICE inline float acting_weight(Sampling sampling, float r) {
  return sampling == Sampling::scalar || sampling == Sampling::unbiased ? 1.0f : r;
}

}  // namespace actup
