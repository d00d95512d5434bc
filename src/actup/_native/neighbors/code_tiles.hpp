// Scores of queries against packed points: tiles of integer dot products, for each instruction set.
//
// Points are packed in blocks of kCodeBlock; a block holds, group after group, kGroup codes of each of its
// points. A query is a row of signed codes. The points' codes are stored with an offset that makes them
// positive, because the instructions multiply unsigned by signed bytes; this raises all scores of a query by
// the same amount: score = offset * (sum of the query's codes) + query . point + bias of the point.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/processor.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace actup {

constexpr int64_t kCodeBlock = 16;
constexpr int kGroup = 4;

// The largest code. Most instruction sets add two groups' products of a pair of codes in 16 bits, which 7-bit
// codes do not overflow. Those that could take larger codes use the same, so that all find the same
// neighbours.
constexpr int kMaxCode = 63;

// An instruction set has: Vector, kLanes int32 sums; kQueries and kVectors, the tile's size, which should
// fill the registers; load() of the codes of kLanes points; broadcast() of a query's kGroup codes; add() of
// the products of kGroups groups (1 or 2); and mask() of the lanes that reach a threshold.

// Any little-endian processor.
struct PlainCodes {
  typedef int32_t Vector __attribute__((vector_size(16)));
  typedef int16_t Shorts __attribute__((vector_size(16)));
  static constexpr int kLanes = 4, kQueries = 2, kVectors = 4, kGroups = 2;

  // Bytes 0 and 2 of each group, and bytes 1 and 3.
  struct Halves {
    Shorts even, odd;
  };
  static Halves load(const uint8_t* from) {
    Shorts bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    return {bytes & 0xFF, bytes >> 8};  // no byte has its top bit set
  }
  static Halves broadcast(const int8_t* from) {
    const auto even =
        static_cast<int32_t>(static_cast<uint16_t>(from[0]) | static_cast<uint32_t>(from[2]) << 16);
    const auto odd =
        static_cast<int32_t>(static_cast<uint16_t>(from[1]) | static_cast<uint32_t>(from[3]) << 16);
    return {std::bit_cast<Shorts>(even - Vector{}), std::bit_cast<Shorts>(odd - Vector{})};
  }
  static Vector add(Vector sums, const Halves* x, const Halves* y) {
    const Shorts products =
        x[0].even * y[0].even + x[0].odd * y[0].odd + x[1].even * y[1].even + x[1].odd * y[1].odd;
    const auto pairs = std::bit_cast<Vector>(products);
    return sums + ((pairs << 16 >> 16) + (pairs >> 16));
  }
  static Vector load_sums(const int32_t* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(int32_t* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  static uint32_t mask(Vector v, int32_t threshold) {
    uint32_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) bits |= static_cast<uint32_t>(v[lane] >= threshold) << lane;
    return bits;
  }
};

#if defined(__x86_64__)
// pmaddubsw adds neighbouring products in 16 bits.
struct Sse {
  using Vector = __m128i;
  static constexpr int kLanes = 4, kQueries = 3, kVectors = 2, kGroups = 2;

  static Vector load(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const Vector*>(from)); }
  static Vector broadcast(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm_set1_epi32(four);
  }
  static Vector add(Vector sums, const Vector* x, const Vector* y) {
    const Vector products = _mm_add_epi16(_mm_maddubs_epi16(x[0], y[0]), _mm_maddubs_epi16(x[1], y[1]));
    return _mm_add_epi32(sums, _mm_madd_epi16(products, _mm_set1_epi16(1)));
  }
  static Vector load_sums(const int32_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const Vector*>(from));
  }
  static void store(int32_t* to, Vector v) { _mm_storeu_si128(reinterpret_cast<Vector*>(to), v); }
  static uint32_t mask(Vector v, int32_t threshold) {
    return _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(v, _mm_set1_epi32(threshold - 1))));
  }
};
#endif

#if defined(__AVX2__)
struct Avx2 {
  using Vector = __m256i;
  static constexpr int kLanes = 8, kQueries = 3, kVectors = 2, kGroups = 2;

  static Vector load(const uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const Vector*>(from));
  }
  static Vector broadcast(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm256_set1_epi32(four);
  }
  static Vector add(Vector sums, const Vector* x, const Vector* y) {
    const Vector products =
        _mm256_add_epi16(_mm256_maddubs_epi16(x[0], y[0]), _mm256_maddubs_epi16(x[1], y[1]));
    return _mm256_add_epi32(sums, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
  }
  static Vector load_sums(const int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const Vector*>(from));
  }
  static void store(int32_t* to, Vector v) { _mm256_storeu_si256(reinterpret_cast<Vector*>(to), v); }
  static uint32_t mask(Vector v, int32_t threshold) {
    return _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(v, _mm256_set1_epi32(threshold - 1))));
  }
};
#endif

#if defined(__AVX512BW__)
struct Avx512 {
  using Vector = __m512i;
  static constexpr int kLanes = 16, kQueries = 4, kVectors = 4, kGroups = 2;

  static Vector load(const uint8_t* from) { return _mm512_loadu_si512(from); }
  static Vector broadcast(const int8_t* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm512_set1_epi32(four);
  }
  static Vector add(Vector sums, const Vector* x, const Vector* y) {
    const Vector products =
        _mm512_add_epi16(_mm512_maddubs_epi16(x[0], y[0]), _mm512_maddubs_epi16(x[1], y[1]));
    return _mm512_add_epi32(sums, _mm512_madd_epi16(products, _mm512_set1_epi16(1)));
  }
  static Vector load_sums(const int32_t* from) { return _mm512_loadu_si512(from); }
  static void store(int32_t* to, Vector v) { _mm512_storeu_si512(to, v); }
  static uint32_t mask(Vector v, int32_t threshold) {
    return _mm512_cmpge_epi32_mask(v, _mm512_set1_epi32(threshold));
  }
};

// Adds products of bytes directly to int32 sums. Inline assembly, because some compilers copy a register for
// each intrinsic, and because this module is also compiled for processors without the instruction.
struct Avx512Vnni : Avx512 {
  static constexpr int kQueries = 6, kGroups = 1;

  static Vector add(Vector sums, const Vector* x, const Vector* y) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(*x), "v"(*y));
    return sums;
  }
};
#endif

// Whether the environment variable ACTUP_CPU requests instructions that all processors have: "plain" is level
// v2 with PlainCodes, "v4-without-vnni" is level v4 with Avx512. For tests.
inline bool is_requested(const char* instructions) {
  const char* const level = std::getenv("ACTUP_CPU");
  return level && std::strcmp(level, instructions) == 0;
}

// Calls function(instruction set) with the best one that this processor has.
template <class Function>
inline auto with_instructions(const Function& function) {
#if !defined(__x86_64__)
  return function(PlainCodes{});
#elif defined(__AVX512BW__)
  static const bool use_vnni = has_avx512_vnni() && !is_requested("v4-without-vnni");
  if (use_vnni) return function(Avx512Vnni{});
  return function(Avx512{});
#elif defined(__AVX2__)
  return function(Avx2{});
#else
  static const bool use_plain_codes = is_requested("plain");
  if (use_plain_codes) return function(PlainCodes{});
  return function(Sse{});
#endif
}

// Consecutive blocks. `groups` is even.
struct CodeBlocks {
  const uint8_t* codes;
  const int32_t* biases;
  int64_t points;  // a multiple of kCodeBlock
  int64_t groups;
};

// Scores one tile; calls visit(query, first point, mask of lanes, scores) where scores reach the threshold.
template <class Set, int Queries, int Vectors, class Visit>
inline void scan_tile(const CodeBlocks& blocks, int64_t first, const int8_t* const* queries,
                      const int32_t* thresholds, const Visit& visit) {
  using Vector = typename Set::Vector;
  constexpr int64_t group_bytes = kCodeBlock * kGroup;
  // A tile lies within one block, or each of its vectors is a whole block.
  static_assert(Set::kLanes == kCodeBlock || (Set::kVectors * Set::kLanes <= kCodeBlock));
  const auto start = static_cast<uint64_t>(first);
  const uint8_t* const codes = blocks.codes +
                               start / kCodeBlock * static_cast<uint64_t>(blocks.groups) * group_bytes +
                               start % kCodeBlock * kGroup;
  const int64_t stride = Set::kLanes == kCodeBlock ? blocks.groups * group_bytes : Set::kLanes * kGroup;
  Vector sums[Queries][Vectors];
  const int8_t* rows[Queries];
#pragma GCC unroll 8
  for (int q = 0; q < Queries; ++q) {
    rows[q] = queries[q];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[q][v] = Set::load_sums(blocks.biases + start + v * Set::kLanes);
  }
  constexpr int step = Set::kGroups;
  for (int64_t group = 0; group < blocks.groups; group += step) {
    decltype(Set::load(nullptr)) x[Vectors][step];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
#pragma GCC unroll 2
      for (int s = 0; s < step; ++s) x[v][s] = Set::load(codes + v * stride + (group + s) * group_bytes);
    }
#pragma GCC unroll 8
    for (int q = 0; q < Queries; ++q) {
      decltype(Set::broadcast(nullptr)) y[step];
#pragma GCC unroll 2
      for (int s = 0; s < step; ++s) y[s] = Set::broadcast(rows[q] + (group + s) * kGroup);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[q][v] = Set::add(sums[q][v], x[v], y);
    }
  }
#pragma GCC unroll 8
  for (int q = 0; q < Queries; ++q) {
    uint32_t masks[Vectors], any = 0;
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) any |= masks[v] = Set::mask(sums[q][v], thresholds[q]);
    if (__builtin_expect(any == 0, 1)) continue;
    for (int v = 0; v < Vectors; ++v) {
      if (!masks[v]) continue;
      int32_t scores[Set::kLanes];
      Set::store(scores, sums[q][v]);
      visit(q, first + v * Set::kLanes, masks[v], scores);
    }
  }
}

template <class Set, int Queries, int Vectors, class Visit>
inline void scan_rest(const CodeBlocks& blocks, int64_t first, const int8_t* const* queries,
                      const int32_t* thresholds, const Visit& visit) {
  if constexpr (Vectors > 0) {
    if ((blocks.points - first) / Set::kLanes == Vectors) {
      return scan_tile<Set, Queries, Vectors>(blocks, first, queries, thresholds, visit);
    }
    scan_rest<Set, Queries, Vectors - 1>(blocks, first, queries, thresholds, visit);
  }
}

template <class Set, int Queries, class Visit>
__attribute__((noinline)) void scan_queries(const CodeBlocks& blocks, const int8_t* const* queries,
                                            const int32_t* thresholds, const Visit& visit) {
  constexpr int64_t step = Set::kVectors * Set::kLanes;
  int64_t first = 0;
  for (; first + step <= blocks.points; first += step) {
    scan_tile<Set, Queries, Set::kVectors>(blocks, first, queries, thresholds, visit);
  }
  scan_rest<Set, Queries, Set::kVectors - 1>(blocks, first, queries, thresholds, visit);
}

// Scans queries from `begin` on, `Queries` at a time while there are enough, then half as many, and so on.
template <class Set, int Queries, class Visit>
inline void scan_from(int64_t begin, const CodeBlocks& blocks, const int8_t* const* queries,
                      const int32_t* thresholds, int64_t count, const Visit& visit) {
  for (; begin + Queries <= count; begin += Queries) {
    scan_queries<Set, Queries>(blocks, queries + begin, thresholds + begin,
                               [&](int q, auto... rest) { visit(begin + q, rest...); });
  }
  if constexpr (Queries > 1) scan_from<Set, Queries / 2>(begin, blocks, queries, thresholds, count, visit);
}

// Scores all points for all queries; calls visit(query, first point, mask, scores) where scores reach the
// query's threshold, which visit() may raise.
template <class Set, class Visit>
inline void scan(const CodeBlocks& blocks, const int8_t* const* queries, const int32_t* thresholds,
                 int64_t count, const Visit& visit) {
  scan_from<Set, Set::kQueries>(0, blocks, queries, thresholds, count, visit);
}

}  // namespace actup
