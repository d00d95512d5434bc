// Fuzzes spanning trees of points and graphs, hierarchies and representatives.
#include "../cluster_trees.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const bool of_graph = fuzzed.flip();
  const int64_t n = fuzzed.number(2, 80), min_samples = fuzzed.number(1, std::min<int64_t>(n - 1, 6));
  const int dimensions = static_cast<int>(fuzzed.number(1, 3));
  std::vector<double> all(n);
  const std::vector<float> drawn =
      of_graph ? fuzzed.moderates(n * dimensions) : fuzzed.values(n * dimensions);
  const std::vector<double> places(drawn.begin(), drawn.end());
  if (of_graph) {
    const OwnedGraph graph = fuzzed_graph(fuzzed, n);
    append_clusters(graph_tree(graph.view(), min_samples, 1, all.data()), n, places, dimensions, 1, all);
  } else {
    append_clusters(reachability_tree(places.data(), n, dimensions, min_samples, 1, all.data()), n, places,
                    dimensions, 1, all);
  }
  return 0;
}
