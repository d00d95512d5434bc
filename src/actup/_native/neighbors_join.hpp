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
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "candidates.hpp"
#include "compared_rows.hpp"
#include "join_index.hpp"
#include "parallel.hpp"
#include "probes.hpp"
#include "rerank.hpp"

namespace actup {

// How much is looked at: clusters per query, and points per query in the metric itself (at least k).
struct JoinEffort {
  int64_t probes;
  int64_t candidates;
};

// Row `row` of the queries, and its codes. `position` is its own, left out of its neighbours; -1 if it has
// none.
struct JoinQuery {
  int64_t row;
  const int8_t* codes;
  int64_t position;
};

// The search for some queries at a time; reused, because of the memory it works in.
class ChunkSearch {
 public:
  explicit ChunkSearch(const JoinIndex& index) : index_(index), choice_(index), reranker_(index.points()) {}

  // To be filled before run(); codes() is room for the queries' codes.
  std::vector<JoinQuery>& queries() { return queries_; }
  std::vector<int8_t>& codes() { return codes_; }
  ProbeChoice& choice() { return choice_; }

  // Writes k ids and distances for each query at its row.
  void run(const ComparedRows& rows, int64_t k, const JoinEffort& effort, int32_t* ids, float* distances) {
    choose_probes(effort.probes, k);
    lists_.reset(count(), effort.candidates + 1, PackedCodes::kLowestScore);  // one may be the query itself
    for (int32_t cluster : visited_) scan_cluster(cluster);
    for (int64_t query = 0; query < count(); ++query) lists_.cut(query);
    compare_candidates(rows);
    for (int64_t query = 0; query < count(); ++query) {
      const int64_t row = queries_[query].row;
      select(query, k, ids + row * k, distances + row * k);
    }
  }

 private:
  int64_t count() const { return static_cast<int64_t>(queries_.size()); }
  const int32_t* probing(int64_t cluster) const { return probing_.data() + begins_[cluster]; }
  int64_t probing_count(int64_t cluster) const { return begins_[cluster + 1] - begins_[cluster]; }

  // Which queries probe which cluster; the most wanted clusters first, because they raise thresholds most.
  void choose_probes(int64_t probes, int64_t k) {
    const int64_t clusters = index_.clusters().count();
    rows_.resize(count());
    for (int64_t query = 0; query < count(); ++query) rows_[query] = queries_[query].codes;
    choice_.score(rows_);
    chosen_.resize(std::max(chosen_.size(), queries_.size()));
    begins_.assign(clusters + 2, 0);
    for (int64_t query = 0; query < count(); ++query) {
      choice_.choose(query, probes, k, chosen_[query]);
      for (int32_t cluster : chosen_[query]) ++begins_[cluster + 2];
    }
    visited_.clear();
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      if (begins_[cluster + 2]) visited_.push_back(static_cast<int32_t>(cluster));
    }
    std::stable_sort(visited_.begin(), visited_.end(),
                     [&](int32_t a, int32_t b) { return begins_[a + 2] > begins_[b + 2]; });
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    probing_.resize(begins_[clusters + 1]);
    for (int64_t query = 0; query < count(); ++query) {
      for (int32_t cluster : chosen_[query]) probing_[begins_[cluster + 1]++] = static_cast<int32_t>(query);
    }
  }

  void scan_cluster(int64_t cluster) {
    const int64_t queries = probing_count(cluster), base = index_.first_position(cluster);
    const int32_t* const numbers = probing(cluster);
    probing_rows_.resize(queries);
    thresholds_.resize(queries);
    for (int64_t at = 0; at < queries; ++at) {
      probing_rows_[at] = rows_[numbers[at]];
      thresholds_[at] = lists_.threshold(numbers[at]);
    }
    with_instructions([&](auto set) {
      scan<decltype(set)>(index_.cluster_codes(cluster), probing_rows_.data(), thresholds_.data(), queries,
                          [&](int64_t at, int64_t first, uint32_t mask, const int32_t* scores) {
                            if (lists_.append(numbers[at], base + first, mask, scores)) {
                              thresholds_[at] = lists_.threshold(numbers[at]);
                            }
                          });
    });
  }

  // True squares of all candidates. Lists hold candidates in the order of visited_, so one cluster's rows can
  // be compared with all queries that want them before the next cluster's are read.
  void compare_candidates(const ComparedRows& rows) {
    const int64_t wide = Projection::padded(rows.width());
    values_.resize(count() * wide);
    offsets_.assign(count() + 1, 0);
    for (int64_t query = 0; query < count(); ++query) {
      rows.ask(queries_[query].row, values_.data() + query * wide);
      offsets_[query + 1] = offsets_[query] + lists_.count(query);
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
    for (int32_t cluster : visited_) {
      const int64_t end = index_.first_position(cluster + 1);
      for (int64_t at = 0; at < probing_count(cluster); ++at) {
        const int64_t query = probing(cluster)[at], begin = cursors_[query];
        const int32_t* const positions = lists_.positions(query) - offsets_[query];
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
    const int64_t own = queries_[query].position;
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
  ProbeChoice choice_;
  Reranker reranker_;
  std::vector<JoinQuery> queries_;
  std::vector<int8_t> codes_;
  std::vector<const int8_t*> rows_, probing_rows_;
  std::vector<int32_t> thresholds_;
  std::vector<std::vector<int32_t>> chosen_;  // clusters by query,
  std::vector<int32_t> probing_;              // and queries by cluster,
  std::vector<int64_t> begins_;               // which begin here
  std::vector<int32_t> visited_;              // clusters, in the order in which they are scanned
  CandidateLists lists_;
  std::vector<float> values_, squares_;
  std::vector<int64_t> offsets_, cursors_;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> keys_;
};

// Searches at rest, as many as threads were at work at once.
class ChunkSearches {
 public:
  explicit ChunkSearches(const JoinIndex& index) : index_(index) {}

  // function(search), with a search that no other thread uses.
  template <class Function>
  void with(const Function& function) {
    std::unique_ptr<ChunkSearch> search = take();
    function(*search);
    std::lock_guard guard(mutex_);
    idle_.push_back(std::move(search));
  }

 private:
  std::unique_ptr<ChunkSearch> take() {
    std::lock_guard guard(mutex_);
    if (idle_.empty()) return std::make_unique<ChunkSearch>(index_);
    std::unique_ptr<ChunkSearch> search = std::move(idle_.back());
    idle_.pop_back();
    return search;
  }

  const JoinIndex& index_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ChunkSearch>> idle_;
};

// Queries that go together: their rows in full width should stay in the cache of one core, and so should
// their lists.
inline int64_t queries_at_once(int64_t width, int64_t candidates) {
  const int64_t rows = (int64_t{1} << 17) / width, lists = (int64_t{1} << 16) / candidates;
  return std::clamp<int64_t>(std::min(rows, lists), 16, 128);
}

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
  ChunkSearches searches(index);
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
  const Buffer<int8_t> codes = index.encoder().encode(queries, threads);
  std::vector<int32_t> labels(rows.rows);
  index.clusters().assign(codes.data(), rows.rows, threads, labels.data());
  std::vector<int64_t> order(rows.rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  ChunkSearches searches(index);
  parallel_ranges(
      rows.rows, queries_at_once(queries.width(), effort.candidates), threads,
      [&](int64_t begin, int64_t end) {
        searches.with([&](ChunkSearch& search) {
          search.choice().look_at_all();
          search.queries().clear();
          for (int64_t at = begin; at < end; ++at) {
            search.queries().push_back({order[at], codes.data() + order[at] * index.encoder().stride(), -1});
          }
          search.run(queries, k, effort, ids, distances);
        });
      });
}

}  // namespace actup
