// Fuzzes affinities of lists of neighbours, the symmetric graph whole and by ranges, and both starts.
#include "../stages.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const int64_t n = fuzzed.number(2, 60), k = fuzzed.number(1, std::min<int64_t>(n - 1, 10)),
                columns = fuzzed.number(1, 12);
  std::vector<int32_t> ids(n * k);
  std::vector<float> distances(n * k);
  for (int64_t i = 0; i < n; ++i) {
    float distance = 0;
    for (int64_t e = 0; e < k; ++e) {
      ids[i * k + e] = static_cast<int32_t>((i + 1 + e + (e ? fuzzed.number(0, 1) * (n - 1 - k) : 0)) % n);
      if (ids[i * k + e] == i) ids[i * k + e] = static_cast<int32_t>((i + 1) % n);
      distances[i * k + e] = distance += std::abs(fuzzed.moderate()) * (fuzzed.flip() ? 1.0f : 1e10f);
    }
    for (int64_t e = k - fuzzed.number(0, 1) * fuzzed.number(0, k); e < k;
         ++e) {  // disconnected neighbours come last
      ids[i * k + e] = -1;
      distances[i * k + e] = INFINITY;
    }
  }
  for (int64_t i = 0; i < n; ++i)  // no neighbour twice
    for (int64_t e = 0; e < k; ++e)
      for (int64_t f = 0; f < e; ++f)
        if (ids[i * k + e] >= 0 && ids[i * k + e] == ids[i * k + f]) return 0;
  const NeighborRows neighbors{ids.data(), distances.data(), n, k};
  const auto affinity = fuzzed.one_of<Affinity>(2);
  const Distance distance = affinity == Affinity::umap ? Distance::pseudo : Distance::plain;
  const AffinitySettings settings{affinity,
                                  distance,
                                  fuzzed.one_of<Symmetrization>(2),
                                  {1.0 + fuzzed.number(0, k - 1)},
                                  static_cast<double>(fuzzed.number(0, 10)) / 10};
  const SparseRows graph = affinity_graph(neighbors, settings, 1);
  graph_by_ranges(neighbors, settings, 1);
  const int dimensions = static_cast<int>(std::min<int64_t>(2, std::min(n - 1, columns)));
  std::vector<float> coordinates(n * dimensions), shift(columns, 0.0f);
  std::vector<double> values(dimensions);
  const std::vector<float> x = fuzzed.moderates(n * columns);
  const DenseTable table{{x.data(), Scalar::float32, n, columns}, shift.data()};
  principal_scores(table, dimensions, 0, 1, coordinates.data(), values.data());
  const GraphView view{n, graph.offsets.data(), graph.ids.data(), graph.weights.data()};
  for (int64_t i = 0; i < n; ++i)
    if (graph.offsets.data()[i] == graph.offsets.data()[i + 1])
      return 0;  // only connected graphs have a spectral start
  spectral_coordinates(view, dimensions, 0, 1, coordinates.data(), values.data());
  return 0;
}
