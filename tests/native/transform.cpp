// New rows on a finished map under a sanitizer: every kind of force, few and many neighbours, the same bits
// at any number of threads and beside any other rows.
#include "check.hpp"
#include "placements.hpp"

using namespace actup;

int main() {
  for (const int64_t n : {1, 2, 17, 39, 500})
    for (const int64_t k : {1, 15, 33})
      for (const int dimensions : {1, 2, 3, 5})
        for (const Loss loss : {Loss::kl, Loss::frobenius})
          for (const Curve curve : {Curve{1, 1, 1}, Curve{1.5f, 0.8f, 1}, Curve{1, 1, 0.5f}})
            for (const bool normalized : {false, true}) {
              if (k > n || (curve.dof != 1 && !normalized)) continue;
              const PlacementCase c{n, k, dimensions, curve, loss, normalized};
              const std::vector<float> all = places(c, 0, kNewRows, 4), alone = places(c, 77, 78, 1);
              CHECK(all == places(c, 0, kNewRows, 1));
              CHECK(std::equal(alone.begin(), alone.end(), all.begin() + 77 * dimensions));
            }
}
