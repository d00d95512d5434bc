// Checks of what a layout reads without looking: its settings, and the rows of its graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "graph/graph_view.hpp"
#include "layout/settings.h"

namespace actup {

constexpr float kLeastMeshSpacing = 1e-30f;  // the inverse of a ninth of it is still finite

inline void check_schedule(const Schedule& schedule, int n_epochs) {
  using Values = std::vector<float>;
  for (const auto& [name, values] :
       {std::pair<const char*, const Values&>{"learning_rate", schedule.learning_rate},
        {"momentum", schedule.momentum},
        {"exaggeration", schedule.exaggeration},
        {"step_cap", schedule.step_cap},
        {"stiffness_floor", schedule.stiffness_floor},
        {"dilation", schedule.dilation}}) {
    if (static_cast<int64_t>(values.size()) != n_epochs) {
      throw std::invalid_argument("schedule has " + std::to_string(values.size()) + " values of " + name +
                                  ", but must have one for each of the " + std::to_string(n_epochs) +
                                  " epochs");
    }
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
      throw std::invalid_argument(std::string("schedule has a value of ") + name +
                                  " that is infinite or NaN");
  }
}

inline void check_settings(const Settings& s, int dimensions) {
  const auto require = [](bool valid, const char* message) {
    if (!valid) throw std::invalid_argument(message);
  };
  require(dimensions >= 1, "a map needs at least one dimension");
  require(s.n_epochs >= 0, "n_epochs must be at least 0");
  require(s.negatives >= 1, "negatives must be at least 1");
  require(s.curve.dof == 1 || (s.normalized && !s.in_place),
          "dof other than 1 needs normalized batch epochs");
  if (!s.in_place && s.repulsion == Repulsion::mesh) {
    require(dimensions <= 2, "the mesh serves one or two dimensions");
    require(s.mesh_spacing >= kLeastMeshSpacing && std::isfinite(s.mesh_spacing),
            "mesh_spacing must be finite and at least 1e-30");
  }
  if (!s.in_place && s.repulsion == Repulsion::barnes_hut)
    require(dimensions <= 3, "the tree serves one to three dimensions");
  check_schedule(s.schedule, s.n_epochs);
}

// The rows of a graph of n points, or of a part of it, must have this many edges. `name` is for messages.
inline void check_rows(const GraphView& rows, int64_t edges, int64_t n, const std::string& name,
                       int threads) {
  if (n > std::numeric_limits<int32_t>::max())
    throw std::invalid_argument("a graph has at most 2^31 - 1 points");
  if (rows.offsets[0] != 0 || rows.offsets[rows.n] != edges ||
      !std::is_sorted(rows.offsets, rows.offsets + rows.n + 1))
    throw std::invalid_argument("offsets of " + name + " must ascend from 0 to its number of edges");
  parallel_ranges(edges, 1 << 16, threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      if (rows.indices[e] < 0 || rows.indices[e] >= n)
        throw std::invalid_argument("ids of " + name + " must be points, from 0 to n - 1");
    }
  });
}

}  // namespace actup
