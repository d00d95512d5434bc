// The best-scored points seen so far: a small buffer that is cut back to the best ones whenever it is full.
//
// The best are those of the highest scores, and among equal scores of the smallest positions, so the outcome
// does not depend on the order in which points are offered.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace actup {

// A value that at least `wanted` of `count` values reach, 1 <= wanted <= count, and at most `slack` more than
// that; if equal values leave none, the largest value that enough of them reach.
inline int32_t nth_largest(const int32_t* values, int64_t count, int64_t wanted, int64_t slack) {
  int32_t lowest = values[0], highest = values[0];
  for (int64_t at = 0; at < count; ++at) {
    lowest = std::min(lowest, values[at]);
    highest = std::max(highest, values[at]);
  }
  int64_t reached = lowest, missed = int64_t{highest} + 1;
  while (missed - reached > 1) {  // counting is one vector instruction per value or less
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
// order. Returns how many, and sets the score that they reach.
inline int64_t keep_best(int32_t* scores, int32_t* positions, int64_t count, int64_t wanted, int64_t slack,
                         int32_t& bound) {
  bound = nth_largest(scores, count, wanted, slack);
  int64_t better = 0, equal = 0;
  for (int64_t at = 0; at < count; ++at) {
    better += scores[at] > bound;
    equal += scores[at] == bound;
  }
  int32_t last_position = INT32_MAX;  // of those that equal the bound
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

// Candidate lists of several queries, and the thresholds that a scan compares with.
class CandidateLists {
 public:
  void reset(int64_t queries, int64_t wanted, int32_t lowest) {
    wanted_ = wanted;
    capacity_ = 2 * wanted + 64;
    stride_ = capacity_ + 16;  // a scan appends up to 16 before the list is cut back
    scores_.resize(queries * stride_);
    positions_.resize(queries * stride_);
    counts_.assign(queries, 0);
    thresholds_.assign(queries, lowest);
  }

  const int32_t* thresholds() const { return thresholds_.data(); }
  int32_t threshold(int64_t query) const { return thresholds_[query]; }
  int64_t count(int64_t query) const { return counts_[query]; }
  const int32_t* positions(int64_t query) const { return positions_.data() + query * stride_; }

  // Points base + lane for the lanes in the mask. Returns whether the threshold was raised.
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
    cut(query, wanted_ / 4);  // about right is faster
    return true;
  }

  // Leaves the best ones, as many as wanted or fewer.
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
