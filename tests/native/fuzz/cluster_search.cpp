// Fuzzes the cluster search: codes, clusters, calibration, points, queries, refinement.
#include "../searches.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static constexpr Metric kSearched[] = {
      Metric::euclidean,         Metric::cosine,        Metric::correlation, Metric::hellinger,
      Metric::softmax_hellinger, Metric::inner_product, Metric::jaccard};
  Fuzzed fuzzed(data, size);
  const Metric metric = kSearched[fuzzed.number(0, std::size(kSearched) - 1)];
  const int64_t n = fuzzed.number(2, 400), columns = fuzzed.number(1, 20),
                k = fuzzed.number(1, std::min<int64_t>(n - 1, 8)), kept = fuzzed.flip() ? 0 : columns;
  std::vector<float> x = fuzzed.values(std::min<int64_t>(n, 40) * columns);
  x.resize(n * columns);
  for (int64_t at = 40 * columns; at < n * columns; ++at)
    x[at] = x[at % (40 * columns)] + 0.01f * static_cast<float>(at % 13);
  for (float& value : x) {
    if (metric == Metric::hellinger) value = std::abs(value);
    if (!(std::abs(value) < 1e15f)) value = 1;  // larger rows take another search, as in Python
  }
  cluster_search({x.data(), Scalar::float32, n, columns}, {metric, 2.0f, 1e6}, kept, k, 1);
  return 0;
}
