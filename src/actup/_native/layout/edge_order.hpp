// The order of many points: along the strongest edges of the graph, so that the neighbours of a point, which
// the attraction reads, are near each other in memory. A start cannot give such an order if its two
// coordinates tell neighbours from others as little as principal components do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/parallel.hpp"
#include "graph/graph_view.hpp"

namespace actup {

class StrongestEdges {
 public:
  StrongestEdges() = default;
  explicit StrongestEdges(int64_t n) : n_(n), ids_(n * kEdges, kNone) {}

  bool empty() const { return ids_.empty(); }

  // Reads row `row` of a part of the graph, which is row `first` + `row` of the whole.
  void read(const GraphView& part, int64_t first, int64_t row) {
    float strongest[kEdges];
    std::fill_n(strongest, kEdges, -std::numeric_limits<float>::infinity());
    int32_t* const ids = &ids_[(first + row) * kEdges];
    for (int64_t e = part.offsets[row]; e < part.offsets[row + 1]; ++e) {
      const float weight = part.weights[e];
      if (!(weight > strongest[kEdges - 1])) continue;
      int place = kEdges - 1;
      for (; place > 0 && weight > strongest[place - 1]; --place) {
        strongest[place] = strongest[place - 1];
        ids[place] = ids[place - 1];
      }
      strongest[place] = weight;
      ids[place] = part.indices[e];
    }
  }

  // Points in the order in which a depth-first search meets them that follows stronger edges first:
  // order[new] = old. It begins with point 0, and again with the first point that it has not met.
  std::vector<int32_t> depth_first_order() const {
    std::vector<int32_t> order, waiting;
    order.reserve(n_);
    std::vector<uint8_t> met(n_, 0);
    for (int64_t root = 0; root < n_; ++root) {
      waiting.push_back(static_cast<int32_t>(root));
      while (!waiting.empty()) {
        const int32_t point = waiting.back();
        waiting.pop_back();
        if (met[point]) continue;
        met[point] = 1;
        order.push_back(point);
        for (int edge = kEdges - 1; edge >= 0; --edge) {
          const int32_t id = ids_[int64_t{point} * kEdges + edge];
          if (id != kNone && !met[id]) waiting.push_back(id);
        }
      }
    }
    return order;
  }

 private:
  static constexpr int kEdges = 4;  // of each point; more do not make neighbours nearer
  static constexpr int32_t kNone = -1;

  int64_t n_ = 0;
  std::vector<int32_t> ids_;  // n x kEdges
};

}  // namespace actup
