// The leading eigenvectors of a symmetric operator by Chebyshev-filtered subspace iteration.
//
// A block of vectors is filtered by a polynomial that is small on the unwanted part of the spectrum, made
// orthonormal, and rotated to the best approximate eigenvectors that it spans (Rayleigh-Ritz). This is
// repeated with sharper filters. The number of operator applications is bounded, so a solve always ends; if
// it has not converged by then, its result is less exact, which is enough for the start of a layout. All sums
// run over fixed chunks in a fixed order, so the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/elementary.h"
#include "common/parallel.hpp"
#include "common/random.h"
#include "start/vector_blocks.hpp"

namespace actup {

// What the solver knows about a spectrum, and how exact it should be.
struct Spectrum {
  double low;        // no eigenvalue is below
  double top;        // no eigenvalue is above
  double cut;        // a guess of where the unwanted part ends
  int first_degree;  // degree of the first filter
  int last_degree;   // largest degree; each filter's is 1.5 times the previous
  int budget;        // largest number of operator applications
  double tolerance;  // of the residual, relative to the distance between the wanted and the unwanted part
  const float* known = nullptr;  // the eigenvector of the largest eigenvalue, if it is known and not wanted
};

// An operator A computes out = alpha A x + beta x + gamma previous, where `previous` may be `out`:
//   int64_t rows() const;
//   void apply(const Block& x, const Block& previous, Block& out, float alpha, float beta, float gamma,
//              int threads) const;
template <class Operator>
class SubspaceIteration {
 public:
  SubspaceIteration(const Operator& a, const Spectrum& spectrum, int wanted, uint64_t seed, int threads)
      : a_(a),
        spectrum_(spectrum),
        known_(spectrum.known ? 1 : 0),
        wanted_(wanted),
        threads_(threads),
        x_(a.rows(), panels(wanted + known_)),
        y_(a.rows(), x_.panels()),
        z_(a.rows(), x_.panels()),
        values_(x_.columns()) {
    fill_start(seed);
  }

  // Panels for the wanted vectors and at least five more, which speed up convergence of the last wanted ones.
  static int panels(int vectors) { return (vectors + 5 + kPanelColumns - 1) / kPanelColumns; }

  void solve() {
    int degree = spectrum_.first_degree;
    double top = spectrum_.top, cut = spectrum_.cut, last_wanted = top;
    for (int used = 0; used + spectrum_.first_degree <= spectrum_.budget;) {
      const int now = std::min(bounded_degree(degree, top, cut, last_wanted), spectrum_.budget - used);
      set_progress_range(double(used) / spectrum_.budget, double(used + now) / spectrum_.budget);
      filter(now, top, cut);
      used += now + 1;
      rayleigh_ritz();
      if (!spectrum_.known) top = std::max(values_[0], 1e-30);
      last_wanted = values_[known_ + wanted_ - 1];
      const double unwanted = values_.back();
      const double found = residual(), enough = spectrum_.tolerance * (last_wanted - unwanted);
      if (found <= enough) break;
      cut = std::clamp(unwanted, spectrum_.low + 1e-3 * (top - spectrum_.low),
                       top - 1e-7 * (top - spectrum_.low));
      degree = std::min(degree + degree / 2, needed_degree(found / enough, cut, last_wanted));
    }
  }

  float vector(int64_t row, int which) const { return x_.get(row, known_ + which); }
  double value(int which) const { return values_[known_ + which]; }

 private:
  void fill_start(uint64_t seed) {
    parallel_ranges(x_.rows(), kRowsPerProductTask, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int c = 0; c < x_.columns(); ++c) {
          const uint64_t bits = random_bits(seed, 0, static_cast<uint32_t>(i), static_cast<uint32_t>(c));
          x_.set(i, c, random_signed(bits));
        }
    });
    restore_known();
    orthonormalize(x_, z_, threads_);
  }

  void restore_known() {
    if (!spectrum_.known) return;
    for (int64_t i = 0; i < x_.rows(); ++i) x_.set(i, 0, spectrum_.known[i]);
  }

  static double growth(double value, double low, double cut) {
    return area_cosine(std::max(1.0, (2 * value - cut - low) / (cut - low)));
  }

  // The estimated degree of a filter that makes the residual `times` times smaller, with a safety margin; at
  // most last_degree.
  int needed_degree(double times, double cut, double last_wanted) const {
    const double degree = 1.25 * natural_logarithm(times) / growth(last_wanted, spectrum_.low, cut) + 2;
    return degree < spectrum_.last_degree ? static_cast<int>(degree) : spectrum_.last_degree;
  }

  // A filter must not amplify the largest eigenvalue's vector so much more than the last wanted one that
  // rounding errors hide the latter.
  int bounded_degree(int degree, double top, double cut, double last_wanted) const {
    const double spread = growth(top, spectrum_.low, cut) - growth(last_wanted, spectrum_.low, cut);
    return spread * degree <= 14 ? degree : std::max(2, static_cast<int>(14 / spread));
  }

  // X ← T_degree(A) X, with T the Chebyshev polynomial of [low, cut], scaled to 1 at `top` (Zhou and Saad
  // 2007).
  void filter(int degree, double top, double cut) {
    const double centre = (cut + spectrum_.low) / 2, half = (cut - spectrum_.low) / 2;
    const double first = half / (top - centre);
    double scale = first;
    step(x_, x_, y_, scale / half, -centre * scale / half, 0);
    for (int k = 2; k <= degree; ++k) {
      const double next = 1 / (2 / first - scale);
      step(y_, x_, x_, 2 * next / half, -2 * centre * next / half, -scale * next);
      x_.swap(y_);
      scale = next;
    }
    x_.swap(y_);
    restore_known();
  }

  void step(const Block& x, const Block& previous, Block& out, double alpha, double beta,
            double gamma) const {
    a_.apply(x, previous, out, static_cast<float>(alpha), static_cast<float>(beta), static_cast<float>(gamma),
             threads_);
  }

  // Rotates the block to its best approximate eigenvectors, descending; Y becomes A X. The known vector stays
  // first.
  void rayleigh_ritz() {
    orthonormalize(x_, z_, threads_);
    step(x_, x_, y_, 1, 0, 0);
    const Square product = symmetric_product(x_, y_, threads_);
    Square inner(product.size - known_), rotation(product.size);
    for (int i = 0; i < inner.size; ++i)
      for (int j = 0; j < inner.size; ++j) inner(i, j) = product(known_ + i, known_ + j);
    const Eigenpairs pairs = jacobi_eigenpairs(inner);
    if (known_) rotation(0, 0) = 1;
    if (known_) values_[0] = product(0, 0);
    for (int i = 0; i < inner.size; ++i) {
      values_[known_ + i] = pairs.values[i];
      for (int j = 0; j < inner.size; ++j) rotation(known_ + i, known_ + j) = pairs.vectors(i, j);
    }
    multiply(x_, rotation, z_, threads_);
    multiply(y_, rotation, z_, threads_);
  }

  // The largest |A x - value x| of the wanted vectors.
  double residual() const {
    const int64_t chunks = (x_.rows() + kRowsPerProductTask - 1) / kRowsPerProductTask;
    std::vector<double> partial(chunks * wanted_);
    parallel_chunks(chunks, threads_, [&](int64_t chunk) {
      for (int c = 0; c < wanted_; ++c)
        for (int64_t i = chunk * kRowsPerProductTask;
             i < std::min(x_.rows(), (chunk + 1) * kRowsPerProductTask); ++i) {
          const double rest = y_.get(i, known_ + c) - value(c) * x_.get(i, known_ + c);
          partial[chunk * wanted_ + c] += rest * rest;
        }
    });
    double largest = 0;
    for (int c = 0; c < wanted_; ++c) {
      double sum = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * wanted_ + c];
      largest = std::max(largest, std::sqrt(sum));
    }
    return largest;
  }

  const Operator& a_;
  const Spectrum spectrum_;
  const int known_;
  const int wanted_;
  const int threads_;
  Block x_, y_, z_;
  std::vector<double> values_;
};

// All entries of a small operator, by applying it to the identity.
template <class Operator>
Square dense(const Operator& a, int threads) {
  const int n = static_cast<int>(a.rows());
  Block identity(n, (n + kPanelColumns - 1) / kPanelColumns), image(n, identity.panels());
  for (int i = 0; i < n; ++i) identity.set(i, i, 1.0f);
  a.apply(identity, identity, image, 1, 0, 0, threads);
  Square entries(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) entries(i, j) = (double(image.get(i, j)) + double(image.get(j, i))) / 2;
  return entries;
}

// Makes the entry of largest magnitude of every column positive, because an eigenvector's sign is arbitrary.
inline void fix_signs(float* vectors, int64_t rows, int columns) {
  for (int c = 0; c < columns; ++c) {
    float largest = 0;
    for (int64_t i = 0; i < rows; ++i)
      if (std::fabs(vectors[i * columns + c]) > std::fabs(largest)) largest = vectors[i * columns + c];
    if (largest >= 0) continue;
    for (int64_t i = 0; i < rows; ++i) vectors[i * columns + c] *= -1;
  }
}

// The eigenvectors of the `wanted` largest eigenvalues, without the known one: vectors (rows, wanted) and
// values, descending. Needs at least as many rows as vectors, including the known one.
template <class Operator>
void leading_eigenvectors(const Operator& a, const Spectrum& spectrum, int wanted, uint64_t seed, int threads,
                          float* vectors, double* values) {
  const int64_t n = a.rows();
  const int block = kPanelColumns * SubspaceIteration<Operator>::panels(wanted + (spectrum.known ? 1 : 0));
  if (n <= std::max(64, 2 * block)) {
    Square entries = dense(a, threads);
    if (spectrum.known) {  // move its eigenvalue below all others
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += double(spectrum.known[i]) * spectrum.known[i];
      const double shift = squares > 0 ? 2 * (spectrum.top - spectrum.low) / squares : 0;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) entries(i, j) -= shift * spectrum.known[i] * spectrum.known[j];
    }
    const Eigenpairs pairs = jacobi_eigenpairs(entries);
    for (int c = 0; c < wanted; ++c) {
      values[c] = pairs.values[c];
      for (int i = 0; i < n; ++i) vectors[int64_t(i) * wanted + c] = static_cast<float>(pairs.vectors(i, c));
    }
  } else {
    SubspaceIteration<Operator> iteration(a, spectrum, wanted, seed, threads);
    iteration.solve();
    for (int c = 0; c < wanted; ++c) {
      values[c] = iteration.value(c);
      for (int64_t i = 0; i < n; ++i) vectors[i * wanted + c] = iteration.vector(i, c);
    }
  }
}

}  // namespace actup
