// The minimum spanning tree of points under mutual reachability distances, by Boruvka's algorithm on a k-d
// tree.
//
// The mutual reachability distance of two points is the largest of their distance and their two core
// distances (Campello, Moulavi and Sander 2013). Per round, the shortest edge that leaves each component is
// found: neighbour lists give upper bounds, the tree the rest. What a point has learnt about its nearest
// foreign point stays a lower bound, since components only grow. Bounds of components are frozen while a
// batch of points is searched, so the tree is the same at any thread count, also among equal edges.
#pragma once

#include <cmath>

#include "clusters/kd_tree.hpp"
#include "common/buffer.hpp"
#include "common/union_find.hpp"

namespace actup {

struct TreeEdge {
  double weight;
  int32_t a, b;
  bool operator<(const TreeEdge& other) const {
    if (weight != other.weight) return weight < other.weight;
    return a != other.a ? a < other.a : b < other.b;
  }
};

template <int D>
class ReachabilityTree {
 public:
  // min_samples: the core distance of a point is that of its min_samples-th nearest point, counting itself.
  // Needs 1 <= min_samples <= n.
  ReachabilityTree(const double* coordinates, int64_t n, int columns, int64_t min_samples, int threads)
      : tree_(coordinates, n, columns, threads),
        n_(n),
        threads_(threads),
        listed_(std::min<int64_t>(std::max<int64_t>(min_samples - 1, kMinListed), kMaxListed)),
        core_(n),
        component_(n),
        reached_(n),
        candidate_(n),
        offer_weight_(n),
        offer_id_(n),
        sets_(n) {
    listed_ = std::min(listed_, n - 1);
    lists_ = Buffer<int32_t>(n * listed_);
    find_cores(min_samples - 1);
  }

  // n - 1 edges between rows, shortest first.
  std::vector<TreeEdge> edges() {
    std::vector<TreeEdge> found;
    found.reserve(n_ - 1);
    for (int64_t i = 0; i < n_; ++i) {
      component_[i] = static_cast<int32_t>(i);
      reached_[i] = core_[i];
      candidate_[i] = -1;
    }
    while (static_cast<int64_t>(found.size()) < n_ - 1) {
      label_nodes();
      offer_listed();
      search_others();
      join(found);
    }
    for (TreeEdge& edge : found) {
      edge = {std::sqrt(edge.weight), tree_.row(edge.a), tree_.row(edge.b)};
      if (edge.a > edge.b) std::swap(edge.a, edge.b);
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Core distances by row.
  void copy_cores(double* cores) const {
    for (int64_t i = 0; i < n_; ++i) cores[tree_.row(i)] = std::sqrt(core_[i]);
  }

 private:
  static constexpr int64_t kMinListed = 4, kMaxListed = 16;  // neighbours kept per point
  static constexpr int64_t kGrain = 256;                     // points per chunk
  static constexpr int64_t kBatches = 8;                     // per round; bounds are updated after each
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // All distances below are squared.
  void find_cores(int64_t neighbors) {
    const int64_t searched = std::max(neighbors, listed_);
    parallel_ranges(n_, kGrain, threads_, [&](int64_t begin, int64_t end) {
      std::vector<int32_t> ids(searched);
      std::vector<double> distances(searched);
      for (int64_t i = begin; i < end; ++i) {
        if (searched > 0) tree_.nearest(i, searched, ids.data(), distances.data());
        core_[i] = neighbors > 0 ? distances[neighbors - 1] : 0.0;
        std::copy_n(ids.begin(), listed_, lists_.data() + i * listed_);
      }
    });
    node_core_.resize(tree_.nodes());
    for (int64_t k = tree_.nodes() - 1; k >= 0; --k) {
      double least = kInfinity;
      if (tree_.is_leaf(k)) {
        for (int32_t i = tree_.node(k).begin; i < tree_.node(k).end; ++i) least = std::min(least, core_[i]);
      } else {
        least = std::min(node_core_[2 * k + 1], node_core_[2 * k + 2]);
      }
      node_core_[k] = least;
    }
  }

  double reachability(int64_t i, int64_t j) const {
    return std::max(squared_distance(tree_.place(i), tree_.place(j)), std::max(core_[i], core_[j]));
  }

  // The component of all points of each node, or -1 if they belong to several.
  void label_nodes() {
    node_component_.resize(tree_.nodes());
    const int64_t first_leaf = tree_.nodes() / 2;
    parallel_ranges(tree_.nodes() - first_leaf, 1024, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t k = first_leaf + begin; k < first_leaf + end; ++k) {
        const TreeNode<D>& node = tree_.node(k);
        int32_t common = node.begin < node.end ? component_[node.begin] : -1;
        for (int32_t i = node.begin; i < node.end; ++i)
          if (component_[i] != common) common = -1;
        node_component_[k] = common;
      }
    });
    for (int64_t k = first_leaf - 1; k >= 0; --k) {
      const int32_t left = node_component_[2 * k + 1], right = node_component_[2 * k + 2];
      node_component_[k] = left == right ? left : -1;
    }
  }

  // Edges to former candidates and to listed neighbours; they bound the components' shortest edges from
  // above.
  void offer_listed() {
    parallel_ranges(n_, 4096, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        offer_id_[i] = -1;
        offer_weight_[i] = kInfinity;
        if (candidate_[i] >= 0 && component_[candidate_[i]] != component_[i]) {
          offer_id_[i] = candidate_[i];
          offer_weight_[i] = reached_[i];
          continue;
        }
        candidate_[i] = -1;
        for (int64_t slot = 0; slot < listed_; ++slot) {
          const int32_t j = lists_[i * listed_ + slot];
          if (component_[j] == component_[i]) continue;
          const double weight = reachability(i, j);
          if (weight < offer_weight_[i]) {
            offer_weight_[i] = weight;
            offer_id_[i] = j;
          }
        }
        if (offer_id_[i] >= 0 && offer_weight_[i] <= reached_[i]) candidate_[i] = offer_id_[i];
      }
    });
    shortest_.assign(n_, {kInfinity, -1, -1});
    for (int64_t i = 0; i < n_; ++i) take_offer(i);
  }

  void take_offer(int64_t i) {
    TreeEdge& edge = shortest_[component_[i]];
    if (offer_id_[i] >= 0 && offer_weight_[i] < edge.weight)
      edge = {offer_weight_[i], static_cast<int32_t>(i), offer_id_[i]};
  }

  // Points whose nearest foreign point is unknown, and may be nearer than their component's shortest edge.
  void search_others() {
    std::vector<int32_t> open;
    for (int64_t i = 0; i < n_; ++i)
      if (candidate_[i] < 0 && reached_[i] < shortest_[component_[i]].weight)
        open.push_back(static_cast<int32_t>(i));
    const int64_t count = static_cast<int64_t>(open.size());
    const int64_t batch = std::max<int64_t>(16 * kGrain, (count + kBatches - 1) / kBatches);
    for (int64_t begin = 0; begin < count; begin += batch) {
      const int64_t end = std::min(count, begin + batch);
      parallel_ranges(end - begin, kGrain, threads_, [&](int64_t first, int64_t last) {
        search_chunk(open.data() + begin + first, open.data() + begin + last);
      });
      for (int64_t k = begin; k < end; ++k) take_offer(open[k]);
    }
  }

  void search_chunk(const int32_t* begin, const int32_t* end) {
    int32_t component = -1;
    double limit = kInfinity;
    for (const int32_t* open = begin; open < end; ++open) {
      const int32_t i = *open;
      if (component_[i] != component) {
        component = component_[i];
        limit = shortest_[component].weight;
      }
      offer_id_[i] = -1;
      if (!(reached_[i] < limit)) continue;
      limit = search_point(i, limit);
    }
  }

  // The nearest foreign point of i below the limit; returns the component's new limit.
  double search_point(int32_t i, double limit) {
    double best = limit;
    const double core = core_[i], least = reached_[i];
    tree_.search(
        tree_.place(i),
        [&](int64_t k, double distance) {
          if (node_component_[k] == component_[i]) return kInfinity;
          return std::max(distance, node_core_[k]);
        },
        [&] { return best > least ? best : 0.0; },  // nothing is nearer than `least`
        [&](int64_t j) {
          if (component_[j] == component_[i]) return;
          const double weight =
              std::max(squared_distance(tree_.place(i), tree_.place(j)), std::max(core, core_[j]));
          if (weight < best) {
            best = weight;
            offer_id_[i] = static_cast<int32_t>(j);
          }
        });
    offer_weight_[i] = best;
    reached_[i] = best;
    candidate_[i] = offer_id_[i];
    return best;
  }

  // Adds each component's shortest edge, shorter ones first, unless equal edges would close a cycle.
  void join(std::vector<TreeEdge>& found) {
    std::vector<TreeEdge> chosen;
    for (int64_t c = 0; c < n_; ++c)
      if (shortest_[c].a >= 0) chosen.push_back(shortest_[c]);
    std::sort(chosen.begin(), chosen.end());
    for (const TreeEdge& edge : chosen) {
      const int32_t a = sets_.find(edge.a), b = sets_.find(edge.b);
      if (a == b) continue;
      sets_.attach(std::max(a, b), std::min(a, b));
      found.push_back(edge);
    }
    for (int64_t i = 0; i < n_; ++i) component_[i] = sets_.find(static_cast<int32_t>(i));
  }

  const KdTree<D> tree_;
  const int64_t n_;
  const int threads_;
  int64_t listed_;  // neighbours kept per point
  std::vector<double> core_;
  std::vector<int32_t> component_;
  std::vector<double>
      reached_;  // no foreign point is nearer; equal to that of the candidate, if there is one
  std::vector<int32_t> candidate_;  // the nearest foreign point, or -1 if it is unknown
  std::vector<double> offer_weight_;
  std::vector<int32_t> offer_id_;
  std::vector<TreeEdge> shortest_;  // the shortest known edge that leaves each component
  std::vector<double> node_core_;   // the least core distance of a node's points
  std::vector<int32_t> node_component_;
  Buffer<int32_t> lists_;
  UnionFind sets_;
};

// The edges of the minimum spanning tree, shortest first, and the core distances by row. columns <= 16.
inline std::vector<TreeEdge> reachability_tree(const double* coordinates, int64_t n, int columns,
                                               int64_t min_samples, int threads, double* cores) {
  const auto run = [&](auto width) {
    ReachabilityTree<width()> tree(coordinates, n, columns, min_samples, threads);
    tree.copy_cores(cores);
    return tree.edges();
  };
  if (columns <= 2) return run(std::integral_constant<int, 2>());
  if (columns <= 4) return run(std::integral_constant<int, 4>());
  if (columns <= 8) return run(std::integral_constant<int, 8>());
  return run(std::integral_constant<int, 16>());
}

}  // namespace actup
