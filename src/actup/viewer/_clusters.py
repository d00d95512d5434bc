"""Layers of clusters: names on the map, coarse to fine, and columns to colour by."""

from __future__ import annotations

from typing import Any

import numpy as np

from actup.plotting._colors import categorical_palette
from actup.plotting._scene import Classes
from actup.viewer._columns import Column, recolor
from actup.viewer._packing import Blobs


def read_layers(clusters: Any, n: int) -> list[tuple[np.ndarray, list[str]]]:
    """Codes and names of each layer, coarse to fine.

    Parameters
    ----------
    clusters : Clusters or None
        With ``layers``, each with ``codes`` (n,), -1 for none, and ``names``.
    n : int
        Number of points.
    """
    if clusters is None:
        return []
    if not hasattr(clusters, "layers"):
        raise TypeError(
            f"clusters must be what actup.find_clusters returns, got {type(clusters).__name__}; give classes "
            "as labels"
        )
    layers = []
    for number, layer in enumerate(clusters.layers):
        codes, names = np.asarray(layer.codes), [str(name) for name in layer.names]
        if codes.shape != (n,):
            raise ValueError(f"clusters has {codes.shape} codes in layer {number}, but there are {n} points")
        if len(codes) and (codes.min() < -1 or codes.max() >= len(names)):
            raise ValueError(f"clusters has codes beyond its {len(names)} names in layer {number}")
        if names:
            layers.append((codes.astype(np.int32), names))
    return layers


def cluster_columns(layers: list[tuple[np.ndarray, list[str]]]) -> list[Column]:
    """One column to colour by for each layer."""
    return [
        Column(
            "clusters" if len(layers) == 1 else f"clusters, layer {number}",
            recolor(Classes(codes, names, categorical_palette(len(names)), missing_name="no cluster")),
        )
        for number, (codes, names) in enumerate(layers, 1)
    ]


def main_layer(clusters: Any) -> int:
    """The number of the main layer among those that have clusters."""
    main = getattr(clusters, "main", 0)
    return sum(len(layer.names) > 0 for layer in clusters.layers[:main])


def pack_layers(layers: list[tuple[np.ndarray, list[str]]], blobs: Blobs) -> list[dict[str, Any]]:
    """Pack the layers for the names on the map."""
    return [
        {"names": names, "codes": blobs.add_whole_numbers(codes, -1, len(names))} for codes, names in layers
    ]
