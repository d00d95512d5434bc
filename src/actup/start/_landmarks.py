"""Landmarks: very many points start around the places of their landmarks in a small map of those.

Eigenvectors of the graph of a million points take longer to compute than everything else and say less:
neighbours are so near that the graph hardly knows how the large parts of the data lie. Landmarks, the
centres of clusters, are few, and their neighbours are far enough apart to show it.
"""

from __future__ import annotations

import numpy as np

from actup._engine import engine
from actup.neighbors._metrics import METRICS, record_of
from actup.neighbors._row_transforms import center_far_columns
from actup.neighbors._rows import ENGINE_TYPES
from actup.recipe._presets import preset_for
from actup.recipe._recipe import Recipe
from actup.recipe._switches import Initialization

LANDMARKS = 4096
LANDMARK_MIN_POINTS = 200_000  # maps of more points start at landmarks
# So do maps of more points than these if the first eigenvectors tell hardly any points apart: to solve for
# more of them takes several times as long.
REPLACEMENT_MIN_POINTS = 50_000


def uses_landmarks(recipe: Recipe, n: int) -> bool:
    """Whether n dense rows start at landmarks."""
    return n > LANDMARK_MIN_POINTS and _has_landmarks(recipe)


def replaces_eigenvectors(recipe: Recipe, n: int) -> bool:
    """Whether n dense rows start at landmarks where the first eigenvectors do not tell points apart."""
    return n > REPLACEMENT_MIN_POINTS and _has_landmarks(recipe)


def _has_landmarks(recipe: Recipe) -> bool:
    record = record_of(recipe.metric)
    suits = record is not None and record.landmarks
    return recipe.initialization is Initialization.SPECTRAL and suits


def landmark_recipe(dimensions: int) -> Recipe:
    """The recipe of the map of landmarks."""
    return preset_for("gdr_umap", dimensions)


def find_landmarks(
    X: np.ndarray, metric: str, wanted: int, seed: int, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """About ``wanted`` landmarks of the rows, and the landmark of each row.

    Landmarks are means of the rows' codes. Their distances are those of the rows in another unit, roughly:
    outliers are clipped. Metrics that clusters are not made for count as Euclidean, because landmarks only
    show how the data lie in the large.
    """
    metric = metric if METRICS[metric].cluster_search else "euclidean"
    rows = X
    if X.dtype.type not in ENGINE_TYPES:
        rows = center_far_columns(X) if metric == "euclidean" else X.astype(np.float32)
    landmarks, labels = engine.find_landmarks(rows, engine.Metric[metric], wanted, seed, threads)
    return landmarks, labels


def scatter_around(
    places: np.ndarray, labels: np.ndarray, reach: float, seed: int, threads: int
) -> np.ndarray:
    """A random place within ``reach`` of its landmark's, along each axis, for every row."""
    scattered: np.ndarray = engine.scatter_around(places, labels, reach, seed, threads)
    return scattered
