// Where a point lies on the grid of the mesh.
#pragma once

#include "layout.h"
#include "layout/mesh_formulas.h"
#include "layout/spline.h"

namespace actup {

struct MeshView {
  const float* potential;  // 2 rows x 2 columns; only the first half in each direction is used
  const float* self;       // 3 x 3
  float spacing;
  int rows, columns;
};

struct MeshPlace {
  int column, row;
  float s, t;  // in the cell
};

// The points' box is in the middle of the grid. A point that has left the grid is moved to its edge.
__device__ inline float on_axis(float value, float low, float high, float spacing, int size) {
  const float origin = 0.5f * (static_cast<float>(size - 1) - (high - low) / spacing);
  return fminf(fmaxf((value - low) / spacing + origin, 1.0f), static_cast<float>(size) - 2.001f);
}

// A line of points lies along the rows.
__device__ inline MeshPlace mesh_place(const Row& y, const MeshView& mesh, const State& state) {
  const int32_t* box = state.box[state.epoch % 3];
  const auto place = [&](int c, int size) {
    return on_axis(y.at[c], from_ordered(box[c]), from_ordered(box[c + kBoxAxes]), mesh.spacing, size);
  };
  const float column =
      kDimensions == 1 ? 0.5f * static_cast<float>(mesh.columns - 1) : place(0, mesh.columns);
  const float row = place(kDimensions == 1 ? 0 : 1, mesh.rows);
  const int whole_column = static_cast<int>(column), whole_row = static_cast<int>(row);
  return {whole_column, whole_row, column - static_cast<float>(whole_column),
          row - static_cast<float>(whole_row)};
}

}  // namespace actup
