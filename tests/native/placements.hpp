// New rows on a small finished map.
#pragma once

#include "inputs.hpp"
#include "transform/new_rows.hpp"

namespace actup {

constexpr int64_t kNewRows = 300;

struct PlacementCase {
  int64_t n, k;
  int dimensions;
  Curve curve;
  Loss loss;
  bool normalized;
};

// The places of rows [begin, end) of kNewRows random ones.
inline std::vector<float> places(const PlacementCase& c, int64_t begin, int64_t end, int threads) {
  const std::vector<float> map = random_values(c.n * c.dimensions, 1),
                           steps = random_values(kNewRows * c.k, 2);
  std::vector<int32_t> ids;
  std::vector<float> distances;
  for (int64_t i = begin; i < end; ++i) {
    float distance = 0;
    for (int64_t e = 0; e < c.k; ++e) {
      ids.push_back(static_cast<int32_t>((7 * i + e) % c.n));
      distances.push_back(distance += 0.1f + steps[i * c.k + e]);
    }
  }
  Placement placement;
  placement.seed = 3;
  placement.curve = c.curve;
  placement.epochs = 6;
  placement.samples = 40;
  placement.stiffness_floor = 0.3f;
  const NeighborRows neighbors{ids.data(), distances.data(), end - begin, c.k};
  const MapView view{map.data(), c.n, c.dimensions};
  const AffinitySettings affinities{Affinity::umap, Distance::pseudo, Symmetrization::umap, {}, 1.0};
  std::vector<float> to((end - begin) * c.dimensions);
  place_rows({neighbors, view, affinities, placement, to.data()}, c.loss, c.normalized, threads);
  return to;
}

}  // namespace actup
