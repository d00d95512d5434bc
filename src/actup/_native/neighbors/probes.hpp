// Chooses the clusters that a query probes: those whose centers score best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neighbors/best_scores.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/codes.hpp"

namespace actup {

class ProbeSelector {
 public:
  explicit ProbeSelector(const CodeIndex& index) : index_(index) {}

  // Lets all clusters be considered.
  void consider_all() { considered_ = nullptr; }

  // Lets only clusters near `cluster`, to which the queries belong, be considered, if there are many.
  void consider_around(int64_t cluster, int64_t probes, int64_t k) {
    const int64_t clusters = index_.clusters().count(),
                  wanted = std::max(kMinConsidered, kMinConsidered / 8 * probes);
    considered_ = nullptr;
    if (2 * wanted > clusters) return;
    const int8_t* const center = index_.clusters().center(cluster);
    score_all(index_.clusters().centers(), {center}, scores_);
    best_.select(scores_.data(), clusters, wanted, near_ids_);
    if (points_in(near_ids_) <= k) return;
    near_centers_ = index_.clusters().packed_centers(near_ids_);
    considered_ = &near_centers_;
  }

  // Scores the centers for the queries of the following choose().
  void score(const std::vector<const int8_t*>& queries) { score_all(centers(), queries, scores_); }

  // The best clusters of a query: `probes` or a few more; twice as many, and so on, while they hold fewer
  // than k points besides the query.
  void choose(int64_t query, int64_t probes, int64_t k, std::vector<int32_t>& out) {
    const int32_t* const scores = scores_.data() + query * centers().blocks() * kCodeBlock;
    best_.select(scores, count(), std::min(probes, count()), out);
    for (int64_t more = 2 * probes; too_few(out, k); more *= 2) {
      best_.select(scores, count(), std::min(more, count()), out);
    }
    if (considered_) {
      for (int32_t& cluster : out) cluster = near_ids_[cluster];
    }
  }

 private:
  static constexpr int64_t kMinConsidered = 256;  // clusters

  const PackedCodes& centers() const { return considered_ ? *considered_ : index_.clusters().centers(); }
  int64_t count() const {
    return considered_ ? static_cast<int64_t>(near_ids_.size()) : index_.clusters().count();
  }

  // The number of points in the given considered clusters.
  int64_t points_in(const std::vector<int32_t>& clusters) const {
    int64_t points = 0;
    for (int32_t at : clusters) points += index_.cluster_size(considered_ ? near_ids_[at] : at);
    return points;
  }

  // Whether the chosen clusters hold fewer than k points besides the query although there are more clusters.
  bool too_few(const std::vector<int32_t>& chosen, int64_t k) const {
    return points_in(chosen) <= k && static_cast<int64_t>(chosen.size()) < count();
  }

  const CodeIndex& index_;
  const PackedCodes* considered_ = nullptr;  // centers; null for all
  PackedCodes near_centers_;
  std::vector<int32_t> near_ids_;  // the clusters of near_centers_
  std::vector<int32_t> scores_;
  BestScores best_;
};

}  // namespace actup
