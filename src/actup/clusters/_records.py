"""Clusters and ClusterLayer: the result of find_clusters, and the tables made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class ClusterLayer:
    """The clusters of one granularity, largest first.

    Attributes
    ----------
    codes : ndarray of shape (n,), int32
        The cluster of each point; -1 for points in none.
    names : list of str
        A name per cluster; no two are equal.
    centers : ndarray of shape (m, n_components), float64
        Where a label stands on the map: the place of a point in a dense, central spot of the cluster. NaN if
        no point of the cluster has a place.
    sizes : ndarray of shape (m,), int64
        Numbers of points.
    parents : ndarray of shape (m,), int32
        The cluster of the next coarser layer that holds each cluster; -1 for none.
    persistence : ndarray of shape (m,), float64
        From 0 to 1: how much denser a cluster is than its surroundings. It is the mean over its points of 1 -
        (distance at which the point leaves the cluster) / (distance at which the cluster separates).
    representatives : list of ndarray of int64
        Row numbers per cluster: the point of ``centers``, then points of dense spots that lie far apart.
    keywords : list of tuple of str
        The words that tell a cluster from the others of its layer, best first; empty without ``texts``.
    label_shares : ndarray of shape (m,), float64, or None
        The share of the most frequent label, without points whose label is missing; None without ``labels``.
    min_cluster_size : int
        The least number of points in a cluster that was asked for.

    See Also
    --------
    actup.find_clusters : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> import actup
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 100, axis=0)
    >>> layer = actup.find_clusters(Y, min_cluster_size=50).layers[-1]
    >>> len(layer), layer.sizes.tolist(), layer.names
    (3, [100, 100, 100], ['cluster 0', 'cluster 1', 'cluster 2'])
    """

    codes: np.ndarray
    names: list[str]
    centers: np.ndarray
    sizes: np.ndarray
    parents: np.ndarray
    persistence: np.ndarray
    representatives: list[np.ndarray]
    keywords: list[tuple[str, ...]]
    label_shares: np.ndarray | None
    min_cluster_size: int

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of the points of a map, in layers from coarse to fine.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        The cluster of each point in the main layer; -1 for points in none.
    layers : list of ClusterLayer
        Coarse to fine; at least one. A cluster lies inside one of the next coarser layer, or outside all.
    main : int
        The number of the layer that ``labels`` are the codes of.

    See Also
    --------
    actup.find_clusters : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> import actup
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 100, axis=0)
    >>> clusters = actup.find_clusters(Y, min_cluster_size=50)
    >>> clusters
    Clusters of 300 points: 3 in the main layer, 0 points in none
    >>> clusters.to_table()["size"].tolist()
    [100, 100, 100]
    """

    labels: np.ndarray
    layers: list[ClusterLayer]
    main: int

    def __len__(self) -> int:
        return len(self.layers[self.main])

    def __repr__(self) -> str:
        outside = int(np.count_nonzero(self.labels < 0))
        layers = f" ({len(self.layers)} layers)" if len(self.layers) > 1 else ""
        return (
            f"Clusters of {len(self.labels)} points: {len(self)} in the main layer{layers}, "
            f"{outside} points in none"
        )

    def to_table(self) -> dict[str, Any]:
        """All clusters of all layers as columns, coarse layers first.

        Returns
        -------
        dict of str to ndarray or list
            "layer", "cluster", "name", "size", "share" (of all points), "parent", "persistence", "x", "y"
            ("z", or "center_0" and so on beyond three dimensions), "representatives" (lists of row numbers),
            and "keywords" or "label_share" where there are texts or labels.
        """
        layers = self.layers
        sizes = np.concatenate([layer.sizes for layer in layers])
        columns: dict[str, Any] = {
            "layer": np.repeat(np.arange(len(layers)), [len(layer) for layer in layers]),
            "cluster": np.concatenate([np.arange(len(layer)) for layer in layers]),
            "name": [name for layer in layers for name in layer.names],
            "size": sizes,
            "share": sizes / len(self.labels),
            "parent": np.concatenate([layer.parents for layer in layers]),
            "persistence": np.concatenate([layer.persistence for layer in layers]),
        }
        centers = np.concatenate([layer.centers for layer in layers])
        columns |= dict(zip(_axis_names(centers.shape[1]), centers.T, strict=True))
        columns["representatives"] = [rows.tolist() for layer in layers for rows in layer.representatives]
        if any(words for layer in layers for words in layer.keywords):
            columns["keywords"] = [list(words) for layer in layers for words in layer.keywords]
        shares = [layer.label_shares for layer in layers if layer.label_shares is not None]
        if shares:
            columns["label_share"] = np.concatenate(shares)
        return columns

    def to_frame(self) -> Any:
        """:meth:`to_table` as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs the package pandas: pip install pandas, or use to_table()"
            ) from error
        return pd.DataFrame(self.to_table())


def _axis_names(dimensions: int) -> list[str]:
    if dimensions <= len(_AXES):
        return list(_AXES[:dimensions])
    return [f"center_{axis}" for axis in range(dimensions)]
