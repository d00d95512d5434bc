// Sorts the neighbours of a row by id.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/vectors.h"
#include "graph/directed_edges.hpp"

namespace actup {

// Sorts the edges of a row by ascending id; those of id -1 come last. The place of an id is how many ids are
// smaller: to count them takes k² / kLanes steps without branches, which for rows of usual length is much
// less than what a sort takes for its mispredicted branches.
class RowSorter {
 public:
  explicit RowSorter(int64_t k) : k_(k), keys_((k + kLanes - 1) / kLanes * kLanes, kAbsent), edges_(k) {}

  const std::vector<WeightedId>& sorted(const int32_t* ids, const float* weights) {
    if (k_ > kMaxCounted) {
      for (int64_t at = 0; at < k_; ++at) edges_[at] = WeightedId::of(ids[at], weights[at]);
      std::sort(edges_.begin(), edges_.end(), [](WeightedId a, WeightedId b) { return a.word < b.word; });
      return edges_;
    }
    for (int64_t at = 0; at < k_; ++at) keys_[at] = ids[at] < 0 ? kAbsent : ids[at];
    for (int64_t begin = 0; begin < k_; begin += kLanes) {
      const RegisterInts place = places(begin);
      const int64_t count = std::min(kLanes, k_ - begin);
      for (int64_t lane = 0; lane < count; ++lane)
        edges_[place[lane]] = WeightedId::of(ids[begin + lane], weights[begin + lane]);
    }
    return edges_;
  }

 private:
  static constexpr int64_t kLanes = kRegisterInts, kMaxCounted = 32 * kLanes;
  static constexpr int32_t kAbsent = INT32_MAX;

  // The places of a register of keys; of equal ones the first comes first.
  RegisterInts places(int64_t begin) const {
    const RegisterInts own = load<RegisterInts>(&keys_[begin]);
    const int64_t end = std::min(k_, begin + kLanes);
    RegisterInts place = {};
    for (int64_t at = 0; at < begin; ++at) place -= own >= keys_[at];
    for (int64_t at = begin; at < end; ++at) {
      for (int lane = 0; lane < kLanes; ++lane)
        place[lane] += own[lane] > keys_[at] || (own[lane] == keys_[at] && begin + lane > at);
    }
    for (int64_t at = end; at < k_; ++at) place -= own > keys_[at];
    return place;
  }

  int64_t k_;
  std::vector<int32_t> keys_;  // padded to whole vectors
  std::vector<WeightedId> edges_;
};

}  // namespace actup
