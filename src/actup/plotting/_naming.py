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
_SAME_CLUSTER_SHARE = 0.7  # a cluster with so much of a coarser one is not named again
_LAYER_FONT_SIZES = (12.5, 8.5, 6.5)  # of the coarsest layer that is shown, and of those below


@dataclass(frozen=True)
class NamedPoints:
    """Points of a map that are of any class or cluster, or some of many.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    codes : ndarray of shape (n,)
        Class of every point; negative for points of clusters of other layers only.
    """

    points: np.ndarray
    codes: np.ndarray


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
    surroundings : NamedPoints
        Points of its class and of others, on which the name should not stand.
    code : int
        Its class among them.
    parent : int
        The code of points that are of its cluster in the layer above, but of no cluster in its own.
    font_size : float
    bold : bool
    may_stand_apart : bool
        Whether the name may stand some way from its points, with a leader line.
    """

    text: str
    anchors: np.ndarray
    members: np.ndarray
    surroundings: NamedPoints
    code: int
    parent: int
    font_size: float
    bold: bool = True
    may_stand_apart: bool = True


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


@dataclass(frozen=True)
class _PartOfLayer:
    codes: np.ndarray
    names: Sequence[str]
    centers: np.ndarray


@dataclass(frozen=True)
class _PartOfClusters:
    layers: Sequence[Layer]
    main: int


def select_points(clusters: LayeredClusters, kept: np.ndarray) -> LayeredClusters:
    """Return the clusters of some of the points.

    Parameters
    ----------
    clusters : LayeredClusters
    kept : ndarray of shape (n,), bool
    """
    layers = [
        _PartOfLayer(np.asarray(layer.codes)[kept], layer.names, layer.centers) for layer in clusters.layers
    ]
    return _PartOfClusters(layers, clusters.main)


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
    named = _NamedLayer(classes.codes, classes.names[:count], font_size, classes.codes)
    return _names(Y, named, view)


def cluster_names(Y: np.ndarray, clusters: LayeredClusters, view: View) -> list[MapName]:
    """Return the names of clusters: those of the coarsest layer large, then those of finer layers, smaller.

    Names of finer layers stand on or right beside their clusters, where there is room. A cluster that holds
    most of a coarser one is not named again.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
    clusters : LayeredClusters
    view : View
    """
    layers = [layer for layer in clusters.layers if len(layer.names)]
    shown = coarse_layers(layers)
    is_clustered = np.any([np.asarray(layer.codes) >= 0 for layer in layers], axis=0)
    found: list[MapName] = []
    for depth, layer in enumerate(shown):
        known = {name.text for name in found} | _kept_names(layer, shown[:depth])
        above = shown[depth - 1] if depth else None
        names = _names(Y, _named_layer(layer, above, is_clustered, _LAYER_FONT_SIZES[depth]), view)
        found += [name for name in names if name.text not in known]
    return found


@dataclass(frozen=True)
class _NamedLayer:
    """What the names of a layer are made from.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        Class of every point, -1 for none.
    names : sequence of str
    font_size : float
    territory : ndarray of shape (n,)
        The codes, with others below -1 for points that belong to clusters of other layers only.
    centers : ndarray of shape (m, n_components) or None
        Places that are tried before all others.
    parents : ndarray of shape (m,) or None
        The territory of those points of a cluster's parent that no cluster of this layer holds. None: the
        layer is the coarsest one, whose names are bold and may stand apart from their clusters.
    """

    codes: np.ndarray
    names: Sequence[str]
    font_size: float
    territory: np.ndarray
    centers: np.ndarray | None = None
    parents: np.ndarray | None = None


def _named_layer(
    layer: Layer, above: Layer | None, is_clustered: np.ndarray, font_size: float
) -> _NamedLayer:
    """Tell for a layer of clusters which points belong to clusters of the layer above or of other layers."""
    codes = np.asarray(layer.codes)
    coarse = np.full(len(codes), -1) if above is None else np.asarray(above.codes)
    territory = np.where(codes >= 0, codes, np.where(is_clustered, -3 - coarse, -1))
    parents = None
    if above is not None:
        parents = np.full(len(layer.names), -1)
        parents[codes[codes >= 0]] = -3 - coarse[codes >= 0]
    return _NamedLayer(codes, layer.names, font_size, territory, layer.centers, parents)


def _kept_names(layer: Layer, above: Sequence[Layer]) -> set[str]:
    """Names of those clusters of a layer that hold most of a cluster of a coarser one, which is named."""
    codes, count = np.asarray(layer.codes), len(layer.names)
    kept: set[str] = set()
    for coarse in above:
        coarse_codes = np.asarray(coarse.codes).astype(np.int64)
        both = (codes >= 0) & (coarse_codes >= 0)
        pairs, common = np.unique(coarse_codes[both] * count + codes[both], return_counts=True)
        sizes = np.bincount(coarse_codes[coarse_codes >= 0], minlength=len(coarse.names))
        same = common >= _SAME_CLUSTER_SHARE * sizes[pairs // count]
        kept |= {str(layer.names[code]) for code in pairs[same] % count}
    return kept


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


def _names(Y: np.ndarray, layer: _NamedLayer, view: View) -> list[MapName]:
    """Names of the classes of a layer, the largest first."""
    count = len(layer.names)
    sizes = np.bincount(layer.codes + 1, minlength=count + 1)[1:]  # without those of no class
    ids = sampled_points(layer.codes, len(Y))
    ids = ids[view.holds(Y[ids])]
    if not len(ids):
        return []
    named = ids[layer.territory[ids] != -1]
    surroundings = NamedPoints(Y[named], layer.territory[named])
    Y, codes = Y[ids], layer.codes[ids]
    spots = dense_spots(Y, codes, count, most=_SPOTS)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(count + 1))
    important = layer.parents is None
    found = []
    for code in np.argsort(-sizes[:count], kind="stable").tolist():
        members = Y[order[bounds[code] : bounds[code + 1]]]
        text = str(layer.names[code])
        if not len(members) or not text.strip():
            continue
        anchors = spots[code]
        centers = layer.centers
        if centers is not None and centers.shape[1] == 2 and view.holds(centers[[code]])[0]:
            anchors = np.vstack([centers[code], anchors])
        members = members[:: -(-len(members) // _MAX_MEMBERS)]
        parent = -1 if layer.parents is None else int(layer.parents[code])
        found.append(
            MapName(text, anchors, members, surroundings, code, parent, layer.font_size, important, important)
        )
    return found
