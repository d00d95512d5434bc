"""The layout on the GPU: docs/layout.md, with its state on the device from the first epoch to the last."""

from __future__ import annotations

import numpy as np

from actup.backends.cpu import loss_of
from actup.backends.cuda.batch import BatchEpochs
from actup.backends.cuda.compile import cupy
from actup.backends.cuda.in_place import InPlaceEpochs
from actup.backends.cuda.relabelled import RelabelledGraph
from actup.backends.cuda.state import LayoutState
from actup.graph import Graph
from actup.recipe import Recipe, Repulsion, Update


class CudaLayout:
    """A descent on the GPU; see ``actup.backends.Layout``.

    Nothing in an epoch waits for the device, so ``run`` returns before its epochs are done; ``embedding`` is
    in the order of the stream, as all arrays of CuPy are.
    """

    def __init__(self, graph: Graph, start, recipe: Recipe, seed: int, threads: int):
        cp = cupy()
        self.epoch = 0
        self.n_epochs = recipe.n_epochs(len(graph))
        self._recipe, self._threads, self._caller_graph = recipe, threads, graph
        self._on_device = isinstance(graph.weights, cp.ndarray)
        repulsion = recipe.repulsion_for(len(graph))
        in_place = recipe.update is Update.IN_PLACE
        self._graph = RelabelledGraph(
            graph,
            cp.ascontiguousarray(cp.asarray(start, np.float32)),
            seed,
            shuffled=in_place or repulsion is Repulsion.SAMPLED,  # runs must be random points
            weakest=1 / self.n_epochs if recipe.prune and self.n_epochs else 0.0,
        )
        state = LayoutState(self._graph, recipe, seed)
        self._epochs = (InPlaceEpochs if in_place else BatchEpochs)(self._graph, state, recipe)

    def run(self, until: int) -> None:
        """Start all epochs up to ``until``."""
        for _ in range(self.epoch, min(until, self.n_epochs)):
            self._epochs.run(self.epoch)
            self.epoch += 1

    def embedding(self):
        """The points now, in the caller's order: a CuPy array if the graph was one, else a NumPy array."""
        points = self._graph.in_callers_order(self._epochs.points)
        return points if self._on_device else points.get()

    def loss(self) -> float:
        """The recipe's loss at the points now, over all pairs; computed on the CPU."""
        graph, points = self._caller_graph, self.embedding()
        if self._on_device:
            graph = Graph(graph.offsets.get(), graph.indices.get(), graph.weights.get())
            points = points.get()
        return loss_of(graph, points, self._recipe, self._threads)


def make_layout(graph: Graph, start, recipe: Recipe, seed: int, threads: int) -> CudaLayout:
    """The recipe's descent on a graph, from a start in the graph's order; either may be on the device."""
    return CudaLayout(graph, start, recipe, seed, threads)
