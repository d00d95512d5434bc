// Exact neighbours of few points, by pair_search.hpp where integer codes can tell rows apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/listed_sums.hpp"
#include "neighbors/pair_search.hpp"
#include "neighbors/row_form.hpp"

namespace actup {

// Rows as they are compared, all in memory.
class FormRows {
 public:
  FormRows(const TypedRows& points, const RowForm& form, int threads)
      : rows_(points.rows), stride_(padded(form.width())), values_(rows_ * stride_) {
    parallel_ranges(rows_, 64, threads, [&](int64_t begin, int64_t end) {
      checkpoint();
      std::vector<float> buffer;
      for (int64_t row = begin; row < end; ++row) {
        float* const out = values_.data() + row * stride_;
        form.write(points.floats(row, 1, buffer), RowForm::kPoint, out, 1);
        std::fill(out + form.width(), out + stride_, 0.0f);
      }
    });
  }

  const float* row(int64_t id) const { return values_.data() + id * stride_; }
  int64_t stride() const { return stride_; }
  TypedRows table() const { return {values_.data(), Scalar::float32, rows_, stride_}; }

 private:
  int64_t rows_, stride_;
  Buffer<float> values_;
};

// Neighbours of all points of one search.
class FewPoints {
 public:
  // The memory of codes, lists and float rows; 0 if a search by codes cannot be faster, or takes much memory.
  static int64_t needed_bytes(int64_t rows, int64_t width, int64_t k) {
    constexpr int64_t kMinRows = 64, kMaxRows = 20'000, kMaxWidth = 8192, kMaxK = 128;
    constexpr int64_t kMaxBytes = int64_t{3} << 25;
    const bool suits =
        rows >= kMinRows && rows <= kMaxRows && width <= kMaxWidth && k <= kMaxK && 4 * k <= rows;
    const int64_t needed = suits ? rows * (6 * padded(width) + 8 * PairLists::room(k) + 40) : 0;
    return needed <= kMaxBytes ? needed : 0;
  }

  FewPoints(const TypedRows& points, const RowForm& form, int64_t k, int threads)
      : points_(points), form_(form), k_(k), threads_(threads) {}

  // Writes ids and sums of the k nearest of each point; returns false where codes tell too little.
  bool find(int32_t* ids, float* sums) {
    if (!form_.only_scales()) form_rows_.emplace(points_, form_, threads_);
    const FloatRows rows{form_rows_ ? form_rows_->table() : points_, form_rows_ ? 1.0 : form_.scale()};
    const ColumnRanges ranges(rows, threads_);
    const GridChoice grids(rows, ranges, threads_);
    if (const PairFunction compute = byte_tiles()) {
      if (find_by(rows, grids.bytes(), compute, ids, sums)) return true;
      if (grids.clips()) return false;
    }
    return find_by(rows, grids.shorts(), short_tiles(), ids, sums);
  }

 private:
  bool find_by(const FloatRows& rows, const CodeGrid& grid, PairFunction compute, int32_t* ids, float* sums) {
    if (!(grid.scale > 0)) return false;
    const std::vector<int32_t> order = order_of(rows, grid, compute);
    const PairCodes codes(rows, grid, order, threads_);
    // The relative rounding of the differences, of their squares and of the sums of a slab and of all slabs.
    const double rounding = static_cast<double>(kSlabColumns + form_.width() / kSlabColumns + 5) * 0x1p-24;
    PairLists lists(codes, order, k_, rounding);
    if (!PairScan(codes, compute, lists, threads_).run()) return false;
    rank(codes, lists, order, ids, sums);
    return true;
  }

  // Found by some of the columns, if there are many.
  std::vector<int32_t> order_of(const FloatRows& rows, const CodeGrid& grid, PairFunction compute) const {
    constexpr int64_t kMaxColumns = 256;
    const int64_t step = (rows.width() + kMaxColumns - 1) / kMaxColumns;
    if (step == 1) return near_order(rows, grid, compute, threads_);
    FloatRows some = rows;
    some.step = step;
    CodeGrid of_some = grid;
    of_some.centers.assign(padded(some.width()), 0.0f);
    for (int64_t at = 0; at < some.width(); ++at) of_some.centers[at] = grid.centers[at * step];
    return near_order(some, of_some, compute, threads_);
  }

  void rank(const PairCodes& codes, const PairLists& lists, const std::vector<int32_t>& order, int32_t* ids,
            float* sums) {
    const double unit = codes.scale() * (form_rows_ ? 1.0 : form_.scale());
    const auto is_exact = [&](int64_t row) {
      if (!codes.is_exact() || lists.overflowed(row)) return false;
      const int32_t* const scores = lists.scores(row);
      return -*std::min_element(scores, scores + lists.count(row)) <= PairLists::kMaxExactSum;
    };
    bool all_exact = true;
    for (int64_t row = 0; row < codes.count(); ++row) all_exact &= is_exact(row);
    if (!all_exact && !form_rows_) form_rows_.emplace(points_, form_, threads_);
    parallel_ranges(codes.count(), 32, threads_, [&](int64_t begin, int64_t end) {
      checkpoint();
      std::vector<std::pair<float, int32_t>> near;
      for (int64_t row = begin; row < end; ++row) {
        const int32_t* const listed = lists.ids(row);
        near.clear();
        if (is_exact(row)) {
          for (int64_t at = 0; at < lists.count(row); ++at) {
            near.push_back({static_cast<float>(-lists.scores(row)[at] * unit * unit), listed[at]});
          }
        } else if (lists.overflowed(row)) {
          checkpoint();
          compare(order[row], points_.rows, [&](int64_t at) { return static_cast<int32_t>(at); }, near);
        } else {
          compare(order[row], lists.count(row), [&](int64_t at) { return listed[at]; }, near);
        }
        std::partial_sort(near.begin(), near.begin() + k_, near.end());
        for (int64_t at = 0; at < k_; ++at) {
          sums[order[row] * k_ + at] = near[at].first;
          ids[order[row] * k_ + at] = near[at].second;
        }
      }
    });
  }

  // Appends the sums of a row with the rows id(0), id(1), ... id(count - 1), except itself.
  template <class Id>
  void compare(int32_t row, int64_t count, const Id& id, std::vector<std::pair<float, int32_t>>& near) const {
    const float* others[kListedRows];
    float sums[kListedRows];
    for (int64_t begin = 0; begin < count; begin += kListedRows) {
      const int64_t found = std::min<int64_t>(kListedRows, count - begin);
      for (int64_t at = 0; at < kListedRows; ++at) {
        others[at] = form_rows_->row(id(begin + std::min(at, found - 1)));
      }
      listed_sums(form_rows_->row(row), others, form_rows_->stride(), sums);
      for (int64_t at = 0; at < found; ++at) {
        if (id(begin + at) != row) near.push_back({sums[at], id(begin + at)});
      }
    }
  }

  const TypedRows& points_;
  const RowForm& form_;
  const int64_t k_;
  const int threads_;
  std::optional<FormRows> form_rows_;
};

}  // namespace actup
