// Scores of all packed points, and a selection of the best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "neighbors/candidates.hpp"
#include "neighbors/codes.hpp"

namespace actup {

// Scores of all points for each query, padding included: points.blocks() * kCodeBlock scores per query.
inline void score_all(const PackedCodes& points, const std::vector<const int8_t*>& queries,
                      std::vector<int32_t>& scores) {
  const auto count = static_cast<int64_t>(queries.size());
  const int64_t stride = points.blocks() * kCodeBlock;
  scores.resize(count * stride);
  const std::vector<int32_t> thresholds(count, PackedCodes::kAnyScore);
  with_instructions([&](auto set) {
    using Set = decltype(set);
    scan<Set>(points.view(), queries.data(), thresholds.data(), count,
              [&](int64_t query, int64_t first, uint32_t, const int32_t* values) {
                std::copy_n(values, Set::kLanes, scores.data() + query * stride + first);
              });
  });
}

class BestScores {
 public:
  // Writes the indices of the `wanted` best of `count` scores, ascending, or up to wanted / 16 more; among
  // equal scores the smallest indices.
  void select(const int32_t* scores, int64_t count, int64_t wanted, std::vector<int32_t>& out) {
    preselect(scores, count, wanted, out);
    const auto collected = static_cast<int64_t>(out.size()), slack = wanted / 16;
    collected_.resize(collected);
    for (int64_t at = 0; at < collected; ++at) collected_[at] = scores[out[at]];
    const int32_t bound = selection_threshold(collected_.data(), collected, wanted, slack);
    int64_t chosen = 0;
    for (int64_t at = 0; at < collected; ++at) {
      out[chosen] = out[at];
      chosen += collected_[at] >= bound;
    }
    out.resize(chosen);
    for (int64_t at = chosen; at-- > 0 && chosen > wanted + slack;) {
      if (scores[out[at]] > bound) continue;
      out.erase(out.begin() + at);
      --chosen;
    }
  }

 private:
  // Writes the indices of a superset of the best, a few times `wanted` of them: all scores that reach the
  // `wanted`-th largest maximum of a block.
  void preselect(const int32_t* scores, int64_t count, int64_t wanted, std::vector<int32_t>& out) {
    const int64_t blocks = (count + kCodeBlock - 1) / kCodeBlock;
    out.resize(count);
    if (wanted >= blocks) return std::iota(out.begin(), out.end(), 0);
    maxima_.resize(blocks);
    for (int64_t block = 0; block < blocks; ++block) {  // padding has low scores
      int32_t largest = scores[block * kCodeBlock];
      for (int64_t at = 1; at < kCodeBlock; ++at)
        largest = std::max(largest, scores[block * kCodeBlock + at]);
      maxima_[block] = largest;
    }
    const int32_t bound = selection_threshold(maxima_.data(), blocks, wanted, wanted / 4);
    int64_t collected = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      if (maxima_[block] < bound) continue;
      for (int64_t at = block * kCodeBlock; at < std::min(count, (block + 1) * kCodeBlock); ++at) {
        out[collected] = static_cast<int32_t>(at);
        collected += scores[at] >= bound;
      }
    }
    out.resize(collected);
  }

  std::vector<int32_t> collected_, maxima_;
};

}  // namespace actup
