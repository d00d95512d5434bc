// The nearest center of many rows of codes; found in two steps if there are many centers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/best_scores.hpp"
#include "neighbors/codes.hpp"

namespace actup {

// Contiguous rows of codes, with the parameters of packing.
struct CodeRows {
  const int8_t* codes;
  int64_t count, groups;
  int offset;

  const int8_t* row(int64_t at) const { return codes + at * groups * kGroup; }

  // Packs the rows id(0), id(1), ... id(wanted - 1).
  template <class Id>
  PackedCodes packed(int64_t wanted, const Id& id) const {
    PackedCodes result((wanted + kCodeBlock - 1) / kCodeBlock, groups, offset);
    for (int64_t block = 0; block < result.blocks(); ++block) {
      result.pack(block, std::min(kCodeBlock, wanted - block * kCodeBlock),
                  [&](int64_t point) { return row(id(block * kCodeBlock + point)); });
    }
    return result;
  }
  PackedCodes packed() const {
    return packed(count, [](int64_t at) { return at; });
  }
};

// Moves each center to the mean of its rows; calls empty(center) for a center without rows.
template <class Empty>
inline void move_to_means(const int8_t* codes, const std::vector<int32_t>& labels, int64_t stride,
                          std::vector<int8_t>& centers, const Empty& empty) {
  const auto count = static_cast<int64_t>(centers.size()) / stride;
  std::vector<int64_t> sums(count * stride), counts(count);
  for (size_t at = 0; at < labels.size(); ++at) {
    const int8_t* const row = codes + static_cast<int64_t>(at) * stride;
    int64_t* const sum = sums.data() + labels[at] * stride;
    for (int64_t column = 0; column < stride; ++column) sum[column] += row[column];
    ++counts[labels[at]];
  }
  for (int64_t center = 0; center < count; ++center) {
    if (counts[center] == 0) {
      empty(center);
      continue;
    }
    for (int64_t column = 0; column < stride; ++column) {
      const double mean =
          static_cast<double>(sums[center * stride + column]) / static_cast<double>(counts[center]);
      centers[center * stride + column] = static_cast<int8_t>(std::lrint(mean));
    }
  }
}

// The order in which the centers near a rough one are compared with a row. By ids, the first of equally near
// ones has the smallest id; beginning with the nearest, a list of the best changes less often.
enum class CenterOrder { by_id, nearest_first };

class NearestCenter {
 public:
  static constexpr int64_t kNearGroups = 16;  // a row is compared with this many groups' worth of centers

  NearestCenter() = default;
  explicit NearestCenter(const CodeRows& centers, int64_t near_groups = kNearGroups,
                         CenterOrder order = CenterOrder::by_id)
      : packed_(centers.packed()), all_ids_(centers.count), stride_(centers.groups * kGroup) {
    std::iota(all_ids_.begin(), all_ids_.end(), 0);
    if (centers.count >= kMinCentersForTwoSteps) find_rough_centers(centers, near_groups, order);
  }

  const PackedCodes& packed() const { return packed_; }

  // The nearest center of each row; the smaller id if two are equally near. If there are many centers, a row
  // is only compared with those near its nearest rough center, which almost always include the nearest.
  void assign(const int8_t* codes, int64_t rows, int threads, int32_t* labels) const {
    if (near_.empty()) {
      return parallel_ranges(rows, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
        assign_range(packed_, codes, begin, end, [](int64_t at) { return at; }, labels);
      });
    }
    for_each_range(
        codes, rows, threads,
        [&](const PackedCodes& centers, const int32_t* ids, const int32_t* members, int64_t count) {
          assign_range(centers, codes, 0, count, [&](int64_t at) { return members[at]; }, labels);
          for (int64_t at = 0; at < count; ++at) labels[members[at]] = ids[labels[members[at]]];
        });
  }

  // Calls function(centers, their ids, rows, count of rows), on several threads, for ranges that together are
  // all rows: the centers are those near the rows' nearest rough center, or all of them if they are few.
  template <class Function>
  void for_each_range(const int8_t* codes, int64_t rows, int threads, const Function& function) const {
    const auto groups = std::max<int64_t>(1, static_cast<int64_t>(near_.size()));
    std::vector<int32_t> rough(rows), order(rows);
    if (!near_.empty()) {
      parallel_ranges(rows, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
        assign_range(rough_, codes, begin, end, [](int64_t at) { return at; }, rough.data());
      });
    }
    std::vector<int64_t> ends(groups + 1);
    for (int32_t label : rough) ++ends[label + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    struct Range {
      int64_t group, begin, end;
    };
    std::vector<Range> ranges;
    for (int64_t at = 0; at < groups; ++at) {
      for (int64_t begin = ends[at]; begin < ends[at + 1]; begin += kRowsPerChunk) {
        ranges.push_back({at, begin, std::min(begin + kRowsPerChunk, ends[at + 1])});
      }
    }
    for (int64_t row = 0; row < rows; ++row) order[ends[rough[row]]++] = static_cast<int32_t>(row);
    parallel_chunks(static_cast<int64_t>(ranges.size()), threads, [&](int64_t at) {
      const auto [group, begin, end] = ranges[at];
      function(near_.empty() ? packed_ : near_[group],
               near_.empty() ? all_ids_.data() : near_ids_[group].data(), order.data() + begin, end - begin);
    });
  }

 private:
  static constexpr int64_t kRowsPerChunk = 192;
  static constexpr int64_t kMinCentersForTwoSteps = 1024;  // with fewer, comparing all is as fast
  static constexpr int64_t kRoughIterations = 3;

  // Labels are positions in `centers`.
  template <class RowAt>
  void assign_range(const PackedCodes& centers, const int8_t* codes, int64_t begin, int64_t end,
                    const RowAt& row_at, int32_t* labels) const {
    const int64_t count = end - begin;
    std::vector<const int8_t*> queries(count);
    std::vector<int32_t> thresholds(count, PackedCodes::kLowestScore);
    for (int64_t at = 0; at < count; ++at) {
      queries[at] = codes + row_at(begin + at) * stride_;
      labels[row_at(begin + at)] = 0;
    }
    with_instructions([&](auto set) {
      scan<decltype(set)>(centers.view(), queries.data(), thresholds.data(), count,
                          [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
                            for (; mask; mask &= mask - 1) {
                              const int lane = std::countr_zero(mask);
                              if (scores[lane] < thresholds[query]) continue;
                              thresholds[query] = scores[lane] + 1;  // from now on a score must be higher
                              labels[row_at(begin + query)] = static_cast<int32_t>(first + lane);
                            }
                          });
    });
  }

  // Rough centers, by k-means on the centers, and the centers near each.
  void find_rough_centers(const CodeRows& centers, int64_t near_groups, CenterOrder order) {
    const auto groups = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(centers.count)));
    std::vector<int8_t> rough(groups * stride_);
    for (int64_t at = 0; at < groups; ++at) {
      std::memcpy(rough.data() + at * stride_, centers.row(at * centers.count / groups), stride_);
    }
    const CodeRows rows{rough.data(), groups, centers.groups, centers.offset};
    std::vector<int32_t> labels(centers.count);
    for (int64_t iteration = 0; iteration < kRoughIterations; ++iteration) {
      assign_range(
          rows.packed(), centers.codes, 0, centers.count, [](int64_t at) { return at; }, labels.data());
      move_to_means(centers.codes, labels, stride_, rough, [](int64_t) {});
    }
    rough_ = rows.packed();
    const int64_t near = std::min(near_groups * centers.count / groups, centers.count);
    std::vector<int32_t> scores;
    BestScores best;
    near_ids_.resize(groups);
    for (int64_t at = 0; at < groups; ++at) {
      score_all(packed_, {rows.row(at)}, scores);
      best.select(scores.data(), centers.count, near, near_ids_[at]);
      if (order == CenterOrder::nearest_first) {
        std::stable_sort(near_ids_[at].begin(), near_ids_[at].end(),
                         [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
      }
      near_.push_back(centers.packed(static_cast<int64_t>(near_ids_[at].size()),
                                     [&](int64_t position) { return near_ids_[at][position]; }));
    }
  }

  PackedCodes packed_, rough_;
  std::vector<PackedCodes> near_;               // for each rough center, the centers near it
  std::vector<std::vector<int32_t>> near_ids_;  // and their ids
  std::vector<int32_t> all_ids_;
  int64_t stride_ = 0;
};

}  // namespace actup
