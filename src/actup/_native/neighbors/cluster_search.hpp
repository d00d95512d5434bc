// Cluster search: approximate nearest neighbours from clusters of integer codes, re-ranked in the metric
// itself.
//
// A query's candidates are the best-scored points of the clusters whose centers score best, and its
// neighbours are the nearest candidates in the metric itself. Queries close together are searched together:
// they fill the tiles of integer dot products that compare them with a probed cluster, and the rows of that
// cluster that are re-ranked stay in cache. The result depends on the query and the index alone, not on
// threads or other queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/candidate_search.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/compared_rows.hpp"
#include "neighbors/rerank.hpp"

namespace actup {

// Effort per query: clusters that are probed, and candidates that are compared in the metric itself (at least
// k).
struct SearchEffort {
  int64_t probes;
  int64_t candidates;
};

// Candidate search followed by re-ranking.
class NeighborSearch : public CandidateSearch {
 public:
  explicit NeighborSearch(const ClusterIndex& index)
      : CandidateSearch(index), index_(index), reranker_(index.points()) {}

  // Writes k ids and distances for each query at its row.
  void run(const ComparedRows& rows, int64_t k, const SearchEffort& effort, int32_t* ids, float* distances) {
    find(effort.probes, effort.candidates + 1, k);  // one may be the query itself
    compare_candidates(rows);
    for (int64_t query = 0; query < count(); ++query) {
      const int64_t row = this->query(query).row;
      select(query, k, ids + row * k, distances + row * k);
    }
  }

 private:
  // Squared differences of all candidates. Lists hold candidates in the order of visited(), so a cluster's
  // rows are compared with all queries that need them before the next cluster's rows are read.
  void compare_candidates(const ComparedRows& rows) {
    const int64_t stride = padded(rows.query_width());
    values_.resize(count() * stride);
    offsets_.assign(count() + 1, 0);
    for (int64_t query = 0; query < count(); ++query) {
      rows.write_query(this->query(query).row, values_.data() + query * stride);
      offsets_[query + 1] = offsets_[query] + lists().count(query);
    }
    ids_.resize(offsets_[count()]);
    squares_.resize(offsets_[count()]);
    cursors_.assign(offsets_.begin(), offsets_.end() - 1);
    struct Comparison {
      int64_t query, begin, end;
    } prefetched{0, 0, 0};  // compared after the next comparison's rows have been prefetched
    const auto compare = [&](const Comparison& c) {
      reranker_.squares(values_.data() + c.query * stride, ids_.data() + c.begin, c.end - c.begin,
                        squares_.data() + c.begin);
    };
    for (int32_t cluster : visited()) {
      const int64_t end = index_.first_position(cluster + 1);
      for (int64_t at = 0; at < query_count(cluster); ++at) {
        const int64_t query = queries_of(cluster)[at], begin = cursors_[query];
        const int32_t* const positions = lists().positions(query) - offsets_[query];
        int64_t cursor = begin;
        for (; cursor < offsets_[query + 1] && positions[cursor] < end &&
               positions[cursor] >= index_.first_position(cluster);
             ++cursor) {
          ids_[cursor] = index_.id_at(positions[cursor]);
        }
        if (cursor == begin) continue;
        cursors_[query] = cursor;
        reranker_.prefetch(ids_.data() + begin, cursor - begin);
        compare(std::exchange(prefetched, {query, begin, cursor}));
      }
    }
    compare(prefetched);
  }

  void select(int64_t query, int64_t k, int32_t* ids, float* distances) {
    int64_t begin = offsets_[query], end = offsets_[query + 1];
    const int64_t self = this->query(query).position;
    for (int64_t at = begin; at < end && self >= 0; ++at) {
      if (ids_[at] != index_.id_at(self)) continue;
      std::swap(ids_[at], ids_[end - 1]);
      std::swap(squares_[at], squares_[end - 1]);
      --end;
    }
    k_smallest(squares_.data() + begin, ids_.data() + begin, end - begin, k, keys_, distances, ids);
    for (int64_t at = 0; at < k; ++at) distances[at] = index_.points().distance(distances[at]);
  }

  const ClusterIndex& index_;
  Reranker reranker_;
  std::vector<float> values_, squares_;
  std::vector<int64_t> offsets_, cursors_;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> keys_;
};

// The k nearest other points of every point, nearest first, into (points, k).
inline void neighbors_of_points(const ClusterIndex& index, int64_t k, const SearchEffort& effort, int threads,
                                int32_t* ids, float* distances) {
  struct Chunk {
    int64_t cluster, begin, count;
  };
  std::vector<Chunk> chunks;
  const int64_t chunk_size = queries_per_search(index.points().width(), effort.candidates),
                stride = index.encoder().stride();
  for (int64_t cluster = 0; cluster < index.clusters().count(); ++cluster) {
    const int64_t size = index.cluster_size(cluster);
    for (int64_t begin = 0; begin < size; begin += chunk_size) {
      chunks.push_back({cluster, index.first_position(cluster) + begin, std::min(chunk_size, size - begin)});
    }
  }
  SearchPool<NeighborSearch, ClusterIndex> pool(index);
  set_progress_range(0, 1);
  parallel_chunks(static_cast<int64_t>(chunks.size()), threads, [&](int64_t at) {
    pool.with([&](NeighborSearch& search) {
      const auto [cluster, begin, count] = chunks[at];
      search.codes().resize(count * stride);
      search.queries().resize(count);
      for (int64_t query = 0; query < count; ++query) {
        int8_t* const codes = search.codes().data() + query * stride;
        index.packed().unpack(begin + query, codes);
        search.queries()[query] = {index.id_at(begin + query), codes, begin + query};
      }
      search.selector().consider_around(cluster, effort.probes, k);
      search.run(index.points(), k, effort, ids, distances);
    });
  });
}

// The k nearest points of every row, nearest first, into (rows, k).
inline void neighbors_of_queries(const ClusterIndex& index, const TypedRows& rows, int64_t k,
                                 const SearchEffort& effort, int threads, int32_t* ids, float* distances) {
  const ComparedRows queries(rows, index.points(), threads);
  const int64_t chunk = queries_per_search(queries.width(), effort.candidates);
  set_progress_range(0, 1);
  for_each_query_chunk<NeighborSearch>(index, queries, chunk, threads, [&](NeighborSearch& search) {
    search.run(queries, k, effort, ids, distances);
  });
}

}  // namespace actup
