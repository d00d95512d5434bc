// Approximate nearest neighbours: clusters of short integer codes are joined, and the best pairs re-ranked.
//
// Points are projected, coded and clustered; queries of one cluster go together, so that the tile of integer
// dot products that compares them with a probed cluster is full. A query's candidates are the best-scored
// points of the clusters whose centers score best, and its neighbours the nearest candidates in the metric
// itself. They depend on the query and the index alone: not on threads, nor on the queries beside it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "buffer.hpp"
#include "candidates.hpp"
#include "clusters.hpp"
#include "codes.hpp"
#include "compared_rows.hpp"
#include "parallel.hpp"
#include "rerank.hpp"

namespace actup {

// How much is looked at: clusters per query, and points per query in the metric itself.
struct JoinEffort {
  int64_t probes;
  int64_t candidates;
};

// A query whose codes are at hand. Its own position is left out of its candidates; -1 if it is no point.
struct CodedQuery {
  const int8_t* codes;
  int64_t position;
};

class JoinIndex {
 public:
  // The caller keeps the points alive. `columns` of the projection, 0 for as many as the data needs.
  JoinIndex(const TypedRows& points, Metric metric, int64_t columns, uint64_t seed, int threads)
      : points_(points, metric, uses_directions(metric) ? 1.0f : unit_of(points), threads),
        encoder_(points_, columns, seed, threads),
        reranker_(points_) {
    const Buffer<int8_t> codes = encoder_.encode(points_, threads);
    clusters_ = std::make_unique<Clusters>(codes.data(), points.rows, encoder_, seed, threads);
    pack_points(codes, threads);
  }
  JoinIndex(const JoinIndex&) = delete;
  JoinIndex& operator=(const JoinIndex&) = delete;

  const ComparedRows& points() const { return points_; }
  const Encoder& encoder() const { return encoder_; }
  const Clusters& clusters() const { return *clusters_; }
  const PackedCodes& packed() const { return packed_; }
  const Reranker& reranker() const { return reranker_; }
  // The id of a point by its position among the packed ones, and the other way round by search.
  int32_t id_at(int64_t position) const { return ids_[position]; }
  int64_t cluster_of_block(int64_t block) const { return cluster_of_block_[block]; }

  // The k nearest other points of every point.
  void neighbors(int64_t k, const JoinEffort& effort, int threads, int32_t* ids, float* distances) const {
    std::vector<Chunk> chunks;
    for (int64_t cluster = 0; cluster < clusters_->count(); ++cluster) {
      const int64_t size = clusters_->starts()[cluster + 1] - clusters_->starts()[cluster];
      for (int64_t begin = 0; begin < size; begin += kChunk) {
        chunks.push_back({first_block_[cluster] * kBlock + begin, std::min(kChunk, size - begin)});
      }
    }
    parallel_chunks(static_cast<int64_t>(chunks.size()), threads, [&](int64_t at) {
      const Chunk& chunk = chunks[at];
      Lease scratch(*this);
      scratch->codes.resize(chunk.count * encoder_.stride());
      scratch->queries.resize(chunk.count);
      for (int64_t query = 0; query < chunk.count; ++query) {
        int8_t* const codes = scratch->codes.data() + query * encoder_.stride();
        packed_.unpack(chunk.begin + query, codes);
        scratch->queries[query] = {codes, chunk.begin + query};
      }
      find_candidates(*scratch, effort, k);
      for (int64_t query = 0; query < chunk.count; ++query) {
        const int32_t id = ids_[chunk.begin + query];
        rerank(*scratch, query, points_, id, k, ids + id * k, distances + id * k);
      }
    });
  }

  // The k nearest points to every query.
  void query(const TypedRows& rows, int64_t k, const JoinEffort& effort, int threads, int32_t* ids,
             float* distances) const {
    const ComparedRows queries(rows, points_.metric(), points_.unit(), threads);
    const Buffer<int8_t> codes = encoder_.encode(queries, threads);
    std::vector<int32_t> labels(rows.rows);
    clusters_->assign(codes.data(), rows.rows, threads, labels.data());
    std::vector<int64_t> order(rows.rows);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
    parallel_ranges(rows.rows, kChunk, threads, [&](int64_t begin, int64_t end) {
      Lease scratch(*this);
      scratch->queries.resize(end - begin);
      for (int64_t at = begin; at < end; ++at) {
        scratch->queries[at - begin] = {codes.data() + order[at] * encoder_.stride(), -1};
      }
      find_candidates(*scratch, effort, k);
      for (int64_t at = begin; at < end; ++at) {
        rerank(*scratch, at - begin, queries, order[at], k, ids + order[at] * k, distances + order[at] * k);
      }
    });
  }

  // Clusters in the order in which a query probes them, the first `probes` of them; their scores are at hand.
  static void best_clusters(const int32_t* scores, int64_t clusters, int64_t probes,
                            std::vector<int32_t>& out) {
    out.clear();
    if (probes >= clusters) {
      for (int64_t cluster = 0; cluster < clusters; ++cluster) out.push_back(static_cast<int32_t>(cluster));
      return;
    }
    const int32_t bound = nth_largest(scores, clusters, probes);
    int64_t better = 0;
    for (int64_t cluster = 0; cluster < clusters; ++cluster) better += scores[cluster] > bound;
    int64_t equal = probes - better;
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      if (scores[cluster] < bound || (scores[cluster] == bound && equal-- <= 0)) continue;
      out.push_back(static_cast<int32_t>(cluster));
    }
  }

  // Scores of all centers for each query: rows of center_stride().
  int64_t center_stride() const { return clusters_->centers().blocks() * kBlock; }
  void score_centers(const std::vector<const int8_t*>& queries, std::vector<int32_t>& scores) const {
    scores.resize(static_cast<int64_t>(queries.size()) * center_stride());
    const std::vector<int32_t> thresholds(queries.size(), 4 * PackedCodes::kLowestScore);
    with_instructions([&](auto set) {
      using Set = decltype(set);
      scan<Set>(clusters_->centers().view(), queries.data(), thresholds.data(),
                static_cast<int64_t>(queries.size()),
                [&](int64_t query, int64_t first, uint32_t, const int32_t* values) {
                  std::copy_n(values, Set::kLanes, scores.data() + query * center_stride() + first);
                });
    });
  }

 private:
  static constexpr int64_t kChunk = 128;

  // Consecutive packed points of one cluster.
  struct Chunk {
    int64_t begin;
    int64_t count;
  };

  struct Scratch {
    std::vector<int8_t> codes;
    std::vector<CodedQuery> queries;
    std::vector<const int8_t*> rows, probing_rows;
    std::vector<int32_t> center_scores, probes, thresholds;
    std::vector<int32_t> probing;              // queries by probed cluster,
    std::vector<int64_t> begins;               // where each cluster's begin,
    std::vector<std::vector<int32_t>> chosen;  // and clusters by query
    std::vector<int32_t> visited;
    CandidateLists lists;
    std::vector<float> query, squares, values;
    std::vector<int32_t> ids;
    std::vector<uint64_t> keys;
  };

  // Scratch memory for the time of one chunk.
  class Lease {
   public:
    explicit Lease(const JoinIndex& index) : index_(index) {
      std::lock_guard guard(index.lending_);
      if (index.scratches_.empty()) {
        scratch_ = std::make_unique<Scratch>();
      } else {
        scratch_ = std::move(index.scratches_.back());
        index.scratches_.pop_back();
      }
    }
    ~Lease() {
      std::lock_guard guard(index_.lending_);
      index_.scratches_.push_back(std::move(scratch_));
    }
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    const JoinIndex& index_;
    std::unique_ptr<Scratch> scratch_;
  };

  void pack_points(const Buffer<int8_t>& codes, int threads) {
    const int64_t clusters = clusters_->count();
    first_block_.assign(clusters + 1, 0);
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      const int64_t size = clusters_->starts()[cluster + 1] - clusters_->starts()[cluster];
      first_block_[cluster + 1] = first_block_[cluster] + (size + kBlock - 1) / kBlock;
    }
    packed_ = PackedCodes(first_block_[clusters], encoder_.groups(), encoder_.offset());
    ids_.assign(first_block_[clusters] * kBlock, -1);
    cluster_of_block_.resize(first_block_[clusters]);
    parallel_ranges(clusters, 8, threads, [&](int64_t begin, int64_t end) {
      for (int64_t cluster = begin; cluster < end; ++cluster) pack_cluster(codes, cluster);
    });
  }

  void pack_cluster(const Buffer<int8_t>& codes, int64_t cluster) {
    const int64_t end = clusters_->starts()[cluster + 1];
    int64_t begin = clusters_->starts()[cluster];
    for (int64_t block = first_block_[cluster]; block < first_block_[cluster + 1]; ++block, begin += kBlock) {
      const int64_t count = std::min(kBlock, end - begin);
      const int32_t* const members = clusters_->order().data() + begin;
      std::copy_n(members, count, ids_.data() + block * kBlock);
      packed_.pack(block, count,
                   [&](int64_t point) { return codes.data() + members[point] * encoder_.stride(); });
      cluster_of_block_[block] = static_cast<int32_t>(cluster);
    }
  }

  // Leaves the candidates of scratch.queries in scratch.lists: at least k of them where that many points are.
  void find_candidates(Scratch& scratch, const JoinEffort& effort, int64_t k) const {
    const auto count = static_cast<int64_t>(scratch.queries.size());
    scratch.rows.resize(count);
    for (int64_t query = 0; query < count; ++query) scratch.rows[query] = scratch.queries[query].codes;
    choose_probes(scratch, effort.probes, k);
    scratch.lists.reset(count, effort.candidates + 1, PackedCodes::kLowestScore);  // one may be the query
    for (int32_t cluster : scratch.visited) {
      const int64_t begin = scratch.begins[cluster], end = scratch.begins[cluster + 1];
      scan_cluster(scratch, cluster, scratch.probing.data() + begin, end - begin);
    }
    for (int64_t query = 0; query < count; ++query) scratch.lists.cut(query);
  }

  // Which queries probe which cluster; the most wanted clusters first, because they raise thresholds most.
  void choose_probes(Scratch& scratch, int64_t probes, int64_t k) const {
    const int64_t clusters = clusters_->count();
    const auto count = static_cast<int64_t>(scratch.rows.size());
    score_centers(scratch.rows, scratch.center_scores);
    scratch.chosen.resize(std::max(scratch.chosen.size(), scratch.rows.size()));
    scratch.begins.assign(clusters + 2, 0);
    for (int64_t query = 0; query < count; ++query) {
      const int32_t* const scores = scratch.center_scores.data() + query * center_stride();
      best_clusters(scores, clusters, probes, scratch.chosen[query]);
      for (int64_t more = 2 * probes; more < 2 * clusters && points_in(scratch.chosen[query]) <= k;
           more *= 2) {
        best_clusters(scores, clusters, more, scratch.chosen[query]);  // these were too small
      }
      for (int32_t cluster : scratch.chosen[query]) ++scratch.begins[cluster + 2];
    }
    scratch.visited.clear();
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      if (scratch.begins[cluster + 2]) scratch.visited.push_back(static_cast<int32_t>(cluster));
    }
    std::stable_sort(scratch.visited.begin(), scratch.visited.end(),
                     [&](int32_t a, int32_t b) { return scratch.begins[a + 2] > scratch.begins[b + 2]; });
    std::partial_sum(scratch.begins.begin(), scratch.begins.end(), scratch.begins.begin());
    scratch.probing.resize(scratch.begins[clusters + 1]);
    for (int64_t query = 0; query < count; ++query) {
      for (int32_t cluster : scratch.chosen[query]) {
        scratch.probing[scratch.begins[cluster + 1]++] = static_cast<int32_t>(query);
      }
    }
  }

  int64_t points_in(const std::vector<int32_t>& clusters) const {
    int64_t points = 0;
    for (int32_t cluster : clusters)
      points += clusters_->starts()[cluster + 1] - clusters_->starts()[cluster];
    return points;
  }

  void scan_cluster(Scratch& scratch, int64_t cluster, const int32_t* queries, int64_t count) const {
    scratch.probing_rows.resize(count);
    scratch.thresholds.resize(count);
    for (int64_t at = 0; at < count; ++at) {
      scratch.probing_rows[at] = scratch.rows[queries[at]];
      scratch.thresholds[at] = scratch.lists.threshold(queries[at]);
    }
    const int64_t base = first_block_[cluster] * kBlock;
    with_instructions([&](auto set) {
      scan<decltype(set)>(packed_.view(first_block_[cluster], first_block_[cluster + 1]),
                          scratch.probing_rows.data(), scratch.thresholds.data(), count,
                          [&](int64_t at, int64_t first, uint32_t mask, const int32_t* scores) {
                            if (scratch.lists.append(queries[at], base + first, mask, scores)) {
                              scratch.thresholds[at] = scratch.lists.threshold(queries[at]);
                            }
                          });
    });
  }

  // The k nearest of a query's candidates; `row` of `rows` is the query.
  void rerank(Scratch& scratch, int64_t query, const ComparedRows& rows, int64_t row, int64_t k, int32_t* ids,
              float* distances) const {
    const int32_t* const positions = scratch.lists.positions(query);
    scratch.ids.clear();
    for (int64_t at = 0; at < scratch.lists.count(query); ++at) {
      if (positions[at] != scratch.queries[query].position) scratch.ids.push_back(ids_[positions[at]]);
    }
    const auto count = static_cast<int64_t>(scratch.ids.size());
    scratch.query.resize(Projection::padded(rows.width()));
    scratch.squares.resize(count);
    rows.read(row, scratch.query.data());
    reranker_.squares(scratch.query.data(), scratch.ids.data(), count, scratch.squares.data());
    smallest(scratch.squares.data(), scratch.ids.data(), count, k, scratch.keys, distances, ids);
    for (int64_t at = 0; at < k; ++at) distances[at] = points_.distance(distances[at]);
  }

  ComparedRows points_;
  Encoder encoder_;
  Reranker reranker_;
  std::unique_ptr<Clusters> clusters_;
  PackedCodes packed_;
  std::vector<int64_t> first_block_;  // of each cluster
  std::vector<int32_t> cluster_of_block_;
  std::vector<int32_t> ids_;  // by position; -1 where there is no point
  mutable std::mutex lending_;
  mutable std::vector<std::unique_ptr<Scratch>> scratches_;
};

}  // namespace actup
