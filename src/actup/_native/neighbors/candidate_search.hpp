// The clusters that queries probe, and the points of the best-scored codes in them.
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

// Row `row` of the queries, and its codes. `position` is its own, left out of its neighbours; -1 if it has
// none.
struct JoinQuery {
  int64_t row;
  const int8_t* codes;
  int64_t position;
};

// The search for some queries at a time; reused, because of the memory it works in.
class CandidateSearch {
 public:
  explicit CandidateSearch(const CodeIndex& index) : index_(index), choice_(index) {}

  // To be filled before find(); codes() is room for the queries' codes.
  std::vector<JoinQuery>& queries() { return queries_; }
  std::vector<int8_t>& codes() { return codes_; }
  ProbeChoice& choice() { return choice_; }

  // Finds up to `candidates` points for each query in `probes` clusters or more, so that there are k.
  void find(int64_t probes, int64_t candidates, int64_t k) {
    choose_probes(probes, k);
    lists_.reset(count(), candidates, PackedCodes::kLowestScore);
    for (int32_t cluster : visited_) scan_cluster(cluster);
    for (int64_t query = 0; query < count(); ++query) lists_.cut(query);
  }

  int64_t count() const { return static_cast<int64_t>(queries_.size()); }
  const JoinQuery& query(int64_t number) const { return queries_[number]; }
  // Each query's positions are in the order of the visited clusters.
  const CandidateLists& lists() const { return lists_; }
  const std::vector<int32_t>& visited() const { return visited_; }
  // The queries that probe a cluster.
  const int32_t* probing(int64_t cluster) const { return probing_.data() + begins_[cluster]; }
  int64_t probing_count(int64_t cluster) const { return begins_[cluster + 1] - begins_[cluster]; }

 private:
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

  const CodeIndex& index_;
  ProbeChoice choice_;
  std::vector<JoinQuery> queries_;
  std::vector<int8_t> codes_;
  std::vector<const int8_t*> rows_, probing_rows_;
  std::vector<int32_t> thresholds_;
  std::vector<std::vector<int32_t>> chosen_;  // clusters by query,
  std::vector<int32_t> probing_;              // and queries by cluster,
  std::vector<int64_t> begins_;               // which begin here
  std::vector<int32_t> visited_;              // clusters, in the order in which they are scanned
  CandidateLists lists_;
};

// Searches at rest, as many as threads were at work at once.
template <class Search, class Index>
class Searches {
 public:
  explicit Searches(const Index& index) : index_(index) {}

  // function(search), with a search that no other thread uses.
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

// Queries that go together: their rows in full width should stay in the cache of one core, and so should
// their lists.
inline int64_t queries_at_once(int64_t width, int64_t candidates) {
  const int64_t rows = (int64_t{1} << 17) / width, lists = (int64_t{1} << 16) / candidates;
  return std::clamp<int64_t>(std::min(rows, lists), 16, 128);
}

// Some queries at a time, near ones together: function(search), with a search that is ready for find().
template <class Search, class Index, class Function>
void for_each_query_chunk(const Index& index, const RowSource& rows, int64_t at_once, int threads,
                          const Function& function) {
  const Buffer<int8_t> codes = index.encoder().encode(rows, threads);
  std::vector<int32_t> labels(rows.count());
  index.clusters().assign(codes.data(), rows.count(), threads, labels.data());
  std::vector<int64_t> order(rows.count());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  Searches<Search, Index> searches(index);
  parallel_ranges(rows.count(), at_once, threads, [&](int64_t begin, int64_t end) {
    searches.with([&](Search& search) {
      search.choice().look_at_all();
      search.queries().clear();
      for (int64_t at = begin; at < end; ++at) {
        search.queries().push_back({order[at], codes.data() + order[at] * index.encoder().stride(), -1});
      }
      function(search);
    });
  });
}

// The points of the `count` best-scored codes for every row, ascending by id, into (rows, count); -1 for
// none.
inline void code_candidates(const CodeIndex& index, const RowSource& rows, int64_t probes, int64_t count,
                            int threads, int32_t* ids) {
  const int64_t at_once = queries_at_once(index.encoder().stride(), count);
  for_each_query_chunk<CandidateSearch>(index, rows, at_once, threads, [&](CandidateSearch& search) {
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
