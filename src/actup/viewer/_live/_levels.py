"""Levels: the map of all samples, the map of a selection from it, and so on; and their further descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from actup._device import to_host
from actup._pipeline import Embedding, descend
from actup._threads import count_threads
from actup.backends import PointInputs, choose_backend, load_backend
from actup.estimators._growing import GrowingMap
from actup.graph._radii import standardize
from actup.graph._records import Graph
from actup.progress import Progress
from actup.recipe._recipe import Recipe
from actup.recipe._schedule import Role
from actup.recipe._switches import Optimizer

_FURTHER_EPOCHS = 200  # of a descent that goes on after its last epoch


@dataclass(eq=False)
class Level:
    """A map that a session shows.

    Attributes
    ----------
    key : int
        Tells the level apart from all others of the session.
    ids : ndarray of shape (m,), int64
        The samples on the map, ascending, as numbers of the samples of the first level.
    model : estimator or None
        The fitted model; None while its map is being made.
    """

    key: int
    ids: np.ndarray
    model: GrowingMap | None = None

    def places(self) -> np.ndarray:
        """The map: (m, 2) float32."""
        assert self.model is not None
        return np.ascontiguousarray(to_host(self.model.embedding_), np.float32)


def read_selection(selection: Any, level: Level) -> np.ndarray:
    """Return the samples of a selection as ascending numbers of the first level's samples.

    Parameters
    ----------
    selection : array-like of int
        Numbers of samples on the level's map, in any order.
    level : Level
    """
    ids = np.unique(np.asarray(selection, dtype=np.int64).ravel())
    known = np.isin(ids, level.ids, assume_unique=True)
    if not known.all():
        raise ValueError(f"selection names sample {ids[~known][0]}, which is not on the map that is shown")
    if len(ids) < 2:
        raise ValueError(f"selection has {len(ids)} samples: select at least 2")
    return ids


def map_of_selection(level: Level, ids: np.ndarray, progress: Progress) -> GrowingMap:
    """Make a map of some samples of a level, from its graph and its map."""
    assert level.model is not None
    return level.model._subset(np.searchsorted(level.ids, ids), progress)


def descend_further(model: GrowingMap, progress: Progress) -> np.ndarray:
    """Go on with the descent of a finished map, as in its last phase. Return the places: (n, 2) float32.

    Parameters
    ----------
    model : estimator
        A fitted model, which does not change.
    progress : Progress
    """
    graph, recipe = Graph.from_scipy(model.graph_), further_recipe(model.recipe_)
    start = np.ascontiguousarray(to_host(model.embedding_), np.float32)
    points = None
    if recipe.density_weight:
        points = PointInputs(log_radii=standardize(model.rad_orig_))
    backend = load_backend(choose_backend(model.backend, model.embedding_, len(start)))
    layout = backend.make_layout(graph, start, recipe, model.seed_, count_threads(model.n_jobs), points)
    run = Embedding(start, recipe, graph, None, "array", seconds={"layout": 0.0}, layout=layout)
    return np.asarray(to_host(descend(run, progress).embedding))


def further_recipe(recipe: Recipe) -> Recipe:
    """The recipe of a descent that begins at the finished map of a recipe."""
    recipe = recipe.but(exaggeration=recipe.late_exaggeration, epochs=_FURTHER_EPOCHS)
    if recipe.optimizer is not Optimizer.STIFFNESS:
        return recipe
    settling = tuple(phase for phase in recipe.phases if phase.role is Role.SETTLE)
    return recipe.but(phases=settling or recipe.phases[-1:])
