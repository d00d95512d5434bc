// The first half of cluster search: chooses the clusters to probe and collects the best-scored points in
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/candidates.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/probes.hpp"
#include "neighbors/row_source.hpp"

namespace actup {

// A query: its row number and its codes. `position` is the query's own position in the index, which is not
// its neighbour; -1 if it is not a point.
struct CodeQuery {
  int64_t row;
  const int8_t* codes;
  int64_t position;
};

// Searches for one chunk of queries at a time; reused, to keep its memory.
class CandidateSearch {
 public:
  explicit CandidateSearch(const CodeIndex& index) : index_(index), selector_(index) {}

  // To be filled before find(). codes() is a buffer for the queries' codes.
  std::vector<CodeQuery>& queries() { return queries_; }
  std::vector<int8_t>& codes() { return codes_; }
  ProbeSelector& selector() { return selector_; }

  // Finds up to `candidates` points for each query in `probes` clusters, or in more if those hold fewer than
  // k.
  void find(int64_t probes, int64_t candidates, int64_t k) {
    choose_probes(probes, k);
    lists_.reset(count(), candidates, PackedCodes::kLowestScore);
    for (int32_t cluster : visited_) scan_cluster(cluster);
    for (int64_t query = 0; query < count(); ++query) lists_.cut(query);
  }

  int64_t count() const { return static_cast<int64_t>(queries_.size()); }
  const CodeQuery& query(int64_t number) const { return queries_[number]; }
  // A query's candidates are in the order of visited().
  const CandidateLists& lists() const { return lists_; }
  const std::vector<int32_t>& visited() const { return visited_; }
  // The queries that probe a cluster.
  const int32_t* queries_of(int64_t cluster) const { return queries_of_clusters_.data() + offsets_[cluster]; }
  int64_t query_count(int64_t cluster) const { return offsets_[cluster + 1] - offsets_[cluster]; }

 private:
  // Chooses which queries probe which clusters. Clusters probed by most queries are visited first, because
  // they raise thresholds most.
  void choose_probes(int64_t probes, int64_t k) {
    const int64_t clusters = index_.clusters().count();
    codes_of_queries_.resize(count());
    for (int64_t query = 0; query < count(); ++query) codes_of_queries_[query] = queries_[query].codes;
    selector_.score(codes_of_queries_);
    probes_of_queries_.resize(std::max(probes_of_queries_.size(), queries_.size()));
    offsets_.assign(clusters + 2, 0);
    for (int64_t query = 0; query < count(); ++query) {
      selector_.choose(query, probes, k, probes_of_queries_[query]);
      for (int32_t cluster : probes_of_queries_[query]) ++offsets_[cluster + 2];
    }
    visited_.clear();
    for (int64_t cluster = 0; cluster < clusters; ++cluster) {
      if (offsets_[cluster + 2]) visited_.push_back(static_cast<int32_t>(cluster));
    }
    std::stable_sort(visited_.begin(), visited_.end(),
                     [&](int32_t a, int32_t b) { return offsets_[a + 2] > offsets_[b + 2]; });
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    queries_of_clusters_.resize(offsets_[clusters + 1]);
    for (int64_t query = 0; query < count(); ++query) {
      for (int32_t cluster : probes_of_queries_[query])
        queries_of_clusters_[offsets_[cluster + 1]++] = static_cast<int32_t>(query);
    }
  }

  void scan_cluster(int64_t cluster) {
    const int64_t queries = query_count(cluster), base = index_.first_position(cluster);
    const int32_t* const ids = queries_of(cluster);
    scanned_codes_.resize(queries);
    thresholds_.resize(queries);
    for (int64_t at = 0; at < queries; ++at) {
      scanned_codes_[at] = codes_of_queries_[ids[at]];
      thresholds_[at] = lists_.threshold(ids[at]);
    }
    with_instructions([&](auto set) {
      scan<decltype(set)>(index_.cluster_codes(cluster), scanned_codes_.data(), thresholds_.data(), queries,
                          [&](int64_t at, int64_t first, uint32_t mask, const int32_t* scores) {
                            if (lists_.append(ids[at], base + first, mask, scores)) {
                              thresholds_[at] = lists_.threshold(ids[at]);
                            }
                          });
    });
  }

  const CodeIndex& index_;
  ProbeSelector selector_;
  std::vector<CodeQuery> queries_;
  std::vector<int8_t> codes_;
  std::vector<const int8_t*> codes_of_queries_, scanned_codes_;
  std::vector<int32_t> thresholds_;
  std::vector<std::vector<int32_t>> probes_of_queries_;
  std::vector<int32_t> queries_of_clusters_;
  std::vector<int64_t> offsets_;  // of each cluster in queries_of_clusters_
  std::vector<int32_t> visited_;  // clusters, in the order in which they are scanned
  CandidateLists lists_;
};

// Search objects that threads return after use, so that others can reuse their memory.
template <class Search, class Index>
class SearchPool {
 public:
  explicit SearchPool(const Index& index) : index_(index) {}

  // Calls function(search) with a search that no other thread uses.
  template <class Function>
  void with(const Function& function) {
    std::unique_ptr<Search> search = take();
    function(*search);
    std::lock_guard guard(mutex_);
    idle_.push_back(std::move(search));
  }

 private:
  std::unique_ptr<Search> take() {
    std::lock_guard guard(mutex_);
    if (idle_.empty()) return std::make_unique<Search>(index_);
    std::unique_ptr<Search> search = std::move(idle_.back());
    idle_.pop_back();
    return search;
  }

  const Index& index_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Search>> idle_;
};

// The number of queries that are searched together: their rows and their lists should stay in one core's
// cache.
inline int64_t queries_per_search(int64_t width, int64_t candidates) {
  const int64_t rows = (int64_t{1} << 17) / width, lists = (int64_t{1} << 16) / candidates;
  return std::clamp<int64_t>(std::min(rows, lists), 16, 128);
}

// Calls function(search), with a search that is ready for find(), for chunks of queries near one another.
template <class Search, class Index, class Function>
void for_each_query_chunk(const Index& index, const RowSource& rows, int64_t chunk, int threads,
                          const Function& function) {
  const Buffer<int8_t> codes = index.encoder().encode(rows, threads);
  std::vector<int32_t> labels(rows.count());
  index.clusters().assign(codes.data(), rows.count(), threads, labels.data());
  std::vector<int64_t> order(rows.count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  SearchPool<Search, Index> pool(index);
  parallel_ranges(rows.count(), chunk, threads, [&](int64_t begin, int64_t end) {
    pool.with([&](Search& search) {
      search.selector().consider_all();
      search.queries().clear();
      for (int64_t at = begin; at < end; ++at) {
        search.queries().push_back({order[at], codes.data() + order[at] * index.encoder().stride(), -1});
      }
      function(search);
    });
  });
}

// The `count` best-scored points of every row, into (rows, count): -1 for missing ones, then ascending ids.
inline void code_candidates(const CodeIndex& index, const RowSource& rows, int64_t probes, int64_t count,
                            int threads, int32_t* ids) {
  const int64_t chunk = queries_per_search(index.encoder().stride(), count);
  for_each_query_chunk<CandidateSearch>(index, rows, chunk, threads, [&](CandidateSearch& search) {
    search.find(probes, count, count);
    for (int64_t query = 0; query < search.count(); ++query) {
      int32_t* const out = ids + search.query(query).row * count;
      const int64_t found = search.lists().count(query);
      for (int64_t at = 0; at < count; ++at) {
        out[at] = at < found ? index.id_at(search.lists().positions(query)[at]) : -1;
      }
      std::sort(out, out + count);
    }
  });
}

}  // namespace actup
