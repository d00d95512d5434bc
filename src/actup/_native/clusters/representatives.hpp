// Points that stand for a cluster: first one at a dense and central spot, then others that differ from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/parallel.hpp"

namespace actup {

// Coordinates of n points; members of cluster c are members[offsets[c]] up to members[offsets[c + 1]].
struct ClusteredPoints {
  const double* coordinates;
  int64_t dimensions;
  int64_t clusters;
  const int64_t* offsets;
  const int32_t* members;
};

namespace representatives_detail {

constexpr int64_t kSample = 256;    // points of a cluster that are compared; all if it has fewer
constexpr double kBandwidth = 0.6;  // of the density, over the root mean square distance of the points

inline double squared_distance(const double* a, const double* b, int64_t dimensions) {
  double sum = 0;
  for (int64_t c = 0; c < dimensions; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// Members evenly spaced in the list.
inline std::vector<int32_t> sample_members(const ClusteredPoints& points, int64_t cluster) {
  const int64_t begin = points.offsets[cluster], size = points.offsets[cluster + 1] - begin;
  std::vector<int32_t> sample(std::min(size, kSample));
  for (int64_t s = 0; s < static_cast<int64_t>(sample.size()); ++s)
    sample[s] = points.members[begin + s * size / static_cast<int64_t>(sample.size())];
  return sample;
}

// Distances of all pairs of a sample, squared.
inline std::vector<double> pair_distances(const ClusteredPoints& points, const std::vector<int32_t>& sample) {
  const int64_t count = static_cast<int64_t>(sample.size()), d = points.dimensions;
  std::vector<double> distances(count * count, 0.0);
  for (int64_t s = 0; s < count; ++s)
    for (int64_t t = 0; t < s; ++t)
      distances[s * count + t] = distances[t * count + s] =
          squared_distance(points.coordinates + sample[s] * d, points.coordinates + sample[t] * d, d);
  return distances;
}

// The density around each point under Cauchy's kernel, whose tails favour central points.
inline std::vector<double> densities(const std::vector<double>& distances, int64_t count) {
  double sum = 0;
  for (const double distance : distances) sum += distance;
  const double width = kBandwidth * kBandwidth * sum / static_cast<double>(count * count);
  std::vector<double> density(count, 0.0);
  for (int64_t s = 0; s < count; ++s)
    for (int64_t t = 0; t < count; ++t)
      density[s] += width > 0 ? width / (width + distances[s * count + t]) : 1;
  return density;
}

// The densest point, then again and again the one farthest from those chosen, among the denser half.
inline std::vector<int64_t> choose(const std::vector<double>& distances, const std::vector<double>& density,
                                   int64_t wanted) {
  const int64_t count = static_cast<int64_t>(density.size());
  std::vector<double> sorted(density);
  std::nth_element(sorted.begin(), sorted.begin() + count / 2, sorted.end());
  const double middle = sorted[count / 2];
  std::vector<double> apart(count, std::numeric_limits<double>::infinity());
  std::vector<int64_t> chosen;
  int64_t next = std::max_element(density.begin(), density.end()) - density.begin();
  while (static_cast<int64_t>(chosen.size()) < wanted) {
    chosen.push_back(next);
    for (int64_t s = 0; s < count; ++s) apart[s] = std::min(apart[s], distances[next * count + s]);
    next = -1;
    for (int64_t s = 0; s < count; ++s)
      if (density[s] >= middle && apart[s] > 0 && (next < 0 || apart[s] > apart[next])) next = s;
    if (next < 0) break;
  }
  return chosen;
}

}  // namespace representatives_detail

// `wanted` rows per cluster, the densest spot first; -1 where a cluster has fewer distinct points.
inline void representatives(const ClusteredPoints& points, int64_t wanted, int threads, int32_t* rows) {
  using namespace representatives_detail;
  parallel_chunks(points.clusters, threads, [&](int64_t cluster) {
    const std::vector<int32_t> sample = sample_members(points, cluster);
    int32_t* const own = rows + cluster * wanted;
    std::fill_n(own, wanted, -1);
    if (sample.empty()) return;
    const std::vector<double> distances = pair_distances(points, sample);
    const std::vector<int64_t> chosen =
        choose(distances, densities(distances, static_cast<int64_t>(sample.size())), wanted);
    for (size_t k = 0; k < chosen.size(); ++k) own[k] = sample[chosen[k]];
  });
}

}  // namespace actup
