// Arithmetic that Python needs with the same bits on every processor: elementary functions and small dense
// matrices, for Python. NumPy's own depend on the processor.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "bindings/arrays.hpp"
#include "bindings/interruptible.hpp"
#include "common/elementary.h"
#include "common/finite.hpp"
#include "neighbors/covariance.hpp"

namespace actup {

namespace {

struct ElementaryFunction {
  const char* name;
  double (*function)(double x, double y);
};
constexpr ElementaryFunction kFunctions[] = {
    {"exp", [](double x, double) { return exponential(x); }},
    {"log", [](double x, double) { return natural_logarithm(x); }},
    {"cos", [](double x, double) { return cosine(x); }},
    {"sin", [](double x, double) { return sine(x); }},
    {"arcsin", [](double x, double) { return arcsine(x); }},
    {"power", power},
};

// The function of that name of all values; only "power" reads y.
auto elementary(const char* name, const Vector<double>& x, double y) {
  const auto found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                  [&](const auto& known) { return std::strcmp(known.name, name) == 0; });
  if (found == std::end(kFunctions)) throw std::invalid_argument("unknown function");
  const auto size = static_cast<int64_t>(x.size());
  auto values = std::make_unique_for_overwrite<double[]>(size);
  for (int64_t at = 0; at < size; ++at) values[at] = found->function(x.data()[at], y);
  return to_numpy(std::move(values), size);
}

auto column_products(const Matrix<double>& rows, int threads) {
  const auto columns = static_cast<int64_t>(rows.shape(1));
  auto sums = std::make_unique<double[]>(columns * columns);
  {
    const Interruptible call;
    add_products(rows.data(), static_cast<int64_t>(rows.shape(0)), columns, threads, sums.get());
  }
  return to_numpy(std::move(sums), columns, columns);
}

using DoubleMatrix = nb::ndarray<nb::numpy, double>;

// Copies the matrix, changes the copy by replace(), which returns whether it could, and returns it.
template <class Replace>
std::optional<DoubleMatrix> replaced(const Matrix<double>& matrix, const Replace& replace) {
  const auto size = static_cast<int64_t>(matrix.shape(0));
  auto values = std::make_unique_for_overwrite<double[]>(size * size);
  std::copy_n(matrix.data(), size * size, values.get());
  bool done;
  {
    const Interruptible call;
    done = replace(values.get(), size);
  }
  if (!done) return std::nullopt;
  return to_numpy(std::move(values), size, size);
}

auto projected(const Matrix<double>& rows, const Matrix<double>& root, const Vector<double>& center,
               int threads) {
  const auto count = static_cast<int64_t>(rows.shape(0)), columns = static_cast<int64_t>(rows.shape(1));
  auto result = new_matrix<float>(count, columns);
  {
    const Interruptible call;
    const std::vector<double> factor(root.data(), root.data() + columns * columns);
    project_rows(rows.data(), count, factor, center.data(), columns, threads, result.data());
  }
  return result;
}

}  // namespace

template <class Float>
void bind_all_finite(nb::module_& module) {
  module.def(
      "all_finite",
      [](const Vector<Float>& values, int threads) {
        const Interruptible call;
        return all_finite(values.data(), static_cast<int64_t>(values.size()), threads);
      },
      nb::arg("values").noconvert(), nb::arg("threads"));
}

void bind_arithmetic(nb::module_& module) {
  bind_all_finite<float>(module);
  bind_all_finite<double>(module);
  module.def("elementary", &elementary, nb::arg("name"), nb::arg("x"), nb::arg("y"));
  module.def("column_products", &column_products, nb::arg("rows"), nb::arg("threads"),
             "The sums over rows of the products of two columns.");
  module.def(
      "cholesky_factor", [](const Matrix<double>& matrix) { return replaced(matrix, cholesky_factor); },
      nb::arg("matrix"), "None if the symmetric matrix is not positive definite.");
  module.def(
      "inverse_of_symmetric",
      [](const Matrix<double>& matrix, int threads) {
        return replaced(
            matrix, [&](double* values, int64_t size) { return invert_symmetric(values, size, threads); });
      },
      nb::arg("matrix"), nb::arg("threads"), "None if the symmetric matrix is not positive definite.");
  module.def("project_rows", &projected, nb::arg("rows"), nb::arg("root"), nb::arg("center"),
             nb::arg("threads"), "(rows - center) @ root in float32, root lower triangular.");
}

}  // namespace actup
