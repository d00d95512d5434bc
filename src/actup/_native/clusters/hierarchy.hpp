// The hierarchy of single linkage over a spanning tree, and the density clusters that it holds.
//
// Edges of equal length are one merger of several parts: so clusters do not depend on which of several
// minimum spanning trees is given. The leaves are put into an order in which every part is a range.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/union_find.hpp"

namespace actup {

// Parts that hold at least min_cluster_size points and lie apart from another such part (Campello, Moulavi
// and Sander 2013). Number 0 is the whole; parents come before their children.
struct CondensedTree {
  std::vector<int32_t> parents;       // -1 for the whole
  std::vector<int64_t> begins, ends;  // ranges of the order of leaves
  std::vector<double> births;         // the distance at which the part separates from its siblings
  std::vector<double> stability;    // the sum over its points of 1 / distance at which they leave - 1 / birth
  std::vector<double> persistence;  // the mean over its points of 1 - distance at which they leave / birth
};

class Hierarchy {
 public:
  // a, b, distances: n - 1 edges of a spanning tree, shortest first.
  Hierarchy(int64_t n, const int32_t* a, const int32_t* b, const double* distances)
      : n_(n), a_(a, a + n - 1), b_(b, b + n - 1), distances_(distances, distances + n - 1) {
    merge();
    put_in_order();
    const auto positive = std::upper_bound(distances_.begin(), distances_.end(), 0.0);
    least_ = positive < distances_.end() && std::isfinite(*positive) ? *positive : 1.0;
  }

  int64_t size() const { return n_; }
  const std::vector<int32_t>& order() const { return order_; }

  CondensedTree condense(int64_t min_cluster_size) const {
    CondensedTree tree;
    std::vector<int64_t> open{2 * n_ - 2};  // the part of the hierarchy that each new cluster begins with
    add_cluster(tree, -1, open[0], std::numeric_limits<double>::infinity());
    std::vector<int64_t> parts, large;
    for (int64_t c = 0; c < static_cast<int64_t>(open.size()); ++c) {
      Departures departures(density(tree.births[c]), tree.births[c]);
      for (int64_t part = open[c]; part >= n_;) {
        const double distance = distances_[part - n_];
        const int64_t size = part_size(part);
        collect_parts(part, parts);
        large.clear();
        int64_t kept = 0;
        for (const int64_t child : parts)
          if (part_size(child) >= min_cluster_size) {
            large.push_back(child);
            kept += part_size(child);
          }
        const bool goes_on = large.size() == 1;
        departures.add(goes_on ? size - kept : size, density(distance), distance);
        if (!goes_on) {
          for (const int64_t child : large.size() > 1 ? large : std::vector<int64_t>()) {
            add_cluster(tree, static_cast<int32_t>(c), child, distance);
            open.push_back(child);
          }
          break;
        }
        part = large[0];
      }
      tree.stability[c] = departures.stability;
      tree.persistence[c] = departures.relative / static_cast<double>(tree.ends[c] - tree.begins[c]);
    }
    return tree;
  }

  // Gives every point of code -1 the code of the cluster that it joins at the least distance. All stay -1 if
  // there is no cluster.
  void spread(int32_t* codes) const {
    UnionFind sets(n_);
    for (int64_t e = 0; e < n_ - 1; ++e) {
      const int32_t a = sets.find(a_[e]), b = sets.find(b_[e]);
      if (a == b || (codes[a] >= 0 && codes[b] >= 0)) continue;
      if (codes[a] >= 0)
        sets.attach(b, a);
      else
        sets.attach(a, b);
    }
    for (int64_t i = 0; i < n_; ++i) codes[i] = codes[sets.find(static_cast<int32_t>(i))];
  }

 private:
  // What the points of one cluster add up to as they leave it.
  struct Departures {
    Departures(double birth_density, double birth) : birth_density(birth_density), birth(birth) {}
    void add(int64_t points, double density, double distance) {
      stability += static_cast<double>(points) * (density - birth_density);
      const double ratio = std::isfinite(birth) ? (birth > 0 ? distance / birth : 1.0) : 0.0;
      relative += static_cast<double>(points) * (1.0 - (std::isfinite(distance) ? ratio : 1.0));
    }
    double birth_density, birth, stability = 0, relative = 0;
  };

  // 1 / distance; points at distance 0 count as if they were at the least distance above 0.
  double density(double distance) const { return 1.0 / std::max(distance, least_); }

  int64_t part_size(int64_t part) const { return part < n_ ? 1 : sizes_[part - n_]; }
  int64_t part_begin(int64_t part) const { return begins_[part]; }

  // Part n + e is what edge e merges; points are the parts below n.
  void merge() {
    UnionFind sets(n_);
    std::vector<int64_t> part_of(n_);
    for (int64_t i = 0; i < n_; ++i) part_of[i] = i;
    left_.resize(n_ - 1);
    right_.resize(n_ - 1);
    sizes_.resize(n_ - 1);
    for (int64_t e = 0; e < n_ - 1; ++e) {
      int32_t a = sets.find(a_[e]), b = sets.find(b_[e]);
      left_[e] = part_of[a];
      right_[e] = part_of[b];
      const int64_t left = part_size(left_[e]), right = part_size(right_[e]);
      sizes_[e] = left + right;
      if (left < right) std::swap(a, b);
      sets.attach(b, a);
      part_of[a] = n_ + e;
    }
  }

  void put_in_order() {
    begins_.assign(2 * n_ - 1, 0);
    for (int64_t part = 2 * n_ - 2; part >= n_; --part) {
      begins_[left_[part - n_]] = begins_[part];
      begins_[right_[part - n_]] = begins_[part] + part_size(left_[part - n_]);
    }
    order_.resize(n_);
    for (int64_t i = 0; i < n_; ++i) order_[begins_[i]] = static_cast<int32_t>(i);
  }

  // The parts that meet at the distance of `part`: its descendants of smaller distance.
  void collect_parts(int64_t part, std::vector<int64_t>& parts) const {
    parts.assign({left_[part - n_], right_[part - n_]});
    const double distance = distances_[part - n_];
    for (size_t k = 0; k < parts.size();) {
      const int64_t child = parts[k];
      if (child >= n_ && distances_[child - n_] == distance) {
        parts[k] = left_[child - n_];
        parts.push_back(right_[child - n_]);
      } else {
        ++k;
      }
    }
  }

  void add_cluster(CondensedTree& tree, int32_t parent, int64_t part, double birth) const {
    tree.parents.push_back(parent);
    tree.begins.push_back(part_begin(part));
    tree.ends.push_back(part_begin(part) + part_size(part));
    tree.births.push_back(birth);
    tree.stability.push_back(0);
    tree.persistence.push_back(0);
  }

  const int64_t n_;
  const std::vector<int32_t> a_, b_;
  const std::vector<double> distances_;
  double least_;  // the least distance above 0
  std::vector<int64_t> left_, right_, sizes_, begins_;
  std::vector<int32_t> order_;
};

// Clusters of a condensed tree, none of which contains another; never the whole. A cluster is divided into
// those inside it if their stability together exceeds `division` times its own: 1 is the excess of mass, -1
// takes the leaves of the tree.
inline std::vector<int32_t> select_clusters(const CondensedTree& tree, double division) {
  const int64_t count = static_cast<int64_t>(tree.parents.size());
  std::vector<double> inside(count, 0.0);
  std::vector<char> chosen(count, 0), has_children(count, 0);
  for (int64_t c = count - 1; c > 0; --c) {
    chosen[c] = !has_children[c] || inside[c] <= division * tree.stability[c];
    inside[tree.parents[c]] += chosen[c] ? tree.stability[c] : inside[c];
    has_children[tree.parents[c]] = 1;
  }
  std::vector<char> covered(count, 0);  // lies in a chosen cluster
  std::vector<int32_t> selected;
  for (int64_t c = 1; c < count; ++c) {
    covered[c] = covered[tree.parents[c]] || chosen[tree.parents[c]];
    if (chosen[c] && !covered[c]) selected.push_back(static_cast<int32_t>(c));
  }
  return selected;
}

// The smallest clusters of a condensed tree that are distinct: of at least the given persistence, or divided
// into distinct ones. Clusters that are not distinct, such as random fluctuations of the density, divide
// nothing.
inline std::vector<int32_t> select_distinct(const CondensedTree& tree, double persistence) {
  const int64_t count = static_cast<int64_t>(tree.parents.size());
  std::vector<int32_t> distinct_children(count, 0);
  std::vector<char> divided(count, 0), distinct(count, 0), child_is_divided(count, 0);
  for (int64_t c = count - 1; c > 0; --c) {
    divided[c] = distinct_children[c] > 1 || child_is_divided[c];
    distinct[c] = divided[c] || tree.persistence[c] >= persistence;
    distinct_children[tree.parents[c]] += distinct[c];
    child_is_divided[tree.parents[c]] |= divided[c];
  }
  divided[0] = distinct_children[0] > 1 || child_is_divided[0];
  std::vector<char> open(count, 0);  // all that contain it are divided
  open[0] = 1;
  std::vector<int32_t> selected;
  for (int64_t c = 1; c < count; ++c) {
    open[c] = open[tree.parents[c]] && divided[tree.parents[c]] && distinct[c];
    if (open[c] && !divided[c]) selected.push_back(static_cast<int32_t>(c));
  }
  return selected;
}

}  // namespace actup
