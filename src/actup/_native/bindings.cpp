// The Python face of the engine: converts arguments, releases the interpreter lock, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "pair_sums.hpp"
#include "parallel.hpp"
#include "ranks.hpp"

namespace nb = nanobind;
using namespace actup;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::ndarray<nb::numpy, int32_t, nb::ndim<2>> new_ids(int64_t rows, int64_t columns) {
  int32_t* data = new int32_t[rows * columns];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
  return {data, {static_cast<size_t>(rows), static_cast<size_t>(columns)}, owner};
}

template <class Real>
void bind_ranks(nb::module_& module) {
  module.def(
      "nearest_in_rows",
      [](Matrix<Real> distances, int64_t k, int threads) {
        auto ids = new_ids(distances.shape(0), k);
        nb::gil_scoped_release release;
        nearest_in_rows(distances.data(), distances.shape(0), distances.shape(1), k, ids.data(), threads);
        return ids;
      },
      nb::arg("distances").noconvert(), nb::arg("k"), nb::arg("threads"));
  module.def(
      "ranks_in_rows",
      [](Matrix<Real> distances, Matrix<int32_t> ids, int threads) {
        auto ranks = new_ids(ids.shape(0), ids.shape(1));
        nb::gil_scoped_release release;
        ranks_in_rows(distances.data(), ids.data(), ids.shape(0), distances.shape(1), ids.shape(1), ranks.data(),
                      threads);
        return ranks;
      },
      nb::arg("distances").noconvert(), nb::arg("ids"), nb::arg("threads"));
}

void bind_sums(nb::module_& module) {
  module.def(
      "pair_sums",
      [](Matrix<float> Y, float a, float b, int threads) {
        PairSums sums;
        {
          nb::gil_scoped_release release;
          sums = pair_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))), a, b, threads);
        }
        return nb::make_tuple(sums.kernel, sums.square, sums.log_rest);
      },
      nb::arg("Y"), nb::arg("a"), nb::arg("b"), nb::arg("threads"));
  module.def(
      "edge_sums",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, Matrix<float> Y, float a, float b,
         int threads) {
        EdgeSums sums;
        {
          nb::gil_scoped_release release;
          sums = edge_sums(points_of_map(Y.data(), Y.shape(0), static_cast<int>(Y.shape(1))), offsets.data(),
                           indices.data(), weights.data(), a, b, threads);
        }
        return nb::make_tuple(sums.kernel, sums.log_kernel, sums.log_rest);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("Y"), nb::arg("a"), nb::arg("b"),
      nb::arg("threads"));
}

}  // namespace

NB_MODULE(ACTUP_MODULE, module) {
  module.def("hardware_threads", [] { return static_cast<int>(std::thread::hardware_concurrency()); });
  bind_ranks<float>(module);
  bind_ranks<double>(module);
  bind_sums(module);
}
