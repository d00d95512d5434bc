"""Calls of the functions: searches, embed, embed_many, recipes, graphs, measures, clusters, pages."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import actup
from actup import quality, viewer
from actup.recipe import Phase, Role

from .arrays import (
    draw_columns,
    draw_count,
    draw_generator,
    draw_graph_of_neighbors,
    draw_labels,
    draw_nonsense,
    draw_places,
    draw_rows,
)
from .estimators import describe
from .matrices import draw_graph
from .oracle import Report, Stop, Wrong, check_map, count_rows, same_bits
from .page_data import check_page
from .parameters import (
    ALIGNED,
    METRIC_VALUES,
    RECIPE,
    SHAPES,
    TRANSFORMER,
    WRONG,
    draw_changes,
    draw_metric_parameters,
)
from .scratch import scratch_folder

_FOLDER = scratch_folder()
_HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "\ud800",
    "\x00",
    "&amp;<b>",
    "'\"`${}",
    "]]>",
    "\u2028",
]


def run_case(draw: random.Random, report: Report) -> None:
    """Some calls of one function, or of a few that belong together."""
    draw.choice(FUNCTIONS)(draw, report)


def wrong_or(draw: random.Random, values: list[Any]) -> Any:
    return draw.choice(WRONG) if draw.random() < 0.08 else draw.choice(values)


def search_options(draw: random.Random) -> dict[str, Any]:
    return {
        "metric": wrong_or(draw, METRIC_VALUES),
        "metric_kwds": draw_metric_parameters(draw) if draw.random() < 0.15 else None,
        "algorithm": wrong_or(draw, ["auto", "exact", "approximate"]),
        "recall": wrong_or(draw, [0.97, 0.5, 1.0]),
        "random_state": wrong_or(draw, [0, 1]),
        "n_jobs": wrong_or(draw, [1, 1, 2, -1, None]),
    }


def check_lists(found: Any, n: int, k: int, points: int) -> None:
    if found.indices.shape != (n, k) or found.distances.shape != (n, k):
        raise Wrong(f"{n} lists of {k} neighbours have shape {found.indices.shape}")
    if found.indices.size and not (found.indices.min() >= 0 and found.indices.max() < points):
        raise Wrong(f"a neighbour of {points} points is {found.indices.min()} or {found.indices.max()}")
    if np.isnan(found.distances).any():
        raise Wrong("a distance between neighbours is NaN")


def neighbors(draw: random.Random, report: Report) -> None:
    X, k, options = draw_rows(draw), wrong_or(draw, [1, 2, 5, 15, 39]), search_options(draw)

    def search() -> Any:
        return actup.nearest_neighbors(X, k, **options)

    told = f"{describe(X)}, {k}, {describe(options)}"
    done, found = report.call("nearest_neighbors", search, (X,), told=told)
    if done:
        check_lists(found, count_rows(X), int(k), count_rows(X))
        if draw.random() < 0.2:
            _, again = report.call("nearest_neighbors", search, (X,), told="again")
            same_bits(found.indices, again.indices, "nearest_neighbors")
            same_bits(found.distances, again.distances, "nearest_neighbors")


def index(draw: random.Random, report: Report) -> None:
    columns, options = draw_columns(draw), search_options(draw)
    X = draw_rows(draw, None, columns)
    made, found = report.call(
        "NeighborIndex",
        lambda: actup.NeighborIndex(X, **options),
        (X,),
        told=f"{describe(X)}, {describe(options)}",
    )
    for _ in range(draw.randrange(5) if made else 0):
        new, k = draw_rows(draw, None, columns), wrong_or(draw, [1, 2, 5])
        done, lists = report.call(
            "NeighborIndex.query", partial(found.query, new, k), (new,), told=f"{describe(new)}, {k}"
        )
        if done:
            check_lists(lists, count_rows(new), int(k), count_rows(X))


def transformer(draw: random.Random, report: Report) -> None:
    columns = draw_columns(draw)
    X, new = draw_rows(draw, None, columns), draw_rows(draw, None, columns)
    options = {"n_neighbors": 3, "n_jobs": 1, **draw_changes(draw, TRANSFORMER)}
    model = actup.KNeighborsTransformer(**options)
    done, graph = report.call(
        "KNeighborsTransformer.fit_transform",
        lambda: model.fit_transform(X),
        (X,),
        told=f"{describe(X)}, {describe(options)}",
        model=model,
    )
    if done:
        check_distances(graph, count_rows(X), count_rows(X))
        told = describe(new)
        found, lists = report.call(
            "KNeighborsTransformer.transform",
            lambda: model.transform(new),
            (new,),
            told=told,
            model=model,
        )
        if found:
            check_distances(lists, count_rows(X if new is None else new), count_rows(X))


def check_distances(graph: Any, n: int, points: int) -> None:
    if graph.shape != (n, points):
        raise Wrong(f"a graph of {n} rows to {points} points has shape {graph.shape}")
    if np.isnan(graph.data).any():
        raise Wrong("a distance between neighbours is NaN")


def recipes(draw: random.Random, report: Report) -> None:
    if draw.random() < 0.2:
        drawn = {"role": wrong_or(draw, ["settle", *Role]), "epochs": wrong_or(draw, [0, 3])}
        drawn |= {name: wrong_or(draw, [0, 0.5, 1.9]) for name in ("momentum", "rate", "floor")}
        report.call("Phase", lambda: Phase(**drawn), told=str(drawn))
    changes = draw_changes(draw, RECIPE)
    done, recipe = report.call("Recipe", lambda: actup.Recipe(**changes), (changes,), told=str(changes)[:200])
    if done:
        more = draw_changes(draw, RECIPE)
        done, recipe = report.call("Recipe.but", lambda: recipe.but(**more), (more,), told=str(more)[:200])
    name = wrong_or(draw, actup.presets())
    found, other = report.call("preset", lambda: actup.preset(name), told=repr(name))
    for each in [recipe] * done + [other] * found:
        n = wrong_or(draw, [0, 1, 2, 100, 10**6])
        report.call(
            "Recipe.neighbors_searched", partial(each.neighbors_searched, n) if isinstance(n, int) else str
        )
        report.call("hash", partial(hash, each))


def short_recipe(draw: random.Random) -> Any:
    changes = draw_changes(draw, RECIPE)
    changes.pop("backend", None)
    if draw.random() < 0.1:
        return draw.choice([*WRONG, *actup.presets()])
    return changes


def embed(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    X, changes = draw_rows(draw, n), short_recipe(draw)
    options: dict[str, Any] = {"seed": wrong_or(draw, [0, 1]), "threads": wrong_or(draw, [1, 1, 2, None])}
    if draw.random() < 0.08:
        options["init"] = draw_places(draw, n)
    if draw.random() < 0.08:
        options["neighbors"] = draw_lists(draw, report, n)
    if draw.random() < 0.08:
        options["graph"] = draw_checked_graph(draw, report, n)

    def run() -> Any:
        if not isinstance(changes, dict):
            return actup.embed(X, changes, **options)
        return actup.embed(X, actup.preset(draw_preset).but(**settings), **options)

    draw_preset = draw.choice(actup.presets())
    settings = {"epochs": 3, "n_neighbors": 4, "perplexity": 3.0}
    settings |= changes if isinstance(changes, dict) else {}
    told = f"{describe(X)}, {draw_preset}.but({changes}), {describe(options)}"[:600]
    inputs = (X, *options.values())
    done, found = report.call("embed", run, inputs, told=told)
    if done:
        rows = len(options["graph"]) if X is None else count_rows(X)
        check_map(found.embedding, rows, int(settings.get("n_components", 2)))
        if draw.random() < 0.2:
            _, again = report.call("embed", run, inputs, told="again")
            same_bits(found.embedding, again.embedding, "embed")


def draw_lists(draw: random.Random, report: Report, n: int) -> Any:
    lists = draw_graph_of_neighbors(draw, n)
    if not isinstance(lists, tuple) or len(lists) < 2:
        return lists
    done, made = report.call("Neighbors", lambda: actup.Neighbors(*lists[:2]), lists)
    return made if done else None


def draw_checked_graph(draw: random.Random, report: Report, n: int) -> Any:
    graph = draw_graph(draw, n)
    if draw.random() > 0.7 or not hasattr(graph, "indptr"):
        return graph
    done, made = report.call("Graph", lambda: actup.Graph(graph.indptr, graph.indices, graph.data))
    return made if done else None


def many(draw: random.Random, report: Report) -> None:
    X = draw_rows(draw)
    options = {"seed": 0, "threads": 1, "names": wrong_or(draw, [None, ["a", "b"], "a", ["a", "a"], []])}

    def run() -> Any:
        recipes = [actup.Recipe(epochs=2, n_neighbors=4).but(**changes) for changes in drawn]
        return actup.embed_many(X, recipes, **options)

    drawn = [draw_changes(draw, RECIPE) for _ in range(draw.randrange(4))]
    done, found = report.call(
        "embed_many", run, (X,), told=f"{describe(X)}, {drawn}, {describe(options)}"[:600]
    )
    if done:
        if len(found.aligned) != len(drawn):
            raise Wrong(f"{len(found.aligned)} maps of {len(drawn)} recipes")
        for Y, changes in zip(found.aligned.values(), drawn, strict=True):
            check_map(Y, count_rows(X), int(changes.get("n_components", 2)))


def graphs(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    matrix = draw_graph(draw, n)
    done, graph = report.call(
        "Graph.from_scipy", lambda: actup.Graph.from_scipy(matrix), (matrix,), told=describe(matrix)
    )
    if not done:
        return
    report.call("Graph.check_structure", graph.check_structure)
    report.call("Graph.pruned", lambda: graph.pruned(wrong_or(draw, [0, 1, 0.1, 200])))
    Y = draw_places(draw, n)
    a, b = wrong_or(draw, [1.0, 0.5, 2]), wrong_or(draw, [1.0, 0.5, 2])
    for measure in (quality.kl_divergence, quality.cross_entropy, quality.frobenius_loss):
        report.call(
            measure.__name__, partial(measure, graph, Y, a, b, n_jobs=1), (matrix, Y), check=check_number
        )


def check_number(value: Any) -> None:
    if not np.isfinite(np.asarray(value, float)).all():
        raise Wrong(f"a measure is {value}")


def measures(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    X, Y, y, k = draw_rows(draw, n), draw_places(draw, n), draw_labels(draw, n), wrong_or(draw, [1, 3, 10])
    metric, sample = wrong_or(draw, METRIC_VALUES), wrong_or(draw, [None, 5, 2000])
    shared = {"sample": sample, "random_state": 0, "n_jobs": 1}
    table: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
        "trustworthiness": (lambda: quality.trustworthiness(X, Y, k, metric=metric, **shared), (X, Y)),
        "continuity": (lambda: quality.continuity(X, Y, k, metric=metric, **shared), (X, Y)),
        "neighbor_recall": (lambda: quality.neighbor_recall(X, Y, k, metric=metric, **shared), (X, Y)),
        "distance_correlation": (lambda: quality.distance_correlation(X, Y, metric=metric, **shared), (X, Y)),
        "triplet_accuracy": (lambda: quality.triplet_accuracy(X, Y, metric=metric, **shared), (X, Y)),
        "knn_accuracy": (lambda: quality.knn_accuracy(Y, y, k, n_jobs=1), (Y, y)),
        "v_measure": (lambda: quality.v_measure(Y, y, n_jobs=1), (Y, y)),
        "seed_stability": (lambda: quality.seed_stability([Y, Y], k, **shared), (Y,)),
        "quality_report": (
            lambda: quality.quality_report(X, Y, y, metric=metric, verbose=False, **shared),
            (X, Y, y),
        ),
        "voters": (lambda: quality.voters(y, k), (y,)),
    }
    for name in draw.sample(list(table), 3):
        function, inputs = table[name]
        told = f"{', '.join(describe(value) for value in inputs)}, {k}, {metric}, {sample}"
        check = None if name in ("quality_report", "seed_stability") else check_number
        report.call(name, function, inputs, told=told, check=check)


def clusters(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    Y = draw_places(draw, n)
    options = {
        "min_cluster_size": wrong_or(draw, [None, 2, 3, 5, 15]),
        "min_samples": wrong_or(draw, [None, 1, 3]),
        "selection": wrong_or(draw, ["balanced", "leaf", "eom", "persistent"]),
        "n_layers": wrong_or(draw, [None, 1, 3]),
        "assign_all": wrong_or(draw, [True, False]),
        "n_representatives": wrong_or(draw, [0, 1, 5]),
        "n_jobs": wrong_or(draw, [1, None]),
    }
    if draw.random() < 0.2:
        options["texts"] = draw.choice(
            [["some words of a text"] * n, _HOSTILE * (n // 8 + 1), [None] * n, "x", [""] * n]
        )
    if draw.random() < 0.1:
        options["labels"] = draw_labels(draw, n)
    if draw.random() < 0.15:
        options["graph"], options["space"] = (
            draw_checked_graph(draw, report, n),
            wrong_or(draw, ["graph", "map"]),
        )
    done, found = report.call(
        "find_clusters",
        lambda: actup.find_clusters(Y, **options),
        (Y,),
        told=f"{describe(Y)}, {describe(options)}"[:400],
    )
    if done and len(found.labels) != len(Y):
        raise Wrong(f"{len(found.labels)} labels of {len(Y)} points")


def atlas(draw: random.Random, report: Report) -> None:
    """Parquet files of maps, with tables beside them."""
    import pyarrow.parquet as parquet

    n = draw_count(draw)
    Y, path = draw_places(draw, n), Path(_FOLDER.name, "atlas.parquet")
    frame = draw.choice([
        None, {"c": draw_labels(draw, n)}, draw_rows(draw, n), {"projection_x": np.arange(n)}, {},
        {_HOSTILE[0]: [draw.choice(_HOSTILE) for _ in range(n)]}, draw_nonsense(draw, n),
    ])  # fmt: skip
    options: dict[str, Any] = {}
    if draw.random() < 0.3:
        options["neighbors"] = draw.choice([1, None, *WRONG, draw_graph_of_neighbors(draw, n)])
    if draw.random() < 0.2:
        options[draw.choice(["x", "y", "neighbors_column"])] = wrong_or(draw, ["a", "projection_x", ""])
    done, _ = report.call(
        "write_atlas",
        lambda: actup.write_atlas(path, Y, frame, **options),
        (Y, frame),
        told=f"{describe(Y)}, {describe(frame)}, {describe(options)}"[:400],
    )
    if done:
        table = parquet.read_table(path)
        check_map(
            np.stack([table[options.get(name, f"projection_{name}")].to_numpy() for name in "xy"], axis=1),
            count_rows(Y),
            2,
            gaps=True,
        )


def pages(draw: random.Random, report: Report) -> None:
    """Pages of hostile texts: nothing may end the block of data, and the texts come back as they were."""
    n = draw_count(draw)
    Y, path = draw_places(draw, n), Path(_FOLDER.name, "page.html")
    texts = [draw.choice([*_HOSTILE, "text", "", "x" * 300]) for _ in range(n)]
    options: dict[str, Any] = {}
    for name, values in {
        "labels": [draw_labels(draw, n), texts], "hover": [texts, {"a": texts}, draw_labels(draw, n)],
        "captions": [{"ActUp": "text"}, {"x": 1}, _HOSTILE[0]], "title": [*_HOSTILE, "title"],
        "images": [draw_generator(draw).random((n, 4, 4)), draw_nonsense(draw, n)],
        "columns": [{"c": draw_labels(draw, n)}, {_HOSTILE[0]: np.arange(n)}, draw_nonsense(draw, n)],
        "info": [{"ActUp": {"a": 1}}, {"x": {}}, {_HOSTILE[0]: {_HOSTILE[1]: object()}}],
        "label_kind": ["auto", "classes", "values", "x"], "neighbors": [draw_graph_of_neighbors(draw, n)],
        "side_by_side": [True],
    }.items():  # fmt: skip
        if draw.random() < 0.2:
            options[name] = wrong_or(draw, values)
    maps = draw.choice([Y, {"a": Y}, {_HOSTILE[0]: Y, "b": Y}, [Y, Y], {}])
    told = f"{describe(Y)}, {describe(options)}"[:400]
    done, _ = report.call("write_page", lambda: viewer.write_page(path, maps, **options), (Y,), told=told)
    if done:
        check_page(path.read_text(encoding="utf-8"), maps, options)


def pictures(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    Y = draw_places(draw, n)
    options: dict[str, Any] = {"path": Path(_FOLDER.name, "picture.png"), "dpi": wrong_or(draw, [20, 30.0])}
    for name, values in {
        "labels": [draw_labels(draw, n)], "values": [draw_labels(draw, n), {"a": draw_labels(draw, n)}],
        "facets": [draw_labels(draw, n)], "label_kind": ["auto", "classes", "values"],
        "title": [*_HOSTILE, "$x_1$"], "caption": [*_HOSTILE], "names": ["map", "legend", "none"],
        "theme": ["dark"], "view": ["all"], "note": [False], "point_size": [1, 30.0], "columns": [1, 2, 50],
        "colorbar": [False],
    }.items():  # fmt: skip
        if draw.random() < 0.2:
            options[name] = wrong_or(draw, values)
    report.call(
        "plot",
        lambda: actup.plot(Y, **options),
        (Y,),
        told=f"{describe(Y)}, {describe(options)}"[:400],
        strict=False,
    )


def maps(draw: random.Random, report: Report) -> None:
    n = draw_count(draw)
    given = {name: draw_places(draw, n) for name in "ab"}
    done, found = report.call(
        "align_maps",
        lambda: viewer.align_maps(given),
        (given,),
        told=str(list(map(describe, given.values()))),
    )
    if done and [len(Y) for Y in found.values()] != [count_rows(Y) for Y in given.values()]:
        raise Wrong(f"aligned maps have {[len(Y) for Y in found.values()]} points")


def aligned(draw: random.Random, report: Report) -> None:
    slices = [draw_rows(draw, draw.randrange(3, 25), 3) for _ in range(draw.randrange(4))]
    pairs = [{i: i for i in range(draw.randrange(4))} for _ in slices[1:]]
    relations = draw.choice(
        [
            pairs,
            pairs,
            pairs,
            pairs[:-1],
            None,
            "x",
            [np.array([[0, 0], [1, 1]])] * len(pairs),
            [{99: 0}] * len(pairs),
        ]
    )
    options = {"n_epochs": 2, "n_neighbors": 3, "n_jobs": 1, "random_state": 0}
    options |= draw_changes(draw, ALIGNED, len(slices))
    model = actup.AlignedUMAP(**options)
    done, _ = report.call(
        "AlignedUMAP.fit", lambda: model.fit(slices, relations=relations), (slices, relations),
        told=f"{list(map(describe, slices))}, {relations}, {describe(options)}"[:400], model=model,
        thrown=(Stop, StopIteration),
    )  # fmt: skip
    if done:
        for Y, X in zip(model.embeddings_, slices, strict=True):
            check_map(Y, count_rows(X), int(options.get("n_components", 2)))


def estimates(draw: random.Random, report: Report) -> None:
    """Estimates of memory: of rows, of shapes, and of what is neither."""
    X = draw_rows(draw) if draw.random() < 0.5 else draw.choice(SHAPES)
    recipe, options = short_recipe(draw), {"threads": wrong_or(draw, [1, None, 2])}
    if draw.random() < 0.3:
        options |= {"dtype": wrong_or(draw, ["f4", np.float64, "f2"]), "stored_values": wrong_or(draw, [100])}

    def run() -> Any:
        made = actup.preset("umap").but(**recipe) if isinstance(recipe, dict) else recipe
        return actup.memory_estimate(X, made, **options)

    done, found = report.call(
        "memory_estimate", run, (X,), told=f"{describe(X)}, {recipe}, {describe(options)}"[:500]
    )
    if done and not (found.bytes > 0 and found.stage in found.stages and found.describe()):
        raise Wrong(f"an estimate is {found}")


FUNCTIONS = [neighbors] * 6 + [
    index,
    index,
    transformer,
    recipes,
    recipes,
    embed,
    embed,
    many,
    graphs,
    graphs,
]
FUNCTIONS += [measures, measures, clusters, pages, pictures, maps, aligned, atlas, estimates]
