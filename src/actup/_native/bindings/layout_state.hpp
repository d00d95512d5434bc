// For the bindings of layouts: their state as a dict of NumPy arrays, and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "bindings/arrays.hpp"
#include "layout/state_visitor.hpp"

namespace actup {

template <class Stateful>
nb::dict state_arrays(Stateful& layout) {
  nb::dict arrays;
  for (const auto& [name, values] : saved_state(layout)) {
    std::visit([&](const auto& array) { arrays[name.c_str()] = copied(array, array.size()); }, values);
  }
  return arrays;
}

template <class T>
bool read_array(const nb::handle& array, const std::string& name, SavedState& state) {
  nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> values;
  if (!nb::try_cast(array, values, false)) return false;
  state[name] = std::vector<T>(values.data(), values.data() + values.size());
  return true;
}

template <class Stateful>
void restore_arrays(Stateful& layout, const nb::dict& arrays) {
  SavedState state;
  for (const auto& [key, array] : arrays) {
    const std::string name = nb::str(key).c_str();
    if (!read_array<float>(array, name, state) && !read_array<double>(array, name, state) &&
        !read_array<int64_t>(array, name, state)) {
      throw std::invalid_argument("state has an array '" + name +
                                  "' of a wrong type or shape: it was damaged");
    }
  }
  restore_state(layout, state);
}

}  // namespace actup
