// Repulsion by Barnes and Hut's tree, in one to three dimensions: a distant group of points acts as one point
// at its centre.
//
// Points are sorted along a Morton curve; a node is a range of them. Nodes are stored in one array, each
// before its descendants, with the number of the node that follows them: a walk needs no stack. Sixteen
// consecutive points walk together, one per lane, and open a node if any of them has to.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "common/parallel.hpp"
#include "layout/points.hpp"
#include "layout/potentials.h"

namespace actup {

// The coefficient of (yi - yk) in a pair's repulsion, and the pair's potential; 0 where that has no closed
// form.
template <class Potential, Shape shape, class Real>
inline std::pair<Real, Real> force_and_potential(Real d2, Curve curve, float epsilon) {
  if constexpr (Potential::kOfKernel) {
    const Kernel<Real> k = kernel<shape>(d2, curve);
    return {Potential::repulsion(k), Potential::value(k)};
  } else {
    return {repulsion_of_pair<Potential, shape>(d2, curve, epsilon), Real{}};
  }
}

// The same as a call. Curves with tails take two powers, so that a call costs little; and no product of
// theirs is contracted with the sums of the caller, which would change the last bits of the potential.
template <class Potential, Shape shape, class Real>
[[gnu::noinline]] std::pair<Real, Real> call_force_and_potential(Real d2, Curve curve, float epsilon) {
  return force_and_potential<Potential, shape>(d2, curve, epsilon);
}

template <int D>
class Tree {
 public:
  using Take =
      std::function<void(int64_t, const float*, float)>;  // a template parameter would double the code

  // planes: D pointers to n coordinates.
  Tree(int64_t n, const float* const* planes, int threads) : n_(n) {
    if (n == 0) return;
    const std::vector<Keyed> sorted = sort_by_key(n, planes, threads);
    const int64_t padded = (n + kBlock - 1) / kBlock * kBlock;
    ids_.resize(n);
    for (auto& plane : planes_) plane.resize(padded);
    parallel_ranges(padded, 4096, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {  // the last block is filled with its last point
        const int32_t id = sorted[std::min(i, n - 1)].id;
        if (i < n) ids_[i] = id;
        for (int c = 0; c < D; ++c) planes_[c][i] = planes[c][id];
      }
    });
    build(sorted, threads);
  }

  // Calls take(i, force, potential) for every point, from several threads, as Mesh::repel() does, and returns
  // the sum of the potentials. A node is opened unless its width is below theta times its distance, so theta
  // = 0 is exact. Potentials without closed form are 0.
  double repel(PotentialKind kind, Curve curve, float epsilon, float theta, int threads,
               const Take& take) const {
    return with_potential(kind, [&](auto potential) {
      return with_shape(curve, [&](auto shape) {
        using Potential = decltype(potential);
        constexpr bool ignores_tail = !Potential::kOfKernel && shape() == Shape::tailed;
        return walk_all<Potential, ignores_tail ? Shape::powered : shape()>(curve, epsilon, theta, threads,
                                                                            take);
      });
    });
  }

 private:
  static constexpr int kBits = D == 3 ? 21 : 31;  // per coordinate
  static constexpr int kLeafPoints = 16;          // a node with no more points is not split
  static constexpr int kTopLevels = D == 3 ? 2 : 3;
  static constexpr int64_t kBlocksPerChunk = 16;

  struct Keyed {
    uint64_t key;
    int32_t id;
    bool operator<(const Keyed& other) const { return key != other.key ? key < other.key : id < other.id; }
  };

  struct Node {
    std::array<float, D> centre;
    float count;
    float width_squared;  // of the points' box; 0 if they all coincide
    int32_t next;         // the node that follows the descendants of this one
    int32_t begin, end;   // points; begin = end in an inner node
  };

  // Spreads kBits bits of v, so that they are D places apart.
  static uint64_t dilate(uint64_t v) {
    if constexpr (D == 1) return v;
    if constexpr (D == 2) {
      v = (v | v << 16) & 0x0000FFFF0000FFFF;
      v = (v | v << 8) & 0x00FF00FF00FF00FF;
      v = (v | v << 4) & 0x0F0F0F0F0F0F0F0F;
      v = (v | v << 2) & 0x3333333333333333;
      return (v | v << 1) & 0x5555555555555555;
    }
    v = (v | v << 32) & 0x001F00000000FFFF;
    v = (v | v << 16) & 0x001F0000FF0000FF;
    v = (v | v << 8) & 0x100F00F00F00F00F;
    v = (v | v << 4) & 0x10C30C30C30C30C3;
    return (v | v << 2) & 0x1249249249249249;
  }

  // Buckets by the leading bits, then a sort within each: the order is that of (key, id).
  static std::vector<Keyed> sort_by_key(int64_t n, const float* const* planes, int threads) {
    float low[D], span = 0;
    for (int c = 0; c < D; ++c) {
      const auto [least, most] = std::minmax_element(planes[c], planes[c] + n);
      low[c] = *least;
      span = std::max(span, *most - *least);
    }
    for (int c = 0; c < D; ++c)
      for (int64_t i = 0; i < n; ++i)
        if (!(planes[c][i] - low[c] <= span) || !std::isfinite(span))
          throw std::domain_error("the tree needs finite positions: the layout has diverged");
    constexpr double cells = double(uint64_t{1} << kBits);
    const double scale = span > 0 ? (cells - 1) / span : 0;
    constexpr int bucket_bits = 12, shift = D * kBits - bucket_bits;
    std::vector<Keyed> keyed(n), sorted(n);
    parallel_ranges(n, 4096, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t key = 0;
        for (int c = 0; c < D; ++c)
          key |= dilate(static_cast<uint64_t>((planes[c][i] - low[c]) * scale)) << c;
        keyed[i] = {key, static_cast<int32_t>(i)};
      }
    });
    std::vector<int32_t> starts((1 << bucket_bits) + 1, 0);
    for (const Keyed& k : keyed) ++starts[(k.key >> shift) + 1];
    for (size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
    std::vector<int32_t> next(starts.begin(), starts.end() - 1);
    for (const Keyed& k : keyed) sorted[next[k.key >> shift]++] = k;
    parallel_ranges(1 << bucket_bits, 64, threads, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        std::sort(sorted.begin() + starts[b], sorted.begin() + starts[b + 1]);
    });
    return sorted;
  }

  // --- building: the subtrees below the top levels in parallel, then the top levels ---

  void build(const std::vector<Keyed>& sorted, int threads) {
    constexpr int shift = D * (kBits - kTopLevels);
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < n_; ++i)
      if (i == 0 || sorted[i].key >> shift != sorted[i - 1].key >> shift) starts.push_back(i);
    starts.push_back(n_);
    std::vector<std::vector<Node>> subtrees(starts.size() - 1);
    parallel_chunks(static_cast<int64_t>(subtrees.size()), threads,
                    [&](int64_t s) { grow(sorted, starts[s], starts[s + 1], kTopLevels, subtrees[s]); });
    size_t used = 0;
    assemble(sorted, 0, n_, 0, subtrees, used);
  }

  void assemble(const std::vector<Keyed>& sorted, int64_t begin, int64_t end, int level,
                const std::vector<std::vector<Node>>& subtrees, size_t& used) {
    const int32_t offset = static_cast<int32_t>(nodes_.size());
    if (level == kTopLevels) {
      for (Node node : subtrees[used++]) {
        node.next += offset;
        nodes_.push_back(node);
      }
      return;
    }
    nodes_.push_back(describe(begin, end));
    for_children(sorted, begin, end, level,
                 [&](int64_t from, int64_t to) { assemble(sorted, from, to, level + 1, subtrees, used); });
    nodes_[offset].next = static_cast<int32_t>(nodes_.size());
  }

  void grow(const std::vector<Keyed>& sorted, int64_t begin, int64_t end, int level,
            std::vector<Node>& nodes) const {
    const size_t own = nodes.size();
    nodes.push_back(describe(begin, end));
    if (end - begin <= kLeafPoints || level == kBits || nodes[own].width_squared == 0) {
      nodes[own].begin = static_cast<int32_t>(begin);
      nodes[own].end = static_cast<int32_t>(end);
    } else {
      for_children(sorted, begin, end, level,
                   [&](int64_t from, int64_t to) { grow(sorted, from, to, level + 1, nodes); });
    }
    nodes[own].next = static_cast<int32_t>(nodes.size());
  }

  template <class Visit>
  static void for_children(const std::vector<Keyed>& sorted, int64_t begin, int64_t end, int level,
                           const Visit& visit) {
    const int shift = D * (kBits - level - 1);
    for (int64_t from = begin; from < end;) {
      const uint64_t child = sorted[from].key >> shift;
      const auto last = std::partition_point(sorted.begin() + from, sorted.begin() + end,
                                             [&](const Keyed& k) { return k.key >> shift == child; });
      visit(from, last - sorted.begin());
      from = last - sorted.begin();
    }
  }

  // A node without its links: grow() adds `begin` and `end` of a leaf, and `next`.
  Node describe(int64_t begin, int64_t end) const {
    Node node{};
    node.count = static_cast<float>(end - begin);
    float width = 0;
    for (int c = 0; c < D; ++c) {
      const float* p = planes_[c].data();
      float low = p[begin], high = low;
      double sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        low = std::min(low, p[i]);
        high = std::max(high, p[i]);
        sum += p[i];
      }
      width = std::max(width, high - low);
      node.centre[c] = high > low ? static_cast<float>(sum / static_cast<double>(end - begin)) : low;
    }
    node.width_squared = width * width;
    return node;
  }

  // --- walking ---

  template <class Potential, Shape shape>
  double walk_all(Curve curve, float epsilon, float theta, int threads, const Take& take) const {
    const int64_t blocks = (n_ + kBlock - 1) / kBlock;
    std::vector<double> sums((blocks + kBlocksPerChunk - 1) / kBlocksPerChunk, 0.0);
    parallel_ranges(blocks, kBlocksPerChunk, threads, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        sums[begin / kBlocksPerChunk] += walk<Potential, shape>(block, curve, epsilon, theta, take);
    });
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
  }

  template <class Potential, Shape shape>
  double walk(int64_t block, Curve curve, float epsilon, float theta, const Take& take) const {
    const int64_t first = block * kBlock;
    float16 y[D], force[D] = {}, potential = {};
    float low[D], high[D];
    for (int c = 0; c < D; ++c) {
      y[c] = load<float16>(&planes_[c][first]);
      low[c] = *std::min_element(&planes_[c][first], &planes_[c][first] + kBlock);
      high[c] = *std::max_element(&planes_[c][first], &planes_[c][first] + kBlock);
    }
    constexpr bool calls = shape == Shape::tailed, calls_in_leaves = calls && D > 1;
    const auto of_pair = [&](float16 d2, auto as_call) {
      if constexpr (as_call()) {
        return call_force_and_potential<Potential, shape>(d2, curve, epsilon);
      } else {
        return force_and_potential<Potential, shape>(d2, curve, epsilon);
      }
    };
    const auto act = [&](const auto& at, float count, auto as_call) {
      float16 d2 = broadcast<float16>(kTiny), delta[D];
      for (int c = 0; c < D; ++c) {
        delta[c] = y[c] - at(c);
        d2 += delta[c] * delta[c];
      }
      const auto [coefficient, value] = of_pair(d2, as_call);
      for (int c = 0; c < D; ++c) force[c] += (count * coefficient) * delta[c];
      potential += count * value;
    };
    const float theta_squared = theta * theta;
    for (size_t v = 0; v < nodes_.size();) {
      const Node& node = nodes_[v];
      float distance_squared = 0;
      for (int c = 0; c < D; ++c) {
        const float gap = std::max(0.0f, std::max(low[c] - node.centre[c], node.centre[c] - high[c]));
        distance_squared += gap * gap;
      }
      if (node.width_squared == 0 || node.width_squared < theta_squared * distance_squared) {
        act([&](int c) { return node.centre[c]; }, node.count, std::bool_constant<calls>{});
        v = node.next;
      } else {
        for (int32_t k = node.begin; k < node.end; ++k)
          act([&](int c) { return planes_[c][k]; }, 1.0f, std::bool_constant<calls_in_leaves>{});
        ++v;
      }
    }
    potential -=
        of_pair(broadcast<float16>(kTiny), std::bool_constant<calls>{}).second;  // of the point itself
    double total = 0;
    for (int lane = 0; lane < std::min<int64_t>(kBlock, n_ - first); ++lane) {
      float own[D];
      for (int c = 0; c < D; ++c) own[c] = force[c][lane];
      take(ids_[first + lane], own, potential[lane]);
      total += static_cast<double>(potential[lane]);
    }
    return total;
  }

  int64_t n_;
  std::vector<int32_t> ids_;  // of the points, along the curve
  std::array<std::vector<float>, D> planes_;
  std::vector<Node> nodes_;
};

}  // namespace actup
