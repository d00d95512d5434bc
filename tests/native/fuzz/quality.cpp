// Fuzzes ranks of neighbours and the sums over pairs and edges.
#include "fuzzed.hpp"
#include "quality/pair_sums.hpp"
#include "quality/ranks.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const int64_t n = fuzzed.number(1, 150), rows = fuzzed.number(1, 5),
                k = fuzzed.number(1, std::min<int64_t>(n, 20));
  const int dimensions = static_cast<int>(fuzzed.number(1, 3));
  std::vector<float> distances = fuzzed.values(rows * n);
  std::vector<int32_t> ids(rows * k), ranks(rows * k);
  nearest_in_rows(distances.data(), rows, n, k, ids.data(), 1);
  for (int32_t& id : ids) id = static_cast<int32_t>(fuzzed.number(0, n - 1));
  ranks_in_rows(distances.data(), ids.data(), rows, n, k, ranks.data(), 1);
  const std::vector<float> map = fuzzed.moderates(n * dimensions);
  const Points points = points_of_map(map.data(), n, dimensions);
  const Curve curve{fuzzed.positive(), fuzzed.flip() ? 1.0f : 0.7f, 1};
  pair_sums(points, curve, 1);
  const OwnedGraph graph = fuzzed_graph(fuzzed, n);
  edge_sums(points, graph.view(), curve, 1);
  return 0;
}
