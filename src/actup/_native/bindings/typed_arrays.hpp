// For the bindings: arrays of the dtypes that searches read without a copy, and neighbour lists for NumPy.
#pragma once

#include <nanobind/stl/tuple.h>

#include <memory>
#include <stdexcept>
#include <tuple>

#include "bindings/arrays.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

using TypedArray = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline Scalar scalar_of(const nb::dlpack::dtype& type) {
  if (type == nb::dtype<float>()) return Scalar::float32;
  if (type == nb::dtype<uint8_t>()) return Scalar::uint8;
  if (type == nb::dtype<int8_t>()) return Scalar::int8;
  if (type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 16)
    return Scalar::float16;
  throw std::invalid_argument("rows must be float32, float16, uint8 or int8");
}

inline TypedRows typed_rows(const TypedArray& array) {
  return {array.data(), scalar_of(array.dtype()), static_cast<int64_t>(array.shape(0)),
          static_cast<int64_t>(array.shape(1))};
}

// (ids, distances) of shape (rows, k), filled by search(ids, distances) with the interpreter lock released.
template <class Search>
auto neighbor_lists(int64_t rows, int64_t k, const Search& search) {
  Buffer<int32_t> ids(rows * k);
  Buffer<float> distances(rows * k);
  {
    const Interruptible call;
    search(ids.data(), distances.data());
  }
  return std::tuple(to_numpy(std::move(ids), rows, k), to_numpy(std::move(distances), rows, k));
}

}  // namespace actup
