// Fuzzes layouts: all switches, meshes, trees, matchings, pinned points, densities, states and parts.
#include "../layouts.hpp"
#include "fuzzed.hpp"

using namespace actup;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Fuzzed fuzzed(data, size);
  Settings s = base_settings(static_cast<int>(fuzzed.number(1, 4)));
  const int64_t n = fuzzed.number(1, 60);
  const int dimensions = static_cast<int>(fuzzed.number(1, 5));
  s.in_place = fuzzed.flip();
  s.normalized = !s.in_place && fuzzed.flip();
  s.loss = fuzzed.one_of<Loss>(2);
  s.sampling = fuzzed.one_of<Sampling>(4);
  s.repulsion = s.in_place ? fuzzed.one_of<Repulsion>(2) : fuzzed.one_of<Repulsion>(4);
  if ((s.repulsion == Repulsion::mesh && dimensions > 2) ||
      (s.repulsion == Repulsion::barnes_hut && dimensions > 3))
    s.repulsion = Repulsion::exact;
  s.repulsion_mass = fuzzed.one_of<RepulsionMass>(3);
  if (s.in_place || s.repulsion != Repulsion::sampled) s.repulsion_mass = RepulsionMass::strength;
  s.optimizer = s.in_place ? Optimizer::step : fuzzed.one_of<Optimizer>(3);
  s.negatives = fuzzed.number(1, 40);
  s.symmetric_attraction = fuzzed.flip();
  s.prune = fuzzed.flip();
  s.curve = {fuzzed.positive(), fuzzed.flip() ? 1.0f : 0.5f + fuzzed.positive() / 16, 1};
  s.mesh_spacing = fuzzed.positive();
  s.theta = fuzzed.positive() / 16;
  s.horizon = s.in_place && fuzzed.flip() ? fuzzed.positive() : 0;
  s.repulsion_rate = fuzzed.positive();
  s.schedule.learning_rate.assign(s.n_epochs, fuzzed.positive());
  s.schedule.step_cap.assign(s.n_epochs, fuzzed.positive());
  const OwnedGraph graph = fuzzed_graph(fuzzed, n);
  const std::vector<float> start = fuzzed.many(n * dimensions, [&] { return fuzzed.moderate(); });
  std::vector<float> mobility(n), radii = fuzzed.moderates(n), places(n * dimensions);
  for (float& part : mobility) part = static_cast<float>(fuzzed.number(0, 4)) / 4;
  const bool dense = !s.in_place && !s.normalized && s.loss == Loss::kl && fuzzed.flip();
  if (dense) s.density_weight = 2, s.density_shift = 0.1f;
  const PointInputs inputs{fuzzed.flip() ? mobility.data() : nullptr, dense ? radii.data() : nullptr};
  Layout layout(graph.view(), start.data(), dimensions, s, 1, inputs);
  layout.run(s.n_epochs);
  layout.copy_embedding(places.data());
  run_interrupted(graph, dimensions, s, 1, inputs);
  return 0;
}
