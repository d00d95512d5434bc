"""The layout of docs/layout.md on the GPU; its state stays on the device from the first epoch to the last."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from actup._device import on_gpu
from actup._typing import Array
from actup.backends._base import PointInputs, check_places, check_steering
from actup.backends._cpu import loss_of
from actup.backends._cuda.arrays import device_graph, host_graph, require_bytes, to_device, to_host
from actup.backends._cuda.batch import BatchEpochs
from actup.backends._cuda.in_place import InPlaceEpochs
from actup.backends._cuda.relabelled import RelabelledGraph
from actup.backends._cuda.state import STATE, LayoutState, potential_kinds, repulsion_on_gpu
from actup.backends._layout_state import StateOwner, progress_arrays, read_progress, read_state
from actup.graph._records import Graph
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Repulsion, Update

# Conservative estimates of the mesh's memory, up to and above this many points.
_SMALL_MESH_POINTS = 60_000
_SMALL_MESH_BYTES, _MESH_BYTES = 0.1e9, 0.4e9


class CudaLayout:
    """A descent on the GPU; see ``actup.backends.Layout``.

    No epoch waits for the device, so ``run`` returns before its epochs are done; whoever reads ``embedding``
    waits for them, as for every CuPy array. Graph and start are in the caller's order, each on the device or
    the host.
    """

    def __init__(
        self,
        graph: Graph,
        start: Array,
        recipe: Recipe,
        seed: int,
        threads: int,
        points: PointInputs | None = None,
    ):
        reject_unsupported(recipe)
        n = len(graph)
        inputs = (points or PointInputs()).checked(n, recipe)
        self.epoch = 0
        self.n_epochs = recipe.n_epochs(n)
        self._recipe, self._threads, self._caller_graph = recipe, threads, graph
        self._steering = 1.0, 1.0  # factors of exaggeration and repulsion
        self._owner = StateOwner("cuda", n, recipe, seed)
        self._on_device = on_gpu(graph.weights)
        require_bytes(
            _needed_bytes(graph, recipe), f"the layout of {n} points and {len(graph.weights)} edges"
        )
        in_place = recipe.update is Update.IN_PLACE
        self._graph = RelabelledGraph(
            device_graph(graph),
            to_device(start),
            seed,
            # Runs of negatives are consecutive points, which must be in random order.
            shuffled=in_place or repulsion_on_gpu(recipe, n) is Repulsion.SAMPLED,
            weakest=1 / self.n_epochs if recipe.prune and self.n_epochs else 0.0,
        )
        self._state = LayoutState(self._graph, recipe, seed, inputs.mobility)
        self._epochs = (InPlaceEpochs if in_place else BatchEpochs)(self._graph, self._state, recipe)

    def run(self, until: int) -> None:
        """Launch all epochs up to ``until``."""
        for _ in range(self.epoch, min(until, self.n_epochs)):
            self._epochs.run(self.epoch)
            self.epoch += 1

    def replace_points(self, Y: Array) -> None:
        """Continue from the places Y, (n, n_components); momentum and epoch are kept."""
        places = to_device(check_places(Y, len(self._graph), self._recipe.n_components))
        self._epochs.replace_points(places.take(self._graph.order, axis=0), self.epoch)

    def steer(self, exaggeration: float = 1.0, repulsion: float = 1.0) -> None:
        """Multiply attraction and repulsion by these factors from the next epoch on."""
        check_steering(exaggeration, repulsion)
        self._steering = exaggeration, repulsion
        self._state.steer(exaggeration, repulsion)

    def embedding(self) -> Array:
        """The current points in the caller's order: a CuPy array if the graph is one, else a NumPy array."""
        points = self._graph.in_callers_order(self._epochs.points)
        return points if self._on_device else points.get()

    def state(self) -> dict[str, np.ndarray]:
        """All that later epochs depend on, besides the inputs; on the host."""
        return self._owner.labelled({**progress_arrays(self.epoch, self._steering), **self._epochs.state()})

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a layout of the same inputs."""
        arrays = self._owner.checked(state)
        epoch, steering = read_progress(arrays, self.n_epochs)
        record = read_state(arrays, "record", self._state.state).view(STATE)
        if record["epoch"][0] != epoch:
            raise ValueError(f"state has epochs {epoch} and {record['epoch'][0]}: it was damaged")
        self._epochs.restore(arrays)
        self.epoch = epoch
        self.steer(*steering)

    def loss(self) -> float:
        """The recipe's loss at the current points, over all pairs; computed on the CPU."""
        points = to_host(self.embedding())
        return loss_of(host_graph(self._caller_graph), points, self._recipe, self._threads)


def reject_unsupported(recipe: Recipe) -> None:
    """Reject recipes that only the CPU computes."""
    if recipe.density_weight > 0:
        raise ValueError(
            f"density_weight={recipe.density_weight} is not computed on a GPU: use backend='cpu'"
        )


def _needed_bytes(graph: Graph, recipe: Recipe) -> float:
    """A conservative estimate of the layout's memory, without the graph."""
    edges = 8 * len(graph.weights)
    copies = 4 if recipe.update is Update.IN_PLACE else 1  # the edges sorted by colour, or by place
    if not on_gpu(graph.weights):
        copies += 1
    large = repulsion_on_gpu(recipe, len(graph)) is Repulsion.MESH and len(graph) > _SMALL_MESH_POINTS
    mesh = _MESH_BYTES if large else _SMALL_MESH_BYTES
    if len(potential_kinds(recipe)) == 2:
        mesh *= 1.5
    return copies * edges + len(graph) * (100 + 32 * recipe.n_components) + mesh
