"""Layers of clusters: ranges of the hierarchy's leaves, chosen for several sizes so that they nest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actup._engine import engine

LEAVES = -1.0  # divides every cluster that holds others
SIZE_FACTOR = 4  # between the least cluster sizes of neighbouring layers
_USUAL_STEPS = 2  # layers on either side of the main one, if their number is not given
_MIN_FINE_SIZE = 10  # points; finer layers are left out
# Clusters of finer layers must be this persistent; fluctuations of uniform points stay below it.
_DISTINCT_PERSISTENCE = 0.1


@dataclass(frozen=True, order=True)
class Part:
    """A cluster as a range of the leaves' order; two of them nest or have no point in common."""

    begin: int
    end: int
    persistence: float

    def holds(self, other: Part) -> bool:
        """Whether the other part lies strictly inside this one."""
        return self.begin <= other.begin and other.end <= self.end and not self.same(other)

    def same(self, other: Part) -> bool:
        return self.begin == other.begin and self.end == other.end


@dataclass(frozen=True)
class LayerParts:
    """The clusters of a layer, in the order of the leaves, and the least size that was asked for."""

    parts: list[Part]
    min_cluster_size: int


def choose_layers(
    hierarchy: engine.Hierarchy,
    n: int,
    main_size: int,
    n_layers: int | None,
    *,
    finer: bool,
    division: float,
) -> tuple[list[LayerParts], int]:
    """Choose the main layer and layers around it, coarse to fine.

    Parameters
    ----------
    hierarchy : engine.Hierarchy
    n : int
        Number of points.
    main_size : int
        The least size of clusters of the main layer.
    n_layers : int or None
        At most this many layers, those next to the main one.
    finer : bool
        Whether there may be layers of smaller clusters than the main one's.
    division : float
        A cluster of the main layer is divided if the clusters inside it hold more than this share of its
        stability: 1 is the excess of mass, ``LEAVES`` always divides.

    Returns
    -------
    layers : list of LayerParts
    main : int
        The number of the main layer.
    """
    steps = _USUAL_STEPS if n_layers is None else n_layers - 1
    main = LayerParts(_select(hierarchy, main_size, division), main_size)
    coarse = _coarser_layers(hierarchy, n, main, steps, division)
    fine = _finer_layers(hierarchy, main, steps) if finer else []
    most = n_layers if n_layers is not None else 2 * _USUAL_STEPS + 1
    while 1 + len(coarse) + len(fine) > most:
        (coarse if len(coarse) >= len(fine) else fine).pop()
    return [*reversed(coarse), main, *fine], len(coarse)


def _coarser_layers(
    hierarchy: engine.Hierarchy, n: int, main: LayerParts, steps: int, division: float
) -> list[LayerParts]:
    """Layers of larger clusters, the next one first; each cluster below lies inside one, or outside all."""
    found: list[LayerParts] = []
    below, size = main, main.min_cluster_size
    while len(found) < steps and 2 * SIZE_FACTOR * size <= n:
        size *= SIZE_FACTOR
        parts = nest(below.parts, _select(hierarchy, size, division))
        if len(parts) < 2:
            break
        if len(parts) < len(below.parts):
            below = LayerParts(parts, size)
            found.append(below)
    return found


def _finer_layers(hierarchy: engine.Hierarchy, main: LayerParts, steps: int) -> list[LayerParts]:
    """Layers of smaller clusters, the next one first, inside those above, where they are distinct."""
    found: list[LayerParts] = []
    above, size = main, main.min_cluster_size
    while len(found) < steps and size // SIZE_FACTOR >= _MIN_FINE_SIZE:
        size //= SIZE_FACTOR
        distinct = _parts(hierarchy.distinct_clusters(size, _DISTINCT_PERSISTENCE))
        parts = nest(distinct, above.parts, finer_wins=False)
        if len(parts) > len(above.parts):
            above = LayerParts(parts, size)
            found.append(above)
    return found


def _select(hierarchy: engine.Hierarchy, size: int, division: float) -> list[Part]:
    return _parts(hierarchy.clusters(size, division))


def _parts(found: tuple[np.ndarray, np.ndarray]) -> list[Part]:
    ranges, persistence = found
    pairs = zip(ranges.tolist(), persistence.tolist(), strict=True)
    return sorted(Part(begin, end, value) for (begin, end), value in pairs)


def nest(fine: list[Part], coarse: list[Part], *, finer_wins: bool = True) -> list[Part]:
    """Make one of two layers fit the other: no fine part may hold a coarse one.

    Parameters
    ----------
    fine, coarse : list of Part
        In the order of the leaves.
    finer_wins : bool
        True: return the coarse layer, with a fine part instead of the coarse ones inside it. False: return
        the fine layer, with the coarse parts instead of a fine one that holds them.
    """
    result: list[Part] = []
    position = 0
    for part in fine:
        while position < len(coarse) and coarse[position].end <= part.begin:
            if finer_wins:
                result.append(coarse[position])
            position += 1
        inside: list[Part] = []
        while position < len(coarse) and part.holds(coarse[position]):
            inside.append(coarse[position])
            position += 1
        if inside:
            result += [part] if finer_wins else inside
        elif not finer_wins:
            result.append(part)
    return result + coarse[position:] if finer_wins else result


def number_by_size(parts: list[Part], order: np.ndarray, n: int) -> tuple[np.ndarray, list[Part]]:
    """Codes of the n points, and the parts in the order of their codes: largest first, then by first row."""
    ranked = sorted(parts, key=lambda part: (part.begin - part.end, int(order[part.begin : part.end].min())))
    codes = np.full(n, -1, np.int32)
    for code, part in enumerate(ranked):
        codes[order[part.begin : part.end]] = code
    return codes, ranked
