// RepulsionField: the repulsion of all points at once, by mesh or tree, written where the layout keeps it.
#pragma once

#include <memory>

#include "layout/repulsion_mesh.hpp"
#include "layout/repulsion_tree.hpp"

namespace actup {

class RepulsionField {
 public:
  RepulsionField(const Settings& s, int64_t n, int dimensions, PotentialKind kind)
      : kind_(kind),
        curve_(s.curve),
        epsilon_(s.repulsion_epsilon),
        theta_(s.theta),
        spacing_(s.mesh_spacing) {
    if (s.repulsion == Repulsion::mesh)
      mesh_ = std::make_unique<Mesh>(MeshPotential(kind_, curve_, epsilon_), spacing_,
                                     Mesh::usual_largest(n, dimensions));
  }

  // Fills repulsion (blocks x dimensions x 16) and returns the sum of the potential over all pairs. If
  // outliers make the mesh much coarser than requested, the tree replaces it from then on.
  double repel(const Points& points, int threads, float* repulsion) {
    const int dimensions = points.dimensions;
    const auto keep = [=](int64_t i, const float* force, float) {
      float* to = repulsion + i / kBlock * kBlock * dimensions + i % kBlock;
      for (int c = 0; c < dimensions; ++c) to[c * kBlock] = force[c];
    };
    if (mesh_) {
      const float* y = dimensions == 2 ? points.plane(1) : nullptr;
      const double total = mesh_->repel(points.n, points.plane(0), y, threads, keep);
      if (mesh_->spacing() <= kMaxCoarsening * spacing_) return total;
      mesh_.reset();
    }
    switch (dimensions) {
      case 1:
        return repel_by_tree<1>(points, threads, keep);
      case 2:
        return repel_by_tree<2>(points, threads, keep);
      default:
        return repel_by_tree<3>(points, threads, keep);
    }
  }

 private:
  static constexpr float kMaxCoarsening = 2.0f;  // times the requested spacing

  template <int D, class Keep>
  double repel_by_tree(const Points& points, int threads, const Keep& keep) const {
    const float* planes[D];
    for (int c = 0; c < D; ++c) planes[c] = points.plane(c);
    return Tree<D>(points.n, planes, threads).repel(kind_, curve_, epsilon_, theta_, threads, keep);
  }

  PotentialKind kind_;
  Curve curve_;
  float epsilon_, theta_, spacing_;
  std::unique_ptr<Mesh> mesh_;  // null: the tree
};

}  // namespace actup
