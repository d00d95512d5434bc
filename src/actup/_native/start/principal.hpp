// Principal components: the scores of the rows of X along its leading axes, dense or sparse.
//
// Sums run over fixed chunks of rows in a fixed order. A threaded BLAS is not used: its last bits may depend
// on its number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "neighbors/typed_rows.hpp"
#include "start/subspace.hpp"

namespace actup {

// Rows of a dense matrix of any type, read relative to a row near their mean, so that a common offset costs
// no precision.
struct DenseTable {
  TypedRows table;
  const float* shift;
  int64_t rows = table.rows, columns = table.columns;

  // Adds the values of a row to the sums of its columns, and their squares to `squares`.
  void add_row(int64_t row, double* sums, double& squares) const {
    std::vector<float> buffer;
    const float* const x = table.floats(row, 1, buffer);
    for (int64_t c = 0; c < columns; ++c) sums[c] += x[c] - shift[c];
    for (int64_t c = 0; c < columns; ++c) squares += double(x[c] - shift[c]) * (x[c] - shift[c]);
  }

  // The scores of rows [begin, end) along the axes, (columns, dimensions): their products minus `offset`.
  void project(int64_t begin, int64_t end, const float* axes, int dimensions, const double* offset,
               float* scores) const {
    std::vector<float> buffer;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4)
      project_rows<4>(table.floats(i, 4, buffer), axes, dimensions, offset, scores + i * dimensions);
    for (; i < end; ++i)
      project_rows<1>(table.floats(i, 1, buffer), axes, dimensions, offset, scores + i * dimensions);
  }

  // For rows [begin, end): score = row · q - offset; sums += row ⊗ score; returns the sum of the scores.
  ColumnLanes accumulate(int64_t begin, int64_t end, const ColumnLanes* q, ColumnLanes offset,
                         ColumnLanes* sums) const {
    ColumnLanes total = {};
    std::vector<float> buffer;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) total += accumulate_rows<4>(table.floats(i, 4, buffer), q, offset, sums);
    for (; i < end; ++i) total += accumulate_rows<1>(table.floats(i, 1, buffer), q, offset, sums);
    return total;
  }

 private:
  // Several rows at a time, because each sum waits for the one before it.
  template <int count>
  void project_rows(const float* x, const float* axes, int dimensions, const double* offset,
                    float* scores) const {
    for (int k = 0; k < dimensions; ++k) {
      double sum[count];
      for (double& of_row : sum) of_row = -offset[k];
      for (int64_t c = 0; c < columns; ++c)
        for (int r = 0; r < count; ++r)
          sum[r] += double(x[r * columns + c] - shift[c]) * axes[c * dimensions + k];
      for (int r = 0; r < count; ++r) scores[r * dimensions + k] = static_cast<float>(sum[r]);
    }
  }

  template <int count>
  ColumnLanes accumulate_rows(const float* first, const ColumnLanes* q, ColumnLanes offset,
                              ColumnLanes* sums) const {
    const float* x[count];
    ColumnLanes score[count], total = {};
    for (int r = 0; r < count; ++r) x[r] = first + r * columns, score[r] = -offset;
    for (int64_t c = 0; c < columns; ++c)
      for (int r = 0; r < count; ++r) score[r] += (x[r][c] - shift[c]) * q[c];
    for (int64_t c = 0; c < columns; ++c)
      for (int r = 0; r < count; ++r) sums[c] += (x[r][c] - shift[c]) * score[r];
    for (int r = 0; r < count; ++r) total += score[r];
    return total;
  }
};

// Rows of a sparse matrix in compressed rows.
struct SparseTable {
  const int64_t* offsets;
  const int32_t* indices;
  const float* values;
  int64_t rows, columns;

  void add_row(int64_t row, double* sums, double& squares) const {
    for_each(row, [&](int64_t c, float value) {
      sums[c] += value;
      squares += double(value) * value;
    });
  }

  void project(int64_t begin, int64_t end, const float* axes, int dimensions, const double* offset,
               float* scores) const {
    std::vector<double> sum(dimensions);
    for (int64_t i = begin; i < end; ++i) {
      for (int k = 0; k < dimensions; ++k) sum[k] = -offset[k];
      for_each(i, [&](int64_t c, float value) {
        for (int k = 0; k < dimensions; ++k) sum[k] += double(value) * axes[c * dimensions + k];
      });
      for (int k = 0; k < dimensions; ++k) scores[i * dimensions + k] = static_cast<float>(sum[k]);
    }
  }

  ColumnLanes accumulate(int64_t begin, int64_t end, const ColumnLanes* q, ColumnLanes offset,
                         ColumnLanes* sums) const {
    ColumnLanes total = {};
    for (int64_t i = begin; i < end; ++i) {
      ColumnLanes score = -offset;
      for_each(i, [&](int64_t c, float value) { score += value * q[c]; });
      for_each(i, [&](int64_t c, float value) { sums[c] += value * score; });
      total += score;
    }
    return total;
  }

 private:
  template <class Body>
  void for_each(int64_t row, const Body& body) const {
    for (int64_t e = offsets[row]; e < offsets[row + 1]; ++e) body(indices[e], values[e]);
  }
};

// The scatter matrix (X - mean)ᵀ(X - mean), divided by its trace, as an operator: one pass over X applies it.
template <class Rows>
class Scatter {
 public:
  Scatter(const Rows& x, int threads) : x_(x), mean_(x.columns) {
    // So few chunks that their partial sums, one panel of all columns each, stay below 2^24 floats.
    const int64_t most = std::max<int64_t>(1, (int64_t{1} << 21) / std::max<int64_t>(1, x.columns));
    chunk_ = std::max<int64_t>(512, (x.rows + most - 1) / most);
    const int64_t chunks = (x.rows + chunk_ - 1) / chunk_;
    std::vector<std::vector<double>> sums(chunks);
    std::vector<double> squares(chunks);
    parallel_chunks(chunks, threads, [&](int64_t chunk) {
      std::vector<double> sum(x.columns);
      double square = 0;  // of this thread: no other one writes near it
      for (int64_t i = chunk * chunk_; i < std::min(x.rows, (chunk + 1) * chunk_); ++i)
        x.add_row(i, sum.data(), square);
      sums[chunk] = std::move(sum);
      squares[chunk] = square;
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      trace_ += squares[chunk];
      for (int64_t c = 0; c < x.columns; ++c) mean_[c] += sums[chunk][c] / double(x.rows);
    }
    for (double mean : mean_) trace_ -= double(x.rows) * mean * mean;
  }

  int64_t rows() const { return x_.columns; }
  double trace() const { return trace_; }

  void apply(const Block& q, const Block& previous, Block& out, float alpha, float beta, float gamma,
             int threads) const {
    for (int p = 0; p < q.panels(); ++p) {
      checkpoint();
      const std::vector<double> image = apply_panel(q.panel(p), threads);
      const ColumnLanes* before = previous.panel(p);
      const ColumnLanes* here = q.panel(p);
      ColumnLanes* result = out.panel(p);
      for (int64_t c = 0; c < rows(); ++c)
        for (int l = 0; l < kPanelColumns; ++l)
          result[c][l] = static_cast<float>(alpha * image[c * kPanelColumns + l] + beta * here[c][l] +
                                            gamma * before[c][l]);
    }
  }

  // The scores of every row along the axes, (columns, dimensions), to `scores`, (rows, dimensions).
  void project(const float* axes, int dimensions, float* scores, int threads) const {
    std::vector<double> offset(dimensions);
    for (int64_t c = 0; c < rows(); ++c)
      for (int k = 0; k < dimensions; ++k) offset[k] += mean_[c] * axes[c * dimensions + k];
    parallel_ranges(x_.rows, 512, threads, [&](int64_t begin, int64_t end) {
      x_.project(begin, end, axes, dimensions, offset.data(), scores);
    });
  }

 private:
  std::vector<double> apply_panel(const ColumnLanes* q, int threads) const {
    // The division is split between q and the image, so that no float sum overflows or underflows.
    const double scale = std::sqrt(double(x_.rows) / trace_);
    std::vector<ColumnLanes> scaled(q, q + rows());
    double mean_score[kPanelColumns] = {};
    for (int64_t c = 0; c < rows(); ++c) {
      scaled[c] *= static_cast<float>(scale);
      for (int l = 0; l < kPanelColumns; ++l) mean_score[l] += mean_[c] * scaled[c][l];
    }
    ColumnLanes offset;
    for (int l = 0; l < kPanelColumns; ++l) offset[l] = static_cast<float>(mean_score[l]);
    const int64_t chunks = (x_.rows + chunk_ - 1) / chunk_;
    std::vector<std::vector<ColumnLanes>> partial(chunks);
    std::vector<ColumnLanes> totals(chunks);
    parallel_chunks(chunks, threads, [&](int64_t chunk) {
      partial[chunk].resize(rows());
      const int64_t begin = chunk * chunk_, end = std::min(x_.rows, begin + chunk_);
      totals[chunk] = x_.accumulate(begin, end, scaled.data(), offset, partial[chunk].data());
    });
    std::vector<double> image(rows() * kPanelColumns);
    double total[kPanelColumns] = {};
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      for (int l = 0; l < kPanelColumns; ++l) total[l] += totals[chunk][l];
      for (int64_t c = 0; c < rows(); ++c)
        for (int l = 0; l < kPanelColumns; ++l) image[c * kPanelColumns + l] += partial[chunk][c][l];
    }
    for (int64_t c = 0; c < rows(); ++c)
      for (int l = 0; l < kPanelColumns; ++l) {
        double& entry = image[c * kPanelColumns + l];
        entry = (entry - mean_[c] * total[l]) * scale / double(x_.rows);
      }
    return image;
  }

  const Rows x_;
  std::vector<double> mean_;
  double trace_ = 0;
  int64_t chunk_ = 0;
};

// The scores (rows, dimensions) of the rows of X along its leading axes, widest first, and their scatter.
// Needs dimensions <= columns. If all rows are equal, all scores are 0.
template <class Rows>
void principal_scores(const Rows& x, int dimensions, uint64_t seed, int threads, float* scores,
                      double* scatter) {
  const Scatter<Rows> operation(x, threads);
  if (!(operation.trace() > 0)) {
    std::fill_n(scores, x.rows * dimensions, 0.0f);
    std::fill_n(scatter, dimensions, 0.0);
    return;
  }
  std::vector<float> axes(x.columns * dimensions);
  Spectrum spectrum;
  spectrum.low = 0;
  spectrum.top = 1;
  spectrum.cut = 1 / double(x.columns);
  spectrum.first_degree = 3;
  spectrum.last_degree = 8;
  spectrum.budget = 40;
  spectrum.tolerance = 0.005;
  leading_eigenvectors(operation, spectrum, dimensions, seed, threads, axes.data(), scatter);
  fix_signs(axes.data(), x.columns, dimensions);
  for (int k = 0; k < dimensions; ++k) scatter[k] *= operation.trace();
  operation.project(axes.data(), dimensions, scores, threads);
}

}  // namespace actup
