// Prints hashes of density clusters of points and graphs.
#include "../cluster_trees.hpp"

#include "hash.hpp"

using namespace actup;

int main() {
  for (const int dimensions : {1, 2, 3, 5, 12})
    print_hash("clusters of points", clusters_of_points(2000, dimensions, 10, 0, 1));
  print_hash("clusters of a lattice", clusters_of_points(2000, 2, 10, 0.5, 1));
  print_hash("clusters of a graph", clusters_of_graph(1000, 5, 5, 1));
}
