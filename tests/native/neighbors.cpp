// Runs the neighbour searches, for sanitizers: cluster search (index, calibration, points, queries,
// refinement), and the exact searches of columns, bits, candidates and sparse rows. Checks that threads
// change no bit.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "check.hpp"
#include "neighbors/nearest_center.hpp"
#include "searches.hpp"

namespace {

using namespace actup;

// The two-step search almost always finds the nearest center, and the same one at any number of threads.
void nearest_of_many_centers() {
  constexpr int64_t centers = 1300, rows = 2000, groups = 2, stride = groups * kGroup;
  std::vector<int8_t> codes((centers + rows) * stride);
  for (size_t at = 0; at < codes.size(); ++at) {
    codes[at] =
        static_cast<int8_t>(static_cast<int>(random_bits(5, 0, static_cast<uint32_t>(at), 0) % 121) - 60);
  }
  const NearestCenter nearest(CodeRows{codes.data(), centers, groups, kMaxCode});
  const int8_t* const asked = codes.data() + centers * stride;
  std::vector<int32_t> labels(rows), again(rows);
  nearest.assign(asked, rows, 1, labels.data());
  nearest.assign(asked, rows, 3, again.data());
  CHECK(labels == again);
  int64_t missed = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto squares = [&](int64_t center) {
      int64_t sum = 0;
      for (int64_t at = 0; at < stride; ++at) {
        const int64_t difference = asked[row * stride + at] - codes[center * stride + at];
        sum += difference * difference;
      }
      return sum;
    };
    int64_t best = squares(0);
    for (int64_t center = 1; center < centers; ++center) best = std::min(best, squares(center));
    missed += squares(labels[row]) > best + 1;  // scores are rounded halves of squares
  }
  CHECK(missed < rows / 10);
}

}  // namespace

int main() {
  nearest_of_many_centers();
  for (const Metric metric : {Metric::euclidean, Metric::cosine, Metric::correlation, Metric::hellinger,
                              Metric::softmax_hellinger, Metric::inner_product, Metric::jaccard}) {
    const RowMetric row_metric{metric, 2.0f, 1e6};
    for (const int64_t n : {2, 3, 17, 65}) {
      const std::vector<float> x = clustered_rows(n, 5);
      cluster_search({x.data(), Scalar::float32, n, 5}, row_metric, 0, std::min<int64_t>(n - 1, 4), 1);
    }
    const std::vector<float> x = clustered_rows(1500, 150);
    const TypedRows rows{x.data(), Scalar::float32, 1500, 150};
    CHECK(cluster_search(rows, row_metric, 0, 7, 1) == cluster_search(rows, row_metric, 0, 7, 4));
    CHECK(cell_search(rows, row_metric, 7, 1) == cell_search(rows, row_metric, 7, 4));
    const std::vector<uint8_t> bytes = converted<uint8_t>(x);
    const TypedRows small{bytes.data(), Scalar::uint8, 1500, 150};
    CHECK(cluster_search(small, row_metric, 32, 7, 1) == cluster_search(small, row_metric, 32, 7, 3));
    const RowMetric scaled{Metric::euclidean, 2.0f, 0, std::vector<double>(150, 0.5)};
    CHECK(cluster_search(small, scaled, 32, 7, 1) == cluster_search(small, scaled, 32, 7, 3));
    RowMetric projected{Metric::euclidean};
    projected.root.resize(150 * 150);
    for (int64_t at = 0; at < 150; ++at)
      projected.root[at * 150 + at] = projected.root[at * 150 + at / 2] = 0.5;
    CHECK(cluster_search(small, projected, 32, 7, 1) == cluster_search(small, projected, 32, 7, 3));
  }
  for (size_t number = 0; number < std::size(kMetrics); ++number) {
    const auto metric = static_cast<Metric>(number);
    for (const int64_t columns : {1, 16, 37}) exact_searches(19, columns, 3, metric, 1);
    CHECK(exact_searches(400, 70, 5, metric, 1) == exact_searches(400, 70, 5, metric, 4));
    if (metric != Metric::chebyshev)
      CHECK(sparse_searches(300, 4, metric, 1) == sparse_searches(300, 4, metric, 4));
  }
  CHECK(presence_search(500, 6, 1) == presence_search(500, 6, 4));
}
