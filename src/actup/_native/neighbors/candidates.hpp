// Candidate lists: the best-scored points so far, in a small buffer that is cut to the best whenever it is
// full.
//
// The best have the highest scores and, among equal scores, the smallest positions, so the result does not
// depend on the order in which points are offered.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace actup {

// Returns a threshold that between `wanted` and wanted + slack of `count` values reach, 1 <= wanted <= count;
// if ties prevent that, the largest threshold that at least `wanted` reach.
inline int32_t selection_threshold(const int32_t* values, int64_t count, int64_t wanted, int64_t slack) {
  int32_t lowest = values[0], highest = values[0];
  for (int64_t at = 0; at < count; ++at) {
    lowest = std::min(lowest, values[at]);
    highest = std::max(highest, values[at]);
  }
  int64_t reached = lowest, missed = int64_t{highest} + 1;
  while (missed - reached > 1) {  // bisection: counting vectorizes
    const auto middle = static_cast<int32_t>((reached + missed) >> 1);
    int32_t found = 0;
    for (int64_t at = 0; at < count; ++at) found += values[at] >= middle;
    if (found >= wanted) {
      reached = middle;
      if (found <= wanted + slack) break;
    } else {
      missed = middle;
    }
  }
  return static_cast<int32_t>(reached);
}

// Keeps the `wanted` best of `count` (score, position) pairs, or up to `slack` more of the best, in their
// order. Returns their number and sets `bound` to a score that all of them reach.
inline int64_t keep_best(int32_t* scores, int32_t* positions, int64_t count, int64_t wanted, int64_t slack,
                         int32_t& bound) {
  bound = selection_threshold(scores, count, wanted, slack);
  int64_t better = 0, equal = 0;
  for (int64_t at = 0; at < count; ++at) {
    better += scores[at] > bound;
    equal += scores[at] == bound;
  }
  int32_t last_position = INT32_MAX;  // the last kept position with the score `bound`
  if (better + equal > wanted + slack) {
    std::vector<int32_t> tied;
    tied.reserve(equal);
    for (int64_t at = 0; at < count; ++at) {
      if (scores[at] == bound) tied.push_back(positions[at]);
    }
    std::nth_element(tied.begin(), tied.begin() + (wanted - better - 1), tied.end());
    last_position = tied[wanted - better - 1];
  }
  int64_t kept = 0;
  for (int64_t at = 0; at < count; ++at) {
    const int32_t score = scores[at], position = positions[at];
    scores[kept] = score;
    positions[kept] = position;
    kept += score > bound || (score == bound && position <= last_position);
  }
  return kept;
}

// Candidate lists of several queries, and the thresholds for scan().
class CandidateLists {
 public:
  void reset(int64_t queries, int64_t wanted, int32_t lowest) {
    wanted_ = wanted;
    capacity_ = 2 * wanted + 64;
    stride_ = capacity_ + 16;  // append() adds up to 16 before the list is cut
    scores_.resize(queries * stride_);
    positions_.resize(queries * stride_);
    counts_.assign(queries, 0);
    thresholds_.assign(queries, lowest);
  }

  const int32_t* thresholds() const { return thresholds_.data(); }
  int32_t threshold(int64_t query) const { return thresholds_[query]; }
  int64_t count(int64_t query) const { return counts_[query]; }
  const int32_t* positions(int64_t query) const { return positions_.data() + query * stride_; }

  // Appends the positions base + lane for the lanes in the mask. Returns whether the threshold was raised.
  bool append(int64_t query, int64_t base, uint32_t mask, const int32_t* scores) {
    int32_t* const to_scores = scores_.data() + query * stride_;
    int32_t* const to_positions = positions_.data() + query * stride_;
    int64_t count = counts_[query];
    for (; mask; mask &= mask - 1, ++count) {
      const int lane = std::countr_zero(mask);
      to_scores[count] = scores[lane];
      to_positions[count] = static_cast<int32_t>(base + lane);
    }
    counts_[query] = count;
    if (count <= capacity_) return false;
    cut(query, wanted_ / 4);  // some slack makes it faster
    return true;
  }

  // Cuts the list to the best `wanted`.
  void cut(int64_t query) { cut(query, 0); }

 private:
  void cut(int64_t query, int64_t slack) {
    if (counts_[query] <= wanted_ + slack) return;
    counts_[query] = keep_best(scores_.data() + query * stride_, positions_.data() + query * stride_,
                               counts_[query], wanted_, slack, thresholds_[query]);
  }

  int64_t wanted_ = 0, capacity_ = 0, stride_ = 0;
  std::vector<int32_t> scores_, positions_;
  std::vector<int64_t> counts_;
  std::vector<int32_t> thresholds_;
};

}  // namespace actup
