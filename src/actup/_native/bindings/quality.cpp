// Ranks and sums over all pairs for the quality measures, for Python.
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "quality/pair_sums.hpp"
#include "quality/ranks.hpp"

namespace actup {

namespace {

template <class Real>
void bind_ranks(nb::module_& module) {
  module.def(
      "nearest_in_rows",
      [](Matrix<Real> distances, int64_t k, int threads) {
        auto ids = new_matrix<int32_t>(distances.shape(0), k);
        {
          const Interruptible call;
          nearest_in_rows(distances.data(), distances.shape(0), distances.shape(1), k, ids.data(), threads);
        }
        return ids;
      },
      nb::arg("distances").noconvert(), nb::arg("k"), nb::arg("threads"));
  module.def(
      "ranks_in_rows",
      [](Matrix<Real> distances, Matrix<int32_t> ids, int threads) {
        auto ranks = new_matrix<int32_t>(ids.shape(0), ids.shape(1));
        {
          const Interruptible call;
          ranks_in_rows(distances.data(), ids.data(), ids.shape(0), distances.shape(1), ids.shape(1),
                        ranks.data(), threads);
        }
        return ranks;
      },
      nb::arg("distances").noconvert(), nb::arg("ids"), nb::arg("threads"));
}

void bind_sums(nb::module_& module) {
  module.def(
      "pair_sums",
      [](Matrix<float> Y, const Curve& curve, int threads) {
        PairSums sums;
        {
          const Interruptible call;
          sums = pair_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))), curve, threads);
        }
        return nb::make_tuple(sums.kernel, sums.square, sums.log_rest);
      },
      nb::arg("Y"), nb::arg("curve"), nb::arg("threads"));
  module.def(
      "edge_sums",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, Matrix<float> Y,
         const Curve& curve, int threads) {
        EdgeSums sums;
        {
          const Interruptible call;
          sums = edge_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))),
                           view(offsets, indices, weights), curve, threads);
        }
        return nb::make_tuple(sums.kernel, sums.log_kernel, sums.log_rest);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("Y"), nb::arg("curve"),
      nb::arg("threads"));
}

}  // namespace

void bind_quality(nb::module_& module) {
  bind_ranks<float>(module);
  bind_ranks<double>(module);
  bind_sums(module);
}

}  // namespace actup
