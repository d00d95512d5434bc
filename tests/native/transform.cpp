// New rows on a finished map under a sanitizer: every kind of force, few and many neighbours, the same bits
// at any number of threads and beside any other rows.
#include "transform/new_rows.hpp"

#include "check.hpp"
#include "stages.hpp"

namespace {

using namespace actup;

constexpr int64_t kRows = 300;

struct Case {
  int64_t n, k;
  int dimensions;
  Curve curve;
  Loss loss;
  bool normalized;
};

// The places of rows [begin, end) of kRows random ones.
std::vector<float> places(const Case& c, int64_t begin, int64_t end, int threads) {
  const std::vector<float> map = random_values(c.n * c.dimensions, 1), steps = random_values(kRows * c.k, 2);
  std::vector<int32_t> ids;
  std::vector<float> distances;
  for (int64_t i = begin; i < end; ++i) {
    float distance = 0;
    for (int64_t e = 0; e < c.k; ++e) {
      ids.push_back(static_cast<int32_t>((7 * i + e) % c.n));
      distances.push_back(distance += 0.1f + steps[i * c.k + e]);
    }
  }
  Placement placement;
  placement.seed = 3;
  placement.curve = c.curve;
  placement.epochs = 6;
  placement.samples = 40;
  placement.stiffness_floor = 0.3f;
  const NeighborRows neighbors{ids.data(), distances.data(), end - begin, c.k};
  const MapView view{map.data(), c.n, c.dimensions};
  const AffinitySettings affinities{Affinity::umap, Distance::pseudo, Symmetrization::umap, {}, 1.0};
  std::vector<float> to((end - begin) * c.dimensions);
  place_rows({neighbors, view, affinities, placement, to.data()}, c.loss, c.normalized, threads);
  return to;
}

}  // namespace

int main() {
  for (const int64_t n : {1, 2, 17, 39, 500})
    for (const int64_t k : {1, 15, 33})
      for (const int dimensions : {1, 2, 3, 5})
        for (const Loss loss : {Loss::kl, Loss::frobenius})
          for (const Curve curve : {Curve{1, 1, 1}, Curve{1.5f, 0.8f, 1}, Curve{1, 1, 0.5f}})
            for (const bool normalized : {false, true}) {
              if (k > n || (curve.dof != 1 && !normalized)) continue;
              const Case c{n, k, dimensions, curve, loss, normalized};
              const std::vector<float> all = places(c, 0, kRows, 4), alone = places(c, 77, 78, 1);
              CHECK(all == places(c, 0, kRows, 1));
              CHECK(std::equal(alone.begin(), alone.end(), all.begin() + 77 * dimensions));
            }
}
