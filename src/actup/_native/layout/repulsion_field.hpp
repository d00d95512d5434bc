// RepulsionField: the repulsion of all points at once, by mesh or tree, written where the layout keeps it.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "layout/repulsion_mesh.hpp"
#include "layout/repulsion_tree.hpp"
#include "layout/state_visitor.hpp"

namespace actup {

class RepulsionField {
 public:
  RepulsionField(const Settings& s, int64_t n, int dimensions, PotentialKind kind)
      : kind_(kind),
        curve_(s.curve),
        epsilon_(s.repulsion_epsilon),
        theta_(s.theta),
        spacing_(s.mesh_spacing),
        largest_(Mesh::usual_largest(n, dimensions)),
        begins_with_mesh_(s.repulsion == Repulsion::mesh) {
    if (begins_with_mesh_) make_mesh();
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

  // Whether the tree has replaced the mesh, and the mesh's grid, which the next epoch keeps if it still
  // suits.
  void visit_state(StateVisitor& visitor, const std::string& name) {
    bool has_mesh = mesh_ != nullptr;
    visitor.visit_number(name + ".has_mesh", has_mesh, 0, begins_with_mesh_);
    if (visitor.restores()) {
      mesh_.reset();
      if (has_mesh) make_mesh();
    }
    Mesh::Grid grid = mesh_ ? mesh_->grid() : Mesh::Grid{};
    visitor.visit_number(name + ".spacing", grid.spacing, 0, std::numeric_limits<float>::max());
    visitor.visit_number(name + ".rows", grid.rows, 0, HalfTransform::smooth_size(largest_));
    visitor.visit_number(name + ".columns", grid.columns, 0, HalfTransform::smooth_size(largest_));
    if (visitor.checks()) {
      for (const char* side : {".rows", ".columns"}) {
        const int lines = static_cast<int>(visitor.find<double>(name + side, 1)[0]);
        visitor.require(lines == 0 || HalfTransform::smooth_size(lines) == lines, name + side);
      }
    }
    if (visitor.restores() && mesh_) mesh_->keep_grid(grid);
  }

 private:
  static constexpr float kMaxCoarsening = 2.0f;  // times the requested spacing

  void make_mesh() {
    mesh_ = std::make_unique<Mesh>(MeshPotential(kind_, curve_, epsilon_), spacing_, largest_);
  }

  template <int D, class Keep>
  double repel_by_tree(const Points& points, int threads, const Keep& keep) const {
    const float* planes[D];
    for (int c = 0; c < D; ++c) planes[c] = points.plane(c);
    return Tree<D>(points.n, planes, threads).repel(kind_, curve_, epsilon_, theta_, threads, keep);
  }

  PotentialKind kind_;
  Curve curve_;
  float epsilon_, theta_, spacing_;
  int largest_;  // side of the mesh
  bool begins_with_mesh_;
  std::unique_ptr<Mesh> mesh_;  // null: the tree
};

}  // namespace actup
