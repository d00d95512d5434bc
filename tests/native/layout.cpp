// The layout under a sanitizer: every combination of switches, few and many points, the same bits at any
// number of threads and after interrupts.
#include "layout/layout.hpp"

#include <cstring>
#include <stdexcept>

#include "check.hpp"
#include "stages.hpp"

namespace {

using namespace actup;

std::vector<float> run(const OwnedGraph& graph, int dimensions, const Settings& settings, int threads) {
  const int64_t n = graph.view().n;
  const std::vector<float> start = random_values(n * dimensions, 4);
  Layout layout(graph.view(), start.data(), dimensions, settings, threads);
  layout.run(settings.n_epochs);
  std::vector<float> embedding(n * dimensions);
  layout.copy_embedding(embedding.data());
  return embedding;
}

void check(const OwnedGraph& graph, int dimensions, const Settings& settings, int threads) {
  const std::vector<float> one = run(graph, dimensions, settings, 1);
  for (const float value : one) CHECK(std::isfinite(value));
  if (threads == 1) return;
  const std::vector<float> more = run(graph, dimensions, settings, threads);
  CHECK(std::memcmp(one.data(), more.data(), one.size() * sizeof(float)) == 0);
}

// Throws at every checkpoint until `times` have been passed.
class Interrupts : public LongCall {
 public:
  explicit Interrupts(int times) : LongCall(std::chrono::milliseconds(0)), left_(times) {}

 protected:
  void look_up(double) override {
    if (left_ > 0 && --left_ % 7 == 0) throw std::runtime_error("interrupted");
  }

 private:
  int left_;
};

// A layout that is interrupted again and again, and run on, ends with the same bits.
void check_interrupted(const OwnedGraph& graph, const Settings& settings, int threads) {
  const int64_t n = graph.view().n;
  const std::vector<float> expected = run(graph, 2, settings, threads), start = random_values(n * 2, 4);
  Layout layout(graph.view(), start.data(), 2, settings, threads);
  Interrupts call(200);
  int interrupts = 0;
  while (layout.epoch() < settings.n_epochs) {
    try {
      layout.run(settings.n_epochs);
    } catch (const std::runtime_error&) {
      ++interrupts;
    }
  }
  std::vector<float> embedding(n * 2);
  layout.copy_embedding(embedding.data());
  CHECK(settings.in_place || interrupts > 3);
  CHECK(std::memcmp(expected.data(), embedding.data(), expected.size() * sizeof(float)) == 0);
}

Settings base(int n_epochs) {
  Settings s;
  s.n_epochs = n_epochs;
  s.schedule.learning_rate.assign(n_epochs, 1.0f);
  s.schedule.momentum.assign(n_epochs, 0.5f);
  s.schedule.exaggeration.assign(n_epochs, 1.0f);
  s.schedule.step_cap.assign(n_epochs, 1.0f);
  s.schedule.stiffness_floor.assign(n_epochs, 0.3f);
  s.repulsion_mass = RepulsionMass::strength;
  s.negatives = 20;
  return s;
}

template <class Visit>
void for_each_setting(const Visit& visit) {
  for (const bool in_place : {false, true})
    for (const bool normalized : {false, true})
      for (const Loss loss : {Loss::kl, Loss::frobenius})
        for (const Sampling sampling :
             {Sampling::exhaustive, Sampling::scalar, Sampling::accelerated, Sampling::unbiased})
          for (const RepulsionMass mass : {RepulsionMass::per_edge, RepulsionMass::strength}) {
            if (in_place && (normalized || mass == RepulsionMass::per_edge)) continue;
            Settings s = base(4);
            s.in_place = in_place;
            s.normalized = normalized;
            s.loss = loss;
            s.sampling = sampling;
            s.repulsion_mass = mass;
            s.symmetric_attraction = sampling == Sampling::scalar;
            s.curve.a = s.curve.b = loss == Loss::kl ? 1.0f : 0.9f;
            visit(s);
          }
}

// The repulsions by all points: every loss, method and optimiser.
template <class Visit>
void for_each_field(const Visit& visit) {
  for (const bool normalized : {false, true})
    for (const Loss loss : {Loss::kl, Loss::frobenius})
      for (const Repulsion repulsion : {Repulsion::exact, Repulsion::mesh, Repulsion::barnes_hut})
        for (const Optimizer optimizer : {Optimizer::step, Optimizer::gains, Optimizer::stiffness}) {
          Settings s = base(4);
          s.schedule.expansion_begin = 1;
          s.schedule.expansion_end = 3;
          s.normalized = normalized;
          s.loss = loss;
          s.repulsion = repulsion;
          s.optimizer = optimizer;
          visit(s);
        }
}

}  // namespace

int main() {
  for (const int64_t n : {1, 2, 3, 5, 16, 17, 100}) {
    const OwnedGraph graph = hub_graph(n, 2);
    for (const int dimensions : {1, 2, 3, 5})
      for_each_setting([&](const Settings& s) { check(graph, dimensions, s, 1); });
    for_each_field([&](const Settings& s) { check(graph, 2, s, 1); });
  }
  const OwnedGraph graph = hub_graph(1500, 4);
  for_each_setting([&](const Settings& s) { check(graph, 2, s, 4); });
  for_each_field([&](const Settings& s) { check(graph, 2, s, 4); });
  for_each_setting([&](const Settings& s) { check_interrupted(graph, s, 4); });
  for_each_field([&](const Settings& s) { check_interrupted(graph, s, 4); });
  const OwnedGraph large = hub_graph(20000, 4);  // several chunks of every matching
  for (const int dimensions : {2, 3}) {
    Settings s = base(5);
    s.sampling = Sampling::scalar;
    s.in_place = true;
    check(large, dimensions, s, 4);
    s.in_place = false;
    check(large, dimensions, s, 4);
  }
}
