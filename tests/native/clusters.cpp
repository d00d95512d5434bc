// Density clusters under a sanitizer: few, many and equal points, graphs, the same bits at any number of
// threads.
#include "check.hpp"
#include "cluster_trees.hpp"

using namespace actup;

int main() {
  for (const int64_t n : {1, 2, 3, 5, 17, 90})
    for (const int dimensions : {1, 2, 3, 6, 11})
      for (const int64_t min_samples : {1, 2, 5, 30})
        for (const double step : {0.0, 1.0, 100.0})
          if (min_samples <= n) clusters_of_points(n, dimensions, min_samples, step, 1);
  for (const double step : {0.0, 0.5, 100.0})
    CHECK(clusters_of_points(6000, 2, 10, step, 1) == clusters_of_points(6000, 2, 10, step, 4));
  for (const int64_t n : {1, 2, 3, 40}) clusters_of_graph(n, 2, 3, 1);
  CHECK(clusters_of_graph(3000, 5, 5, 1) == clusters_of_graph(3000, 5, 5, 4));
}
