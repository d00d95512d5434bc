"""The slices of AlignedUMAP: their runs, the relations between them, and how related points attract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from actup._cached_property import cached_property
from actup._csr import entry_rows
from actup._elementary import exp
from actup._pipeline import Embedding
from actup._typing import CsrMatrix
from actup.estimators._state import FittedState
from actup.estimators._umap import UMAP
from actup.graph._records import Graph
from actup.start._known_places import fill_places


@dataclass
class Slice:
    """A slice: its model, its run, and where its points are."""

    mapper: UMAP
    graph: Graph
    places: np.ndarray
    run: Embedding | None = None
    state: FittedState | None = None
    learning_rates: np.ndarray | None = None

    @classmethod
    def of(cls, mapper: UMAP, run: Embedding, state: FittedState) -> Slice:
        """A slice whose run is prepared up to the layout."""
        learning_rates = run.recipe.schedule(len(run.graph)).learning_rate
        return cls(mapper, run.graph, run.embedding, run, state, learning_rates)

    @classmethod
    def of_model(cls, mapper: UMAP) -> Slice:
        """A slice that has been fitted before."""
        return cls(mapper, Graph.from_scipy(mapper.graph_), mapper.embedding_)

    @property
    def layout(self) -> Any:
        assert self.run is not None
        return self.run.layout

    @cached_property
    def pulls(self) -> np.ndarray:
        """How many steps each point makes in an epoch of umap-learn, on average.

        Each edge that acts moves both of its ends, then its first end for every negative sample; the graph
        has it in both directions. umap-learn draws related points together in each of these steps.
        """
        row_of = entry_rows(self.graph.offsets)
        largest = float(self.graph.weights.max(initial=0)) or 1.0
        shares = self.graph.weights.astype(np.float64) / largest
        steps_per_edge = 2 + self.mapper.negative_sample_rate
        return np.asarray(steps_per_edge * np.bincount(row_of, shares, minlength=len(self.graph)))

    def learning_rate(self, epoch: int) -> float:
        """The factor of all steps of an epoch."""
        assert self.learning_rates is not None
        return float(self.learning_rates[epoch])

    def finish(self) -> None:
        """Give the model what its run has reached."""
        if self.run is None or self.state is None:
            return
        reached = replace(self.run, embedding=self.places, n_epochs=self.layout.epoch)
        self.state.advanced_to(reached).replace_state_of(self.mapper)


@dataclass(frozen=True)
class Link:
    """Which points of one slice are related to points of another, and how strongly each pair attracts."""

    other: int
    own_ids: np.ndarray
    other_ids: np.ndarray
    weights: np.ndarray


def read_slices(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """The rows and the labels, or None, of each slice."""
    if not isinstance(X, list | tuple) and getattr(X, "ndim", 0) != 3:
        raise TypeError(f"X is a {type(X).__name__}: give a list of slices, each an array of rows")
    if len(X) == 0:
        raise ValueError("X is empty: give at least one slice")
    if y is not None and len(y) != len(X):
        raise ValueError(f"y has labels of {len(y)} slices, X has {len(X)} slices")
    return list(zip(X, [None] * len(X) if y is None else y, strict=True))


def read_relation(relation: Any, number: int, slices: list[Slice]) -> np.ndarray:
    """Pairs (number in the slice, number in the next slice), (m, 2) int64, checked."""
    name = f"relations[{number}]"
    pairs = list(relation.items()) if isinstance(relation, Mapping) else relation
    pairs = np.asarray(pairs if len(pairs) else np.zeros((0, 2), np.int64))
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must be a dict {{number: number in the next slice}}, or an array of such pairs of shape "
            "(m, 2)"
        )
    for side, slice_number in enumerate((number, number + 1)):
        ids, n = pairs[:, side], len(slices[slice_number].places)
        if len(ids) and not 0 <= ids.min() <= ids.max() < n:
            raise ValueError(
                f"{name} has samples {ids.min()} to {ids.max()} of slice {slice_number}, whose samples are "
                f"numbered 0 to {n - 1}"
            )
        if len(np.unique(ids)) < len(ids):
            raise ValueError(f"{name} names a sample of slice {slice_number} twice: relate it to one sample")
    return pairs.astype(np.int64)


def align_starts(slices: list[Slice], links: list[np.ndarray], first: int = 1) -> None:
    """Start each slice where its related points start in the slice before; others among their neighbours."""
    for number in range(max(first, 1), len(slices)):
        before, part, link = slices[number - 1], slices[number], links[number - 1]
        places = np.full(part.places.shape, np.nan)
        places[link[:, 1]] = before.places[link[:, 0]]
        if len(link):
            seed = 0 if part.state is None else part.state.seed_
            part.places = fill_places(part.graph, places, seed).astype(np.float32)
        part.layout.replace_points(part.places)


def link_windows(slices: list[Slice], links: list[np.ndarray], window: int) -> list[list[Link]]:
    """For each slice its links to the slices at most ``window`` before and after it."""
    windows: list[list[Link]] = [[] for _ in slices]
    for number in range(len(slices)):
        chain = np.arange(len(slices[number].places))  # the related point of each point, or -1
        for other in range(number + 1, min(len(slices), number + window + 1)):
            following = np.full(len(slices[other - 1].places), -1)
            following[links[other - 1][:, 0]] = links[other - 1][:, 1]
            chain = np.where(chain >= 0, following[chain], -1)
            own = np.flatnonzero(chain >= 0)
            fading = float(exp(1.0 - (other - number)))
            weights = fading * _shared_neighbors(slices[number].graph, slices[other].graph, chain)
            windows[number].append(Link(other, own, chain[own], weights))
            windows[other].append(Link(number, chain[own], own, weights))
    return windows


def _shared_neighbors(graph: Graph, other: Graph, chain: np.ndarray) -> np.ndarray:
    """The share of the neighbours of each related pair that are related too: Jaccard's index."""
    own = np.flatnonzero(chain >= 0)
    here = _is_neighbor(graph)[own][:, own]
    there = _is_neighbor(other)[chain[own]][:, chain[own]]
    shared = np.diff(here.multiply(there).tocsr().indptr)
    either = np.diff(here.indptr) + np.diff(there.indptr) - shared
    return np.where(either > 0, shared / np.maximum(either, 1), 1.0)


def _is_neighbor(graph: Graph) -> CsrMatrix:
    ones = np.ones(len(graph.indices), np.int8)
    return sparse.csr_matrix((ones, graph.indices, graph.offsets), shape=(len(graph), len(graph)))


def draw_together(
    slices: list[Slice], places: list[np.ndarray], number: int, links: list[Link], strength: float
) -> np.ndarray:
    """The places of a slice, each moved towards the mean of its related points; ``places`` are of all slices.

    A point moves by the share s/(1 + s) of the way, where s is the strength times the sum of its relations'
    weights times the number of steps that it makes per epoch. The strength includes the learning rate of the
    epoch, as the steps of the layout do: were it constant, relations would outweigh neighbours at the end.
    """
    own = places[number]
    sums, weights = np.zeros(own.shape), np.zeros(len(own))
    for link in links:
        sums[link.own_ids] += link.weights[:, None] * places[link.other][link.other_ids]
        weights[link.own_ids] += link.weights
    shares = strength * weights * slices[number].pulls
    shares = shares / (1 + shares)
    means = sums / np.where(weights > 0, weights, 1)[:, None]
    moved = own + shares[:, None] * np.where(weights[:, None] > 0, means - own, 0)
    return np.asarray(moved, np.float32)
