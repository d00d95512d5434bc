"""The stages "mean", "affinity" and "symmetric": the graph of similarities, one group of rows at a time.

Given the same lists of neighbours, the graph is the one that is made in memory, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from actup._engine import engine
from actup.distributed._folder import digest
from actup.distributed._numbering import Numbering
from actup.distributed._plan import Plan
from actup.distributed._refine import lists_after, record_after, rounds_done
from actup.graph._memberships import engine_affinity
from actup.graph._records import GraphParts

Csr = tuple[np.ndarray, np.ndarray, np.ndarray]  # offsets, indices, weights


def mean(plan: Plan, threads: int) -> dict[str, Any]:
    """The mean of all distances, which rows of duplicates need; summed in the order of the rows."""
    folder = plan.folder
    rounds = rounds_done(plan)
    connected = 0
    for group in range(plan.groups):
        connected += folder.require_record(record_after(rounds, group))["connected"]
    total, lists = 0.0, lists_after(rounds)
    for group in range(plan.groups):
        total = engine.add_means(folder.read(f"{lists}/sums.{group}"), plan.rows + connected, total)
    return {"mean": total, "lists": lists}


def affinity(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """The similarities of a group's rows to their neighbours, also as edges by the group of the other end."""
    folder, recipe = plan.folder, plan.recipe
    numbering = Numbering.of(plan)
    first = int(numbering.first_ids[group])
    record = folder.require_record("mean")
    ids, distances = (folder.read(f"{record['lists']}/{kind}.{group}") for kind in ("ids", "distances"))
    weights = engine.range_affinities(
        first,
        ids,
        distances,
        plan.rows,
        engine_affinity(recipe),
        engine.Distance[recipe.distance.value],
        recipe.scales(),
        recipe.sigma or 1.0,
        recipe.subtracted_neighbor(),
        record["mean"],
        threads,
    )
    del distances
    folder.write(f"edges/own.{group}", weights)
    starts, targets, sources, values = engine.edges_by_range(
        first, ids, weights, numbering.first_ids, threads
    )
    folder.write(f"edges/starts.{group}", starts)
    folder.write(f"edges/targets.{group}", targets)
    folder.write(f"edges/sources.{group}", sources)
    folder.write(f"edges/weights.{group}", values)
    return {}


def symmetric(plan: Plan, group: int, threads: int) -> dict[str, Any]:
    """The rows of a group in the symmetric graph: their own edges merged with those that end in them."""
    folder, recipe = plan.folder, plan.recipe
    numbering = Numbering.of(plan)
    record = folder.require_record("mean")
    incoming: dict[str, list[np.ndarray]] = {"targets": [], "sources": [], "weights": []}
    for other in range(plan.groups):
        begin, end = (int(start) for start in folder.read(f"edges/starts.{other}", group, group + 2))
        for kind, pieces in incoming.items():
            pieces.append(folder.read(f"edges/{kind}.{other}", begin, end))
    targets, sources, values = (np.concatenate(incoming.pop(kind)) for kind in list(incoming))
    offsets, indices, weights = engine.symmetric_rows(
        int(numbering.first_ids[group]),
        folder.read(f"{record['lists']}/ids.{group}"),
        folder.read(f"edges/own.{group}"),
        targets,
        sources,
        values,
        engine.Symmetrization[recipe.symmetrization.value],
        recipe.union_share(),
        threads,
    )
    folder.write(f"graph/offsets.{group}", offsets)
    folder.write(f"graph/indices.{group}", indices)
    folder.write(f"graph/weights.{group}", weights)
    return {"edges": len(indices), "digest": digest(offsets, indices, weights)}


def graph_parts(plan: Plan) -> GraphParts:
    """The graph, read from its files one group at a time."""
    records = [plan.folder.record(f"symmetric-{group}") for group in range(plan.groups)]
    edges = sum(record["edges"] for record in records if record is not None)

    def read() -> Iterator[Csr]:
        for group in range(plan.groups):
            offsets, indices, weights = (
                plan.folder.read(f"graph/{kind}.{group}") for kind in ("offsets", "indices", "weights")
            )
            yield offsets, indices, weights

    return GraphParts(plan.rows, edges, read)
