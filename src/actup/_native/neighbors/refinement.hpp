// Better neighbour lists from given ones: a neighbour's neighbours are likely to be one's own.
//
// For data whose codes tell too little, such as tight groups far apart. Old lists are read and new ones
// written, so the outcome depends on neither threads nor order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/projection.hpp"
#include "neighbors/rerank.hpp"

namespace actup {

// Rows that have a row in their list, up to `most` of each: the first ones by (rank in the list, id).
class ReverseLists {
 public:
  ReverseLists(const int32_t* ids, int64_t rows, int64_t k, int64_t most)
      : most_(most), counts_(rows), rows_(rows * most) {
    for (int64_t rank = 0; rank < std::min(k, most); ++rank) {
      for (int64_t row = 0; row < rows; ++row) {
        const int32_t id = ids[row * k + rank];
        if (id >= 0 && counts_[id] < most_) rows_[id * most_ + counts_[id]++] = static_cast<int32_t>(row);
      }
    }
  }

  const int32_t* begin(int64_t row) const { return rows_.data() + row * most_; }
  const int32_t* end(int64_t row) const { return begin(row) + counts_[row]; }

 private:
  int64_t most_;
  std::vector<int32_t> counts_, rows_;
};

// The k nearest of: the neighbours of each point, theirs, and those that have it as one.
inline void refine_neighbors(const JoinIndex& index, int64_t k, int threads, const int32_t* old_ids,
                             int32_t* ids, float* distances) {
  constexpr int64_t kMostNear = 16;  // of each list that are followed
  const int64_t rows = index.points().rows().rows, near = std::min(k, kMostNear);
  const ReverseLists reverse(old_ids, rows, k, near);
  const Reranker reranker(index.points());
  parallel_ranges(index.positions(), 256, threads, [&](int64_t begin, int64_t end) {
    std::vector<float> query(padded(index.points().ask_width())), squares;
    std::vector<int32_t> around, found;
    std::vector<uint64_t> keys;
    for (int64_t position = begin; position < end; ++position) {
      const int32_t row = index.id_at(position);
      if (row < 0) continue;
      around.assign(old_ids + row * k, old_ids + row * k + near);
      around.insert(around.end(), reverse.begin(row), reverse.end(row));
      found.assign(old_ids + row * k, old_ids + (row + 1) * k);
      for (const int32_t other : around) {
        if (other < 0) continue;
        found.push_back(other);
        found.insert(found.end(), old_ids + other * k, old_ids + other * k + near);
        found.insert(found.end(), reverse.begin(other), reverse.end(other));
      }
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      std::erase_if(found, [&](int32_t id) { return id < 0 || id == row; });
      const auto count = static_cast<int64_t>(found.size());
      squares.resize(count);
      index.points().ask(row, query.data());
      reranker.prefetch(found.data(), count);
      reranker.squares(query.data(), found.data(), count, squares.data());
      smallest(squares.data(), found.data(), count, k, keys, distances + row * k, ids + row * k);
      for (int64_t at = row * k; at < (row + 1) * k; ++at) {
        distances[at] = index.points().distance(distances[at]);
      }
    }
  });
}

}  // namespace actup
