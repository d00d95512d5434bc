// Which clusters a query probes: those whose centers score best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "candidates.hpp"
#include "codes.hpp"
#include "join_index.hpp"

namespace actup {

class ProbeChoice {
 public:
  explicit ProbeChoice(const JoinIndex& index) : index_(index) {}

  // Sets the clusters that are looked at: all of them,
  void look_at_all() { among_ = nullptr; }

  // or, where they are many, some of those around the one that the queries belong to.
  void look_around(int64_t cluster, int64_t probes, int64_t k) {
    const int64_t clusters = index_.clusters().count(), wanted = std::max(kAround, kAround / 8 * probes);
    among_ = nullptr;
    if (2 * wanted > clusters) return;
    const int8_t* const center = index_.clusters().center(cluster);
    JoinIndex::score_centers(index_.clusters().centers(), {center}, scores_);
    collect_best(scores_.data(), clusters, wanted, numbers_);
    if (holds(numbers_) <= k) return;
    around_ = index_.clusters().packed_centers(numbers_);
    among_ = &around_;
  }

  // Queries that choose() speaks of.
  void score(const std::vector<const int8_t*>& queries) {
    JoinIndex::score_centers(centers(), queries, scores_);
  }

  // The best clusters of a query: `probes` or a few more, and more if they hold too few points besides the
  // query for k neighbours.
  void choose(int64_t query, int64_t probes, int64_t k, std::vector<int32_t>& out) {
    const int32_t* const scores = scores_.data() + query * centers().blocks() * kBlock;
    collect_best(scores, count(), std::min(probes, count()), out);
    for (int64_t more = 2 * probes; too_few(out, k); more *= 2) {
      collect_best(scores, count(), std::min(more, count()), out);
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

  // `wanted` of the best of `count` scores, or a few more; among equal ones those of the smallest numbers.
  void collect_best(const int32_t* scores, int64_t count, int64_t wanted, std::vector<int32_t>& out) {
    collect_good(scores, count, wanted, out);
    const auto collected = static_cast<int64_t>(out.size()), slack = wanted / 16;
    collected_.resize(collected);
    for (int64_t at = 0; at < collected; ++at) collected_[at] = scores[out[at]];
    const int32_t bound = nth_largest(collected_.data(), collected, wanted, slack);
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

  // A few times `wanted` numbers that the best are among: those that reach what the best of as many blocks of
  // scores reach.
  void collect_good(const int32_t* scores, int64_t count, int64_t wanted, std::vector<int32_t>& out) {
    const int64_t blocks = (count + kBlock - 1) / kBlock;
    out.resize(count);
    if (wanted >= blocks) return std::iota(out.begin(), out.end(), 0);
    maxima_.resize(blocks);
    for (int64_t block = 0; block < blocks; ++block) {  // places without a point have low scores
      int32_t largest = scores[block * kBlock];
      for (int64_t at = 1; at < kBlock; ++at) largest = std::max(largest, scores[block * kBlock + at]);
      maxima_[block] = largest;
    }
    const int32_t bound = nth_largest(maxima_.data(), blocks, wanted, wanted / 4);
    int64_t collected = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      if (maxima_[block] < bound) continue;
      for (int64_t at = block * kBlock; at < std::min(count, (block + 1) * kBlock); ++at) {
        out[collected] = static_cast<int32_t>(at);
        collected += scores[at] >= bound;
      }
    }
    out.resize(collected);
  }

  const JoinIndex& index_;
  const PackedCodes* among_ = nullptr;  // null for all
  PackedCodes around_;
  std::vector<int32_t> numbers_;  // of the clusters in around_
  std::vector<int32_t> scores_, collected_, maxima_;
};

}  // namespace actup
