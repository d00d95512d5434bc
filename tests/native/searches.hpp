// The neighbour searches on small inputs: what they computed, as numbers to compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "check.hpp"
#include "inputs.hpp"
#include "neighbors/calibration.hpp"
#include "neighbors/cell_search.hpp"
#include "neighbors/cluster_search.hpp"
#include "neighbors/exact_search.hpp"
#include "neighbors/pairs.hpp"
#include "neighbors/presence_search.hpp"
#include "neighbors/refinement.hpp"
#include "neighbors/sparse_search.hpp"
#include "neighbors/sparse_sketch.hpp"

namespace actup {

// Rows around a few centers, with some duplicates.
inline std::vector<float> clustered_rows(int64_t n, int64_t columns) {
  std::vector<float> x = random_values(n * columns, 7);
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      x[row * columns + column] += 30 * uniform(8, (row % 9) * columns + column);
      if (row % 50 == 0 && row) x[row * columns + column] = x[column];
    }
  }
  return x;
}

template <class T>
std::vector<T> converted(const std::vector<float>& x) {
  return std::vector<T>(x.begin(), x.end());
}

struct Lists {
  std::vector<int32_t> ids;
  std::vector<float> distances;
  Lists(int64_t rows, int64_t k) : ids(rows * k), distances(rows * k) {}
  std::vector<double> all() const {
    std::vector<double> numbers(ids.begin(), ids.end());
    numbers.insert(numbers.end(), distances.begin(), distances.end());
    return numbers;
  }
};

// The neighbours through cells, as numbers to compare.
inline std::vector<double> cell_search(const TypedRows& rows, const RowMetric& row_metric, int64_t k,
                                       int threads) {
  const CellIndex index(rows, row_metric, 3, threads);
  Lists found(rows.rows, k);
  index.neighbors(k, rows.rows / 4, threads, found.ids.data(), found.distances.data());
  const int64_t asked[] = {0, rows.rows / 2};
  int64_t before[2];
  const int32_t others[] = {static_cast<int32_t>(rows.rows - 1), 0};
  index.points_before(asked, 2, others, 1, threads, before);
  std::vector<double> all = found.all();
  all.insert(all.end(), before, before + 2);
  return all;
}

// All results of cluster search, as numbers to compare.
inline std::vector<double> cluster_search(const TypedRows& rows, const RowMetric& row_metric, int64_t columns,
                                          int64_t k, int threads) {
  const ClusterIndex index(rows, row_metric, columns, threads > 1, 3, threads);
  const Calibration calibration = Calibrator(index, k).run(64, 3, threads);
  std::vector<double> all(calibration.mean.begin(), calibration.mean.end());
  all.insert(all.end(), calibration.true_distances.begin(), calibration.true_distances.end());
  Lists found(rows.rows, k), refined(rows.rows, k), asked(std::min<int64_t>(rows.rows, 40), k);
  const SearchEffort effort{std::max<int64_t>(1, index.clusters().count() / 3),
                            std::min(3 * k, rows.rows - 1)};
  neighbors_of_points(index, k, effort, threads, found.ids.data(), found.distances.data());
  const TypedRows queries{rows.data, rows.scalar, std::min<int64_t>(rows.rows, 40), rows.columns};
  neighbors_of_queries(index, queries, k, effort, threads, asked.ids.data(), asked.distances.data());
  refine_neighbors(index, k, threads, found.ids.data(), refined.ids.data(), refined.distances.data());
  for (size_t at = 0; at < found.ids.size(); ++at) CHECK(refined.distances[at] <= found.distances[at]);
  for (const Lists* lists : {&found, &refined, &asked}) {
    const std::vector<double> numbers = lists->all();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

inline std::vector<double> exact_searches(int64_t n, int64_t columns, int64_t k, Metric metric, int threads) {
  const std::vector<float> x = clustered_rows(n, columns);
  const std::vector<uint8_t> bytes = converted<uint8_t>(x);
  const TypedRows rows{bytes.data(), Scalar::uint8, n, columns};
  Lists exact(n, k), pairs(n, k), chosen(n, k);
  if (!uses_presence(metric)) {
    const TypedRows dense{x.data(), Scalar::float32, n, columns};
    nearest_exact(dense, dense, true, k, {metric, 3.0f}, threads, exact.ids.data(), exact.distances.data());
  }
  std::vector<double> all = exact.all();
  if (uses_directions(metric)) return all;
  std::vector<int32_t> self_ids(n), candidates(n * 2 * k);
  for (int64_t row = 0; row < n; ++row) self_ids[row] = static_cast<int32_t>(row);
  for (size_t at = 0; at < candidates.size(); ++at) candidates[at] = static_cast<int32_t>(at * 7 % n);
  const RowMetric row_metric{metric, 3.0f, 1e6};
  nearest_of_all(rows, {rows, self_ids.data()}, row_metric, k, threads, pairs.ids.data(),
                 pairs.distances.data());
  nearest_of_candidates(rows, {rows, nullptr}, row_metric, candidates.data(), 2 * k, k, threads,
                        chosen.ids.data(), chosen.distances.data());
  for (const Lists* lists : {&pairs, &chosen}) {
    const std::vector<double> numbers = lists->all();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

inline std::vector<double> presence_search(int64_t n, int64_t k, int threads) {
  std::vector<uint64_t> words(n * 2);
  for (size_t at = 0; at < words.size(); ++at)
    words[at] = random_bits(9, 0, static_cast<uint32_t>(at), 0) >> 9;
  const BitRows bits{words.data(), n, 2, 120};
  Lists found(n, k);
  nearest_by_presence(bits, bits, true, k, Metric::jaccard, threads, found.ids.data(),
                      found.distances.data());
  return found.all();
}

inline std::vector<double> sparse_searches(int64_t n, int64_t k, Metric metric, int threads) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> ids, self_ids(n), candidates(n * 2 * k);
  std::vector<float> values;
  constexpr int64_t columns = 60;
  for (int64_t row = 0; row < n; ++row) {
    for (int64_t column = row % 3; column < columns && row % 11; column += 1 + (row + column) % 9) {
      ids.push_back(static_cast<int32_t>(column));
      values.push_back(1 + uniform(4, row * columns + column));
    }
    offsets.push_back(static_cast<int64_t>(ids.size()));
    self_ids[row] = static_cast<int32_t>(row);
  }
  const CsrRows rows{offsets.data(), ids.data(), values.data(), n, columns, columns};
  const SparsePoints points(rows, RowMetric{metric, 3.0f, 1e3}, threads);
  const CodeIndex index(SparseSketch(rows, points.row_metric(), false), 0, threads > 1, 3, threads);
  code_candidates(index, SparseSketch(rows, points.row_metric(), true), 3, 2 * k, threads, candidates.data());
  Lists found(n, k), chosen(n, k);
  points.nearest({rows, self_ids.data(), true}, k, threads, found.ids.data(), found.distances.data());
  points.nearest_of_candidates({rows, self_ids.data()}, candidates.data(), 2 * k, k, threads,
                               chosen.ids.data(), chosen.distances.data());
  std::vector<double> all = found.all();
  const std::vector<double> numbers = chosen.all();
  all.insert(all.end(), numbers.begin(), numbers.end());
  return all;
}

}  // namespace actup
