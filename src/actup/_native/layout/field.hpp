// Field: the repulsion of all points at once, through a mesh or a tree, written where the layout keeps it.
#pragma once

#include <memory>

#include "layout/repulsion_mesh.hpp"
#include "layout/repulsion_tree.hpp"

namespace actup {

class Field {
 public:
  Field() = default;
  Field(const Settings& s, const Points& points, PotentialKind kind)
      : kind_(kind),
        curve_(s.curve),
        epsilon_(s.repulsion_epsilon),
        theta_(s.theta),
        spacing_(s.mesh_spacing),
        active_(true) {
    if (s.repulsion == Repulsion::mesh)
      mesh_ = std::make_unique<Mesh>(Potential(kind_, curve_, epsilon_), spacing_,
                                     Mesh::usual_largest(points.n, points.dimensions));
  }

  // The potential whose force the repulsion is; the normalised Frobenius loss has that of the kernel besides.
  static PotentialKind main_kind(const Settings& s) {
    if (s.loss == Loss::frobenius) return PotentialKind::kernel_squared;
    return s.normalized ? PotentialKind::kernel : PotentialKind::umap;
  }

  bool active() const { return active_; }

  // Fills repulsion (blocks x dimensions x 16); returns the sum of the potential over all pairs. A mesh that
  // had to be much coarser than asked for (outliers) gives way to the tree for good.
  double repel(const Points& points, int threads, float* repulsion) {
    const int dimensions = points.dimensions;
    const auto keep = [=](int64_t i, const float* force, float) {
      float* to = repulsion + i / kBlock * kBlock * dimensions + i % kBlock;
      for (int c = 0; c < dimensions; ++c) to[c * kBlock] = force[c];
    };
    if (mesh_) {
      const float* y = dimensions == 2 ? points.plane(1) : nullptr;
      const double total = mesh_->repel(points.n, points.plane(0), y, threads, keep);
      if (mesh_->spacing() <= kCoarsest * spacing_) return total;
      mesh_.reset();
    }
    switch (dimensions) {
      case 1:
        return tree_repel<1>(points, threads, keep);
      case 2:
        return tree_repel<2>(points, threads, keep);
      default:
        return tree_repel<3>(points, threads, keep);
    }
  }

 private:
  static constexpr float kCoarsest = 2.0f;  // times the spacing asked for

  template <int D, class Keep>
  double tree_repel(const Points& points, int threads, const Keep& keep) const {
    const float* planes[D];
    for (int c = 0; c < D; ++c) planes[c] = points.plane(c);
    return Tree<D>(points.n, planes, threads).repel(kind_, curve_, epsilon_, theta_, threads, keep);
  }

  PotentialKind kind_ = PotentialKind::kernel;
  Curve curve_;
  float epsilon_ = 0, theta_ = 0, spacing_ = 0;
  bool active_ = false;
  std::unique_ptr<Mesh> mesh_;
};

}  // namespace actup
