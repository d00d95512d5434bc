// Prints hashes of elementary functions, of all neighbour searches in every metric, of covariances and of
// landmarks.
#include "../searches.hpp"

#include "common/elementary.h"
#include "hash.hpp"
#include "neighbors/covariance.hpp"
#include "start/landmarks.hpp"

namespace {

using namespace actup;

// Hashes the values at random places from `smallest` to `largest`.
template <class Function>
void hash_function(const char* name, double smallest, double largest, const Function& function) {
  std::vector<double> values;
  for (int64_t at = 0; at < 20000; ++at) {
    const double share = static_cast<double>(random_bits(1, 0, static_cast<uint32_t>(at), 0) >> 11) * 0x1p-53;
    values.push_back(function(smallest + share * (largest - smallest)));
  }
  print_hash(name, values);
}

void hash_functions() {
  hash_function("exp", -745, 709, [](double x) { return exponential(x); });
  hash_function("log", 0, 100, natural_logarithm);
  hash_function("log2", 0, 100, binary_logarithm);
  hash_function("cos", -2000, 2000, cosine);
  hash_function("sin", -2e9, 2e9, sine);
  hash_function("arcsin", -1, 1, arcsine);
  hash_function("arcosh", 1, 3, area_cosine);
  for (const double exponent : {-1.7, 1 / 3.0, 1.5, 3.0})
    hash_function("power", 0, 10, [&](double x) { return power(x, exponent); });
}

void hash_cluster_searches() {
  const int64_t n = 1500, columns = 70;
  const std::vector<float> x = clustered_rows(n, columns);
  const std::vector<uint8_t> bytes = converted<uint8_t>(x);
  const TypedRows floats{x.data(), Scalar::float32, n, columns},
      small{bytes.data(), Scalar::uint8, n, columns};
  for (size_t number = 0; number < std::size(kMetrics); ++number) {
    const auto metric = static_cast<Metric>(number);
    const bool ranked = uses_directions(metric) || metric == Metric::euclidean ||
                        metric == Metric::inner_product || metric == Metric::jaccard;
    if (!ranked) continue;
    const std::string name = std::string("cluster search ") + kMetrics[number].name;
    print_hash(name + " float32", cluster_search(floats, {metric, 2.0f, 1e6}, 0, 7, 1));
    print_hash(name + " cells", cell_search(floats, {metric, 2.0f, 1e6}, 7, 1));
    print_hash(name + " uint8", cluster_search(small, {metric, 2.0f, 1e6}, 32, 7, 1));
  }
}

void hash_covariance() {
  const int64_t n = 300, columns = 21;
  const std::vector<float> x = clustered_rows(n, columns);
  const std::vector<double> rows(x.begin(), x.end()), center(columns, 12.5);
  std::vector<double> matrix(columns * columns);
  add_products(rows.data(), n, columns, 1, matrix.data());
  print_hash("column products", matrix);
  CHECK(invert_symmetric(matrix.data(), columns, 1));
  print_hash("inverse", matrix);
  CHECK(cholesky_factor(matrix.data(), columns));
  print_hash("Cholesky factor", matrix);
  std::vector<float> projected(n * columns);
  project_rows(rows.data(), n, matrix, center.data(), columns, 1, projected.data());
  print_hash("projected rows", projected);
}

void hash_landmarks() {
  const int64_t n = 3000, columns = 20;
  const std::vector<float> x = clustered_rows(n, columns);
  for (const Metric metric : {Metric::euclidean, Metric::cosine}) {
    const Landmarks landmarks({x.data(), Scalar::float32, n, columns}, metric, 100, 3, 1);
    print_hash("landmarks", landmarks.means);
    print_hash("labels of landmarks", landmarks.labels);
  }
}

}  // namespace

int main() {
  hash_functions();
  for (size_t number = 0; number < std::size(kMetrics); ++number) {
    const auto metric = static_cast<Metric>(number);
    const std::string name = kMetrics[number].name;
    for (const int64_t columns : {5, 70})
      print_hash("exact " + name, exact_searches(400, columns, 5, metric, 1));
    if (metric != Metric::chebyshev) print_hash("sparse " + name, sparse_searches(300, 4, metric, 1));
  }
  print_hash("presence", presence_search(500, 6, 1));
  hash_cluster_searches();
  hash_covariance();
  hash_landmarks();
}
