// Fuzzes the searches of sparse rows: all pairs, sketches and candidates.
#include "../searches.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const auto metric = fuzzed.one_of<Metric>(std::size(kMetrics));
  if (metric == Metric::chebyshev) return 0;  // has no form for sparse rows
  const int64_t n = fuzzed.number(2, 60), columns = fuzzed.number(1, 80),
                k = fuzzed.number(1, std::min<int64_t>(n - 1, 6));
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> ids, self_ids(n), candidates(n * 2 * k);
  std::vector<float> values;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = fuzzed.number(0, 9); column < columns; column += 1 + fuzzed.number(0, 19)) {
      ids.push_back(static_cast<int32_t>(column));
      values.push_back(uses_presence(metric) ? 1.0f : fuzzed.value());
    }
    offsets.push_back(static_cast<int64_t>(ids.size()));
    self_ids[row] = static_cast<int32_t>(row);
  }
  const CsrRows rows{offsets.data(), ids.data(), values.data(), n, columns, columns};
  const SparsePoints points(rows, RowMetric{metric, 3.0f, 1e3}, 1);
  const CodeIndex index(SparseSketch(rows, points.row_metric(), false), 0, false, 3, 1);
  code_candidates(index, SparseSketch(rows, points.row_metric(), true), 3, 2 * k, 1, candidates.data());
  Lists found(n, k);
  points.nearest({rows, self_ids.data(), true}, k, 1, found.ids.data(), found.distances.data());
  points.nearest_of_candidates({rows, self_ids.data()}, candidates.data(), 2 * k, k, 1, found.ids.data(),
                               found.distances.data());
  return 0;
}
