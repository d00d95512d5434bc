"""Maps of the page, and the fitted models they come from: arrays by name, and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from actup._embed_many import Embeddings
from actup._maps import align_maps, placed_points, read_maps
from actup._pipeline import Embedding
from actup.estimators._base import Embedder
from actup.plotting._scene import spread_line
from actup.recipe._switches import Affinity

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_MIN_SEQUENCE = 3  # maps that a slider is worth its place for


def read_sources(maps: Any) -> dict[str, Any]:
    """Maps or models by name: a mapping as it is, one model or one array under a name of its own."""
    if isinstance(maps, Embeddings):
        return dict(maps.results)
    if isinstance(maps, Mapping):
        return dict(maps)
    if isinstance(maps, Embedder):
        return {type(maps).__name__: maps}
    return {"map": maps}


def flat_maps(sources: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The maps of models or arrays by name, with two dimensions each, aligned; NaN: points without a place.

    A point without a place on one map has none on the others either.
    """
    read = read_maps(sources, allow_gaps=True)
    placed = placed_points(read.values())
    flat = {}
    for name, Y in read.items():
        if Y.shape[1] > 2:
            raise ValueError(
                f"maps[{name!r}] has {Y.shape[1]} dimensions, the page shows 1 or 2; choose columns, such as "
                "Y[:, :2], or embed with n_components=2"
            )
        flat[name] = spread_line(Y[placed]) if Y.shape[1] == 1 else Y[placed]
    return {name: _with_gaps(Y, placed) for name, Y in align_maps(flat).items()}


def _with_gaps(Y: np.ndarray, placed: np.ndarray) -> np.ndarray:
    full = np.full((len(placed), Y.shape[1]), np.nan)
    full[placed] = Y
    return full


def is_sequence(names: list[str]) -> bool:
    """Whether names differ in one number only, which increases or decreases from map to map."""
    numbers = [_NUMBER.findall(name) for name in names]
    if len(names) < _MIN_SEQUENCE or len({_NUMBER.sub("#", name) for name in names}) > 1 or not numbers[0]:
        return False
    table = np.array(numbers, np.float64)
    varying = table[:, (table != table[0]).any(axis=0)]
    steps = np.diff(varying[:, 0]) if varying.shape[1] == 1 else np.zeros(1)
    return bool((steps > 0).all() or (steps < 0).all())


def model_info(sources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What the side panel says about each fitted model or result, by the name of its map."""
    info = {}
    for name, source in sources.items():
        if isinstance(source, Embedder):
            info[name] = {"method": type(source).__name__, **_run_info(source, seed=source.seed_)}
        elif isinstance(source, Embedding):
            info[name] = _run_info(source, seed=None)
    return info


def _run_info(run: Any, seed: int | None) -> dict[str, str]:
    """Recipe, neighbours and seconds of a fitted estimator or a result of ``embed``."""
    recipe = run.recipe_ if isinstance(run, Embedder) else run.recipe
    epochs = run.n_epochs_ if isinstance(run, Embedder) else run.n_epochs
    start = run.init_used_ if isinstance(run, Embedder) else run.init_used
    seconds = run.stage_seconds_ if isinstance(run, Embedder) else run.seconds
    recall = run.recall_ if isinstance(run, Embedder) else run.recall
    if recipe.affinity is Affinity.GAUSSIAN:
        neighborhood = {"perplexity": f"{recipe.perplexity:g}"}
    else:
        neighborhood = {"n_neighbors": str(recipe.n_neighbors)}
    switches = {
        name: getattr(recipe, name) for name in ("metric", "affinity", "normalized", "loss", "repulsion")
    }
    rows = {**neighborhood, **{name: str(getattr(value, "value", value)) for name, value in switches.items()}}
    rows |= {"start": start, "epochs": str(epochs)}
    if seed is not None:
        rows["seed"] = str(seed)
    if np.isfinite(recall):
        rows["recall of neighbours"] = f"{recall:.3f}"
    rows |= {f"{stage}, seconds": f"{time:.2f}" for stage, time in seconds.items()}
    rows["all stages, seconds"] = f"{sum(seconds.values()):.2f}"
    return rows


def read_info(info: Any, sources: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The sections of the side panel: those of the models, and those that are given.

    Parameters
    ----------
    info : mapping of str to mapping of str to object, or None
        A section of the name of a map is added to that of its model.
    sources : mapping
    """
    sections: dict[str, dict[str, str]] = model_info(sources)
    if info is not None and not isinstance(info, Mapping):
        raise TypeError(f"info must be a mapping of sections to mappings of text, got {type(info).__name__}")
    for title, rows in (info or {}).items():
        if not isinstance(rows, Mapping):
            raise TypeError(f"info[{title!r}] must be a mapping of names to text, got {type(rows).__name__}")
        section = sections.setdefault(str(title), {})
        section |= {str(name): _info_text(value) for name, value in rows.items()}
    return [(title, list(rows.items())) for title, rows in sections.items()]


def _info_text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
