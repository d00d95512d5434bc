// The layout under a sanitizer: every combination of switches, few and many points, the same bits at any
// number of threads, after interrupts, from parts of the graph and from a saved state.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "check.hpp"
#include "layouts.hpp"

namespace {

using namespace actup;

void check(const OwnedGraph& graph, int dimensions, const Settings& settings, int threads,
           const PointInputs& inputs = {}) {
  const std::vector<float> one = run_layout(graph, dimensions, settings, 1, inputs);
  for (const float value : one) CHECK(std::isfinite(value));
  const std::vector<float> again = run_interrupted(graph, dimensions, settings, threads, inputs);
  CHECK(std::memcmp(one.data(), again.data(), one.size() * sizeof(float)) == 0);
  if (threads == 1) return;
  const std::vector<float> more = run_layout(graph, dimensions, settings, threads, inputs);
  CHECK(std::memcmp(one.data(), more.data(), one.size() * sizeof(float)) == 0);
}

// Pinned points keep their places; with and without the density term.
void check_inputs(const OwnedGraph& graph, int dimensions, int threads) {
  const int64_t n = graph.view().n;
  const std::vector<float> mobility = some_mobility(n), radii = random_values(n, 6, 2),
                           start = random_values(n * dimensions, 4);
  const auto visit = [&](const Settings& s) {
    const PointInputs pinned{mobility.data(), radii.data()};
    const std::vector<float> places = run_layout(graph, dimensions, s, threads, pinned);
    for (int64_t i = 0; i < n; ++i)
      if (mobility[i] == 0)
        CHECK(std::memcmp(&places[i * dimensions], &start[i * dimensions], dimensions * sizeof(float)) == 0);
    check(graph, dimensions, s, threads, pinned);
    check(graph, dimensions, s, threads, {nullptr, radii.data()});
  };
  for_each_setting(visit);
  for_each_density(visit);
  if (dimensions == 2) for_each_field(visit);
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
  const std::vector<float> expected = run_layout(graph, 2, settings, threads),
                           start = random_values(n * 2, 4);
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
  CHECK(settings.in_place || threads > 1 || interrupts > 3);  // other threads may leave this one no chunk
  CHECK(std::memcmp(expected.data(), embedding.data(), expected.size() * sizeof(float)) == 0);
}

}  // namespace

int main() {
  for (const int64_t n : {1, 2, 3, 5, 16, 17, 100}) {
    const OwnedGraph graph = hub_graph(n, 2);
    for (const int dimensions : {1, 2, 3, 5})
      for_each_setting([&](const Settings& s) { check(graph, dimensions, s, 1); });
    for_each_field([&](const Settings& s) { check(graph, 2, s, 1); });
    for (const int dimensions : {1, 2, 3, 5}) check_inputs(graph, dimensions, 1);
  }
  const OwnedGraph graph = hub_graph(1500, 4);
  for_each_setting([&](const Settings& s) { check(graph, 2, s, 4); });
  for_each_field([&](const Settings& s) { check(graph, 2, s, 4); });
  check_inputs(graph, 2, 4);
  for (const int threads : {1, 4}) {
    for_each_setting([&](const Settings& s) { check_interrupted(graph, s, threads); });
    for_each_field([&](const Settings& s) { check_interrupted(graph, s, threads); });
  }
  const OwnedGraph large = hub_graph(20000, 4);  // several chunks of every matching
  for (const int dimensions : {2, 3}) {
    Settings s = base_settings(5);
    s.sampling = Sampling::scalar;
    s.in_place = true;
    check(large, dimensions, s, 4);
    s.in_place = false;
    check(large, dimensions, s, 4);
  }
}
