// Disjoint sets of points, for spanning trees and what is made of them.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace actup {

class UnionFind {
 public:
  explicit UnionFind(int64_t n) : parents_(n) { std::iota(parents_.begin(), parents_.end(), 0); }

  // The set's representative; halves the path to it.
  int32_t find(int32_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }

  // Puts the set of `child` under `parent`; both are representatives. Callers choose by size or meaning.
  void attach(int32_t child, int32_t parent) { parents_[child] = parent; }

 private:
  std::vector<int32_t> parents_;
};

}  // namespace actup
