// Whether all values of an array are finite.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "common/parallel.hpp"

namespace actup {

template <class Float>
inline bool all_finite(const Float* values, int64_t count, int threads) {
  using Register [[gnu::vector_size(64)]] = Float;
  constexpr int64_t kLanes = sizeof(Register) / sizeof(Float), kValuesPerChunk = 1 << 17;
  std::atomic<bool> finite{true};
  parallel_ranges(count, kValuesPerChunk, threads, [&](int64_t begin, int64_t end) {
    Register rests{};  // v - v is 0, unless v is infinite or NaN
    int64_t at = begin;
    for (; at + kLanes <= end; at += kLanes) {
      Register v;
      std::memcpy(&v, values + at, sizeof v);
      rests += v - v;
    }
    Float rest = 0;
    for (; at < end; ++at) rest += values[at] - values[at];
    for (int64_t lane = 0; lane < kLanes; ++lane) rest += rests[lane];
    if (rest != 0) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load(std::memory_order_relaxed);
}

}  // namespace actup
