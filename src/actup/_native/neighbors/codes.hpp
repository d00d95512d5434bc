// Integer codes of rows: projected, scaled and rounded; and their packed form, which code_tiles.hpp scans.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/buffer.hpp"
#include "common/parallel.hpp"
#include "neighbors/code_tiles.hpp"
#include "neighbors/projection.hpp"
#include "neighbors/row_source.hpp"

namespace actup {

// Converts rows to codes, all with one scale.
class Encoder {
 public:
  // For the parameters see Projection.
  Encoder(const RowSource& rows, int64_t columns, double min_kept_share, uint64_t seed, int threads)
      : projection_(rows, columns, min_kept_share, seed, threads) {
    scale_ = projection_.largest_value() > 0 ? kMaxCode / projection_.largest_value() : 0.0f;
    groups_ = (projection_.columns() + 2 * kGroup - 1) / (2 * kGroup) * 2;
  }

  const Projection& projection() const { return projection_; }
  int64_t groups() const { return groups_; }
  int64_t stride() const { return groups_ * kGroup; }
  float scale() const { return scale_; }
  // Added to a point's codes when it is packed, to make them positive.
  int offset() const { return kMaxCode + 1; }

  // Codes of all rows, stride() bytes each.
  Buffer<int8_t> encode(const RowSource& rows, int threads) const {
    Buffer<int8_t> codes(rows.count() * stride());
    parallel_ranges(rows.count(), kRowsPerChunk, threads, [&](int64_t begin, int64_t end) {
      encode_rows(rows, end - begin, [&](int64_t at) { return begin + at; }, codes.data() + begin * stride());
    });
    return codes;
  }

  // Codes of the rows id(0), id(1), ... id(count - 1).
  template <class Id>
  void encode_rows(const RowSource& rows, int64_t count, const Id& id, int8_t* codes) const {
    const int64_t row_stride = padded(rows.width());
    Buffer<float> values(kProductRows * row_stride), projected(kProductRows * projection_.stride());
    for (int64_t first = 0; first < count; first += kProductRows) {
      checkpoint();
      const int64_t in_tile = std::min<int64_t>(kProductRows, count - first);
      for (int64_t at = 0; at < in_tile; ++at) rows.read(id(first + at), values.data() + at * row_stride);
      project_padded(values.data(), in_tile, row_stride, projected.data());
      for (int64_t at = 0; at < in_tile; ++at) {
        round(projected.data() + at * projection_.stride(), codes + (first + at) * stride());
      }
    }
  }

 private:
  static constexpr int64_t kRowsPerChunk = 384;

  // Pads `count` rows to a full tile: the same instructions project every row, so that its codes depend on
  // the row alone.
  void project_padded(float* values, int64_t count, int64_t row_stride, float* projected) const {
    std::fill(values + count * row_stride, values + kProductRows * row_stride, 0.0f);
    projection_.project(values, kProductRows, projected);
  }

  void round(const float* values, int8_t* codes) const {
    constexpr float limit = kMaxCode;
    const int64_t count = std::min(projection_.stride(), stride());
    for (int64_t at = 0; at < count; ++at) {
      constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
      const float clipped = std::min(std::max(values[at] * scale_, -limit), limit);
      codes[at] = static_cast<int8_t>(std::bit_cast<int32_t>(clipped + magic) - 0x4B400000);
    }
    std::fill(codes + count, codes + stride(), int8_t{0});
  }

  Projection projection_;
  float scale_;
  int64_t groups_;
};

inline int32_t squared_norm(const int8_t* codes, int64_t count) {
  int32_t squares = 0;
  for (int64_t at = 0; at < count; ++at) squares += codes[at] * codes[at];
  return squares;
}

// Codes of points in blocks of kCodeBlock. Padding scores below kLowestScore, which all points reach, but
// above kAnyScore.
class PackedCodes {
 public:
  static constexpr int32_t kLowestScore = -(1 << 29);
  static constexpr int32_t kAnyScore = 3 * kLowestScore;

  PackedCodes() = default;
  PackedCodes(int64_t blocks, int64_t groups, int offset)
      : groups_(groups),
        blocks_(blocks),
        offset_(offset),
        codes_(blocks * kCodeBlock * groups * kGroup),
        biases_(blocks * kCodeBlock) {}

  int64_t blocks() const { return blocks_; }
  CodeBlocks view(int64_t begin, int64_t end) const {
    return {codes_.data() + begin * block_bytes(), biases_.data() + begin * kCodeBlock,
            (end - begin) * kCodeBlock, groups_};
  }
  CodeBlocks view() const { return view(0, blocks_); }

  // Fills one block with the codes row(0), row(1), ... row(count - 1), count <= kCodeBlock.
  template <class Row>
  void pack(int64_t block, int64_t count, const Row& row) {
    uint8_t* const out = codes_.data() + block * block_bytes();
    std::memset(out, offset_, block_bytes());
    for (int64_t point = 0; point < kCodeBlock; ++point) {
      biases_[block * kCodeBlock + point] = 2 * kLowestScore;
      if (point >= count) continue;
      const int8_t* const codes = row(point);
      for (int64_t at = 0; at < groups_ * kGroup; ++at) {
        out[(at / kGroup * kCodeBlock + point) * kGroup + at % kGroup] =
            static_cast<uint8_t>(codes[at] + offset_);
      }
      biases_[block * kCodeBlock + point] = -(squared_norm(codes, groups_ * kGroup) / 2);
    }
  }

  // Restores the codes of one point.
  void unpack(int64_t position, int8_t* codes) const {
    const uint8_t* const block = codes_.data() + position / kCodeBlock * block_bytes();
    const int64_t point = position % kCodeBlock;
    for (int64_t at = 0; at < groups_ * kGroup; ++at) {
      codes[at] =
          static_cast<int8_t>(block[(at / kGroup * kCodeBlock + point) * kGroup + at % kGroup] - offset_);
    }
  }

 private:
  int64_t block_bytes() const { return kCodeBlock * groups_ * kGroup; }

  int64_t groups_ = 0, blocks_ = 0;
  int offset_ = 0;
  Buffer<uint8_t> codes_;
  Buffer<int32_t> biases_;
};

}  // namespace actup
