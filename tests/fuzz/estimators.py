"""Lives of estimators: fits, failures, interrupts, new rows, copies and files in any order."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import actup

from .arrays import draw_columns, draw_count, draw_labels, draw_places, draw_rows, draw_values
from .matrices import draw_graph
from .oracle import Report, Stop, Wrong, check_map, same_bits
from .parameters import TABLES, WRONG, draw_changes, draw_parameters
from .scratch import scratch_folder

KINDS = [actup.UMAP, actup.UMAP, actup.TSNE, actup.GDR]
_FOLDER = scratch_folder()


def run_case(draw: random.Random, report: Report) -> None:
    """The life of one estimator."""
    kind, n, columns = draw.choice(KINDS), draw_count(draw), draw_columns(draw)
    parameters = draw_parameters(draw, kind, n)
    made, model = report.call(
        f"{kind.__name__}", lambda: kind(**parameters), tuple(parameters.values()), told=shown(parameters)
    )
    if not made:
        return
    life = Life(draw, report, model, n, columns)
    for _ in range(draw.choice([1, 2, 4, 6, 9])):
        draw.choice(life.steps())()


def shown(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={describe(value)}" for name, value in values.items())


class Life:
    """One estimator, and what may be done to it."""

    def __init__(self, draw: random.Random, report: Report, model: Any, n: int, columns: int):
        self.draw, self.report, self.model = draw, report, model
        self.name, self.n, self.columns = type(model).__name__, n, columns

    def steps(self) -> list[Any]:
        always = [self.fit, self.fit_twice, self.set_params, self.clone, self.pickle, self.get_params]
        if not hasattr(self.model, "embedding_"):
            return [*always, self.fit, self.fit, self.fit, self.transform, self.interrupt, self.steps_of_fit]
        used = [self.transform] * 4 + [self.inverse_transform, self.partial_fit, self.update, self.refit]
        return [
            *always,
            *used,
            self.save,
            self.save,
            self.subset,
            self.attributes,
            self.clusters,
            self.interrupt,
        ]

    def call(self, what: str, function: Any, *inputs: Any, **options: Any) -> tuple[bool, Any]:
        told = ", ".join(describe(value) for value in inputs)
        return self.report.call(
            f"{self.name}.{what}", function, inputs, told=told, model=self.model, **options
        )

    def rows(self) -> Any:
        if self.draw.random() < 0.1 and self.n < 100:
            if isinstance(self.model.metric, str) and self.model.metric == "precomputed":
                values = np.abs(draw_values(self.draw, self.n, self.n))
                return self.draw.choice([values, values + values.T, draw_graph(self.draw, self.n)])
            return draw_rows(self.draw)
        return draw_rows(self.draw, self.n, self.columns)

    def gaps(self) -> bool:
        """Whether the map may have rows of NaN: only where that was asked for."""
        value = getattr(self.model, "disconnected", "place")
        return isinstance(value, str) and value == "nan"

    def check_fitted(self, model: Any = None) -> None:
        model = model or self.model
        n = model.embedding_.shape[0]
        check_map(model.embedding_, n, gaps=self.gaps())
        if getattr(model, "transform_mode", "embedding") == "embedding" and model.graph_.shape[0] > n:
            raise Wrong(f"the graph has {model.graph_.shape} of {n} points")

    def fit(self) -> None:
        X, options = self.rows(), self.fit_options()
        method = self.draw.choice(["fit", "fit", "fit_transform"])
        function = getattr(self.model, method)
        fitted, _ = self.call(method, lambda: function(X, **options), X, *options.values())
        if fitted:
            self.check_fitted()
            self.n, self.columns = len(self.model.embedding_), self.model.n_features_in_

    def fit_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.draw.random() < 0.12:
            options["y"] = draw_labels(self.draw, self.n)
        if self.draw.random() < 0.05:
            weights = [
                np.ones(self.n),
                np.arange(self.n) % 3,
                np.zeros(self.n),
                -np.ones(self.n),
                "x",
                np.full(self.n, 1e300),
            ]
            options["sample_weight"] = self.draw.choice(weights)
        if self.draw.random() < 0.05:
            start = np.full((self.n, 2), np.nan)
            start[::3] = 1.0
            masks = [
                start,
                np.arange(self.n) % 2 == 0,
                draw_places(self.draw, self.n),
                [0],
                {0: (1.0, 2.0)},
                np.ones(self.n),
            ]
            options["fixed"] = self.draw.choice(masks)
        if self.name == "UMAP" and self.draw.random() < 0.04:
            options["ensure_all_finite"] = self.draw.choice([True, False, "allow-nan", "x", None])
        return options

    def fit_twice(self) -> None:
        """The same call twice gives the same bits, on one thread and on two."""
        X = self.rows()
        if not isinstance(self.model.random_state, int | np.integer) or callable(self.model.metric):
            return
        fitted, _ = self.call("fit", lambda: self.model.fit(X), X)
        if fitted:
            self.check_fitted()
            self.n, self.columns = len(self.model.embedding_), self.model.n_features_in_
            again = clone(self.model)
            if self.draw.random() < 0.2:
                again.set_params(n_jobs=2)
            self.report.call(f"{self.name}.fit", lambda: again.fit(X), (X,), told="again")
            same_bits(self.model.embedding_, again.embedding_, f"{self.name}.fit")

    def steps_of_fit(self) -> None:
        X, every = self.rows(), self.draw.choice([1, 1, 2, 10, 0, -1, "x", 1.5])

        def fit() -> None:
            for embedding in self.model.iter_fit(X, every=every):
                check_map(embedding, len(embedding), gaps=self.gaps())

        fitted, _ = self.call("iter_fit", fit, X)
        if fitted and hasattr(self.model, "embedding_"):
            self.n, self.columns = len(self.model.embedding_), self.model.n_features_in_

    def interrupt(self) -> None:
        """Ctrl-C, or an exception of the caller's, from the callback."""
        X, before = self.rows(), self.model.callback
        left, thrown = self.draw.randrange(12), self.draw.choice([KeyboardInterrupt, Stop])

        def callback(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise thrown("thrown by the callback")

        self.model.set_params(callback=callback)
        fitted, _ = self.call(
            "fit interrupted", lambda: self.model.fit(X), X, thrown=(KeyboardInterrupt, Stop)
        )
        self.model.set_params(callback=before)
        if fitted:
            self.check_fitted()
            self.n, self.columns = len(self.model.embedding_), self.model.n_features_in_

    def transform(self) -> None:
        new = draw_rows(self.draw, None if self.draw.random() < 0.9 else 0, self.columns)
        graph = getattr(self.model, "transform_mode", "") == "graph"
        done, places = self.call("transform", lambda: self.model.transform(new), new)
        if done and not graph and not isinstance(places, tuple):
            check_map(places, len(places), self.model.embedding_.shape[1], gaps=self.gaps())
            if self.draw.random() < 0.3:
                _, again = self.call("transform", lambda: self.model.transform(new), new)
                same_bits(places, again, f"{self.name}.transform")

    def inverse_transform(self) -> None:
        places = draw_places(self.draw, self.draw.randrange(6), self.model.embedding_.shape[1])

        def check(rows: Any) -> None:
            if (
                rows.ndim != 2
                or rows.shape[1] != self.columns
                or not np.isfinite(np.asarray(rows, float)).all()
            ):
                raise Wrong(f"inverse_transform gave {rows.shape} with {self.columns} columns, or no numbers")

        self.call("inverse_transform", lambda: self.model.inverse_transform(places), places, check=check)

    def _grow(self, what: str) -> None:
        X = draw_rows(self.draw, None, self.columns)
        done, _ = self.call(what, lambda: getattr(self.model, what)(X), X)
        if done:
            self.check_fitted()
            self.n = len(self.model.embedding_)

    def partial_fit(self) -> None:
        self._grow("partial_fit")

    def update(self) -> None:
        if isinstance(self.model, actup.UMAP):
            self._grow("update")

    def refit(self) -> None:
        self._grow("refit")

    def subset(self) -> None:
        n = self.n
        rows = self.draw.choice(
            [
                range(n),
                [0, 1, 2],
                np.arange(n) % 2 == 0,
                [],
                [n],
                [-1],
                [0, 0],
                "x",
                slice(0, 3),
                np.arange(3.0),
            ]
        )
        done, part = self.call("subset", lambda: self.model.subset(rows), rows)
        if done:
            self.check_fitted(part)

    def set_params(self) -> None:
        changes = draw_changes(self.draw, TABLES[type(self.model)], self.n)
        if self.draw.random() < 0.1:
            changes["no_such_parameter"] = self.draw.choice(WRONG)
        self.call("set_params", lambda: self.model.set_params(**changes), changes)

    def get_params(self) -> None:
        self.call("get_params", self.model.get_params)

    def clone(self) -> None:
        self.call("clone", lambda: clone(self.model))

    def pickle(self) -> None:
        done, copy = self.call(
            "pickle",
            lambda: pickle.loads(pickle.dumps(self.model)),
            thrown=(pickle.PicklingError, AttributeError),
        )
        if done and hasattr(self.model, "embedding_"):
            same_bits(copy.embedding_, self.model.embedding_, "pickle")
            self.model = copy

    def save(self) -> None:
        path = Path(_FOLDER.name, "model.actup")
        options = {
            "data": self.draw.choice(["full", "full", "half", None, "x"]),
            "compress": self.draw.random() < 0.3,
        }
        saved, _ = self.call("save", lambda: self.model.save(path, **options), options)
        if not saved:
            return
        _, loaded = self.call("load", lambda: actup.load(path))
        if isinstance(loaded, Exception):
            raise Wrong(f"a saved model cannot be loaded: {loaded}") from loaded
        same_bits(loaded.embedding_, self.model.embedding_, "load")
        if options["data"] == "full":
            self.model = loaded

    def attributes(self) -> None:
        names = [
            "graph_",
            "kl_divergence_",
            "learning_rate_",
            "n_iter_",
            "graph_dists_",
            "knn_indices",
            "rad_emb_",
        ]
        name = self.draw.choice(names)
        if hasattr(type(self.model), name):
            self.call(name, lambda: getattr(self.model, name))
        else:
            self.call("get_feature_names_out", self.model.get_feature_names_out)

    def clusters(self) -> None:
        space = self.draw.choice(["map", "graph", "neighbors", "x"])
        self.call(
            "find_clusters",
            lambda: actup.find_clusters(
                self.model, space=space, min_cluster_size=self.draw.choice([None, 2, 5])
            ),
        )


def describe(value: Any) -> str:
    """A short description of an input."""
    if hasattr(value, "shape"):
        return f"{type(value).__name__}{value.shape} {getattr(value, 'dtype', '')}"
    try:
        return repr(value)[:80]
    except Exception as error:  # of a matrix whose arrays make no sense
        return f"{type(value).__name__} without a text ({type(error).__name__})"
