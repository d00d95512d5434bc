// Cells: small sets of rows near one another, by k-means on the rows themselves, split after split.
//
// Every split looks at the rows of one set alone, so it tells rows apart however near they are beside others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/random.h"
#include "neighbors/row_sample.hpp"
#include "neighbors/row_source.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// The squared difference of two rows of `stride` floats, a multiple of kWideLanes.
inline float squared_difference(const float* x, const float* y, int64_t stride) {
  float16 sums{};
  for (int64_t column = 0; column < stride; column += kWideLanes) {
    const float16 difference = load_wide(x + column) - load_wide(y + column);
    sums += difference * difference;
  }
  return sum(sums);
}

class Cells {
 public:
  // Cells of about `mean_size` rows, and of at most twice as many.
  Cells(const RowSource& rows, int64_t mean_size, uint64_t seed, int threads)
      : rows_(rows), stride_(padded(rows.width())), mean_size_(mean_size), seed_(seed), threads_(threads) {
    order_.resize(rows.count());
    std::iota(order_.begin(), order_.end(), 0);
    ranges_ = {{0, rows.count()}};
    while (split_large()) {
    }
    starts_.reserve(ranges_.size() + 1);
    for (const auto& [begin, end] : ranges_) starts_.push_back(begin);
    starts_.push_back(rows.count());
    find_centers();
  }

  int64_t count() const { return static_cast<int64_t>(ranges_.size()); }
  int64_t stride() const { return stride_; }
  // Cell c holds order()[starts()[c]] ... order()[starts()[c + 1] - 1].
  const std::vector<int32_t>& order() const { return order_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  int64_t size(int64_t cell) const { return starts_[cell + 1] - starts_[cell]; }
  const float* center(int64_t cell) const { return centers_.data() + cell * stride_; }

 private:
  static constexpr int64_t kMaxParts = 16;  // of one split
  static constexpr int kIterations = 3;
  static constexpr int64_t kSamplesPerPart = 32, kMaxSampledFloats = int64_t{1} << 18;
  static constexpr int64_t kRowsPerChunk = 256;

  struct Range {
    int64_t begin, end;
  };
  struct Split {
    Range range;
    std::vector<float> centers;
    int64_t parts(int64_t stride) const { return static_cast<int64_t>(centers.size()) / stride; }
  };

  // Splits all ranges that are too large; whether there were any.
  bool split_large() {
    std::vector<Split> splits;
    for (const Range& range : ranges_) {
      if (range.end - range.begin > 2 * mean_size_) splits.push_back({range, {}});
    }
    if (splits.empty()) return false;
    const auto count = static_cast<int64_t>(splits.size());
    parallel_chunks(count, threads_, [&](int64_t at) { choose_centers(splits[at]); });
    std::vector<std::pair<int64_t, Range>> chunks;
    for (int64_t at = 0; at < count; ++at) {
      const Range range = splits[at].range;
      for (int64_t begin = range.begin; begin < range.end; begin += kRowsPerChunk) {
        chunks.push_back({at, {begin, std::min(begin + kRowsPerChunk, range.end)}});
      }
    }
    std::vector<int8_t> labels(order_.size());
    parallel_chunks(static_cast<int64_t>(chunks.size()), threads_, [&](int64_t at) {
      const auto& [split, range] = chunks[at];
      std::vector<float> row(stride_);
      for (int64_t position = range.begin; position < range.end; ++position) {
        rows_.read(order_[position], row.data());
        labels[position] = static_cast<int8_t>(nearest(row.data(), splits[split].centers));
      }
    });
    std::vector<std::vector<Range>> parts(count);
    parallel_chunks(count, threads_, [&](int64_t at) { parts[at] = divide(splits[at], labels); });
    std::vector<Range> ranges;
    int64_t next = 0;
    for (const Range& range : ranges_) {
      if (range.end - range.begin <= 2 * mean_size_) {
        ranges.push_back(range);
      } else {
        ranges.insert(ranges.end(), parts[next].begin(), parts[next].end());
        ++next;
      }
    }
    ranges_ = std::move(ranges);
    return true;
  }

  // Centers of the parts of a range, by k-means on a sample of its rows.
  void choose_centers(Split& split) const {
    const int64_t size = split.range.end - split.range.begin;
    const int64_t parts = std::clamp<int64_t>(size / mean_size_, 2, kMaxParts);
    const int64_t wanted =
        std::clamp<int64_t>(kMaxSampledFloats / stride_, 4 * parts, kSamplesPerPart * parts);
    const auto seed = random_bits(seed_, 6, static_cast<uint32_t>(split.range.begin),
                                  static_cast<uint32_t>(split.range.end));
    const std::vector<int64_t> sample = sample_rows(size, wanted, seed);
    const auto count = static_cast<int64_t>(sample.size());
    std::vector<float> values(count * stride_);
    for (int64_t at = 0; at < count; ++at) {
      rows_.read(order_[split.range.begin + sample[at]], values.data() + at * stride_);
    }
    split.centers.resize(parts * stride_);
    for (int64_t part = 0; part < parts; ++part) {
      std::copy_n(values.data() + part * count / parts * stride_, stride_,
                  split.centers.data() + part * stride_);
    }
    std::vector<double> sums(parts * stride_);
    std::vector<int64_t> sizes(parts);
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      checkpoint();
      std::fill(sums.begin(), sums.end(), 0.0);
      std::fill(sizes.begin(), sizes.end(), 0);
      for (int64_t at = 0; at < count; ++at) {
        const float* const row = values.data() + at * stride_;
        const int64_t part = nearest(row, split.centers);
        ++sizes[part];
        for (int64_t column = 0; column < stride_; ++column) sums[part * stride_ + column] += row[column];
      }
      for (int64_t at = 0; at < parts * stride_; ++at) {
        if (const int64_t of_part = sizes[at / stride_]) {
          split.centers[at] = static_cast<float>(sums[at] / static_cast<double>(of_part));
        }
      }
    }
  }

  int64_t nearest(const float* row, const std::vector<float>& centers) const {
    int64_t best = 0;
    float smallest = std::numeric_limits<float>::infinity();
    for (int64_t part = 0; part * stride_ < static_cast<int64_t>(centers.size()); ++part) {
      const float square = squared_difference(row, centers.data() + part * stride_, stride_);
      if (square < smallest) {
        smallest = square;
        best = part;
      }
    }
    return best;
  }

  // Sorts the rows of a range by their labels; returns the parts. Rows that centers do not tell apart, as
  // duplicates, are divided as they come.
  std::vector<Range> divide(const Split& split, const std::vector<int8_t>& labels) {
    const auto [begin, end] = split.range;
    const int64_t parts = split.parts(stride_);
    std::vector<int64_t> ends(parts + 1);
    for (int64_t at = begin; at < end; ++at) ++ends[labels[at] + 1];
    const bool is_divided = *std::max_element(ends.begin(), ends.end()) < end - begin;
    std::vector<Range> result;
    if (!is_divided) {
      for (int64_t at = begin; at < end; at += mean_size_)
        result.push_back({at, std::min(at + mean_size_, end)});
      return result;
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    for (int64_t part = 0; part < parts; ++part) {
      if (ends[part] < ends[part + 1]) result.push_back({begin + ends[part], begin + ends[part + 1]});
    }
    const std::vector<int32_t> before(order_.begin() + begin, order_.begin() + end);
    for (int64_t at = begin; at < end; ++at) order_[begin + ends[labels[at]]++] = before[at - begin];
    return result;
  }

  void find_centers() {
    centers_.resize(count() * stride_);
    parallel_ranges(count(), 8, threads_, [&](int64_t begin, int64_t end) {
      std::vector<float> row(stride_);
      std::vector<double> sums(stride_);
      for (int64_t cell = begin; cell < end; ++cell) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t at = starts_[cell]; at < starts_[cell + 1]; ++at) {
          rows_.read(order_[at], row.data());
          for (int64_t column = 0; column < stride_; ++column) sums[column] += row[column];
        }
        for (int64_t column = 0; column < stride_; ++column) {
          centers_[cell * stride_ + column] =
              static_cast<float>(sums[column] / static_cast<double>(size(cell)));
        }
      }
    });
  }

  const RowSource& rows_;
  int64_t stride_, mean_size_;
  uint64_t seed_;
  int threads_;
  std::vector<int32_t> order_;
  std::vector<Range> ranges_;
  std::vector<int64_t> starts_;
  std::vector<float> centers_;
};

}  // namespace actup
