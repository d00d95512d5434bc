// The Python face of the engine: converts arguments, releases the interpreter lock, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "parallel.hpp"
#include "principal.hpp"
#include "spectral.hpp"

namespace nb = nanobind;

template <class Type, int dimensions>
using Input = nb::ndarray<const Type, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
template <class Type, int dimensions>
using Output = nb::ndarray<Type, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

void bind_spectral(nb::module_& module) {
  module.def("spectral_coordinates",
             [](Input<int64_t, 1> offsets, Input<int32_t, 1> indices, Input<float, 1> weights, uint64_t seed,
                int threads, Output<float, 2> vectors, Output<double, 1> values) {
               nb::gil_scoped_release release;
               actup::spectral_coordinates(static_cast<int64_t>(vectors.shape(0)), offsets.data(), indices.data(),
                                           weights.data(), static_cast<int>(vectors.shape(1)), seed, threads,
                                           vectors.data(), values.data());
             });
}

void bind_principal(nb::module_& module) {
  module.def("principal_scores", [](Input<float, 2> x, Input<float, 1> shift, uint64_t seed, int threads,
                                    Output<float, 2> scores, Output<double, 1> scatter) {
    nb::gil_scoped_release release;
    const actup::DenseRows rows{x.data(), shift.data(), static_cast<int64_t>(x.shape(0)),
                                static_cast<int64_t>(x.shape(1))};
    actup::principal_scores(rows, static_cast<int>(scores.shape(1)), seed, threads, scores.data(), scatter.data());
  });
  module.def("sparse_principal_scores",
             [](Input<int64_t, 1> offsets, Input<int32_t, 1> indices, Input<float, 1> values, int64_t columns,
                uint64_t seed, int threads, Output<float, 2> scores, Output<double, 1> scatter) {
               nb::gil_scoped_release release;
               const actup::SparseRows rows{offsets.data(), indices.data(), values.data(),
                                            static_cast<int64_t>(scores.shape(0)), columns};
               actup::principal_scores(rows, static_cast<int>(scores.shape(1)), seed, threads, scores.data(),
                                       scatter.data());
             });
}

NB_MODULE(ACTUP_MODULE, module) {
  module.def("hardware_threads", [] { return static_cast<int>(std::thread::hardware_concurrency()); });
  bind_spectral(module);
  bind_principal(module);
}
