// Fuzzes the places of new rows on a finished map.
#include "../placements.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const int64_t n = fuzzed.number(1, 60), rows = fuzzed.number(1, 30),
                k = fuzzed.number(1, std::min<int64_t>(n, 20));
  const int dimensions = static_cast<int>(fuzzed.number(1, 4));
  std::vector<int32_t> ids(rows * k);
  std::vector<float> distances(rows * k);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t first = fuzzed.number(0, n - 1);
    float distance = 0;
    for (int64_t e = 0; e < k; ++e) {
      ids[i * k + e] = static_cast<int32_t>((first + e) % n);
      distances[i * k + e] = distance += std::abs(fuzzed.moderate());
    }
  }
  const bool normalized = fuzzed.flip();
  Placement placement;
  placement.seed = fuzzed.byte();
  placement.curve = {fuzzed.positive(), fuzzed.flip() ? 1.0f : 0.8f,
                     normalized && fuzzed.flip() ? 0.5f : 1.0f};
  placement.epochs = static_cast<int32_t>(fuzzed.number(1, 6));
  placement.samples = static_cast<int32_t>(fuzzed.number(1, 80));
  placement.stiffness_floor = fuzzed.positive() / 256;
  placement.repulsion = fuzzed.positive();
  const std::vector<float> map = fuzzed.moderates(n * dimensions);
  std::vector<float> to(rows * dimensions);
  const AffinitySettings affinities{Affinity::umap, Distance::pseudo, Symmetrization::umap, {}, 1.0};
  const MapView view{map.data(), n, dimensions};
  place_rows({{ids.data(), distances.data(), rows, k}, view, affinities, placement, to.data()},
             fuzzed.one_of<Loss>(2), normalized, 1);
  return 0;
}
