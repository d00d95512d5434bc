// Edge matchings: a greedy colouring of the undirected edges, so that edges of one colour share no point.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace actup {

struct Edge {
  int32_t head, tail;
};

// Edges grouped by colour: colour c has edges [offsets[c], offsets[c + 1]). The last group holds the
// overflow, the edges that found no colour; they may share points and have to be taken one after the other.
struct Matchings {
  static constexpr int kColours = 128;
  std::vector<Edge> edges;
  std::vector<float> weights;
  std::vector<int64_t> offsets;

  int colours() const { return static_cast<int>(offsets.size()) - 2; }
};

// for_each_edge(visit) calls visit(head, tail, weight) for every undirected edge, in the same order each
// time.
template <class ForEachEdge>
Matchings make_matchings(int64_t n, int64_t edges, const ForEachEdge& for_each_edge) {
  constexpr int words = Matchings::kColours / 64;
  std::vector<uint64_t> used(n * words, 0);
  std::vector<uint8_t> colour_of;
  colour_of.reserve(edges);
  std::vector<int64_t> count(Matchings::kColours + 1, 0);
  for_each_edge([&](int32_t head, int32_t tail, float) {
    uint64_t* of_head = &used[static_cast<int64_t>(head) * words];
    uint64_t* of_tail = &used[static_cast<int64_t>(tail) * words];
    int colour = Matchings::kColours;
    for (int word = 0; word < words; ++word) {
      const uint64_t free = ~(of_head[word] | of_tail[word]);
      if (free == 0) continue;
      const int bit = std::countr_zero(free);
      colour = 64 * word + bit;
      of_head[word] |= uint64_t{1} << bit;
      of_tail[word] |= uint64_t{1} << bit;
      break;
    }
    colour_of.push_back(static_cast<uint8_t>(colour));
    ++count[colour];
  });

  int colours = Matchings::kColours;
  while (colours > 0 && count[colours - 1] == 0) --colours;
  Matchings result;
  result.offsets.assign(colours + 2, 0);
  for (int c = 0; c < colours; ++c) result.offsets[c + 1] = result.offsets[c] + count[c];
  result.offsets[colours + 1] = result.offsets[colours] + count[Matchings::kColours];
  result.edges.resize(result.offsets.back());
  result.weights.resize(result.offsets.back());
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  int64_t edge = 0;
  for_each_edge([&](int32_t head, int32_t tail, float weight) {
    const int colour = colour_of[edge++];
    const int64_t place = next[colour == Matchings::kColours ? colours : colour]++;
    result.edges[place] = {head, tail};
    result.weights[place] = weight;
  });
  return result;
}

}  // namespace actup
