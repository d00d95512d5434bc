// Reads inputs from fuzzed bytes, within what Python promises to the engine: counts that fit, finite values.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "../inputs.hpp"

namespace actup {

// After the last byte, all numbers are the lowest ones.
class Fuzzed {
 public:
  Fuzzed(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return empty() ? 0 : data_[at_++]; }

  // A number from `low` to `high`.
  int64_t number(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high - low) + 1;
    uint64_t bits = byte();
    if (range > 256) bits |= static_cast<uint64_t>(byte()) << 8;
    return low + static_cast<int64_t>(bits % range);
  }

  template <class Enum>
  Enum one_of(int64_t count) {
    return static_cast<Enum>(number(0, count - 1));
  }

  bool flip() { return byte() & 1; }

  // Mostly small values, many of them equal; seldom any finite float.
  float value() {
    const uint8_t kind = byte();
    if (kind < 250) return static_cast<float>(kind % 50 - 25) * (kind % 3 ? 1.0f : 0.37f);
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) bits = bits << 8 | byte();
    float any;
    std::memcpy(&any, &bits, sizeof any);
    return any - any == 0 ? any : 0.0f;  // neither infinite nor NaN
  }

  // As value(), without the extremes that only a search must stand.
  float moderate() { return static_cast<float>(byte() % 100 - 50) * 0.25f; }

  // From 2^-7 to 2^8.
  float positive() { return static_cast<float>(1 + byte() % 32) * (byte() & 1 ? 8.0f : 1.0f / 128); }

  template <class Draw>
  std::vector<float> many(int64_t count, const Draw& draw) {
    std::vector<float> all(count);
    for (float& one : all) one = draw();
    return all;
  }
  std::vector<float> values(int64_t count) {
    return many(count, [&] { return value(); });
  }
  std::vector<float> moderates(int64_t count) {
    return many(count, [&] { return moderate(); });
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

// A symmetric graph of n points with ascending ids, without self loops; points may have no edge.
inline OwnedGraph fuzzed_graph(Fuzzed& fuzzed, int64_t n) {
  std::vector<std::map<int32_t, float>> rows(n);
  const int64_t edges = fuzzed.number(0, 4 * n);
  for (int64_t edge = 0; edge < edges; ++edge) {
    const int64_t i = fuzzed.number(0, n - 1), j = fuzzed.number(0, n - 1);
    const float weight = fuzzed.positive();
    if (i == j) continue;
    rows[i][static_cast<int32_t>(j)] = weight;
    rows[j][static_cast<int32_t>(i)] = weight;
  }
  return graph_of(rows);
}

}  // namespace actup
