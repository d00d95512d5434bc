// The nearest of some centers, for many rows of codes; in two steps where centers are many.
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

// Rows of codes, one after the other, with what packing them takes.
struct CodeRows {
  const int8_t* codes;
  int64_t count, groups;
  int offset;

  const int8_t* row(int64_t at) const { return codes + at * groups * kGroup; }

  template <class Numbers>  // number(0), number(1), ...
  PackedCodes packed(int64_t wanted, const Numbers& number) const {
    PackedCodes result((wanted + kBlock - 1) / kBlock, groups, offset);
    for (int64_t block = 0; block < result.blocks(); ++block) {
      result.pack(block, std::min(kBlock, wanted - block * kBlock),
                  [&](int64_t point) { return row(number(block * kBlock + point)); });
    }
    return result;
  }
  PackedCodes packed() const {
    return packed(count, [](int64_t at) { return at; });
  }
};

// Moves each center to the mean of its rows. One without rows calls empty(center).
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

class NearestCenter {
 public:
  NearestCenter() = default;
  explicit NearestCenter(const CodeRows& centers)
      : packed_(centers.packed()), stride_(centers.groups * kGroup) {
    if (centers.count >= kMany) group(centers);
  }

  const PackedCodes& packed() const { return packed_; }

  // The nearest center of each row; ties go to the smaller number. Where there are many, a row is compared
  // with those around the nearest of a few rough centers, and may miss a center at the edge.
  void assign(const int8_t* codes, int64_t rows, int threads, int32_t* labels) const {
    const auto in_order = [](int64_t at) { return at; };
    if (around_.empty()) {
      return parallel_ranges(rows, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
        assign_range(packed_, codes, begin, end, in_order, labels);
      });
    }
    std::vector<int32_t> rough(rows);
    parallel_ranges(rows, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
      assign_range(rough_, codes, begin, end, in_order, rough.data());
    });
    const auto groups = static_cast<int64_t>(around_.size());
    std::vector<int64_t> ends(groups + 1);
    for (int32_t label : rough) ++ends[label + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    struct Range {
      int64_t group, begin, end;
    };
    std::vector<Range> ranges;
    for (int64_t at = 0; at < groups; ++at) {
      for (int64_t begin = ends[at]; begin < ends[at + 1]; begin += kRowsAtOnce) {
        ranges.push_back({at, begin, std::min(begin + kRowsAtOnce, ends[at + 1])});
      }
    }
    std::vector<int32_t> order(rows);
    for (int64_t row = 0; row < rows; ++row) order[ends[rough[row]]++] = static_cast<int32_t>(row);
    parallel_chunks(static_cast<int64_t>(ranges.size()), threads, [&](int64_t at) {
      const auto [group, begin, end] = ranges[at];
      assign_range(around_[group], codes, begin, end, [&](int64_t place) { return order[place]; }, labels);
      for (int64_t place = begin; place < end; ++place) {
        labels[order[place]] = numbers_[group][labels[order[place]]];
      }
    });
  }

 private:
  static constexpr int64_t kRowsAtOnce = 192;
  static constexpr int64_t kMany = 1024;  // centers that are worth two steps
  static constexpr int64_t kRoughIterations = 3;
  static constexpr int64_t kNearGroups = 16;  // mean sizes of a group that a row is compared with

  // Labels are places in `centers`.
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
                              thresholds[query] = scores[lane] + 1;  // only a better one from now on
                              labels[row_at(begin + query)] = static_cast<int32_t>(first + lane);
                            }
                          });
    });
  }

  // Rough centers are found by k-means on the centers.
  void group(const CodeRows& centers) {
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
    const int64_t near = std::min(kNearGroups * centers.count / groups, centers.count);
    std::vector<int32_t> scores;
    BestScores best;
    numbers_.resize(groups);
    for (int64_t at = 0; at < groups; ++at) {
      score_all(packed_, {rows.row(at)}, scores);
      best.collect(scores.data(), centers.count, near, numbers_[at]);
      around_.push_back(centers.packed(static_cast<int64_t>(numbers_[at].size()),
                                       [&](int64_t place) { return numbers_[at][place]; }));
    }
  }

  PackedCodes packed_, rough_;
  std::vector<PackedCodes> around_;            // of each rough center: the centers near it,
  std::vector<std::vector<int32_t>> numbers_;  // and their numbers
  int64_t stride_ = 0;
};

}  // namespace actup
