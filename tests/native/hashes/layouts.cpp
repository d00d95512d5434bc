// Prints hashes of graphs, starts, repulsions, layouts with every combination of switches, pinned points and
// density, and new rows.
#include "../layouts.hpp"

#include "../placements.hpp"
#include "../stages.hpp"
#include "hash.hpp"

namespace {

using namespace actup;

std::string number_of(const char* kind, int64_t number) { return kind + (" " + std::to_string(number)); }

void hash_layouts() {
  const OwnedGraph graph = hub_graph(700, 4);
  int64_t number = 0;
  const auto visit = [&](int dimensions) {
    return [&, dimensions](const Settings& settings) {
      print_hash(number_of("layout", ++number), run_layout(graph, dimensions, settings, 1));
    };
  };
  for (const int dimensions : {2, 3}) for_each_setting(visit(dimensions));
  for_each_field(visit(2));
  for_each_field([&](const Settings& settings) {
    if (settings.repulsion == Repulsion::mesh) visit(1)(settings);
    if (settings.repulsion == Repulsion::barnes_hut) visit(3)(settings);
  });
  for (const float b : {0.8f, 1.2f}) {  // other kernels, on the mesh and with heavy tails
    for_each_field([&](Settings settings) {
      settings.curve.a = 1.6f;
      settings.curve.b = b;
      if (settings.normalized) settings.curve.dof = 0.6f;
      visit(2)(settings);
    });
  }
}

void hash_point_inputs() {
  const OwnedGraph graph = hub_graph(700, 4);
  const std::vector<float> mobility = some_mobility(700), radii = random_values(700, 6, 2);
  int64_t number = 0;
  const auto hash = [&](int dimensions, const Settings& settings, const PointInputs& inputs) {
    print_hash(number_of("layout with inputs", ++number), run_layout(graph, dimensions, settings, 1, inputs));
  };
  for (const int dimensions : {2, 3}) {
    for_each_setting([&](const Settings& s) { hash(dimensions, s, {mobility.data(), nullptr}); });
    for_each_density([&](const Settings& s) { hash(dimensions, s, {nullptr, radii.data()}); });
    for_each_density([&](const Settings& s) { hash(dimensions, s, {mobility.data(), radii.data()}); });
  }
  for_each_field([&](const Settings& s) { hash(2, s, {mobility.data(), nullptr}); });
}

void hash_placements() {
  int64_t number = 0;
  for (const int64_t k : {1, 15})
    for (const int dimensions : {2, 3})
      for (const Loss loss : {Loss::kl, Loss::frobenius})
        for (const Curve curve : {Curve{1, 1, 1}, Curve{1.5f, 0.8f, 1}, Curve{1, 1, 0.5f}})
          for (const bool normalized : {false, true}) {
            if (curve.dof != 1 && !normalized) continue;
            print_hash(number_of("new rows", ++number),
                       places({500, k, dimensions, curve, loss, normalized}, 0, kNewRows, 1));
          }
}

}  // namespace

int main() {
  for (const Affinity affinity :
       {Affinity::umap, Affinity::gaussian, Affinity::fixed_sigma, Affinity::uniform}) {
    for (const int64_t n : {50, 900}) print_hash("stages", stages(n, 33, 15, Metric::euclidean, affinity, 1));
  }
  for (const int64_t n : {40, 3000}) print_hash("repulsions", repulsions(n, 1));
  hash_layouts();
  hash_point_inputs();
  hash_placements();
}
