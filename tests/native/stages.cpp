// The stages before the layout, and the repulsions, under a sanitizer: few and many points, the same bits at
// any number of threads.
#include "stages.hpp"
#include "check.hpp"

using namespace actup;

int main() {
  for (const Metric metric :
       {Metric::euclidean, Metric::manhattan, Metric::chebyshev, Metric::cosine, Metric::correlation})
    for (const Affinity affinity : {Affinity::umap, Affinity::gaussian}) {
      for (const int64_t n : {1, 2, 3, 5, 17})
        for (const int64_t columns : {1, 3, 16, 33})
          stages(n, columns, std::min<int64_t>(n - 1, 4), metric, affinity, 1);
      CHECK(stages(1300, 20, 6, metric, affinity, 1) == stages(1300, 20, 6, metric, affinity, 4));
    }
  for (const int64_t n : {1, 2, 3, 17}) repulsions(n, 1);
  CHECK(repulsions(3000, 1) == repulsions(3000, 4));
}
