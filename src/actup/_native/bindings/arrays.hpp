// What the bindings share: array types, new arrays for NumPy, and the parts of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/interruptible.hpp"
#include "common/buffer.hpp"
#include "common/growing_array.hpp"
#include "graph/graph_view.hpp"

namespace actup {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Owns memory for NumPy: a Buffer, a GrowingArray or a unique_ptr to an array.
template <class Memory>
nb::capsule owner_of(Memory memory) {
  auto owned = std::make_unique<Memory>(std::move(memory));
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Memory*>(p); });
  (void)owned.release();
  return owner;
}

// Hands memory over to NumPy.
template <class Scalar, class... Shape>
nb::ndarray<nb::numpy, Scalar> to_numpy(std::unique_ptr<Scalar[]> data, Shape... shape) {
  Scalar* const raw = data.get();
  return {raw, {static_cast<size_t>(shape)...}, owner_of(std::move(data))};
}

template <class Scalar, class... Shape>
nb::ndarray<nb::numpy, Scalar> to_numpy(Buffer<Scalar> data, Shape... shape) {
  Scalar* const raw = data.data();
  return {raw, {static_cast<size_t>(shape)...}, owner_of(std::move(data))};
}

template <class Scalar, class... Shape>
nb::ndarray<nb::numpy, Scalar> to_numpy(GrowingArray<Scalar> data, Shape... shape) {
  Scalar* const raw = data.data();
  return {raw, {static_cast<size_t>(shape)...}, owner_of(std::move(data))};
}

template <class T = float>
nb::ndarray<nb::numpy, T, nb::ndim<2>> new_matrix(int64_t rows, int64_t columns) {
  Buffer<T> data(rows * columns);
  T* const raw = data.data();
  return {raw, {static_cast<size_t>(rows), static_cast<size_t>(columns)}, owner_of(std::move(data))};
}

// A copy of values for NumPy.
template <class T, class... Shape>
auto copied(const std::vector<T>& values, Shape... shape) {
  auto data = std::make_unique_for_overwrite<T[]>(values.size());
  std::copy(values.begin(), values.end(), data.get());
  return to_numpy(std::move(data), shape...);
}

inline GraphView view(const Vector<int64_t>& offsets, const Vector<int32_t>& indices,
                      const Vector<float>& weights) {
  return {static_cast<int64_t>(offsets.size()) - 1, offsets.data(), indices.data(), weights.data()};
}

// One part per .cpp file of this folder.
void bind_arithmetic(nb::module_& module);
void bind_clusters(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_neighbors(nb::module_& module);
void bind_cluster_search(nb::module_& module);
void bind_exact_search(nb::module_& module);
void bind_start(nb::module_& module);
void bind_layout(nb::module_& module);
void bind_output_metrics(nb::module_& module);
void bind_repulsion(nb::module_& module);
void bind_reference_forces(nb::module_& module);
void bind_quality(nb::module_& module);
void bind_transform(nb::module_& module);

}  // namespace actup
