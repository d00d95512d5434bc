// Fuzzes the searches of dense rows: all pairs, bits, and clusters with calibration and refinement.
#include <iterator>

#include "../searches.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  const auto metric = fuzzed.one_of<Metric>(std::size(kMetrics));
  const int64_t n = fuzzed.number(2, 70), columns = fuzzed.number(1, 40),
                k = fuzzed.number(1, std::min<int64_t>(n - 1, 12));
  const bool is_bytes = fuzzed.flip();
  const std::vector<float> x = fuzzed.values(n * columns);
  std::vector<uint8_t> octets(x.size());
  for (size_t at = 0; at < x.size(); ++at)
    octets[at] = static_cast<uint8_t>(static_cast<int64_t>(at) ^ fuzzed.byte());
  const TypedRows rows = is_bytes ? TypedRows{octets.data(), Scalar::uint8, n, columns}
                                  : TypedRows{x.data(), Scalar::float32, n, columns};
  const RowMetric row_metric{metric, 1 + fuzzed.positive(), 1e6};
  Lists found(n, k);
  if (uses_presence(metric)) {
    std::vector<uint64_t> words(n);
    for (int64_t row = 0; row < n; ++row)
      for (int bit = 0; bit < 8; ++bit) words[row] = words[row] << 8 | fuzzed.byte();
    const BitRows bits{words.data(), n, 1, 64};
    nearest_by_presence(bits, bits, true, k, metric, 1, found.ids.data(), found.distances.data());
    return 0;
  }
  nearest_exact(rows, rows, true, k, row_metric, 1, found.ids.data(), found.distances.data());
  if (!uses_directions(metric)) {
    std::vector<int32_t> self_ids(n);
    for (int64_t row = 0; row < n; ++row) self_ids[row] = static_cast<int32_t>(row);
    nearest_of_all(rows, {rows, self_ids.data()}, row_metric, k, 1, found.ids.data(), found.distances.data());
  }
  return 0;
}
