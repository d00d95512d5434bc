"""Calls of the interfaces of umap-learn and openTSNE."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from actup.compat import opentsne
from actup.compat.opentsne import affinity, initialization
from actup.compat.umap import umap_

from .arrays import draw_count, draw_labels, draw_places, draw_rows
from .estimators import describe
from .functions import check_number
from .matrices import draw_graph
from .oracle import Report, Wrong, check_map, count_rows
from .parameters import METRIC_VALUES, STARTS, WRONG

# What openTSNE raises too, and programs that were written for it expect.
_CANNOT_BE_QUERIED = (RuntimeError, "precomputed affinities cannot be queried")

_wrong: list[Any] = []  # what wrong_or has drawn in this case


def run_case(draw: random.Random, report: Report) -> None:
    """Some calls of one function or class."""
    _wrong.clear()
    draw.choice([fuzzy, layout, algebra, affinities, starts, tsne, distances])(draw, report)


def wrong_or(draw: random.Random, values: list[Any]) -> Any:
    """One of the values, or seldom a wrong one, which is noted."""
    if draw.random() >= 0.08:
        return draw.choice(values)
    _wrong.append(draw.choice(WRONG))
    return _wrong[-1]


def call(
    report: Report, kind: str, function: Callable[[], Any], *arguments: Any, **options: Any
) -> tuple[bool, Any]:
    """A call whose formulas may divide by zero, as those of the other library do.

    Wrong types, and what is no table, may fail with messages of Python or NumPy, as in the other library.
    """
    inputs = arguments[0] if arguments else ()
    tables = all(len(getattr(value, "shape", ())) == 2 for value in inputs)

    def quiet() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    return report.call(kind, quiet, *arguments, strict=lambda: tables and not _wrong, **options)


def fuzzy(draw: random.Random, report: Report) -> None:
    X, k, metric = draw_rows(draw), wrong_or(draw, [2, 4]), wrong_or(draw, METRIC_VALUES)
    random_state = np.random.RandomState(0)
    done, found = call(
        report,
        "umap_.nearest_neighbors",
        lambda: umap_.nearest_neighbors(X, k, metric, {}, False, random_state, n_jobs=1),
        (X,),
        told=f"{describe(X)}, {k}, {metric}",
    )
    if done:
        is_matrix = isinstance(metric, str) and metric == "precomputed"
        columns = min(int(k), np.shape(X)[1]) if is_matrix else int(k)
        check_shape(found[0], (count_rows(X), columns))
        check_shape(found[1], (count_rows(X), columns))
    lists = {"knn_indices": found[0], "knn_dists": found[1]} if done and draw.random() < 0.5 else {}
    done, graph = call(
        report,
        "umap_.fuzzy_simplicial_set",
        lambda: umap_.fuzzy_simplicial_set(X, k, random_state, metric, **lists),
        (X,),
        told=f"{describe(X)}, {k}, {metric}",
    )
    if done:
        check_number(graph[0].data)
        check_shape(graph[0], (count_rows(X), count_rows(X)))


def layout(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    X, graph = draw_rows(draw, n), draw_graph(draw, n)
    a, b, gamma = wrong_or(draw, [1.0, 1.5]), wrong_or(draw, [1.0, 0.9]), wrong_or(draw, [1.0, 0])
    start = draw_places(draw, n) if draw.random() < 0.2 else wrong_or(draw, STARTS)
    dimensions = wrong_or(draw, [2, 1, 3])
    done, found = call(
        report,
        "umap_.simplicial_set_embedding",
        lambda: umap_.simplicial_set_embedding(
            X,
            graph,
            dimensions,
            wrong_or(draw, [1.0]),
            a,
            b,
            gamma,
            wrong_or(draw, [5, 1]),
            wrong_or(draw, [0, 2]),
            start,
            np.random.RandomState(0),
            "euclidean",
            {},
            draw.random() < 0.1,
            {},
            False,
        ),
        (X, graph, start),
        told=f"{describe(X)}, {describe(graph)}, {describe(start)}",
    )
    if done:
        check_map(found[0], graph.shape[0], int(dimensions))


def check_shape(array: Any, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise Wrong(f"a result has shape {array.shape}, not {shape}")


def algebra(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    one, other, labels = draw_graph(draw, n), draw_graph(draw, n), draw_labels(draw, n)
    table: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
        "general_simplicial_set_intersection": (
            lambda: umap_.general_simplicial_set_intersection(one, other),
            (one, other),
        ),
        "general_simplicial_set_union": (
            lambda: umap_.general_simplicial_set_union(one, other),
            (one, other),
        ),
        "discrete_metric_simplicial_set_intersection": (
            lambda: umap_.discrete_metric_simplicial_set_intersection(one, labels),
            (one, labels),
        ),
        "reset_local_connectivity": (lambda: umap_.reset_local_connectivity(one), (one,)),
        "spectral_layout": (lambda: umap_.spectral_layout(None, one, 2, np.random.RandomState(0)), (one,)),
    }
    name = draw.choice(list(table))
    done, found = call(
        report, f"umap_.{name}", table[name][0], table[name][1], told=", ".join(map(describe, table[name][1]))
    )
    if done:
        check_shape(found, (one.shape[0], 2 if name == "spectral_layout" else one.shape[0]))


def affinities(draw: random.Random, report: Report) -> None:
    columns = draw.randrange(1, 6)
    X, new = draw_rows(draw, None, columns), draw_rows(draw, None, columns)
    metric, graph = wrong_or(draw, METRIC_VALUES), draw_graph(draw, draw_count(draw))
    perplexity, k = wrong_or(draw, [2, 5, 30]), wrong_or(draw, [2, 5])
    kinds: dict[str, Callable[[], Any]] = {
        "PerplexityBasedNN": lambda: affinity.PerplexityBasedNN(X, perplexity, metric=metric),
        "MultiscaleMixture": lambda: affinity.MultiscaleMixture(X, [2, perplexity], metric=metric),
        "Multiscale": lambda: affinity.Multiscale(X, [2, perplexity], metric=metric),
        "FixedSigmaNN": lambda: affinity.FixedSigmaNN(X, wrong_or(draw, [0.5, 1e-3]), k, metric=metric),
        "Uniform": lambda: affinity.Uniform(X, k, metric=metric),
        "PrecomputedAffinities": lambda: affinity.PrecomputedAffinities(graph),
    }
    name = draw.choice(list(kinds))
    done, made = call(
        report,
        f"openTSNE.{name}",
        kinds[name],
        (graph if name == "PrecomputedAffinities" else X,),
        told=f"{describe(X)}, {metric}, {perplexity}, {k}",
    )
    if done:
        if name != "PrecomputedAffinities":
            check_shape(made.P, (count_rows(X), count_rows(X)))
        found, P = call(
            report,
            f"openTSNE.{name}.to_new",
            lambda: made.to_new(new),
            (new,),
            told=describe(new),
            allowed=_CANNOT_BE_QUERIED if name == "PrecomputedAffinities" else None,
        )
        if found:
            check_shape(P, (count_rows(new), count_rows(X)))


def starts(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    X, graph, Y = draw_rows(draw, n), draw_graph(draw, n), draw_places(draw, n)
    size = wrong_or(draw, [1, 2, 3])
    table: dict[str, tuple[Callable[[], Any], Any]] = {
        "pca": (lambda: initialization.pca(X, size, random_state=0), X),
        "random": (lambda: initialization.random(n, size, random_state=0), n),
        "spectral": (lambda: initialization.spectral(graph, size, random_state=0), graph),
        "rescale": (lambda: initialization.rescale(Y), Y),
    }
    name = draw.choice(list(table))
    done, found = call(
        report,
        f"openTSNE.{name}",
        table[name][0],
        (table[name][1],),
        told=f"{describe(table[name][1])}, {size}",
    )
    if done:
        points = n if name == "random" else count_rows(table[name][1])
        check_shape(found, (points, np.shape(Y)[1] if name == "rescale" else int(size)))


def tsne(draw: random.Random, report: Report) -> None:
    columns = draw.randrange(1, 6)
    X, new = draw_rows(draw, draw.randrange(3, 30), columns), draw_rows(draw, draw.randrange(8), columns)
    options = {"perplexity": wrong_or(draw, [2, 5, 30]), "metric": wrong_or(draw, METRIC_VALUES)}
    options |= {
        "n_iter": draw.choice([0, 1, 2, -1, "x"]),
        "early_exaggeration_iter": draw.choice([0, 2]),
        "random_state": 0,
    }
    options |= {
        "initialization": wrong_or(draw, ["pca", "random", "spectral"]),
        "dof": wrong_or(draw, [1, 0.5]),
    }
    options |= {
        "negative_gradient_method": wrong_or(draw, ["auto", "bh", "fft"]),
        "theta": wrong_or(draw, [0.5]),
    }
    done, found = call(
        report,
        "openTSNE.TSNE.fit",
        lambda: opentsne.TSNE(**options).fit(X),
        (X,),
        told=f"{describe(X)}, {describe(options)}",
    )
    if done:
        check_map(found, count_rows(X), 2)
        again = draw.choice([0, 1, 2, -1, None, "x", 1.5])
        done, further = call(
            report,
            "openTSNE.TSNEEmbedding.optimize",
            lambda: found.optimize(again, learning_rate=wrong_or(draw, [1.0])),
        )
        if done:
            check_map(further, count_rows(X), 2)
        done, places = call(
            report,
            "openTSNE.TSNEEmbedding.transform",
            lambda: found.transform(new, perplexity=2, n_iter=draw.choice([0, 2, -1, "x"])),
            (new,),
            told=describe(new),
        )
        if done:
            check_map(places, count_rows(new), 2)


def distances(draw: random.Random, report: Report) -> None:
    spread, low = wrong_or(draw, [1.0, 0.5, 10]), wrong_or(draw, [0.1, 0, 1.0])
    call(
        report,
        "umap_.find_ab_params",
        lambda: umap_.find_ab_params(spread, low),
        told=f"{spread!r}, {low!r}",
        check=check_number,
    )
