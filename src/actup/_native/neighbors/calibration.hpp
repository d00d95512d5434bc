// Calibration: the recall of a ClusterIndex at every effort, measured on a sample of its points.
//
// A scan of all codes finds the sample's true neighbours: projecting and clipping never increase a distance,
// and rounding increases it by a known amount, so points whose codes are too far apart cannot be neighbours.
// A search finds a true neighbour if it probes the neighbour's cluster and keeps as many candidates as the
// rank of its code, so one scan gives the recall of all efforts. (The rank also counts points of clusters
// that would not be probed: the estimate is conservative.) Any points at the distance of the k-th true
// neighbour count as true neighbours, as many as are needed besides the closer ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "neighbors/best_scores.hpp"
#include "neighbors/cluster_search.hpp"

namespace actup {

// Recall by number of probes and number of candidates, both ascending: the mean over the sampled rows and its
// standard error. `true_distances` are those of the sampled rows' neighbours, ascending: rows x k.
struct Calibration {
  std::vector<int64_t> rows, probes, candidates;
  std::vector<float> true_distances, mean, standard_error;
};

class Calibrator {
 public:
  Calibrator(const ClusterIndex& index, int64_t k) : index_(index), k_(k) {
    const int64_t clusters = index.clusters().count(), points = index.points().rows().rows;
    for (int64_t probes = 2; probes < clusters; probes += std::max<int64_t>(1, probes / 4)) {
      probes_.push_back(probes);
    }
    probes_.push_back(clusters);
    const int64_t fewest = k + k / 8 + 2;
    if (fewest < points - 1) candidates_.push_back(fewest);
    for (int64_t step = 16; step <= kMaxCandidates; step *= 2) {
      for (int64_t candidates : {step, step + step / 2}) {
        if (candidates > fewest && candidates < points - 1) candidates_.push_back(candidates);
      }
    }
    const int64_t last = std::min(2 * k, points - 1);  // if k is large
    if (candidates_.empty() || candidates_.back() < last) candidates_.push_back(last);
  }

  Calibration run(int64_t sample_size, uint64_t seed, int threads) const {
    const int64_t points = index_.points().rows().rows;
    Calibration result{
        sample_positions(std::min(sample_size, points), seed), probes_, candidates_, {}, {}, {}};
    const auto count = static_cast<int64_t>(result.rows.size()), entries = table_size();
    std::vector<float> recalls(count * entries);
    result.true_distances.resize(count * k_);
    set_progress_range(0, 1);
    parallel_ranges(count, queries_per_chunk(count, threads), threads, [&](int64_t begin, int64_t end) {
      measure(result.rows.data() + begin, end - begin, recalls.data() + begin * entries,
              result.true_distances.data() + begin * k_);
    });
    result.mean.resize(entries);
    result.standard_error.resize(entries);
    for (int64_t entry = 0; entry < entries; ++entry) {
      double sum = 0, squares = 0;
      for (int64_t row = 0; row < count; ++row) {
        sum += recalls[row * entries + entry];
        squares += static_cast<double>(recalls[row * entries + entry]) * recalls[row * entries + entry];
      }
      const double mean = sum / count;
      result.mean[entry] = static_cast<float>(mean);
      result.standard_error[entry] =
          static_cast<float>(std::sqrt(std::max(0.0, squares / count - mean * mean) / count));
    }
    for (int64_t& row : result.rows) row = index_.id_at(row);
    for (float& square : result.true_distances) square = index_.points().distance(square);
    return result;
  }

 private:
  static constexpr int64_t kMaxCandidates = 512;  // larger efforts are not tried, unless 2 k is more
  static constexpr int64_t kMaxQueriesPerChunk = 48;
  static constexpr int64_t kChunkBytes = 1 << 18;     // of codes that stay in cache
  static constexpr int64_t kMaxContenders = 1 << 18;  // kept in memory at a time

  struct Scored {
    int32_t score;
    int32_t position;
    bool operator<(const Scored& other) const {
      return score != other.score ? score > other.score : position < other.position;
    }
  };

  // A point's distance, compared with that of the query's k-th neighbour.
  enum class Nearness : uint8_t { closer, tied, beyond };

  // Fewer if rows are wide, because the caller answers no signal while it waits for another thread's last
  // chunk, and if there are many threads. A query's result does not depend on those beside it.
  int64_t queries_per_chunk(int64_t count, int threads) const {
    const int64_t by_width = (1 << 17) / index_.points().rows().columns;
    const int64_t by_threads = count / std::max(1, threads) + 1;
    return std::max<int64_t>(8, std::min({by_width, by_threads, kMaxQueriesPerChunk}));
  }

  int64_t table_size() const { return static_cast<int64_t>(probes_.size() * candidates_.size()); }

  // Positions of a sample of points. It is stratified by id, not by position: clusters differ in difficulty.
  std::vector<int64_t> sample_positions(int64_t count, uint64_t seed) const {
    const int64_t points = index_.points().rows().rows;
    std::vector<int64_t> position_of(points);
    for (int64_t position = 0; position < index_.positions(); ++position) {
      if (index_.id_at(position) >= 0) position_of[index_.id_at(position)] = position;
    }
    std::vector<int64_t> sample = sample_rows(points, count, seed + 2);
    for (int64_t& row : sample) row = position_of[row];
    return sample;
  }

  // scan() over all points, in chunks, so that a chunk stays in cache until all queries have been compared
  // with it.
  template <class Visit>
  void scan_all(const std::vector<const int8_t*>& queries, const int32_t* thresholds,
                const Visit& visit) const {
    const PackedCodes& packed = index_.packed();
    const auto count = static_cast<int64_t>(queries.size());
    const int64_t chunk = std::max<int64_t>(1, kChunkBytes / (kCodeBlock * index_.encoder().stride()));
    with_instructions([&](auto set) {
      for (int64_t first = 0; first < packed.blocks(); first += chunk) {
        checkpoint();
        const CodeBlocks blocks = packed.view(first, std::min(first + chunk, packed.blocks()));
        scan<decltype(set)>(blocks, queries.data(), thresholds, count,
                            [&](int64_t query, int64_t at, uint32_t mask, const int32_t* scores) {
                              visit(query, first * kCodeBlock + at, mask, scores);
                            });
      }
    });
  }

  // Recall tables and true squared distances of `count` queries, which are points at the given positions.
  void measure(const int64_t* positions, int64_t count, float* recalls, float* true_squares) const {
    const int64_t stride = index_.encoder().stride();
    std::vector<int8_t> codes(count * stride);
    std::vector<const int8_t*> queries(count);
    for (int64_t query = 0; query < count; ++query) {
      queries[query] = codes.data() + query * stride;
      index_.packed().unpack(positions[query], codes.data() + query * stride);
    }
    std::vector<float> rows(count * row_stride());
    for (int64_t query = 0; query < count; ++query) {
      index_.points().write_query(index_.id_at(positions[query]), rows.data() + query * row_stride());
    }
    std::vector<float> bounds(count);
    const std::vector<int32_t> thresholds = safe_thresholds(queries, rows, positions, bounds.data());
    std::vector<std::vector<Scored>> contenders(count);
    if (!find_contenders(queries, thresholds, positions, bounds, contenders)) {
      contenders = {};
      const int64_t half = count / 2;
      measure(positions, half, recalls, true_squares);
      measure(positions + half, count - half, recalls + half * table_size(), true_squares + half * k_);
      return;
    }
    std::vector<int32_t> center_scores;
    const PackedCodes& centers = index_.clusters().centers();
    score_all(centers, queries, center_scores);
    for (int64_t query = 0; query < count; ++query) {
      const std::vector<Nearness> nearness = find_nearest(
          contenders[query], rows.data() + query * row_stride(), bounds[query], true_squares + query * k_);
      fill_table(contenders[query], nearness,
                 probe_ranks(center_scores.data() + query * centers.blocks() * kCodeBlock),
                 recalls + query * table_size());
    }
  }

  // All points that reach the queries' thresholds. Returns false if there are too many for memory, because
  // the codes are too coarse, and fewer queries at a time would help.
  bool find_contenders(const std::vector<const int8_t*>& queries, const std::vector<int32_t>& thresholds,
                       const int64_t* positions, const std::vector<float>& bounds,
                       std::vector<std::vector<Scored>>& contenders) const {
    int64_t total = 0;
    const auto too_many = [&] { return total > kMaxContenders && queries.size() > 1; };
    // Of a query's duplicates, a few are enough.
    const auto enough = [&](int64_t query) {
      return bounds[query] == 0 && static_cast<int64_t>(contenders[query].size()) > 2 * candidates_.back();
    };
    scan_all(queries, thresholds.data(),
             [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
               for (; mask && !enough(query) && !too_many(); mask &= mask - 1, ++total) {
                 const int lane = std::countr_zero(mask);
                 if (first + lane == positions[query]) continue;
                 contenders[query].push_back({scores[lane], static_cast<int32_t>(first + lane)});
               }
             });
    return !too_many();
  }

  // Writes the k smallest squared distances of a query's contenders, at most `bound`, and compares each
  // contender with the k-th.
  std::vector<Nearness> find_nearest(const std::vector<Scored>& contenders, const float* row, float bound,
                                     float* true_squares) const {
    const std::vector<float> squares = squared_distances(contenders, row);
    std::fill_n(true_squares, k_, bound);
    std::partial_sort_copy(squares.begin(), squares.end(), true_squares, true_squares + k_);
    const float radius = true_squares[k_ - 1] = std::min(bound, true_squares[k_ - 1]);
    std::vector<Nearness> nearness(squares.size());
    for (size_t at = 0; at < squares.size(); ++at) {
      nearness[at] = squares[at] < radius    ? Nearness::closer
                     : squares[at] == radius ? Nearness::tied
                                             : Nearness::beyond;
    }
    return nearness;
  }

  int64_t row_stride() const { return padded(index_.points().query_width()); }

  // The lowest scores that true neighbours can have. They follow from upper bounds of the k-th squared
  // distances: those of the k-th nearest of the best-scored points.
  std::vector<int32_t> safe_thresholds(const std::vector<const int8_t*>& queries,
                                       const std::vector<float>& rows, const int64_t* positions,
                                       float* bounds) const {
    const auto count = static_cast<int64_t>(queries.size());
    CandidateLists lists;
    lists.reset(count, 4 * k_ + 16, PackedCodes::kLowestScore);
    scan_all(queries, lists.thresholds(),
             [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
               lists.append(query, first, mask, scores);
             });
    std::vector<int32_t> thresholds(count);
    for (int64_t query = 0; query < count; ++query) {
      lists.cut(query);
      std::vector<Scored> best;
      for (int64_t at = 0; at < lists.count(query); ++at) {
        if (lists.positions(query)[at] != positions[query]) best.push_back({0, lists.positions(query)[at]});
      }
      bounds[query] = kth_smallest(squared_distances(best, rows.data() + query * row_stride()));
      thresholds[query] = lowest_score_within(queries[query], bounds[query]);
    }
    return thresholds;
  }

  // The lowest score of a point within a squared distance. Rounding two rows increases the squared difference
  // of their codes by about columns / 6 at most; along the rows' difference its standard deviation is 0.41,
  // and the bound allows six of them.
  int32_t lowest_score_within(const int8_t* query, float squared_radius) const {
    const Encoder& encoder = index_.encoder();
    const double radius = std::sqrt(static_cast<double>(squared_radius)) * encoder.scale() + 2.5;
    const double squares = radius * radius + static_cast<double>(encoder.stride()) / 4 + 2;
    int64_t total = 0;
    for (int64_t at = 0; at < encoder.stride(); ++at) total += query[at];
    const double score =
        (squared_norm(query, encoder.stride()) - squares) / 2 + static_cast<double>(encoder.offset() * total);
    return static_cast<int32_t>(std::max<double>(PackedCodes::kLowestScore, std::floor(score)));
  }

  std::vector<float> squared_distances(const std::vector<Scored>& points, const float* row) const {
    std::vector<int32_t> ids;
    for (const Scored& point : points) ids.push_back(index_.id_at(point.position));
    std::vector<float> squares(points.size());
    Reranker(index_.points()).squares(row, ids.data(), static_cast<int64_t>(ids.size()), squares.data());
    return squares;
  }

  float kth_smallest(std::vector<float> squares) const {
    const auto kth = std::min<int64_t>(k_, static_cast<int64_t>(squares.size())) - 1;
    std::nth_element(squares.begin(), squares.begin() + kth, squares.end());
    return squares[kth];
  }

  // For each cluster, how many clusters a query probes before it.
  std::vector<int32_t> probe_ranks(const int32_t* scores) const {
    const int64_t clusters = index_.clusters().count();
    std::vector<Scored> order(clusters);
    for (int64_t cluster = 0; cluster < clusters; ++cluster)
      order[cluster] = {scores[cluster], static_cast<int32_t>(cluster)};
    std::sort(order.begin(), order.end());
    std::vector<int32_t> ranks(clusters);
    for (int64_t rank = 0; rank < clusters; ++rank) ranks[order[rank].position] = static_cast<int32_t>(rank);
    return ranks;
  }

  // Writes recalls[probes][candidates] of one query.
  void fill_table(std::vector<Scored>& points, const std::vector<Nearness>& nearness,
                  const std::vector<int32_t>& ranks_of_clusters, float* recalls) const {
    std::vector<Scored> closer, tied;
    for (size_t at = 0; at < points.size(); ++at) {
      if (nearness[at] == Nearness::closer) closer.push_back(points[at]);
      if (nearness[at] == Nearness::tied) tied.push_back(points[at]);
    }
    const auto last = std::min<int64_t>(candidates_.back(), static_cast<int64_t>(points.size()));
    std::partial_sort(points.begin(), points.begin() + last, points.end());
    points.resize(last);
    const std::vector<int32_t> found_closer = count_found(points, closer, ranks_of_clusters);
    const std::vector<int32_t> found_tied = count_found(points, tied, ranks_of_clusters);
    const int64_t max_tied = k_ - static_cast<int64_t>(closer.size());
    for (int64_t entry = 0; entry < table_size(); ++entry) {
      recalls[entry] =
          static_cast<float>(found_closer[entry] + std::min<int64_t>(found_tied[entry], max_tied)) /
          static_cast<float>(k_);
    }
  }

  // How many of the `wanted` points each effort finds; `best` holds the best-scored points in order.
  std::vector<int32_t> count_found(const std::vector<Scored>& best, std::vector<Scored>& wanted,
                                   const std::vector<int32_t>& ranks_of_clusters) const {
    const auto columns = static_cast<int64_t>(candidates_.size());
    std::vector<int32_t> counts(table_size());
    std::sort(wanted.begin(), wanted.end());
    for (int64_t rank = 0; rank < static_cast<int64_t>(best.size()); ++rank) {
      if (!std::binary_search(wanted.begin(), wanted.end(), best[rank])) continue;
      const int32_t probe = ranks_of_clusters[index_.cluster_at(best[rank].position)];
      const auto row = std::upper_bound(probes_.begin(), probes_.end(), probe) - probes_.begin();
      const auto column =
          std::upper_bound(candidates_.begin(), candidates_.end(), rank) - candidates_.begin();
      if (row < static_cast<int64_t>(probes_.size()) && column < columns) ++counts[row * columns + column];
    }
    for (int64_t entry = 0; entry < table_size();
         ++entry) {  // cumulative sums over candidates, then over probes
      if (entry % columns) counts[entry] += counts[entry - 1];
    }
    for (int64_t entry = columns; entry < table_size(); ++entry) counts[entry] += counts[entry - columns];
    return counts;
  }

  const ClusterIndex& index_;
  int64_t k_;
  std::vector<int64_t> probes_, candidates_;
};

}  // namespace actup
