// A balanced k-d tree over points of few dimensions, and the nearest points of each of them.
//
// Node k has the children 2k + 1 and 2k + 2 and covers a range of the points, which are stored in the order
// of the leaves. Points are split at the median of the widest side of their box, ties by row, so that the
// tree depends on the points alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/parallel.hpp"

namespace actup {

template <int D>
using Place = std::array<double, D>;

template <int D>
struct TreePoint {
  Place<D> place;
  int32_t row;
};

template <int D>
struct TreeNode {
  Place<D> low, high;  // the box of the node's points
  int32_t begin, end;
};

template <size_t D>
inline double squared_distance(const std::array<double, D>& a, const std::array<double, D>& b) {
  double sum = 0;
  for (size_t c = 0; c < D; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// The squared distance from a place to the nearest place of a node's box. It never exceeds the computed
// squared distance to a point inside, because rounding is monotonic.
template <int D>
inline double squared_box_distance(const std::type_identity_t<Place<D>>& place, const TreeNode<D>& node) {
  double sum = 0;
  for (int c = 0; c < D; ++c) {
    const double below = node.low[c] - place[c], above = place[c] - node.high[c];
    const double side = std::max(std::max(below, above), 0.0);
    sum += side * side;
  }
  return sum;
}

template <int D>
class KdTree {
 public:
  // coordinates: n rows of `columns` <= D values; the other dimensions are 0, which changes no distance.
  KdTree(const double* coordinates, int64_t n, int columns, int threads) : points_(n) {
    parallel_ranges(n, 1 << 14, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        points_[i].row = static_cast<int32_t>(i);
        points_[i].place.fill(0);
        std::copy_n(coordinates + i * columns, columns, points_[i].place.begin());
      }
    });
    while ((n >> levels_) > kLeafPoints) ++levels_;
    nodes_.resize((int64_t{2} << levels_) - 1);
    nodes_[0].begin = 0;
    nodes_[0].end = static_cast<int32_t>(n);
    for (int level = 0; level <= levels_; ++level) {
      const int64_t first = (int64_t{1} << level) - 1;
      parallel_chunks(first + 1, threads, [&](int64_t k) { split(first + k); });
    }
  }

  int64_t size() const { return static_cast<int64_t>(points_.size()); }
  int64_t nodes() const { return static_cast<int64_t>(nodes_.size()); }
  const TreeNode<D>& node(int64_t k) const { return nodes_[k]; }
  const Place<D>& place(int64_t i) const { return points_[i].place; }
  int32_t row(int64_t i) const { return points_[i].row; }
  bool is_leaf(int64_t k) const { return 2 * k + 1 >= nodes(); }

  // Visits the points of all leaves that may hold a point closer than `limit()`, near ones first.
  // bound(k, squared distance of its box) is a lower bound of what matters about node k; visit(i) gets
  // points.
  template <class Bound, class Limit, class Visit>
  void search(const Place<D>& from, const Bound& bound, const Limit& limit, const Visit& visit) const {
    descend(0, bound(0, squared_box_distance(from, nodes_[0])), from, bound, limit, visit);
  }

  // The `count` nearest other points of point i, nearest first, and their squared distances.
  // Needs count < size().
  void nearest(int64_t i, int64_t count, int32_t* ids, double* distances) const {
    std::fill_n(distances, count, std::numeric_limits<double>::infinity());
    search(
        place(i), [](int64_t, double distance) { return distance; }, [&] { return distances[count - 1]; },
        [&](int64_t j) {
          const double distance = squared_distance(place(i), place(j));
          if (j == i || !(distance < distances[count - 1])) return;
          int64_t slot = count - 1;
          for (; slot > 0 && distance < distances[slot - 1]; --slot) {
            distances[slot] = distances[slot - 1];
            ids[slot] = ids[slot - 1];
          }
          distances[slot] = distance;
          ids[slot] = static_cast<int32_t>(j);
        });
  }

 private:
  static constexpr int64_t kLeafPoints = 8;

  void split(int64_t k) {
    TreeNode<D>& node = nodes_[k];
    node.low.fill(std::numeric_limits<double>::infinity());
    node.high.fill(-std::numeric_limits<double>::infinity());
    for (int32_t i = node.begin; i < node.end; ++i)
      for (int c = 0; c < D; ++c) {
        node.low[c] = std::min(node.low[c], points_[i].place[c]);
        node.high[c] = std::max(node.high[c], points_[i].place[c]);
      }
    if (is_leaf(k)) return;
    int widest = 0;
    for (int c = 1; c < D; ++c)
      if (node.high[c] - node.low[c] > node.high[widest] - node.low[widest]) widest = c;
    const int32_t middle = node.begin + (node.end - node.begin) / 2;
    std::nth_element(points_.begin() + node.begin, points_.begin() + middle, points_.begin() + node.end,
                     [widest](const TreePoint<D>& a, const TreePoint<D>& b) {
                       if (a.place[widest] != b.place[widest]) return a.place[widest] < b.place[widest];
                       return a.row < b.row;
                     });
    nodes_[2 * k + 1].begin = node.begin;
    nodes_[2 * k + 1].end = nodes_[2 * k + 2].begin = middle;
    nodes_[2 * k + 2].end = node.end;
  }

  template <class Bound, class Limit, class Visit>
  void descend(int64_t k, double own_bound, const Place<D>& from, const Bound& bound, const Limit& limit,
               const Visit& visit) const {
    if (!(own_bound < limit())) return;
    if (is_leaf(k)) {
      for (int32_t i = nodes_[k].begin; i < nodes_[k].end; ++i) visit(i);
      return;
    }
    const int64_t left = 2 * k + 1, right = left + 1;
    const double to_left = squared_box_distance(from, nodes_[left]);
    const double to_right = squared_box_distance(from, nodes_[right]);
    const double left_bound = bound(left, to_left), right_bound = bound(right, to_right);
    if (to_right < to_left) {
      descend(right, right_bound, from, bound, limit, visit);
      descend(left, left_bound, from, bound, limit, visit);
    } else {
      descend(left, left_bound, from, bound, limit, visit);
      descend(right, right_bound, from, bound, limit, visit);
    }
  }

  std::vector<TreePoint<D>> points_;
  std::vector<TreeNode<D>> nodes_;
  int levels_ = 0;
};

}  // namespace actup
