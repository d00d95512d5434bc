// Products of integer codes for tiles of rows times points, where both sides of a pair have a threshold.
//
// Codes are packed as in code_tiles.hpp: blocks of kCodeBlock points, four bytes of each point at a time. The
// four bytes hold four codes of 8 bits (plus 128, on processors that multiply unsigned by signed bytes) or
// two of 16 bits, which every processor multiplies. Rows and points are read from the same packed codes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/vectors.h"
#include "neighbors/code_tiles.hpp"

namespace actup {

constexpr int kPairRows = 6, kPairPoints = 64;
constexpr int64_t kGroupBytes = kCodeBlock * kGroup;

// One tile: the sums of row r and point p are offset of r + r . p + bias of p. Those of pairs that reach the
// threshold of the row, or of the point as seen from its side, are written.
struct PairTile {
  const uint8_t* rows[kPairRows];  // the first group of each row
  const uint8_t* points;
  int64_t groups;
  const int32_t* biases;            // of the points: minus half of the squared norm
  const int32_t* point_thresholds;  // plus the bias of the point
  int32_t row_thresholds[kPairRows];
  int32_t row_shifts[kPairRows];  // what turns a point's threshold into one for the sums of the row
  uint64_t hits[kPairRows];       // which points are written, one bit each
  alignas(64) int32_t sums[kPairRows][kPairPoints];
};

// Products of 16-bit codes.
struct PlainShorts : PlainCodes {
  static constexpr int kRows = 2;
  static Vector load(const uint8_t* from) { return load_sums(reinterpret_cast<const int32_t*>(from)); }
  static Vector broadcast(const uint8_t* from) {
    int32_t two;
    std::memcpy(&two, from, sizeof two);
    return two - Vector{};
  }
  static Vector add(Vector sums, Vector x, Vector y) {
    return sums + (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
  }
};

#if defined(__x86_64__)
struct SseShorts : Sse {
  static constexpr int kRows = 3;
  static Vector broadcast(const uint8_t* from) {
    return Sse::broadcast(reinterpret_cast<const int8_t*>(from));
  }
  static Vector add(Vector sums, Vector x, Vector y) { return _mm_add_epi32(sums, _mm_madd_epi16(x, y)); }
};
#endif

#if defined(__AVX2__)
struct Avx2Shorts : Avx2 {
  static constexpr int kRows = 3;
  static Vector broadcast(const uint8_t* from) {
    return Avx2::broadcast(reinterpret_cast<const int8_t*>(from));
  }
  static Vector add(Vector sums, Vector x, Vector y) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(x, y));
  }
};
#endif

#if defined(__AVX512BW__)
struct Avx512Shorts : Avx512 {
  static constexpr int kRows = 6;
  static Vector broadcast(const uint8_t* from) {
    return Avx512::broadcast(reinterpret_cast<const int8_t*>(from));
  }
  static Vector add(Vector sums, Vector x, Vector y) {
    return _mm512_add_epi32(sums, _mm512_madd_epi16(x, y));
  }
};

// As Avx512Vnni: inline assembly.
struct VnniShorts : Avx512Shorts {
  static Vector add(Vector sums, Vector x, Vector y) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y));
    return sums;
  }
};

struct VnniBytes : Avx512Shorts {
  static Vector broadcast(const uint8_t* from) {
    return _mm512_xor_si512(Avx512Shorts::broadcast(from), _mm512_set1_epi8(-128));
  }
  static Vector add(Vector sums, Vector x, Vector y) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(x), "v"(y));
    return sums;
  }
};
#endif

template <class Set>
inline void scan_pairs(PairTile& tile, int first_row, int first_point) {
  using Vector = typename Set::Vector;
  typedef int32_t Ints __attribute__((vector_size(sizeof(Vector))));
  constexpr int Rows = Set::kRows, Vectors = Set::kVectors, Lanes = Set::kLanes;
  static_assert(Lanes == kCodeBlock || Vectors * Lanes <= kCodeBlock);
  const int64_t stride = Lanes == kCodeBlock ? tile.groups * kGroupBytes : Lanes * kGroup;
  const uint8_t* const points =
      tile.points + first_point / kCodeBlock * tile.groups * kGroupBytes + first_point % kCodeBlock * kGroup;
  const uint8_t* rows[Rows];
  Vector sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    rows[r] = tile.rows[first_row + r];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = Set::load_sums(tile.biases + first_point + v * Lanes);
  }
  for (int64_t at = 0; at < tile.groups * kGroupBytes; at += kGroupBytes) {
    Vector x[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) x[v] = Set::load(points + v * stride + at);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const Vector y = Set::broadcast(rows[r] + at);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] = Set::add(sums[r][v], x[v], y);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    const Ints threshold = tile.row_thresholds[first_row + r] - Ints{};
    Ints excess[Vectors], largest;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const Ints of_points =
          std::bit_cast<Ints>(Set::load_sums(tile.point_thresholds + first_point + v * Lanes)) +
          tile.row_shifts[first_row + r];
      excess[v] = std::bit_cast<Ints>(sums[r][v]) - (of_points < threshold ? of_points : threshold);
      largest = v == 0 ? excess[v] : (excess[v] > largest ? excess[v] : largest);
    }
    if (__builtin_expect(Set::mask(std::bit_cast<Vector>(largest), 0) == 0, 1)) continue;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      const uint64_t mask = Set::mask(std::bit_cast<Vector>(excess[v]), 0);
      tile.hits[first_row + r] |= mask << (first_point + v * Lanes);
      Set::store(tile.sums[first_row + r] + first_point + v * Lanes, sums[r][v]);
    }
  }
}

// Computes a tile; returns whether any pair is written. Not inlined: with the code that reads the results
// next to it, compilers keep the sums in memory.
template <class Set>
[[gnu::noinline]] bool compute_tile(PairTile& tile) {
  std::fill_n(tile.hits, kPairRows, 0);
  for (int row = 0; row < kPairRows; row += Set::kRows) {
    for (int point = 0; point < kPairPoints; point += Set::kVectors * Set::kLanes) {
      scan_pairs<Set>(tile, row, point);
    }
  }
  uint64_t hits = 0;
  for (const uint64_t of_row : tile.hits) hits |= of_row;
  return hits != 0;
}

using PairFunction = bool (*)(PairTile&);

// How codes of 8 bits are multiplied; null where codes of 16 bits are as fast.
inline PairFunction byte_tiles() {
  return with_instructions([]([[maybe_unused]] auto set) -> PairFunction {
#if defined(__AVX512BW__)
    if constexpr (std::is_same_v<decltype(set), Avx512Vnni>) return &compute_tile<VnniBytes>;
#endif
    return nullptr;
  });
}

inline PairFunction short_tiles() {
  return with_instructions([]([[maybe_unused]] auto set) -> PairFunction {
    using Set = decltype(set);
#if defined(__AVX512BW__)
    if constexpr (std::is_same_v<Set, Avx512Vnni>) return &compute_tile<VnniShorts>;
    if constexpr (std::is_same_v<Set, Avx512>) return &compute_tile<Avx512Shorts>;
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<Set, Avx2>) return &compute_tile<Avx2Shorts>;
#elif defined(__x86_64__)
    if constexpr (std::is_same_v<Set, Sse>) return &compute_tile<SseShorts>;
#endif
    return &compute_tile<PlainShorts>;
  });
}

}  // namespace actup
