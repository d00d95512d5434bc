// Directed edges: those that rows have to their neighbours, by source and, for ranges of rows, by target.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/vectors.h"

namespace actup {

// The edges of consecutive rows to their neighbours, owned by the caller; an edge of id -1 does not exist.
struct DirectedRows {
  const int32_t* ids;    // (rows, k)
  const float* weights;  // (rows, k)
  int64_t rows;
  int64_t k;
  int64_t first_row = 0;  // the number of the first of these rows in the data
};

// Directed edges in any form, owned by the caller.
struct DirectedEdges {
  const int32_t* targets;
  const int32_t* sources;
  const float* weights;
  int64_t size;
};

// A directed edge's target (or source) and weight in one word: sorting words sorts by id.
struct WeightedId {
  uint64_t word;
  static WeightedId of(int64_t id, float weight) {
    return {static_cast<uint64_t>(id) << 32 | std::bit_cast<uint32_t>(weight)};
  }
  int32_t id() const { return static_cast<int32_t>(word >> 32); }
  float weight() const { return std::bit_cast<float>(static_cast<uint32_t>(word)); }
};

// Work that is divided into few parts, each of which needs memory of its own: more than eight parts, for many
// threads, take a few MB in all. The result is the same for any number of parts.
inline int64_t part_count(int64_t items, int64_t min_items_per_part, int64_t counts_per_part, int threads) {
  constexpr int64_t kUsualParts = 8, kMaxParts = 32, kMostCounts = 1 << 20;
  const int64_t most =
      std::min({2 * int64_t{threads}, kMaxParts, kMostCounts / std::max<int64_t>(1, counts_per_part)});
  return std::clamp<int64_t>(items / min_items_per_part, 1, std::max(most, kUsualParts));
}

// Calls visit(place) for the ids in [begin, end), in order. Few of them are, so whole registers are compared
// at once.
template <class Visit>
inline void for_each_within(const int32_t* ids, int64_t count, int64_t begin, int64_t end,
                            const Visit& visit) {
  const auto low = static_cast<int32_t>(begin), high = static_cast<int32_t>(end);
  int64_t at = 0;
  for (; at + kRegisterInts <= count; at += kRegisterInts) {
    const RegisterInts v = load<RegisterInts>(ids + at);
    for (uint32_t found = lanes_set((v >= low) & (v < high)); found; found &= found - 1)
      visit(at + std::countr_zero(found));
  }
  for (; at < count; ++at) {
    if (ids[at] >= low && ids[at] < high) visit(at);
  }
}

// The edges that end at the rows of a range, by target.
class IncomingEdges {
 public:
  const WeightedId* begin(int64_t row) const { return edges_.data() + offsets_[row]; }
  const WeightedId* end(int64_t row) const { return edges_.data() + offsets_[row + 1]; }
  int64_t size(int64_t rows) const { return offsets_[rows]; }

  // Collects the edges that end at rows [first, first + count) of all edges of the data. Scans all ids, so
  // that no second copy of the edges is needed.
  void collect(const DirectedRows& edges, int64_t first, int64_t count, int threads) {
    const int64_t parts = part_count(edges.rows, 1 << 11, count, threads);
    collect_parts(count, parts, threads, [&](int64_t part, const auto& visit) {
      const int64_t end = edges.rows * (part + 1) / parts;
      for (int64_t row = edges.rows * part / parts; row < end; ++row) {
        const int32_t* const ids = edges.ids + row * edges.k;
        for_each_within(ids, edges.k, first, first + count, [&](int64_t at) {
          visit(ids[at] - first, edges.first_row + row, edges.weights[row * edges.k + at]);
        });
      }
    });
  }

  // Collects edges that all end at rows [first, first + count); the sources of a target must ascend.
  void collect(const DirectedEdges& edges, int64_t first, int64_t count, int threads) {
    const int64_t parts = part_count(edges.size, 1 << 16, count, threads);
    const auto part_begin = [&](int64_t part) { return edges.size * part / parts; };
    parallel_chunks(parts, threads, [&](int64_t part) {
      for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at) {
        if (edges.targets[at] < first || edges.targets[at] >= first + count || edges.sources[at] < 0) {
          throw std::invalid_argument(
              "targets of incoming edges must be rows of the range, and sources rows of the data");
        }
      }
    });
    collect_parts(count, parts, threads, [&](int64_t part, const auto& visit) {
      for (int64_t at = part_begin(part); at < part_begin(part + 1); ++at)
        visit(edges.targets[at] - first, edges.sources[at], edges.weights[at]);
    });
    parallel_ranges(count, 4096, threads, [&](int64_t from, int64_t to) {
      for (int64_t row = from; row < to; ++row) check_sources(row, first + row);
    });
  }

 private:
  // A counting sort. for_each_edge(part, visit) calls visit(row of the range, source, weight) for the edges
  // of a part, in the order of their sources; so do parts follow each other. Each part knows where its
  // edges of a row begin, so that parts may be copied at the same time and in any order.
  template <class ForEachEdge>
  void collect_parts(int64_t rows, int64_t parts, int threads, const ForEachEdge& for_each_edge) {
    counts_.resize(parts);
    parallel_chunks(parts, threads, [&](int64_t part) {
      counts_[part].assign(rows, 0);
      int32_t* const counts = counts_[part].data();
      for_each_edge(part, [&](int64_t row, int64_t, float) { ++counts[row]; });
    });
    offsets_.resize(rows + 1);
    parallel_ranges(rows, 4096, threads, [&](int64_t begin, int64_t end) {
      // Turns each part's count into the place of its first edge within the row.
      std::fill(&offsets_[begin], &offsets_[end], 0);
      for (int64_t part = 0; part < parts; ++part) {
        int32_t* const counts = counts_[part].data();
        for (int64_t row = begin; row < end; ++row) {
          const auto before = static_cast<int32_t>(offsets_[row]);
          offsets_[row] += std::exchange(counts[row], before);
        }
      }
    });
    int64_t offset = 0;
    for (int64_t row = 0; row < rows; ++row) offset += std::exchange(offsets_[row], offset);
    offsets_[rows] = offset;
    if (edges_.size() < offset) edges_ = Buffer<WeightedId>(offset);
    parallel_chunks(parts, threads, [&](int64_t part) {
      int32_t* const places = counts_[part].data();
      for_each_edge(part, [&](int64_t row, int64_t source, float weight) {
        edges_[offsets_[row] + places[row]++] = WeightedId::of(source, weight);
      });
    });
  }

  void check_sources(int64_t row, int64_t own) const {
    int64_t previous = -1;
    for (const WeightedId* edge = begin(row); edge != end(row); ++edge) {
      if (edge->id() <= previous || edge->id() == own) {
        throw std::invalid_argument(
            "sources of incoming edges must ascend for every target, and differ from it: join the edges of "
            "source ranges in the order of the rows");
      }
      previous = edge->id();
    }
  }

  std::vector<std::vector<int32_t>> counts_;  // of each part: edges of every row, then places
  std::vector<int64_t> offsets_;
  Buffer<WeightedId> edges_;  // may be longer than what is used
};

// Directed edges, divided by the range of rows that holds their target; in each range in the order of their
// sources.
struct EdgesByRange {
  std::vector<int64_t> offsets;  // ranges + 1
  std::unique_ptr<int32_t[]> targets, sources;
  std::unique_ptr<float[]> weights;
};

// boundaries: the first row of every range, and the number of rows after the last one; ranges may be empty.
inline EdgesByRange edges_by_range(const DirectedRows& edges, const int64_t* boundaries, int64_t ranges,
                                   int threads) {
  if (ranges < 1 || boundaries[0] != 0 || !std::is_sorted(boundaries, boundaries + ranges + 1)) {
    throw std::invalid_argument(
        "boundaries must be the first row of every range, ascending from 0, and then the number of rows");
  }
  const int64_t parts = part_count(edges.rows, 1 << 12, ranges, threads);
  const auto for_each_edge = [&](int64_t part, const auto& visit) {
    const int64_t end = edges.rows * (part + 1) / parts;
    for (int64_t row = edges.rows * part / parts; row < end; ++row) {
      for (int64_t at = row * edges.k; at < (row + 1) * edges.k; ++at) {
        const int32_t target = edges.ids[at];
        if (target == -1) continue;
        if (target < 0 || target >= boundaries[ranges] || target == edges.first_row + row) {
          throw std::invalid_argument(
              "ids must be other rows of the data: below the last of the boundaries, not the row's own");
        }
        const int64_t range = std::upper_bound(boundaries, boundaries + ranges, target) - boundaries - 1;
        visit(range, target, edges.first_row + row, edges.weights[at]);
      }
    }
  };
  std::vector<std::vector<int64_t>> places(parts);
  parallel_chunks(parts, threads, [&](int64_t part) {
    places[part].assign(ranges, 0);
    for_each_edge(part, [&](int64_t range, int32_t, int64_t, float) { ++places[part][range]; });
  });
  EdgesByRange result;
  int64_t offset = 0;
  for (int64_t range = 0; range < ranges; ++range) {
    result.offsets.push_back(offset);
    for (auto& part_places : places) offset += std::exchange(part_places[range], offset);
  }
  result.offsets.push_back(offset);
  result.targets = std::make_unique_for_overwrite<int32_t[]>(offset);
  result.sources = std::make_unique_for_overwrite<int32_t[]>(offset);
  result.weights = std::make_unique_for_overwrite<float[]>(offset);
  parallel_chunks(parts, threads, [&](int64_t part) {
    for_each_edge(part, [&](int64_t range, int32_t target, int64_t source, float weight) {
      const int64_t at = places[part][range]++;
      result.targets[at] = target;
      result.sources[at] = static_cast<int32_t>(source);
      result.weights[at] = weight;
    });
  });
  return result;
}

}  // namespace actup
