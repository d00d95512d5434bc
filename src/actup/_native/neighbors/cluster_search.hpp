// Approximate nearest neighbours: clusters of short integer codes are joined, and the best pairs re-ranked.
//
// Queries that lie close together go together: the tile of integer dot products that compares them with a
// probed cluster is full, and the rows of that cluster that are worth a true comparison stay in cache. A
// query's candidates are the best-scored points of the clusters whose centers score best, and its neighbours
// the nearest candidates in the metric itself. They depend on the query and the index alone: not on threads,
// nor on the queries beside it.
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

// How much is looked at: clusters per query, and points per query in the metric itself (at least k).
struct JoinEffort {
  int64_t probes;
  int64_t candidates;
};

// The search with true comparisons.
class ChunkSearch : public CandidateSearch {
 public:
  explicit ChunkSearch(const JoinIndex& index)
      : CandidateSearch(index), index_(index), reranker_(index.points()) {}

  // Writes k ids and distances for each query at its row.
  void run(const ComparedRows& rows, int64_t k, const JoinEffort& effort, int32_t* ids, float* distances) {
    find(effort.probes, effort.candidates + 1, k);  // one may be the query itself
    compare_candidates(rows);
    for (int64_t query = 0; query < count(); ++query) {
      const int64_t row = this->query(query).row;
      select(query, k, ids + row * k, distances + row * k);
    }
  }

 private:
  // True squares of all candidates. Lists hold candidates in the order of visited(), so one cluster's rows
  // can be compared with all queries that want them before the next cluster's are read.
  void compare_candidates(const ComparedRows& rows) {
    const int64_t wide = padded(rows.ask_width());
    values_.resize(count() * wide);
    offsets_.assign(count() + 1, 0);
    for (int64_t query = 0; query < count(); ++query) {
      rows.ask(this->query(query).row, values_.data() + query * wide);
      offsets_[query + 1] = offsets_[query] + lists().count(query);
    }
    ids_.resize(offsets_[count()]);
    squares_.resize(offsets_[count()]);
    cursors_.assign(offsets_.begin(), offsets_.end() - 1);
    struct Comparison {
      int64_t query, begin, end;
    } waiting{0, 0, 0};  // its rows are on their way while those of the next one are looked up
    const auto compare = [&](const Comparison& c) {
      reranker_.squares(values_.data() + c.query * wide, ids_.data() + c.begin, c.end - c.begin,
                        squares_.data() + c.begin);
    };
    for (int32_t cluster : visited()) {
      const int64_t end = index_.first_position(cluster + 1);
      for (int64_t at = 0; at < probing_count(cluster); ++at) {
        const int64_t query = probing(cluster)[at], begin = cursors_[query];
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
        compare(std::exchange(waiting, {query, begin, cursor}));
      }
    }
    compare(waiting);
  }

  void select(int64_t query, int64_t k, int32_t* ids, float* distances) {
    int64_t begin = offsets_[query], end = offsets_[query + 1];
    const int64_t own = this->query(query).position;
    for (int64_t at = begin; at < end && own >= 0; ++at) {
      if (ids_[at] != index_.id_at(own)) continue;
      std::swap(ids_[at], ids_[end - 1]);
      std::swap(squares_[at], squares_[end - 1]);
      --end;
    }
    smallest(squares_.data() + begin, ids_.data() + begin, end - begin, k, keys_, distances, ids);
    for (int64_t at = 0; at < k; ++at) distances[at] = index_.points().distance(distances[at]);
  }

  const JoinIndex& index_;
  Reranker reranker_;
  std::vector<float> values_, squares_;
  std::vector<int64_t> offsets_, cursors_;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> keys_;
};

// The k nearest other points of every point, nearest first, into (rows, k).
inline void join_neighbors(const JoinIndex& index, int64_t k, const JoinEffort& effort, int threads,
                           int32_t* ids, float* distances) {
  struct Chunk {
    int64_t cluster, begin, count;
  };
  std::vector<Chunk> chunks;
  const int64_t most = queries_at_once(index.points().width(), effort.candidates),
                stride = index.encoder().stride();
  for (int64_t cluster = 0; cluster < index.clusters().count(); ++cluster) {
    const int64_t size = index.cluster_size(cluster);
    for (int64_t begin = 0; begin < size; begin += most) {
      chunks.push_back({cluster, index.first_position(cluster) + begin, std::min(most, size - begin)});
    }
  }
  Searches<ChunkSearch, JoinIndex> searches(index);
  parallel_chunks(static_cast<int64_t>(chunks.size()), threads, [&](int64_t at) {
    searches.with([&](ChunkSearch& search) {
      const auto [cluster, begin, count] = chunks[at];
      search.codes().resize(count * stride);
      search.queries().resize(count);
      for (int64_t query = 0; query < count; ++query) {
        int8_t* const codes = search.codes().data() + query * stride;
        index.packed().unpack(begin + query, codes);
        search.queries()[query] = {index.id_at(begin + query), codes, begin + query};
      }
      search.choice().look_around(cluster, effort.probes, k);
      search.run(index.points(), k, effort, ids, distances);
    });
  });
}

// The k nearest points to every row, nearest first, into (rows, k).
inline void join_query(const JoinIndex& index, const TypedRows& rows, int64_t k, const JoinEffort& effort,
                       int threads, int32_t* ids, float* distances) {
  const ComparedRows queries(rows, index.points(), threads);
  const int64_t at_once = queries_at_once(queries.width(), effort.candidates);
  for_each_query_chunk<ChunkSearch>(index, queries, at_once, threads, [&](ChunkSearch& search) {
    search.run(queries, k, effort, ids, distances);
  });
}

}  // namespace actup
