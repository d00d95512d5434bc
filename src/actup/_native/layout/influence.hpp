// The influence function of a mesh: the spectrum with which cubic B-splines on a grid give the best force.
//
// Spreading points with splines and reading the field's gradient through them damps and aliases every
// frequency. Of all spectra, the influence function has the least mean square error of the force between two
// points (the optimal influence function of P3M, Hockney and Eastwood, for analytic differentiation). With R
// the potential's own spectrum, W the spline's and k_m the aliases of k, it is
//     sum_m (k . k_m) W_m^2 R_m / (sum_m W_m^2  sum_m k_m^2 W_m^2).
#pragma once

#include <array>
#include <map>
#include <vector>

#include "common/buffer.hpp"
#include "layout/convolution.hpp"
#include "layout/mesh_formulas.h"
#include "layout/mesh_potential.hpp"
#include "layout/spline.h"

namespace actup {

// The potential of a point at the point itself as the mesh computes it, a function of the point's place (s,
// t) in its cell: the sum of self[p][q] cos(2 pi p s) cos(2 pi q t).
using SelfPotential = std::array<std::array<float, 3>, 3>;

// The factors of the formula that depend on the frequency along one axis alone.
struct InfluenceAxis {
  std::vector<float> k, weight, alias, alias_weight, sum, slope;
  explicit InfluenceAxis(int size) {
    const int padded = group_count(size + 1) * kLanes;
    for (int i = 0; i < padded; ++i) {
      const double own = std::numbers::pi * std::min(i, size) / size, other = own - 2 * std::numbers::pi;
      k.push_back(static_cast<float>(own));
      weight.push_back(static_cast<float>(spline_spectrum_squared(own)));
      alias.push_back(static_cast<float>(other));
      alias_weight.push_back(static_cast<float>(spline_spectrum_squared(other)));
      sum.push_back(static_cast<float>(spline_alias_sum(own)));
      slope.push_back(static_cast<float>(spline_alias_slope(own)));
    }
  }
};

// What depends on the size of a side of the grid alone. It is kept: the grid changes often while a map
// expands.
class GridTables {
 public:
  const HalfTransform& transform(int size) { return transforms_.try_emplace(size, size).first->second; }
  const InfluenceAxis& axis(int size) { return axes_.try_emplace(size, size).first->second; }

 private:
  std::map<int, HalfTransform> transforms_;
  std::map<int, InfluenceAxis> axes_;
};

class Influence {
 public:
  // line: the points vary along the columns only. The potential is then constant along the rows, whose
  // splines sum to 1, and the two-dimensional formula becomes the one-dimensional one.
  Influence(const MeshPotential& potential, float spacing, int rows, int columns, bool line,
            GridTables& tables, int threads)
      : rows_(rows),
        columns_(columns),
        // A sharp potential is sampled twice as finely, so that its first aliases are known.
        oversampling_(potential.smooth() || int64_t{rows} * columns > kMaxOversampledCells ? 1 : 2),
        y_(tables.axis(rows)),
        x_(tables.axis(columns)) {
    const float fine = spacing / static_cast<float>(oversampling_);
    const Lanes lanes = __builtin_convertvector(lane_numbers<Lanes>(), Lanes);
    spectrum_ = even_spectrum(
        tables.transform(oversampling_ * rows), tables.transform(oversampling_ * columns),
        [&](int row, int column) {
          const Lanes x = (line ? 0.0f : fine) * (lanes + static_cast<float>(column));
          const float y = fine * static_cast<float>(row);
          return potential(x * x + y * y);
        },
        threads);
    const int groups = group_count(rows + 1);
    values_ = Buffer<Lanes>(int64_t{groups} * (columns + 1));
    parallel_chunks(groups, threads, [&](int64_t group) {
      for (int l = 0; l <= columns_; ++l) values_[group * (columns_ + 1) + l] = best(group, l);
    });
    spectrum_ = Buffer<Lanes>();
  }

  // At kLanes row frequencies from group * kLanes on, and column frequency l: see Convolution::set_kernel().
  const Lanes& operator()(int64_t group, int l) const { return values_[group * (columns_ + 1) + l]; }

  SelfPotential self_potential(int threads) const {
    // The mesh's potential at (e, f) grid lines from a grid point: a sum over all frequencies.
    const int groups = group_count(rows_ + 1);
    std::vector<Lanes> partial(4 * groups);
    const auto turn_of = [](int frequency, int distance, int size) {
      const double twice = frequency > 0 && frequency < size ? 2 : 1;  // for -frequency as well
      return twice * cosine(std::numbers::pi * frequency * distance / size) / (2 * size);
    };
    std::vector<float> turns(4 * (columns_ + 1));
    for (int l = 0; l <= columns_; ++l)
      for (int e = 0; e < 4; ++e) turns[4 * l + e] = static_cast<float>(turn_of(l, e, columns_));
    parallel_chunks(groups, threads, [&](int64_t group) {
      Lanes sums[4] = {};
      for (int l = 0; l <= columns_; ++l) {
        const Lanes value = (*this)(group, l);
        for (int e = 0; e < 4; ++e) sums[e] += turns[4 * l + e] * value;
      }
      std::copy(sums, sums + 4, &partial[4 * group]);
    });
    double near[4][4] = {};
    for (int k = 0; k <= rows_; ++k)
      for (int f = 0; f < 4; ++f) {
        const double turn = turn_of(k, f, rows_);
        for (int e = 0; e < 4; ++e) near[e][f] += turn * partial[4 * (k / kLanes) + e][k % kLanes];
      }
    static const SplineOverlaps overlap;

    SelfPotential self{};
    for (int p = 0; p < 3; ++p)
      for (int q = 0; q < 3; ++q)
        for (int e = 0; e < 4; ++e)
          for (int f = 0; f < 4; ++f)
            self[p][q] += static_cast<float>(overlap.of[e][p] * overlap.of[f][q] * near[e][f]);
    return self;
  }

 private:
  static constexpr int64_t kMaxOversampledCells = 1 << 20;  // bounds the memory of the setup

  struct SplineOverlaps {  // the same for all grids
    double of[4][3];
    SplineOverlaps() {
      for (int e = 0; e < 4; ++e)
        for (int p = 0; p < 3; ++p) of[e][p] = spline_overlap(e, p);
    }
  };

  Lanes best(int64_t group, int l) const {
    const int64_t k = group * kLanes;
    const Lanes ky = load<Lanes>(&y_.k[k]), weight = load<Lanes>(&y_.weight[k]);
    const float kx = x_.k[l];
    Lanes wanted = influence_term(kx, kx, x_.weight[l], ky, ky, weight, own(group, l));
    if (oversampling_ > 1) {
      const Lanes alias = load<Lanes>(&y_.alias[k]), alias_weight = load<Lanes>(&y_.alias_weight[k]);
      const int mirrored = 2 * columns_ - l;
      const float alias_x = x_.alias[l], alias_weight_x = x_.alias_weight[l];
      wanted += influence_term(kx, alias_x, alias_weight_x, ky, ky, weight, own(group, mirrored));
      wanted += influence_term(kx, kx, x_.weight[l], ky, alias, alias_weight, aliases(k, l));
      wanted += influence_term(kx, alias_x, alias_weight_x, ky, alias, alias_weight, aliases(k, mirrored));
    }
    const Lanes sum = load<Lanes>(&y_.sum[k]), slope = load<Lanes>(&y_.slope[k]);
    Lanes value = wanted / influence_norm(x_.sum[l], x_.slope[l], sum, slope);
    if (k == 0 && l == 0) value[0] = spectrum_[0][0];  // was 0/0
    return value / static_cast<float>(oversampling_ * oversampling_);
  }

  const Lanes& own(int64_t group, int l) const {
    return spectrum_[group * (oversampling_ * columns_ + 1) + l];
  }

  // The potential's spectrum at the first aliases of kLanes row frequencies from k on; aliases run backwards.
  Lanes aliases(int64_t k, int l) const {
    Lanes values;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int64_t row = 2 * rows_ - std::min<int64_t>(k + lane, rows_);
      values[lane] = own(row / kLanes, l)[row % kLanes];
    }
    return values;
  }

  int rows_, columns_, oversampling_;
  const InfluenceAxis &y_, &x_;
  Buffer<Lanes> spectrum_;  // the potential's own, while the values are computed
  Buffer<Lanes> values_;
};

}  // namespace actup
