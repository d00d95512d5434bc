// Random numbers as pure functions of (seed, epoch, item, draw): the same at any thread count, on CPU and
// GPU.
#pragma once

#include "common/device.h"

namespace actup {

// The finalizer of SplitMix64.
ACTUP_DEVICE inline uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

ACTUP_DEVICE inline uint64_t random_bits(uint64_t seed, uint32_t epoch, uint32_t item, uint32_t draw) {
  constexpr uint64_t golden = 0x9E3779B97F4A7C15u;
  const uint64_t place = static_cast<uint64_t>(epoch) << 32 | item;
  return mix(mix(mix(seed + golden) + place + golden) + draw + golden);
}

// Uniform in [-1, 1).
ACTUP_DEVICE inline float random_signed(uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
}

// Uniform in [0, n), n < 2^32.
ACTUP_DEVICE inline int64_t random_below(uint64_t bits, int64_t n) {
  return static_cast<int64_t>((bits >> 32) * static_cast<uint64_t>(n) >> 32);
}

}  // namespace actup
