// A refinement round: better neighbour lists from the neighbours of neighbours.
//
// It helps where codes are too coarse, as in tight groups far apart. It reads the old lists and writes new
// ones, so the result depends neither on threads nor on order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "neighbors/cluster_index.hpp"
#include "neighbors/projection.hpp"
#include "neighbors/rerank.hpp"

namespace actup {

constexpr int64_t kMaxFollowed = 16;  // neighbours per list whose lists are read

// For each row, up to `capacity` rows that have it in their list: the first ones by (rank in the list, id).
class ReverseLists {
 public:
  ReverseLists(const int32_t* ids, int64_t rows, int64_t k, int64_t capacity)
      : capacity_(capacity), counts_(rows), rows_(rows * capacity) {
    for (int64_t rank = 0; rank < std::min(k, capacity); ++rank) {
      for (int64_t row = 0; row < rows; ++row) {
        const int32_t id = ids[row * k + rank];
        if (id >= 0 && counts_[id] < capacity_)
          rows_[id * capacity_ + counts_[id]++] = static_cast<int32_t>(row);
      }
    }
  }

  const int32_t* begin(int64_t row) const { return rows_.data() + row * capacity_; }
  const int32_t* end(int64_t row) const { return begin(row) + counts_[row]; }

 private:
  int64_t capacity_;
  std::vector<int32_t> counts_, rows_;
};

// The k nearest of each point's neighbours, of their neighbours, and of the points that have it or one of its
// neighbours in their lists.
inline void refine_neighbors(const ClusterIndex& index, int64_t k, int threads, const int32_t* old_ids,
                             int32_t* ids, float* distances) {
  const int64_t rows = index.points().rows().rows, followed = std::min(k, kMaxFollowed);
  const ReverseLists reverse(old_ids, rows, k, followed);
  const Reranker reranker(index.points());
  set_progress_range(0, 1);
  parallel_ranges(index.positions(), 256, threads, [&](int64_t begin, int64_t end) {
    std::vector<float> query(padded(index.points().query_width())), squares;
    std::vector<int32_t> nearby, found;
    std::vector<uint64_t> keys;
    for (int64_t position = begin; position < end; ++position) {
      const int32_t row = index.id_at(position);
      if (row < 0) continue;
      nearby.assign(old_ids + row * k, old_ids + row * k + followed);
      nearby.insert(nearby.end(), reverse.begin(row), reverse.end(row));
      found.assign(old_ids + row * k, old_ids + (row + 1) * k);
      for (const int32_t other : nearby) {
        if (other < 0) continue;
        found.push_back(other);
        found.insert(found.end(), old_ids + other * k, old_ids + other * k + followed);
        found.insert(found.end(), reverse.begin(other), reverse.end(other));
      }
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      std::erase_if(found, [&](int32_t id) { return id < 0 || id == row; });
      const auto count = static_cast<int64_t>(found.size());
      squares.resize(count);
      index.points().write_query(row, query.data());
      reranker.prefetch(found.data(), count);
      reranker.squares(query.data(), found.data(), count, squares.data());
      k_smallest(squares.data(), found.data(), count, k, keys, distances + row * k, ids + row * k);
      for (int64_t at = row * k; at < (row + 1) * k; ++at) {
        distances[at] = index.points().distance(distances[at]);
      }
    }
  });
}

// The lists, (count, k), of some rows by their ids, ascending.
struct ListsById {
  const int32_t* ids;
  int64_t count;
  const int32_t* lists;
  int64_t k;

  // The list of an id; null if it is not among them.
  const int32_t* find(int32_t id) const {
    const int32_t* const at = std::lower_bound(ids, ids + count, id);
    return at != ids + count && *at == id ? lists + (at - ids) * k : nullptr;
  }
};

// For rows with the ids from `first_id` on and their lists, (rows, k): the neighbours of their first
// followed.k neighbours whose ids are from `begin` to `end`, without the row itself and those in its list,
// ascending. The lists of the neighbours are in `followed`. Writes up to followed.k² ids per row to `out` and
// their numbers to `counts`.
inline void second_neighbors(const int32_t* ids, int64_t rows, int64_t k, int32_t first_id,
                             const ListsById& followed, int32_t begin, int32_t end, int threads, int32_t* out,
                             int64_t* counts) {
  const int64_t steps = followed.k;
  parallel_ranges(rows, 256, threads, [&](int64_t first, int64_t last) {
    std::vector<int32_t> known;
    for (int64_t row = first; row < last; ++row) {
      const int32_t* const list = ids + row * k;
      int32_t* const found = out + row * steps * steps;
      int32_t* found_end = found;
      for (int64_t at = 0; at < steps; ++at) {
        const int32_t* const next = list[at] < 0 ? nullptr : followed.find(list[at]);
        if (next == nullptr) continue;
        found_end =
            std::copy_if(next, next + steps, found_end, [&](int32_t id) { return id >= begin && id < end; });
      }
      std::sort(found, found_end);
      known.assign(list, list + k);
      known.push_back(first_id + static_cast<int32_t>(row));
      std::sort(known.begin(), known.end());
      found_end = std::remove_if(found, std::unique(found, found_end), [&](int32_t id) {
        return std::binary_search(known.begin(), known.end(), id);
      });
      counts[row] = found_end - found;
    }
  });
}

}  // namespace actup
