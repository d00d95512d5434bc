// For every row, the points that can still be among its k nearest, by the distances of codes.
//
// All true neighbours of a row are within the k-th distance of codes plus twice the largest errors of the row
// and of any point. A list holds what is within that reach of what it has seen; when it is full, it is cut.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/buffer.hpp"
#include "neighbors/candidates.hpp"
#include "neighbors/pair_codes.hpp"

namespace actup {

class PairLists {
 public:
  static constexpr int32_t kAnyThreshold = -(1 << 29), kNoThreshold = 1 << 29;
  static constexpr int32_t kNoLimit = 1 << 30;  // of squared distances of codes
  // Sums of whole numbers up to here are the same in floats, in any order.
  static constexpr int32_t kMaxExactSum = 1 << 24;

  static int64_t room(int64_t k) { return (2 * k + 64 + 15) / 16 * 16; }

  // `order` are the ids of the coded rows; `rounding` is the largest relative rounding of a sum of squares in
  // floats.
  PairLists(const PairCodes& codes, const std::vector<int32_t>& order, int64_t k, double rounding)
      : codes_(codes),
        order_(order),
        k_(k),
        room_(room(k)),
        rounding_(rounding),
        scores_(codes.count() * room_),
        ids_(codes.count() * room_),
        counts_(codes.count(), 0),
        triggers_(codes.count(), static_cast<int32_t>(std::min(3 * k + 3, room_))),
        limits_(codes.count(), std::numeric_limits<int32_t>::max()),
        thresholds_(codes.capacity(), kNoThreshold),
        biased_(codes.capacity(), kNoThreshold),
        overflowed_(codes.count(), 0) {
    for (int64_t row = 0; row < codes.count(); ++row) set_threshold(row, kAnyThreshold);
  }

  int64_t count(int64_t row) const { return counts_[row]; }
  // Minus the squared distances of codes, and the ids of the points.
  const int32_t* scores(int64_t row) const { return scores_.data() + row * room_; }
  const int32_t* ids(int64_t row) const { return ids_.data() + row * room_; }
  // Whether too many points are within reach of the row, so that its list is not kept.
  bool overflowed(int64_t row) const { return overflowed_[row]; }
  int64_t overflows() const { return overflows_.load(std::memory_order_relaxed); }
  int32_t threshold(int64_t row) const { return thresholds_[row]; }
  const int32_t* biased_thresholds() const { return biased_.data(); }

  // Offers points `row` and `other`, at a squared distance of codes, to each other.
  void offer_pair(int64_t row, int64_t other, int32_t squares) {
    offer(row, other, squares);
    offer(other, row, squares);
  }

  // Cuts the list to what is within reach.
  [[gnu::noinline]] void cut(int64_t row) {
    if (counts_[row] < k_ || overflowed_[row]) return;
    int32_t* const scores = scores_.data() + row * room_;
    int32_t* const ids = ids_.data() + row * room_;
    const int64_t count = counts_[row];
    const int32_t reached = selection_threshold(scores, count, k_, 0);
    int32_t kth = 0;
    for (int64_t at = 0; at < count; ++at) kth = scores[at] >= reached ? std::max(kth, -scores[at]) : kth;
    if (codes_.is_exact() && kth <= kMaxExactSum) {
      counts_[row] = static_cast<int32_t>(keep_best(scores, ids, count, k_, 0, kth));
      limits_[row] = kth = -kth;
    } else {
      limits_[row] = std::min(limits_[row], limit_of(row, kth, reached));
      int64_t kept = 0;
      for (int64_t at = 0; at < count; ++at) {
        const int32_t score = scores[at], id = ids[at];
        scores[kept] = score;
        ids[kept] = id;
        kept += -score <= limits_[row];
      }
      counts_[row] = static_cast<int32_t>(kept);
      triggers_[row] = static_cast<int32_t>(std::clamp<int64_t>(kept + 16, triggers_[row], room_));
      if (kept + 8 > room_) return overflow(row);
    }
    set_threshold(row, std::max(kAnyThreshold, (codes_.norm(row) - limits_[row]) / 2 - 2));
  }

 private:
  void offer(int64_t row, int64_t other, int32_t squares) {
    if (squares > limits_[row]) return;
    const int32_t count = counts_[row]++;
    scores_[row * room_ + count] = -squares;
    ids_[row * room_ + count] = order_[other];
    if (count + 1 >= triggers_[row]) cut(row);
  }

  // The largest squared distance of codes that a true neighbour can have.
  int32_t limit_of(int64_t row, int32_t kth, int32_t reached) const {
    const double errors = codes_.error(row) + codes_.largest_error();
    double radius = std::sqrt(static_cast<double>(kth)) + errors;
    if (codes_.clips()) radius += codes_.clipped(order_[row]) + largest_clipped(row, reached);
    const double reach = radius * (1 + rounding_) + errors;
    const double squared = reach * reach + 1;
    return squared < kNoLimit ? static_cast<int32_t>(squared) : kNoLimit;  // also where it is no number
  }

  double largest_clipped(int64_t row, int32_t reached) const {
    double largest = 0;
    for (int64_t at = 0; at < counts_[row]; ++at) {
      if (scores(row)[at] >= reached) largest = std::max(largest, codes_.clipped(ids(row)[at]));
    }
    return largest;
  }

  void overflow(int64_t row) {
    overflowed_[row] = 1;
    counts_[row] = 0;
    limits_[row] = -1;
    set_threshold(row, kNoThreshold);
    overflows_.fetch_add(1, std::memory_order_relaxed);
  }

  void set_threshold(int64_t row, int32_t threshold) {
    thresholds_[row] = threshold;
    biased_[row] = threshold + codes_.bias(row);
  }

  const PairCodes& codes_;
  const std::vector<int32_t>& order_;
  const int64_t k_, room_;
  const double rounding_;
  Buffer<int32_t> scores_, ids_;
  std::vector<int32_t> counts_, triggers_, limits_;
  std::vector<int32_t> thresholds_, biased_;  // of sums of tiles; `biased_` plus the bias of the row
  std::vector<char> overflowed_;
  std::atomic<int64_t> overflows_{0};
};

}  // namespace actup
