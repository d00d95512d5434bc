// Spanning trees, hierarchies of density clusters, and representative points, for Python.
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "clusters/graph_tree.hpp"
#include "clusters/hierarchy.hpp"
#include "clusters/representatives.hpp"
#include "clusters/spanning_tree.hpp"

namespace actup {

namespace {

// Edges as arrays (first points, second points, lengths), and core distances.
nb::tuple tree_arrays(const std::vector<TreeEdge>& edges, const std::vector<double>& cores) {
  const int64_t count = static_cast<int64_t>(edges.size());
  auto a = std::make_unique_for_overwrite<int32_t[]>(count);
  auto b = std::make_unique_for_overwrite<int32_t[]>(count);
  auto lengths = std::make_unique_for_overwrite<double[]>(count);
  for (int64_t e = 0; e < count; ++e) {
    a[e] = edges[e].a;
    b[e] = edges[e].b;
    lengths[e] = edges[e].weight;
  }
  return nb::make_tuple(to_numpy(std::move(a), count), to_numpy(std::move(b), count),
                        to_numpy(std::move(lengths), count), copied(cores, cores.size()));
}

void bind_trees(nb::module_& module) {
  module.def(
      "reachability_tree",
      [](Matrix<double> Y, int64_t min_samples, int threads) {
        const int64_t n = Y.shape(0);
        std::vector<double> cores(n);
        std::vector<TreeEdge> edges;
        {
          const Interruptible call;
          edges = reachability_tree(Y.data(), n, static_cast<int>(Y.shape(1)), min_samples, threads,
                                    cores.data());
        }
        return tree_arrays(edges, cores);
      },
      nb::arg("Y"), nb::arg("min_samples"), nb::arg("threads"));
  module.def(
      "graph_tree",
      [](Vector<int64_t> offsets, Vector<int32_t> indices, Vector<float> weights, int64_t min_samples,
         int threads) {
        std::vector<double> cores(offsets.size() - 1);
        std::vector<TreeEdge> edges;
        {
          const Interruptible call;
          edges = graph_tree(view(offsets, indices, weights), min_samples, threads, cores.data());
        }
        return tree_arrays(edges, cores);
      },
      nb::arg("offsets"), nb::arg("indices"), nb::arg("weights"), nb::arg("min_samples"), nb::arg("threads"));
}

// Ranges of the leaves' order, (clusters, 2), and persistence of the clusters that are selected.
template <class Select>
nb::tuple selected_clusters(const Hierarchy& hierarchy, int64_t min_cluster_size, const Select& select) {
  std::vector<int64_t> ranges;
  std::vector<double> persistence;
  {
    const Interruptible call;
    const CondensedTree tree = hierarchy.condense(min_cluster_size);
    for (const int32_t cluster : select(tree)) {
      ranges.insert(ranges.end(), {tree.begins[cluster], tree.ends[cluster]});
      persistence.push_back(tree.persistence[cluster]);
    }
  }
  return nb::make_tuple(copied(ranges, persistence.size(), 2), copied(persistence, persistence.size()));
}

void bind_hierarchy(nb::module_& module) {
  nb::class_<Hierarchy>(module, "Hierarchy")
      .def(
          "__init__",
          [](Hierarchy* self, Vector<int32_t> a, Vector<int32_t> b, Vector<double> lengths) {
            const Interruptible call;
            new (self)
                Hierarchy(static_cast<int64_t>(lengths.size()) + 1, a.data(), b.data(), lengths.data());
          },
          nb::arg("a"), nb::arg("b"), nb::arg("lengths"))
      .def("order", [](const Hierarchy& self) { return copied(self.order(), self.size()); })
      .def(
          "clusters",
          [](const Hierarchy& self, int64_t min_cluster_size, double division) {
            return selected_clusters(self, min_cluster_size, [=](const CondensedTree& tree) {
              return select_clusters(tree, division);
            });
          },
          nb::arg("min_cluster_size"), nb::arg("division"))
      .def(
          "distinct_clusters",
          [](const Hierarchy& self, int64_t min_cluster_size, double persistence) {
            return selected_clusters(self, min_cluster_size, [=](const CondensedTree& tree) {
              return select_distinct(tree, persistence);
            });
          },
          nb::arg("min_cluster_size"), nb::arg("persistence"))
      .def(
          "spread",
          [](const Hierarchy& self, Vector<int32_t> codes) {
            std::vector<int32_t> spread(codes.data(), codes.data() + codes.size());
            {
              const Interruptible call;
              self.spread(spread.data());
            }
            return copied(spread, spread.size());
          },
          nb::arg("codes"));
}

}  // namespace

void bind_clusters(nb::module_& module) {
  bind_trees(module);
  bind_hierarchy(module);
  module.def(
      "representatives",
      [](Matrix<double> Y, Vector<int64_t> offsets, Vector<int32_t> members, int64_t wanted, int threads) {
        const int64_t clusters = static_cast<int64_t>(offsets.size()) - 1;
        auto rows = new_matrix<int32_t>(clusters, wanted);
        {
          const Interruptible call;
          representatives(
              {Y.data(), static_cast<int64_t>(Y.shape(1)), clusters, offsets.data(), members.data()}, wanted,
              threads, rows.data());
        }
        return rows;
      },
      nb::arg("Y"), nb::arg("offsets"), nb::arg("members"), nb::arg("wanted"), nb::arg("threads"));
}

}  // namespace actup
