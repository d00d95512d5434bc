// What a search of a JoinIndex would find at every effort, measured on a sample of its points.
//
// The sample's true neighbours are found by a scan of all codes: projection and clipping never lengthen a
// distance, and rounding does by a known amount, so points whose codes are too far apart need no look. Each
// true neighbour is then found by a search that probes its cluster and keeps its code's rank, so one scan
// tells the recall of all efforts. (The rank counts points of clusters that would not be probed as well: the
// estimate errs on the low side.) Points as far as the k-th true neighbour count for each other, whichever
// they are, but not for nearer ones that are missed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "neighbors/best_scores.hpp"
#include "neighbors/cluster_search.hpp"

namespace actup {

// Recall by number of probes and number of candidates, both ascending: mean over the sampled rows, and its
// standard error. `truth` are the distances of the sampled rows' neighbours, ascending: rows x k.
struct Calibration {
  std::vector<int64_t> rows, probes, candidates;
  std::vector<float> truth, mean, error;
};

class Calibrator {
 public:
  Calibrator(const JoinIndex& index, int64_t k) : index_(index), k_(k) {
    const int64_t clusters = index.clusters().count(), points = index.points().rows().rows;
    for (int64_t probes = 2; probes < clusters; probes += std::max<int64_t>(1, probes / 4)) {
      probes_.push_back(probes);
    }
    probes_.push_back(clusters);
    const int64_t fewest = k + k / 8 + 2;
    if (fewest < points - 1) candidates_.push_back(fewest);
    for (int64_t step = 16; step <= kMostCandidates; step *= 2) {
      for (int64_t candidates : {step, step + step / 2}) {
        if (candidates > fewest && candidates < points - 1) candidates_.push_back(candidates);
      }
    }
    const int64_t most = std::min(2 * k, points - 1);  // of very many neighbours
    if (candidates_.empty() || candidates_.back() < most) candidates_.push_back(most);
  }

  Calibration run(int64_t sampled, uint64_t seed, int threads) const {
    const int64_t points = index_.points().rows().rows;
    Calibration result{sample_positions(std::min(sampled, points), seed), probes_, candidates_, {}, {}, {}};
    const auto count = static_cast<int64_t>(result.rows.size()), cells = table_size();
    std::vector<float> recalls(count * cells);
    result.truth.resize(count * k_);
    parallel_ranges(count, kQueriesAtOnce, threads, [&](int64_t begin, int64_t end) {
      measure(result.rows.data() + begin, end - begin, recalls.data() + begin * cells,
              result.truth.data() + begin * k_);
    });
    result.mean.resize(cells);
    result.error.resize(cells);
    for (int64_t cell = 0; cell < cells; ++cell) {
      double sum = 0, squares = 0;
      for (int64_t row = 0; row < count; ++row) {
        sum += recalls[row * cells + cell];
        squares += static_cast<double>(recalls[row * cells + cell]) * recalls[row * cells + cell];
      }
      const double mean = sum / count;
      result.mean[cell] = static_cast<float>(mean);
      result.error[cell] =
          static_cast<float>(std::sqrt(std::max(0.0, squares / count - mean * mean) / count));
    }
    for (int64_t& row : result.rows) row = index_.id_at(row);
    for (float& square : result.truth) square = index_.points().distance(square);
    return result;
  }

 private:
  static constexpr int64_t kMostCandidates = 512, kQueriesAtOnce = 48;
  static constexpr int64_t kPieceBytes = 1 << 18;
  static constexpr int64_t kMostPossible = 1 << 18;  // neighbours that are remembered at a time

  struct Scored {
    int32_t score;
    int32_t position;
    bool operator<(const Scored& other) const {
      return score != other.score ? score > other.score : position < other.position;
    }
  };

  // Of a point, compared with a query's k-th neighbour.
  enum class Nearness : uint8_t { closer, tied, beyond };

  int64_t table_size() const { return static_cast<int64_t>(probes_.size() * candidates_.size()); }

  // Positions of a sample of points; by id, because clusters differ in how hard they are.
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

  // visit(query, first point, mask, scores) as in scan(), over all points. Piece by piece, so that one stays
  // in cache until every query has seen it.
  template <class Visit>
  void scan_all(const std::vector<const int8_t*>& queries, const int32_t* thresholds,
                const Visit& visit) const {
    const PackedCodes& packed = index_.packed();
    const auto count = static_cast<int64_t>(queries.size());
    const int64_t piece = std::max<int64_t>(1, kPieceBytes / (kBlock * index_.encoder().stride()));
    with_instructions([&](auto set) {
      for (int64_t first = 0; first < packed.blocks(); first += piece) {
        const CodeBlocks blocks = packed.view(first, std::min(first + piece, packed.blocks()));
        scan<decltype(set)>(blocks, queries.data(), thresholds, count,
                            [&](int64_t query, int64_t at, uint32_t mask, const int32_t* scores) {
                              visit(query, first * kBlock + at, mask, scores);
                            });
      }
    });
  }

  void measure(const int64_t* positions, int64_t count, float* recalls, float* truth) const {
    const int64_t stride = index_.encoder().stride();
    std::vector<int8_t> codes(count * stride);
    std::vector<const int8_t*> queries(count);
    for (int64_t query = 0; query < count; ++query) {
      queries[query] = codes.data() + query * stride;
      index_.packed().unpack(positions[query], codes.data() + query * stride);
    }
    std::vector<float> rows(count * wide());
    for (int64_t query = 0; query < count; ++query) {
      index_.points().ask(index_.id_at(positions[query]), rows.data() + query * wide());
    }
    std::vector<float> bounds(count);
    const std::vector<int32_t> thresholds = certain_thresholds(queries, rows, positions, bounds.data());
    std::vector<std::vector<Scored>> possible(count);
    int64_t total = 0;
    const auto too_many = [&] { return total > kMostPossible && count > 1; };
    // Of copies of the query some are enough.
    const auto enough = [&](int64_t query) {
      return bounds[query] == 0 && static_cast<int64_t>(possible[query].size()) > 2 * candidates_.back();
    };
    scan_all(queries, thresholds.data(),
             [&](int64_t query, int64_t first, uint32_t mask, const int32_t* scores) {
               for (; mask && !enough(query) && !too_many(); mask &= mask - 1, ++total) {
                 const int lane = std::countr_zero(mask);
                 if (first + lane == positions[query]) continue;
                 possible[query].push_back({scores[lane], static_cast<int32_t>(first + lane)});
               }
             });
    if (too_many()) {  // codes tell little; half of the queries at a time
      possible = {};
      const int64_t half = count / 2;
      measure(positions, half, recalls, truth);
      measure(positions + half, count - half, recalls + half * table_size(), truth + half * k_);
      return;
    }
    std::vector<int32_t> center_scores;
    const PackedCodes& centers = index_.clusters().centers();
    score_all(centers, queries, center_scores);
    for (int64_t query = 0; query < count; ++query) {
      std::vector<Scored>& points = possible[query];
      const std::vector<float> squares = distances(points, rows.data() + query * wide());
      float* nearest = truth + query * k_;
      std::fill_n(nearest, k_, bounds[query]);
      std::partial_sort_copy(squares.begin(), squares.end(), nearest, nearest + k_);
      const float radius = nearest[k_ - 1] = std::min(bounds[query], nearest[k_ - 1]);
      std::vector<Nearness> near(squares.size());
      for (size_t at = 0; at < squares.size(); ++at) {
        near[at] = squares[at] < radius    ? Nearness::closer
                   : squares[at] == radius ? Nearness::tied
                                           : Nearness::beyond;
      }
      fill_table(points, near, probe_ranks(center_scores.data() + query * centers.blocks() * kBlock),
                 recalls + query * table_size());
    }
  }

  int64_t wide() const { return padded(index_.points().ask_width()); }

  // The lowest scores that true neighbours can have, from upper bounds of the k-th squares: those of the
  // k-th of the best-scored points.
  std::vector<int32_t> certain_thresholds(const std::vector<const int8_t*>& queries,
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
      bounds[query] = kth_smallest(distances(best, rows.data() + query * wide()));
      thresholds[query] = score_at(queries[query], bounds[query]);
    }
    return thresholds;
  }

  // The score of a point whose code is as far from the query's as that of a point at the given squared
  // distance can be. Rounding two rows adds at most about columns/6 to the square, and along the difference
  // of the rows a deviation of 0.41, of which six are allowed.
  int32_t score_at(const int8_t* query, float squared_radius) const {
    const Encoder& encoder = index_.encoder();
    const double radius = std::sqrt(static_cast<double>(squared_radius)) * encoder.scale() + 2.5;
    const double squares = radius * radius + static_cast<double>(encoder.stride()) / 4 + 2;
    int64_t total = 0;
    for (int64_t at = 0; at < encoder.stride(); ++at) total += query[at];
    const double score = (squared_length(query, encoder.stride()) - squares) / 2 +
                         static_cast<double>(encoder.offset() * total);
    return static_cast<int32_t>(std::max<double>(PackedCodes::kLowestScore, std::floor(score)));
  }

  std::vector<float> distances(const std::vector<Scored>& points, const float* row) const {
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

  // How many clusters a query probes before each.
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

  // recalls[probes][candidates] of one query.
  void fill_table(std::vector<Scored>& points, const std::vector<Nearness>& near,
                  const std::vector<int32_t>& probe_rank, float* recalls) const {
    std::vector<Scored> closer, tied;
    for (size_t at = 0; at < points.size(); ++at) {
      if (near[at] == Nearness::closer) closer.push_back(points[at]);
      if (near[at] == Nearness::tied) tied.push_back(points[at]);
    }
    const auto last = std::min<int64_t>(candidates_.back(), static_cast<int64_t>(points.size()));
    std::partial_sort(points.begin(), points.begin() + last, points.end());
    points.resize(last);
    const std::vector<int32_t> found = counts(points, closer, probe_rank);
    const std::vector<int32_t> others = counts(points, tied, probe_rank);
    const int64_t open = k_ - static_cast<int64_t>(closer.size());
    for (int64_t cell = 0; cell < table_size(); ++cell) {
      recalls[cell] =
          static_cast<float>(found[cell] + std::min<int64_t>(others[cell], open)) / static_cast<float>(k_);
    }
  }

  // How many of some points each effort finds among those of the best scores, in order.
  std::vector<int32_t> counts(const std::vector<Scored>& best, std::vector<Scored>& wanted,
                              const std::vector<int32_t>& probe_rank) const {
    const auto columns = static_cast<int64_t>(candidates_.size());
    std::vector<int32_t> counts(table_size());
    std::sort(wanted.begin(), wanted.end());
    for (int64_t rank = 0; rank < static_cast<int64_t>(best.size()); ++rank) {
      if (!std::binary_search(wanted.begin(), wanted.end(), best[rank])) continue;
      const int32_t probe = probe_rank[index_.cluster_at(best[rank].position)];
      const auto row = std::upper_bound(probes_.begin(), probes_.end(), probe) - probes_.begin();
      const auto column =
          std::upper_bound(candidates_.begin(), candidates_.end(), rank) - candidates_.begin();
      if (row < static_cast<int64_t>(probes_.size()) && column < columns) ++counts[row * columns + column];
    }
    for (int64_t cell = 0; cell < table_size(); ++cell) {  // sums over fewer probes and fewer candidates
      if (cell % columns) counts[cell] += counts[cell - 1];
    }
    for (int64_t cell = columns; cell < table_size(); ++cell) counts[cell] += counts[cell - columns];
    return counts;
  }

  const JoinIndex& index_;
  int64_t k_;
  std::vector<int64_t> probes_, candidates_;
};

}  // namespace actup
