"""Which names a map gets: those of its classes, or of its clusters layer by layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from actup.plotting._scene import Classes, dense_spots
from actup.plotting._view import View

_SPOTS = 60  # places on a class that are tried for its name
_MAX_MEMBERS = 400  # points of a class that its name is kept clear of
_MAX_SAMPLE = 300_000  # points that decide where names stand
_MIN_SAMPLED = 2000  # classes of fewer points are sampled as a whole
_NEAREST = 5  # points around a point that show whether classes mix
_MAX_MIXING_SAMPLE = 20_000  # points that show it
_MIN_AGREEMENT = 0.25  # of classes of near points, beyond chance: below it classes mix all over the map
_LAYER_FONT_SIZES = (12.5, 8.5, 6.5)  # of the coarsest layer that is shown, and of those below


@dataclass(frozen=True)
class MapName:
    """A name and the points it belongs to.

    Attributes
    ----------
    text : str
    anchors : ndarray of shape (k, 2)
        Places on the map where the name may stand, the best first.
    members : ndarray of shape (m, 2)
        Points of the class, or some of them.
    font_size : float
    bold : bool
    may_stand_beside : bool
        Whether the name may stand beside its points, with a leader line if need be.
    """

    text: str
    anchors: np.ndarray
    members: np.ndarray
    font_size: float
    bold: bool = True
    may_stand_beside: bool = True


class Layer(Protocol):
    """One layer of clusters, as ``actup.clusters`` makes them."""

    @property
    def codes(self) -> np.ndarray:
        """Cluster of every point, -1 for none."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Names of the clusters."""
        ...

    @property
    def centers(self) -> np.ndarray:
        """Where each name should stand on the map, NaN where unknown."""
        ...


class LayeredClusters(Protocol):
    """Clusters in layers, coarse to fine, as ``actup.clusters`` makes them."""

    @property
    def layers(self) -> Sequence[Layer]:
        """The layers."""
        ...

    @property
    def main(self) -> int:
        """The layer whose clusters colour the points."""
        ...


def have_places(Y: np.ndarray, classes: Classes) -> bool:
    """Whether classes lie in parts of the map of their own, where their names can stand.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
    classes : Classes
    """
    from scipy.spatial import KDTree

    step = -(-len(Y) // _MAX_MIXING_SAMPLE)
    known = classes.codes[::step] >= 0
    points, codes = Y[::step][known], classes.codes[::step][known]
    chance = float(np.sum((np.bincount(codes) / max(len(codes), 1)) ** 2))
    if len(codes) <= _NEAREST or chance == 1:
        return True
    _, nearest = KDTree(points).query(points, _NEAREST + 1)
    agreement = float(np.mean(codes[nearest[:, 1:]] == codes[:, None]))
    return (agreement - chance) / (1 - chance) >= _MIN_AGREEMENT


def class_names(Y: np.ndarray, classes: Classes, view: View) -> list[MapName]:
    """Return the names of the classes that the view shows, the largest first.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
    classes : Classes
    view : View
    """
    count = len(classes.names) - classes.has_rest
    font_size = float(np.clip(14 - 0.9 * math.log2(max(count, 1)), 6.5, 12.0))
    return _names(Y, classes.codes, classes.names[:count], view, font_size)


def cluster_names(Y: np.ndarray, clusters: LayeredClusters, view: View) -> list[MapName]:
    """Return the names of clusters: those of the coarsest layer large, then those of finer layers, smaller.

    Names of finer layers stand on their clusters only, where there is room.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
    clusters : LayeredClusters
    view : View
    """
    layers = [layer for layer in clusters.layers if len(layer.names)]
    shown = coarse_layers(layers)
    found: list[MapName] = []
    for depth, layer in enumerate(shown):
        known = {name.text for name in found}  # a cluster that a finer layer does not split keeps its name
        names = _names(
            Y, np.asarray(layer.codes), layer.names, view, _LAYER_FONT_SIZES[depth], layer.centers, depth == 0
        )
        found += [name for name in names if name.text not in known]
    return found


def coarse_layers(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Return the layers that a picture shows: from the first of at least two clusters on, at most three."""
    first = next((depth for depth, layer in enumerate(layers) if len(layer.names) > 1), 0)
    return layers[first : first + len(_LAYER_FONT_SIZES)]


def sampled_points(codes: np.ndarray | None, n: int) -> np.ndarray:
    """Return the ids of points that stand for all: a part of many, but all of small classes.

    Parameters
    ----------
    codes : ndarray of shape (n,) or None
        Classes, -1 for none.
    n : int
    """
    if n <= _MAX_SAMPLE:
        return np.arange(n)
    chosen = np.zeros(n, bool)
    chosen[:: -(-n // _MAX_SAMPLE)] = True
    if codes is not None and len(codes):
        sizes = np.bincount(codes + 1)
        small = sizes < _MIN_SAMPLED
        small[0] = False
        if sizes[small].sum() <= _MAX_SAMPLE:
            chosen |= small[codes + 1]
    return np.flatnonzero(chosen)


def _names(
    Y: np.ndarray,
    codes: np.ndarray,
    names: Sequence[str],
    view: View,
    font_size: float,
    centers: np.ndarray | None = None,
    important: bool = True,
) -> list[MapName]:
    """Names of the classes, the largest first; ``centers`` are tried before all other places."""
    sizes = np.bincount(codes + 1, minlength=len(names) + 1)[1:]  # without those of no class
    ids = sampled_points(codes, len(Y))
    ids = ids[view.holds(Y[ids])]
    if not len(ids):
        return []
    Y, codes = Y[ids], codes[ids]
    spots = dense_spots(Y, codes, len(names), most=_SPOTS)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    found = []
    for code in np.argsort(-sizes[: len(names)], kind="stable"):
        members = Y[order[bounds[code] : bounds[code + 1]]]
        text = str(names[code])
        if not len(members) or not text.strip():
            continue
        anchors = spots[code]
        if centers is not None and centers.shape[1] == 2 and view.holds(centers[[code]])[0]:
            anchors = np.vstack([centers[code], anchors])
        members = members[:: -(-len(members) // _MAX_MEMBERS)]
        found.append(MapName(text, anchors, members, font_size, important, important))
    return found
