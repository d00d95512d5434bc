// The layout under a sanitizer: every combination of switches, few and many points, the same bits at any
// number of threads and after interrupts.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "check.hpp"
#include "layouts.hpp"

namespace {

using namespace actup;

void check(const OwnedGraph& graph, int dimensions, const Settings& settings, int threads) {
  const std::vector<float> one = run_layout(graph, dimensions, settings, 1);
  for (const float value : one) CHECK(std::isfinite(value));
  if (threads == 1) return;
  const std::vector<float> more = run_layout(graph, dimensions, settings, threads);
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
  }
  const OwnedGraph graph = hub_graph(1500, 4);
  for_each_setting([&](const Settings& s) { check(graph, 2, s, 4); });
  for_each_field([&](const Settings& s) { check(graph, 2, s, 4); });
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
