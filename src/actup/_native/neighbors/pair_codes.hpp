// Integer codes of all columns of rows, and how far the distance of two codes can be from that of their rows.
//
// A value is shifted by the center of its column, divided by one scale and rounded. Each row keeps the length
// of what rounding and clipping took from it, in units of the scale: by the triangle inequality, the distance
// of two rows is at least that of their codes minus both lengths of rounding, and at most that plus all four
// lengths. (Clipping never lengthens a distance.)
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "common/vectors.h"
#include "neighbors/pair_tiles.hpp"
#include "neighbors/typed_rows.hpp"

namespace actup {

// Rows as floats: every `step`-th column of a table, multiplied by `unit`, a power of two, when compared.
struct FloatRows {
  TypedRows table;
  double unit = 1;
  int64_t step = 1;

  int64_t count() const { return table.rows; }
  int64_t width() const { return (table.columns + step - 1) / step; }

  // width() values.
  const float* read(int64_t row, std::vector<float>& buffer, std::vector<float>& taken) const {
    const float* const values = table.floats(row, 1, buffer);
    if (step == 1) return values;
    taken.resize(width());
    for (int64_t at = 0; at < width(); ++at) taken[at] = values[at * step];
    return taken.data();
  }
};

// The smallest and the largest value of every column.
struct ColumnRanges {
  std::vector<float> low, high;

  ColumnRanges(const FloatRows& rows, int threads)
      : low(padded(rows.width()), std::numeric_limits<float>::max()),
        high(padded(rows.width()), -std::numeric_limits<float>::max()) {
    std::mutex merging;
    parallel_ranges(rows.count(), 256, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> lowest, highest, buffer, taken;
      {
        const std::lock_guard guard(merging);
        lowest = low;
        highest = high;
      }
      for (int64_t row = begin; row < end; ++row) {
        if (row % 32 == 0) checkpoint();
        for_each_wide(rows.read(row, buffer, taken), rows.width(), [&](int64_t column, float16 values) {
          const float16 least = load<float16>(lowest.data() + column);
          const float16 most = load<float16>(highest.data() + column);
          store(lowest.data() + column, values < least ? values : least);
          store(highest.data() + column, values > most ? values : most);
        });
      }
      const std::lock_guard guard(merging);
      for (size_t column = 0; column < low.size(); ++column) {
        low[column] = std::min(low[column], lowest[column]);
        high[column] = std::max(high[column], highest[column]);
      }
    });
  }
};

// Which value each code stands for.
struct CodeGrid {
  std::vector<float> centers;
  double scale = 0;               // 0: the rows have no codes
  float lowest = 0, highest = 0;  // codes are clipped to this range
  bool may_be_exact = false;      // the scale is a power of two that divides the values of a sample
  bool in_bytes = false;

  float inverse() const { return static_cast<float>(1 / scale); }
};

constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
inline float16 rounded(float16 values) { return (values + kRoundingShift) - kRoundingShift; }

// Chooses the grid of codes.
class GridChoice {
 public:
  GridChoice(const FloatRows& rows, const ColumnRanges& ranges, int threads)
      : rows_(rows), ranges_(ranges), threads_(threads) {
    for (int64_t column = 0; column < rows.width(); ++column) {
      range_ = std::max(range_, ranges.high[column] - ranges.low[column]);
    }
    limit_range();
  }

  // Whether some values are much larger than usual. More bits do not help where clipping leaves too much
  // open.
  bool clips() const { return clips_; }

  // Codes of 8 bits.
  CodeGrid bytes() const {
    CodeGrid grid;
    if (!is_usable()) return grid;
    const double power = power_of_two_from(range_ / 255.0);
    grid.may_be_exact = !clips_ && divides_sample(power);
    // Not exact: a somewhat larger scale, so that the last code is not exceeded by rounding.
    grid.scale = grid.may_be_exact ? power : range_ / 254.9;
    choose_centers(grid);
    grid.lowest = -128;
    grid.highest = 127;
    grid.in_bytes = true;
    return grid;
  }

  // Codes of 16 bits: squared norms stay below 2^28, so that no sum overflows.
  CodeGrid shorts() const {
    constexpr double kMaxNorm = 16000;
    CodeGrid grid;
    if (!is_usable()) return grid;
    const double coarsest = range_ / 255.0, power = power_of_two_from(coarsest);
    grid.scale = power;
    choose_centers(grid);
    const double limit = clips_ ? range_ / 2.0 : std::numeric_limits<float>::max();
    const double norm = largest_norm(grid.centers, static_cast<float>(limit));
    grid.scale = power_of_two_from(norm / kMaxNorm);
    if (!(grid.scale > 0)) return CodeGrid{};
    grid.may_be_exact = !clips_ && divides_sample(grid.scale);
    grid.highest = static_cast<float>(clips_ ? std::floor(limit / grid.scale) : 32767.0);
    grid.lowest = -grid.highest;
    return grid;
  }

 private:
  // Whether floats can represent the scale, its inverse and squares of both.
  bool is_usable() const {
    return range_ * rows_.unit > 0x1p-40 && range_ * rows_.unit < 0x1p40 && range_ > 0x1p-100f &&
           range_ < 0x1p100f;
  }

  static double power_of_two_from(double value) {
    int exponent;
    const double mantissa = std::frexp(value, &exponent);
    return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
  }

  int64_t sample_step(int64_t wanted) const { return std::max<int64_t>(1, rows_.count() / wanted); }

  // A few values that are much larger than usual would make all codes coarse: they are clipped.
  void limit_range() {
    constexpr double kUsualShare = 0.999, kRareRatio = 4;
    constexpr int64_t kSampledRows = 24;
    std::vector<double> sums(rows_.width());
    std::vector<float> sizes, buffer, taken;
    const int64_t step = sample_step(kSampledRows);
    int64_t count = 0;
    for (int64_t row = 0; row < rows_.count(); row += step, ++count) {
      const float* const values = rows_.read(row, buffer, taken);
      for (int64_t column = 0; column < rows_.width(); ++column) sums[column] += values[column];
    }
    means_.assign(padded(rows_.width()), 0.0f);
    for (int64_t column = 0; column < rows_.width(); ++column) {
      means_[column] = static_cast<float>(sums[column] / static_cast<double>(count));
    }
    for (int64_t row = 0; row < rows_.count(); row += step) {
      const float* const values = rows_.read(row, buffer, taken);
      for (int64_t column = 0; column < rows_.width(); ++column) {
        sizes.push_back(std::fabs(values[column] - means_[column]));
      }
    }
    const auto usual = sizes.begin() + static_cast<int64_t>(static_cast<double>(sizes.size()) * kUsualShare);
    std::nth_element(sizes.begin(), usual, sizes.end());
    if (*usual > 0 && range_ > kRareRatio * *usual) {
      range_ = 2 * *usual;
      clips_ = true;
    }
  }

  void choose_centers(CodeGrid& grid) const {
    grid.centers = means_;
    if (clips_) return;
    for (int64_t column = 0; column < rows_.width(); ++column) {
      const double low = ranges_.low[column], range = ranges_.high[column] - low;
      grid.centers[column] = static_cast<float>(low + std::round(range / 2 / grid.scale) * grid.scale);
    }
  }

  // Whether all values of some rows are multiples of a power of two.
  bool divides_sample(double power) const {
    constexpr int64_t kSampledRows = 16;
    const auto inverse = static_cast<float>(1 / power);
    std::vector<float> buffer, taken;
    for (int64_t row = 0; row < rows_.count(); row += sample_step(kSampledRows)) {
      const float* const values = rows_.read(row, buffer, taken);
      for (int64_t column = 0; column < rows_.width(); ++column) {
        const float multiple = values[column] * inverse;
        if (!(std::fabs(multiple) < 0x1p22f) || multiple != std::nearbyint(multiple)) return false;
      }
    }
    return true;
  }

  // The largest distance of a row to the centers, when values farther than `limit` are clipped.
  double largest_norm(const std::vector<float>& centers, float limit) const {
    double largest = 0;
    std::mutex merging;
    parallel_ranges(rows_.count(), 256, threads_, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer, taken;
      float squares = 0;
      for (int64_t row = begin; row < end; ++row) {
        if (row % 32 == 0) checkpoint();
        float16 sums{};
        for_each_wide(rows_.read(row, buffer, taken), rows_.width(), [&](int64_t column, float16 values) {
          float16 sizes = magnitude(values - load<float16>(centers.data() + column)) / range_;
          sizes = sizes < limit / range_ ? sizes : broadcast<float16>(limit / range_);
          sums += sizes * sizes;
        });
        squares = std::max(squares, sum(sums));
      }
      const std::lock_guard guard(merging);
      largest = std::max(largest, std::sqrt(static_cast<double>(squares)));
    });
    return largest * range_ * 1.001;
  }

  const FloatRows& rows_;
  const ColumnRanges& ranges_;
  const int threads_;
  std::vector<float> means_;
  float range_ = 0;
  bool clips_ = false;
};

// Packed codes of rows in a given order.
class PairCodes {
 public:
  PairCodes(const FloatRows& rows, const CodeGrid& grid, const std::vector<int32_t>& order, int threads)
      : scale_(grid.scale),
        in_bytes_(grid.in_bytes),
        count_(static_cast<int64_t>(order.size())),
        capacity_((count_ + kPairPoints - 1) / kPairPoints * kPairPoints + kPairPoints),
        groups_((rows.width() * bytes_per_code() + kGroup - 1) / kGroup),
        packed_(capacity_ * groups_ * kGroup),
        norms_(capacity_),
        biases_(capacity_),
        offsets_(capacity_),
        errors_(count_),
        clipped_(rows.count()) {
    std::atomic<bool> exact{grid.may_be_exact};
    parallel_ranges(capacity_, kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      std::vector<float> buffer, taken;
      std::vector<int16_t> codes(padded(rows.width()));
      for (int64_t at = begin; at < end; ++at) {
        if (at % 32 == 0) checkpoint();
        if (at < count_) {
          const Encoded encoded =
              encode(rows.read(order[at], buffer, taken), rows.width(), grid, codes.data());
          errors_[at] = encoded.rounding;
          clipped_[order[at]] = encoded.clipping;
          if (!encoded.exact) exact.store(false, std::memory_order_relaxed);
        } else {
          std::fill(codes.begin(), codes.end(), int16_t{0});
        }
        pack(at, codes.data(), rows.width());
      }
    });
    is_exact_ = exact.load();
    finish_errors(rows.width(), order);
  }

  int64_t count() const { return count_; }
  int64_t capacity() const { return capacity_; }  // with padding, so that all tiles are whole
  int64_t groups() const { return groups_; }
  double scale() const { return scale_; }
  // Whether codes times the scale are the values, without rounding.
  bool is_exact() const { return is_exact_; }
  bool clips() const { return clips_; }
  double error(int64_t row) const { return errors_[row]; }
  double largest_error() const { return largest_error_; }
  double clipped(int32_t id) const { return clipped_[id]; }  // by the number of the row before it was ordered
  int32_t norm(int64_t row) const { return norms_[row]; }    // squared
  int32_t bias(int64_t row) const { return biases_[row]; }   // minus half the squared norm
  int32_t offset(int64_t row) const { return offsets_[row]; }
  const int32_t* biases() const { return biases_.data(); }
  // The first group of a row.
  const uint8_t* row(int64_t at) const {
    return packed_.data() + at / kCodeBlock * groups_ * kGroupBytes + at % kCodeBlock * kGroup;
  }

 private:
  static constexpr int64_t kRowsPerChunk = 64;
  struct Encoded {
    float rounding, clipping;
    bool exact;
  };

  int64_t bytes_per_code() const { return in_bytes_ ? 1 : 2; }

  static Encoded encode(const float* row, int64_t width, const CodeGrid& grid, int16_t* codes) {
    typedef int16_t Shorts __attribute__((vector_size(2 * kWideLanes)));
    const float inverse = grid.inverse();
    const auto scale = static_cast<float>(grid.scale);
    float16 rounding{}, clipping{};
    int16 inexact{};
    for_each_wide(row, width, [&](int64_t column, float16 values) {
      const float16 wanted = (values - load<float16>(grid.centers.data() + column)) * inverse;
      float16 kept = wanted < grid.lowest ? broadcast<float16>(grid.lowest) : wanted;
      kept = kept > grid.highest ? broadcast<float16>(grid.highest) : kept;
      const float16 code = rounded(kept);
      rounding += (kept - code) * (kept - code);
      clipping += (wanted - kept) * (wanted - kept);
      const float16 multiple = values * inverse;
      inexact |= (rounded(multiple) * scale != values) | (magnitude(multiple) >= 0x1p22f);
      const auto shorts = __builtin_convertvector(__builtin_convertvector(code, int16), Shorts);
      std::memcpy(codes + column, &shorts, sizeof shorts);
    });
    std::fill(codes + width, codes + padded(width), int16_t{0});
    bool exact = true;
    for (int lane = 0; lane < kWideLanes; ++lane) exact &= inexact[lane] == 0;
    return {__builtin_sqrtf(sum(rounding)), __builtin_sqrtf(sum(clipping)), exact && sum(clipping) == 0};
  }

  void pack(int64_t at, const int16_t* codes, int64_t width) {
    uint8_t* const out = packed_.data() + at / kCodeBlock * groups_ * kGroupBytes + at % kCodeBlock * kGroup;
    int32_t squares = 0, total = 0;
    for (int64_t column = 0; column < width; ++column) {
      squares += codes[column] * codes[column];
      total += codes[column];
    }
    norms_[at] = squares;
    biases_[at] = -(squares / 2);
    offsets_[at] = in_bytes_ ? 128 * total : 0;
    if (in_bytes_) {
      for (int64_t group = 0; group < groups_; ++group) {
        uint8_t four[kGroup];
        for (int i = 0; i < kGroup; ++i) {
          four[i] = static_cast<uint8_t>((group * kGroup + i < width ? codes[group * kGroup + i] : 0) + 128);
        }
        std::memcpy(out + group * kGroupBytes, four, sizeof four);
      }
    } else {
      for (int64_t group = 0; group < groups_; ++group) {
        const int16_t two[2] = {codes[2 * group], 2 * group + 1 < width ? codes[2 * group + 1] : int16_t{0}};
        std::memcpy(out + group * kGroupBytes, two, sizeof two);
      }
    }
  }

  // Adds what the arithmetic of encode() may have rounded: a value's code before rounding is off by at most
  // 2^-23 of itself, and sums of squares by 2^-24 for each of their terms.
  void finish_errors(int64_t width, const std::vector<int32_t>& order) {
    const double in_sums = 1 + static_cast<double>(width / kWideLanes + 8) * 0x1p-24;
    const double norm =
        std::sqrt(static_cast<double>(*std::max_element(norms_.data(), norms_.data() + count_)));
    const double in_values = (norm + std::sqrt(static_cast<double>(width))) * 0x1p-22;
    for (int64_t at = 0; at < count_; ++at) {
      float& clipping = clipped_[order[at]];
      if (is_exact_) {
        errors_[at] = clipping = 0;
        continue;
      }
      errors_[at] = static_cast<float>((errors_[at] * in_sums + in_values) * (1 + 0x1p-22));
      clipping = static_cast<float>(clipping * (in_sums + 0x1p-20));
      clips_ |= clipping > 0;
      largest_error_ = std::max<double>(largest_error_, errors_[at]);
    }
  }

  double scale_;
  bool in_bytes_, is_exact_ = false, clips_ = false;
  int64_t count_, capacity_, groups_;
  Buffer<uint8_t> packed_;
  Buffer<int32_t> norms_, biases_, offsets_;
  Buffer<float> errors_, clipped_;
  double largest_error_ = 0;
};

}  // namespace actup
