// Which clusters a query probes: those whose centers score best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "neighbors/best_scores.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/codes.hpp"

namespace actup {

class ProbeChoice {
 public:
  explicit ProbeChoice(const CodeIndex& index) : index_(index) {}

  // Sets the clusters that are looked at: all of them,
  void look_at_all() { among_ = nullptr; }

  // or, where they are many, some of those around the one that the queries belong to.
  void look_around(int64_t cluster, int64_t probes, int64_t k) {
    const int64_t clusters = index_.clusters().count(), wanted = std::max(kAround, kAround / 8 * probes);
    among_ = nullptr;
    if (2 * wanted > clusters) return;
    const int8_t* const center = index_.clusters().center(cluster);
    score_all(index_.clusters().centers(), {center}, scores_);
    best_.collect(scores_.data(), clusters, wanted, numbers_);
    if (holds(numbers_) <= k) return;
    around_ = index_.clusters().packed_centers(numbers_);
    among_ = &around_;
  }

  // Queries that choose() speaks of.
  void score(const std::vector<const int8_t*>& queries) { score_all(centers(), queries, scores_); }

  // The best clusters of a query: `probes` or a few more, and more if they hold too few points besides the
  // query for k neighbours.
  void choose(int64_t query, int64_t probes, int64_t k, std::vector<int32_t>& out) {
    const int32_t* const scores = scores_.data() + query * centers().blocks() * kBlock;
    best_.collect(scores, count(), std::min(probes, count()), out);
    for (int64_t more = 2 * probes; too_few(out, k); more *= 2) {
      best_.collect(scores, count(), std::min(more, count()), out);
    }
    if (among_) {
      for (int32_t& cluster : out) cluster = numbers_[cluster];
    }
  }

 private:
  static constexpr int64_t kAround = 256;

  const PackedCodes& centers() const { return among_ ? *among_ : index_.clusters().centers(); }
  int64_t count() const { return among_ ? static_cast<int64_t>(numbers_.size()) : index_.clusters().count(); }

  // How many points clusters hold, of those that are looked at.
  int64_t holds(const std::vector<int32_t>& places) const {
    int64_t points = 0;
    for (int32_t at : places) points += index_.cluster_size(among_ ? numbers_[at] : at);
    return points;
  }

  // Whether clusters hold fewer than k points besides the query, though others could be probed.
  bool too_few(const std::vector<int32_t>& chosen, int64_t k) const {
    return holds(chosen) <= k && static_cast<int64_t>(chosen.size()) < count();
  }

  const CodeIndex& index_;
  const PackedCodes* among_ = nullptr;  // null for all
  PackedCodes around_;
  std::vector<int32_t> numbers_;  // of the clusters in around_
  std::vector<int32_t> scores_;
  BestScores best_;
};

}  // namespace actup
