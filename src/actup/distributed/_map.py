"""The stages "layout" and "deliver": the map of all points, and its rows in the order of the source."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._pipeline import EpochSlices, finite_places
from actup.backends import Backend, choose_backend, load_backend
from actup.distributed._disc import explained_full_disc
from actup.distributed._folder import digest
from actup.distributed._graph import graph_parts
from actup.distributed._numbering import Numbering, read_group
from actup.distributed._plan import Plan
from actup.distributed._sinks import Sink
from actup.progress import Progress
from actup.recipe._switches import Initialization
from actup.start._coordinates import scale_start
from actup.start._landmarks import LANDMARK_MIN_POINTS
from actup.start._start import landmark_places, make_start

_SAVE_SECONDS = 60.0  # between two saved states of the layout, from which a later call goes on


def layout(plan: Plan, threads: int, report: Callable[[float], None] | None = None) -> dict[str, Any]:
    """Make the map of all points, in the order of their ids; goes on from a saved state if there is one.

    Parameters
    ----------
    plan : Plan
    threads : int
    report : callable or None
        Called with the share of the epochs that are done.
    """
    folder = plan.folder
    backend = load_backend(choose_backend(plan.backend, None, plan.rows))
    Y, used = _start(plan, threads, backend)
    graph = graph_parts(plan)
    descent = backend.make_layout(graph, Y, plan.recipe, plan.seed, threads)
    del Y
    saved = folder.read_state(_state_name(backend))
    if saved is not None:
        descent.restore(saved)
        del saved
    last = time.monotonic()
    slices = EpochSlices(descent, Progress())
    while slices.run_next():
        if report is not None:
            report(descent.epoch / descent.n_epochs)
        if time.monotonic() - last >= _SAVE_SECONDS and descent.epoch < descent.n_epochs:
            folder.write_state(_state_name(backend), descent.state())
            last = time.monotonic()
    places = finite_places(descent, plan.recipe)
    folder.write("points", places)
    return {
        "epochs": descent.n_epochs,
        "edges": graph.edges,
        "init": used,
        "backend": backend.name,
        "digest": digest(places),
    }


def _state_name(backend: Backend) -> str:
    """The states of different backends are different files: they cannot go on from each other's."""
    return f"layout-{backend.name}"


def _start(plan: Plan, threads: int, backend: Backend) -> tuple[np.ndarray, str]:
    """The first places of all points, in the order of their ids, and how they were found."""
    recipe, seed = plan.recipe, plan.seed
    kind = recipe.initialization
    if kind is Initialization.SPECTRAL and plan.rows <= LANDMARK_MIN_POINTS:
        cpu = load_backend("cpu")
        return make_start(None, graph_parts(plan).joined(), recipe, None, seed, threads, cpu)
    used = str(kind)
    if kind is Initialization.SPECTRAL:
        centers = plan.folder.read("cells/centers")
        cpu = load_backend("cpu")
        places, reach = landmark_places(centers, recipe, seed, threads, cpu)
        Y = cpu.scatter_around(places, _home_cells(plan), reach, seed, threads)
        used = f"{kind} (of a map of {len(centers)} cells)"
    elif kind is Initialization.PCA:
        numbering = Numbering.of(plan)
        Y = np.concatenate([read_group(plan, numbering, "scores", group) for group in range(plan.groups)])
        used = f"{kind} (axes of a sample)"
    else:
        Y = backend.random_start(plan.rows, recipe.n_components, seed)
    return scale_start(Y, recipe.start_extent, recipe.start_size, seed), used


def _home_cells(plan: Plan) -> np.ndarray:
    """The nearest cell of every point, in the order of ids."""
    numbering = Numbering.of(plan)
    cells = np.empty(plan.rows, np.int32)
    for group in range(plan.groups):
        begin, end = numbering.first_ids[group], numbering.first_ids[group + 1]
        cells[begin:end] = read_group(plan, numbering, "near", group)[:, 0]
    return cells


@dataclass(frozen=True)
class Delivery:
    """A finished map and where it goes."""

    plan: Plan
    sink: Sink


def deliver(delivery: Delivery, shard: int) -> None:
    """Write a shard's part of the map to the sink, in the order of the source."""
    with explained_full_disc(places_written(delivery)):
        _deliver(delivery.plan, delivery.sink, shard)


def places_written(delivery: Delivery) -> str:
    """Where a delivery writes, for errors: parts wait in the work folder or beside the map."""
    target, work = delivery.sink.local_target, f"work={delivery.plan.work!r}"
    return work if target is None else f"{work} or out={target!r}"


def _deliver(plan: Plan, sink: Sink, shard: int) -> None:
    numbering = Numbering.of(plan)
    rows = np.empty((plan.source.shards[shard].rows, plan.recipe.n_components), np.float32)
    for number in plan.blocks_of(shard):
        block = plan.blocks[number]
        ids, counts = numbering.piece_ids[number], numbering.counts[number]
        pieces = [
            plan.folder.read("points", first, first + count)
            for first, count in zip(ids, counts, strict=True)
            if count
        ]
        order = plan.folder.read(f"order/{number}")
        rows[block.begin : block.begin + block.rows][order] = np.concatenate(pieces)
    sink.write(shard, rows, plan.source.ids(shard))
