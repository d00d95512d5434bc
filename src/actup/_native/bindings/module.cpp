// The Python face of the engine. The parts convert arguments and release the interpreter lock, nothing else.
#include "bindings/arrays.hpp"

NB_MODULE(ACTUP_MODULE, module) {
  actup::bind_progress_hook(module);
  actup::bind_arithmetic(module);
  actup::bind_graph(module);
  actup::bind_neighbors(module);
  actup::bind_exact_search(module);
  actup::bind_cluster_search(module);
  actup::bind_start(module);
  actup::bind_layout(module);
  actup::bind_output_metrics(module);
  actup::bind_repulsion(module);
  actup::bind_reference_forces(module);
  actup::bind_quality(module);
  actup::bind_clusters(module);
  actup::bind_transform(module);
}
