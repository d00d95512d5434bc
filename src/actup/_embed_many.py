"""embed_many(): several maps of the same data, which share what their recipes have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from actup._given import Given, count_rows
from actup._maps import align_maps
from actup._memory import lean_enough, shape_of
from actup._pipeline import (
    OTHER_NAMES,
    Embedding,
    adapt_to_size,
    belongs_to_recipe,
    descend,
    prepare,
    with_column_numbers,
)
from actup._suggestions import explain_unknown_keywords
from actup._threads import count_threads
from actup._values import is_iterable
from actup.backends import Backend, choose_backend, load_backend
from actup.backends._memory._shape import Lean, graph_bytes
from actup.graph._records import Graph, Neighbors
from actup.progress import Progress, read_progress, run_progress
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe, switches
from actup.recipe._switches import Initialization

# The switches that each stage reads, besides the number of neighbours.
_GRAPH = (
    "metric",
    "metric_kwds",
    "affinity",
    "distance",
    "symmetrization",
    "set_op_mix_ratio",
    "local_connectivity",
    "perplexity",
    "perplexities",
    "sigma",
)
# What stands for results of runs before, in estimates of memory.
_KNOWN_NEIGHBORS = Neighbors(np.empty((0, 1), np.int32), np.empty((0, 1), np.float32))
_KNOWN_GRAPH = Graph(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
_START = ("initialization", "start_extent", "start_size", "n_components")


@dataclass(frozen=True)
class Embeddings:
    """Maps of the same points.

    Attributes
    ----------
    results : dict of str to Embedding
        The maps by name, each exactly what ``embed`` gives for its recipe.
    aligned : dict of str to ndarray of shape (n, n_components), float64
        The same maps, centred and turned to agree with the first one, so that a page can morph between them.
        Distances within a map are those of ``results``.
    """

    results: dict[str, Embedding]
    aligned: dict[str, np.ndarray]


@explain_unknown_keywords(OTHER_NAMES, belongs_to_recipe)
def embed_many(
    X: Any,
    recipes: Iterable[Recipe | str] | Recipe | str,
    *,
    names: Sequence[str] | str | None = None,
    seed: int = 0,
    threads: int | None = None,
    backend: str = "cpu",
    progress: Progress | bool | None = None,
    max_memory: int | str | None = None,
) -> Embeddings:
    """Make a map of X for each of several recipes, computing once what they share.

    Neighbours are searched once, for the recipe that needs most of them. Recipes with the same similarities
    share a graph, and recipes with the same start begin at the same places.

    Parameters
    ----------
    X : array-like of shape (n, features)
        Finite numbers; it is never changed.
    recipes : iterable of Recipe or str
        Recipes or names of presets, with one ``metric`` and one ``n_components``. A single one makes one map.
    names : sequence of str, default=None
        What the maps are called, all different; None: by their presets' names, or by the switches in which
        the recipes differ.
    seed : int, default=0
        From 0 to 2⁶⁴ - 1, for every map.
    threads : int, default=None
        How many threads work; None and -1: one per core that this process may use.
    backend : str, default="cpu"
        Compute backend; ``actup.backends.backends()`` lists the names.
    progress : Progress or bool, default=None
        Shows how far each map is, and can stop the run. True: a bar.
    max_memory : int or str, default=None
        Bytes that each of the runs may take, as in ``embed``, with the maps and graphs of the runs before.
        ``layout`` of the results is then None: a layout has a copy of the edges.

    Returns
    -------
    Embeddings
        ``results`` and ``aligned``, both by name in the order of the recipes. If the run was stopped, by the
        callback or by Ctrl-C in a layout, they end with the map that was stopped. Ctrl-C in another stage
        raises KeyboardInterrupt, and the maps made so far are lost.

    See Also
    --------
    actup.embed : One map.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import actup
    >>> X = load_digits().data[:200]
    >>> recipes = [actup.preset("gdr_tsne").but(epochs=10, late_exaggeration=e) for e in (1.0, 4.0)]
    >>> maps = actup.embed_many(X, recipes)
    >>> list(maps.aligned)
    ['late_exaggeration=1.0', 'late_exaggeration=4.0']
    """
    read_progress(progress)
    given = _recipe_list(recipes)
    chosen = [preset(recipe) if isinstance(recipe, str) else recipe for recipe in given]
    names = [names] if isinstance(names, str) else names
    if names is not None and not is_iterable(names):
        raise TypeError(f"names={names!r} must be a sequence of names")
    names = _check_names(_own_names(given, chosen) if names is None else list(names), len(given))
    _check_agreement(chosen)
    if X is None:
        raise ValueError("X=None: embed_many needs rows to search")
    like, computing = X, load_backend(choose_backend(backend, X, count_rows(X)))
    chosen = [with_column_numbers(recipe, X) for recipe in chosen]
    threads = count_threads(threads, "threads")
    leans = _leans(max_memory, X, chosen, threads, computing)
    X = computing.load_rows(computing.read_rows(X, chosen[0].metric), chosen[0].metric)
    n_samples = X.shape[0]
    adapted = [adapt_to_size(recipe, n_samples) if n_samples > 1 else recipe for recipe in chosen]
    shared = _Shared()
    results: dict[str, Embedding] = {}
    order = _order(adapted, n_samples)
    with run_progress(progress) as reports:
        for number, i in enumerate(order):
            reports.begin_run(number, len(order))
            given_here = replace(shared.given(adapted[i], n_samples), lean=leans[i])
            result = descend(
                shared.keep(
                    prepare(
                        X,
                        adapted[i],
                        given_here,
                        seed=seed,
                        threads=threads,
                        backend=computing,
                        progress=reports,
                        like=like,
                    )
                ),
                reports,
            )
            done = max_memory is not None and not result.interrupted
            results[names[i]] = result = replace(result, layout=None) if done else result
            if result.interrupted:
                break
    results = {name: results[name] for name in names if name in results}
    return Embeddings(results, _align(results))


class _Shared:
    """What maps made so far have computed for those to come."""

    def __init__(self) -> None:
        self._neighbors: Neighbors | None = None
        self._graphs: dict[tuple[object, ...], tuple[Graph, Neighbors | None]] = {}
        self._starts: dict[tuple[object, ...], tuple[np.ndarray, str]] = {}

    def given(self, recipe: Recipe, n_samples: int) -> Given:
        """All that is known for a recipe already."""
        start, _ = self._starts.get(_start_key(recipe, n_samples), (None, None))
        graph, _ = self._graphs.get(_graph_key(recipe, n_samples), (None, None))
        return Given(start, self._neighbors, graph)

    def keep(self, prepared: Embedding) -> Embedding:
        """Remember what was computed; gives the record its neighbours, their recall and the start's name."""
        recipe, n_samples = prepared.recipe, len(prepared.embedding)
        if self._neighbors is None:
            self._neighbors = prepared.neighbors
        found = prepared.graph, prepared.neighbors
        _, neighbors = self._graphs.setdefault(_graph_key(recipe, n_samples), found)
        start = prepared.embedding, prepared.init_used
        _, init_used = self._starts.setdefault(_start_key(recipe, n_samples), start)
        recall = prepared.recall if neighbors is None else neighbors.recall
        return replace(prepared, neighbors=neighbors, recall=recall, init_used=init_used)


def _order(recipes: list[Recipe], n_samples: int) -> list[int]:
    """The one with most neighbours first, so that all others can take theirs from it."""
    return sorted(range(len(recipes)), key=lambda i: -recipes[i].neighbors_searched(n_samples))


def _leans(
    max_memory: int | str | None, X: Any, recipes: list[Recipe], threads: int, backend: Backend
) -> list[Lean]:
    """Where each of the runs must take less memory, beside what the runs before leave."""
    n = count_rows(X)
    adapted = [adapt_to_size(recipe, n) if n > 1 else recipe for recipe in recipes]
    order = _order(adapted, n)
    leans = [Lean()] * len(recipes)
    maps = 0.0
    lists: dict[tuple[object, ...], float] = {}
    graphs: dict[tuple[object, ...], float] = {}
    starts: set[tuple[object, ...]] = set()
    for number, i in enumerate(order):
        recipe, key, places = adapted[i], _graph_key(adapted[i], n), 4.0 * n * adapted[i].n_components
        given, held = Given(), maps + sum(lists.values())
        if number:
            given = Given(neighbors=_KNOWN_NEIGHBORS, graph=_KNOWN_GRAPH if key in graphs else None)
            held += sum(size for other, size in graphs.items() if other != key)
            held += 4 * places * len(order) if number == len(order) - 1 else 0.0  # to align all maps
        leans[i] = lean_enough(max_memory, X, recipe, given, threads, backend, held)
        if max_memory is not None and key not in graphs:
            edges = shape_of(X, recipe, given, threads).edges
            graphs[key] = 0.0 if leans[i].graph_on_disc else graph_bytes(n, edges)
            lists[key] = 8.0 * n * recipe.neighbors_searched(n)
        start = _start_key(recipe, n)
        maps += places if start in starts else 2 * places
        starts.add(start)
    return leans


def _graph_key(recipe: Recipe, n_samples: int) -> tuple[object, ...]:
    return (recipe.neighbors_searched(n_samples), *(getattr(recipe, name) for name in _GRAPH))


def _start_key(recipe: Recipe, n_samples: int) -> tuple[object, ...]:
    of_graph = recipe.initialization is Initialization.SPECTRAL
    graph = _graph_key(recipe, n_samples) if of_graph else None
    return (graph, *(getattr(recipe, name) for name in _START))


def _align(results: dict[str, Embedding]) -> dict[str, np.ndarray]:
    return align_maps({name: result.embedding for name, result in results.items()})


def _recipe_list(recipes: Any) -> list[Recipe | str]:
    """The caller's recipes or names of presets; a single one is a list of one."""
    if isinstance(recipes, str | Recipe):
        return [recipes]
    if isinstance(recipes, Mapping):
        raise TypeError("recipes is a mapping: give list(recipes.values()), and names=list(recipes)")
    if not is_iterable(recipes):
        raise TypeError(f"recipes={recipes!r} must be a sequence of Recipe or names of presets")
    given = list(recipes)
    for i, recipe in enumerate(given):
        if not isinstance(recipe, str | Recipe):
            raise TypeError(f"recipes[{i}]={recipe!r} must be a Recipe or the name of a preset")
    return given


def _own_names(given: list[Recipe | str], recipes: list[Recipe]) -> list[str]:
    """A preset's name, or the one or two switches in which the recipes differ, or a number."""
    differing = [name for name in switches() if len({getattr(recipe, name) for recipe in recipes}) > 1]

    def name_of(i: int) -> str:
        name = given[i]
        if isinstance(name, str):
            return name
        if 1 <= len(differing) <= 2:
            return ", ".join(f"{name}={getattr(recipes[i], name)}" for name in differing)
        return f"map {i + 1}"

    return [name_of(i) for i in range(len(given))]


def _check_names(names: list[str], count: int) -> list[str]:
    if count == 0:
        raise ValueError("recipes=[] is empty: give at least one recipe or name of a preset")
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"names={names!r} must be {count} different names, one for each recipe")
    return names


def _check_agreement(recipes: list[Recipe]) -> None:
    shared = (
        ("metric", "share neighbours"),
        ("metric_kwds", "share neighbours"),
        ("n_components", "be aligned"),
    )
    for name, reason in shared:
        values = sorted({getattr(recipe, name) for recipe in recipes}, key=str)
        if len(values) > 1:
            listed = ", ".join(map(str, values))
            raise ValueError(f"recipes have {name} of {listed}: only maps with one {name} can {reason}")
