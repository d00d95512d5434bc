// LayoutParts: makes a layout from parts of a graph, of which only one is in memory at a time, besides the
// layout's own copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "graph/graph_view.hpp"
#include "layout/checks.hpp"
#include "layout/layout.hpp"
#include "layout/relabelled_graph.hpp"

namespace actup {

// All parts are read three times, in the order of their rows: pass after pass, each ended by end_pass().
// Parts are checked in every pass.
class LayoutParts {
 public:
  LayoutParts(int64_t n, const float* start, int dimensions, const Settings& settings, int threads)
      : s_(settings), dimensions_(dimensions), threads_(threads) {
    check_settings(settings, dimensions);
    if (settings.in_place) throw std::invalid_argument("in-place epochs need the whole graph");
    graph_ =
        RelabelledGraph(n, layout_order(settings, n, start, dimensions, threads), weakest_edge(settings));
  }

  int64_t size() const { return graph_.size(); }
  int dimensions() const { return dimensions_; }

  // Reads the next rows: `part.n` of them, whose offsets begin at 0, with so many edges.
  void read(const GraphView& part, int64_t edges) {
    check(part, edges);
    if (pass_ == 0) graph_.compare(part, first_, threads_);
    if (pass_ == 1) graph_.measure(part, first_, threads_);
    if (pass_ == 2) graph_.copy(part, first_, rows_, threads_);
    first_ += part.n;
  }

  void end_pass() {
    if (first_ != graph_.size()) {
      throw std::invalid_argument(
          "parts of the graph have fewer rows than there are points: give all rows, in order");
    }
    if (pass_ == 0) graph_.end_comparing();
    if (pass_ == 1) {
      graph_.end_measuring();
      rows_ = graph_.empty_rows();
    }
    first_ = 0;
    ++pass_;
  }

  // After three passes, once; start and inputs are not kept.
  std::unique_ptr<Layout> finish(const float* start, const PointInputs& inputs) {
    if (pass_ != 3) throw std::invalid_argument("a layout needs three passes over the parts of its graph");
    pass_ = 0;
    return std::make_unique<Layout>(std::move(graph_), std::move(rows_), start, dimensions_, s_, threads_,
                                    inputs);
  }

 private:
  void check(const GraphView& part, int64_t edges) const {
    const int64_t n = graph_.size();
    if (part.n < 0 || first_ + part.n > n)
      throw std::invalid_argument("parts of the graph have more rows than there are points");
    check_rows(part, edges, n, "a part of the graph", threads_);
  }

  Settings s_;
  int dimensions_;
  int threads_;
  int pass_ = 0;
  int64_t first_ = 0;  // the next row
  RelabelledGraph graph_;
  EdgeRows rows_;
};

}  // namespace actup
