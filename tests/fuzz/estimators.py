"""Lives of estimators: fits, failures, interrupts, new rows, copies and files in any order."""

from __future__ import annotations

import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import actup

from .arrays import draw_columns, draw_count, draw_labels, draw_places, draw_rows, draw_values
from .matrices import draw_graph
from .oracle import Report, Stop, Wrong, check_map, count_rows, same_bits
from .parameters import SHAPES, TABLES, WRONG, draw_changes, draw_parameters
from .scratch import scratch_folder

KINDS = [actup.UMAP] * 8 + [actup.TSNE] * 4 + [actup.GDR] * 4 + [actup.ParametricUMAP]
_FOLDER = scratch_folder()
_MOST_BYTES = 2**30  # of a fit that must succeed within its estimate; a process has 8 GiB of addresses


def run_case(draw: random.Random, report: Report) -> None:
    """The life of one estimator."""
    kind, n, columns = draw.choice(KINDS), draw_count(draw), draw_columns(draw)
    parameters = draw_parameters(draw, kind, n)
    made, model = report.call(
        f"{kind.__name__}",
        lambda: kind(**parameters),
        tuple(parameters.values()),
        told=shown(parameters),
        stores=True,
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
        self.fitted_rows, self.dimensions = 0, 0  # of the map, by what the last fit was given

    def steps(self) -> list[Any]:
        always = [self.fit, self.fit_twice, self.set_params, self.clone, self.pickle, self.get_params]
        always += [self.estimate, self.set_output]
        if not hasattr(self.model, "embedding_"):
            first = [self.fit] * 5 + [self.transform, self.interrupt, self.steps_of_fit, self.estimate]
            return [*always, *first, *[self.fit_files] * (self.draw.random() < 0.1)]
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
        options["thrown"] = (
            *options.get("thrown", ()),
            Stop,
            StopIteration,
        )  # which callbacks may throw in any call
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

    def wanted_dimensions(self) -> int:
        """Of a map that is made now."""
        wanted = self.model.n_components
        return 2 if wanted is None else int(wanted)

    def check_fitted(self, n: int, dimensions: int, model: Any = None) -> None:
        """Check a model against the number of rows that it was given, and of dimensions asked for."""
        model = model or self.model
        check_map(model.embedding_, n, dimensions, gaps=self.gaps())
        if getattr(model, "transform_mode", "embedding") == "embedding" and model.graph_.shape[0] > n:
            raise Wrong(f"the graph has {model.graph_.shape} of {n} points")

    def fitted(self, n: int, dimensions: int | None = None) -> None:
        """Check the model after a fit of n rows, and go on with it."""
        self.fitted_rows, self.dimensions = n, dimensions or self.wanted_dimensions()
        self.check_fitted(n, self.dimensions)
        self.n, self.columns = n, self.model.n_features_in_

    def check_places(self, places: Any, n: int) -> None:
        """Check what ``fit_transform`` or ``transform`` gave for n rows."""
        if isinstance(places, tuple):  # with radii, if output_dens
            places, *others = places
            if any(len(other) != n for other in others):
                raise Wrong(f"{[len(other) for other in others]} radii of {n} rows")
        if getattr(self.model, "transform_mode", "embedding") == "graph":
            # With unique=True it has no duplicates, as in umap-learn.
            if places.shape[0] != n and not (self.model.unique and places.shape[0] < n):
                raise Wrong(f"a graph of {n} rows has shape {places.shape}")
        else:
            check_map(places, n, self.dimensions, gaps=self.gaps())

    def fit(self) -> None:
        X, options = self.rows(), self.fit_options()
        method = self.draw.choice(["fit", "fit", "fit_transform"])
        mode = getattr(self.model, "transform_mode", "embedding")
        if not np.array_equal(mode, "embedding") and self.has_frames():
            method = "fit"  # scikit-learn rejects a graph as a data frame after the fit
        function = getattr(self.model, method)
        fitted, result = self.call(method, lambda: function(X, **options), X, *options.values())
        if fitted:
            self.fitted(count_rows(X))
            if method == "fit_transform":
                self.check_places(result, count_rows(X))
            elif result is not self.model:
                raise Wrong("fit does not return the estimator")

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
            self.fitted(count_rows(X))
            again = clone(self.model)
            if self.draw.random() < 0.2:
                again.set_params(n_jobs=2)
            done, _ = self.report.call(
                f"{self.name}.fit", lambda: again.fit(X), (X,), told="again", thrown=(Stop, StopIteration)
            )
            if not done:
                raise Wrong("the same call failed the second time")
            same_bits(self.model.embedding_, again.embedding_, f"{self.name}.fit")

    def steps_of_fit(self) -> None:
        X, every = self.rows(), self.draw.choice([1, 1, 2, 10, 0, -1, "x", 1.5])

        steps = []

        def fit() -> None:
            for embedding in self.model.iter_fit(X, every=every):
                steps.append(len(embedding))
                check_map(embedding, count_rows(X), self.wanted_dimensions(), gaps=self.gaps())

        before = vars(self.model).get("embedding_")
        ended = (RuntimeError, "generator raised StopIteration")  # what Python makes of it in a generator
        # A model is fitted to each step that is handed out.
        fitted, _ = self.call("iter_fit", fit, X, allowed=ended, may_change=lambda: bool(steps))
        if (fitted or steps) and vars(self.model).get("embedding_") is not before:
            self.fitted(count_rows(X))

    def estimate(self) -> None:
        """What an estimate rejects, a fit rejects; and a fit stays within what an estimate allows."""
        if self.draw.random() < 0.2:
            shape = self.draw.choice(SHAPES)
            kwds = {"dtype": self.draw.choice([None, "f4", np.float64, "x", object]), "stored_values": None}
            if self.draw.random() < 0.3:
                kwds["stored_values"] = self.draw.choice([*WRONG, 100])
            self.call("memory_estimate", lambda: self.model.memory_estimate(shape, **kwds), shape, kwds,
                      read_only=True)  # fmt: skip
            return
        X, options = self.rows(), self.fit_options()
        options = {name: value for name, value in options.items() if name in ("y", "sample_weight")}
        done, found = self.call(
            "memory_estimate",
            lambda: self.model.memory_estimate(X, **options),
            X,
            *options.values(),
            read_only=True,
        )
        other = clone(self.model)
        if done:
            most = np.inf if X is None else count_rows(X)  # X=None: lists of neighbours are given
            if found.rows > most or not 0 < found.bytes < 2**60 or not found.describe():
                raise Wrong(f"an estimate of {most} rows is {found}")
            if self.draw.random() < 0.3:
                return
            other.set_params(max_memory=found.limited_bytes)
        elif self.draw.random() < 0.3:
            return
        fitted, error = self.report.call(
            f"{self.name}.fit",
            lambda: other.fit(X, **options),
            (X,),
            told=f"with max_memory={other.max_memory!r}",
            thrown=(Stop, StopIteration),
        )
        if fitted and not done:
            raise Wrong(f"memory_estimate rejects what fit accepts: {found}")
        of_the_network = "hidden_layer_sizes" in str(error)  # which estimates do not count
        if done and isinstance(error, MemoryError) and found.bytes < _MOST_BYTES and not of_the_network:
            raise Wrong(f"a fit needs more than its estimate: {error}")

    def has_frames(self) -> bool:
        """Whether set_output has asked for data frames."""
        config = getattr(self.model, "_sklearn_output_config", {})
        return config.get("transform", "default") != "default"

    def set_output(self) -> None:
        kind = self.draw.choice(["default", "default", "default", "pandas", "polars", None])
        self.call("set_output", lambda: self.model.set_output(transform=kind))

    def fit_files(self) -> None:
        """A fit of rows in a file, or of an array, with a folder for intermediate files."""
        work = Path(_FOLDER.name, "work")
        shutil.rmtree(work, ignore_errors=True)
        X = draw_rows(self.draw, self.n, self.columns)
        source: Any = X
        if type(X) is np.ndarray and not X.dtype.hasobject and self.draw.random() < 0.6:
            source = Path(_FOLDER.name, "rows.npy")
            np.save(source, X)
        options: dict[str, Any] = {}
        if self.draw.random() < 0.2:
            options["memory"] = self.draw.choice([*WRONG, "1GB", "1 kB"])
        if self.draw.random() < 0.1:
            options["columns"] = self.draw.choice([*WRONG, [0], range(2)])
        fitted, _ = self.call(
            "fit_files",
            lambda: self.model.fit_files(source, work=work, **options),
            X,
            allowed=(FileNotFoundError, "source="),
        )
        if fitted:
            Y = self.model.embedding_
            Y = np.load(Y) if isinstance(Y, str | Path) else Y
            check_map(Y, count_rows(X), self.wanted_dimensions())
            self.model = clone(self.model)  # which a fit of rows in memory may follow

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
            self.fitted(count_rows(X))

    def transform(self) -> None:
        new = draw_rows(self.draw, None if self.draw.random() < 0.9 else 0, self.columns)
        graph = getattr(self.model, "transform_mode", "") == "graph"
        done, places = self.call("transform", lambda: self.model.transform(new), new, read_only=True)
        if done:
            self.check_places(places, count_rows(new))
        if done and not graph and not isinstance(places, tuple) and self.draw.random() < 0.3:
            _, again = self.call("transform", lambda: self.model.transform(new), new)
            same_bits(places, again, f"{self.name}.transform")

    def inverse_transform(self) -> None:
        places = draw_places(self.draw, self.draw.randrange(6), self.model.embedding_.shape[1])

        def check(rows: Any) -> None:
            if (
                rows.shape != (count_rows(places), self.columns)
                or not np.isfinite(np.asarray(rows, float)).all()
            ):
                raise Wrong(f"inverse_transform gave {rows.shape} with {self.columns} columns, or no numbers")

        self.call(
            "inverse_transform",
            lambda: self.model.inverse_transform(places),
            places,
            check=check,
            read_only=True,
        )

    def _grow(self, what: str) -> None:
        X = draw_rows(self.draw, None, self.columns)
        done, _ = self.call(what, lambda: getattr(self.model, what)(X), X)
        if done:
            self.fitted(self.fitted_rows + count_rows(X), self.dimensions)

    def partial_fit(self) -> None:
        self._grow("partial_fit")

    def update(self) -> None:
        if isinstance(self.model, actup.UMAP):
            self._grow("update")

    def refit(self) -> None:
        X = draw_rows(self.draw, None, self.columns)
        done, other = self.call("refit", lambda: self.model.refit(X), X, read_only=True)
        if done:
            self.check_fitted(count_rows(X), self.dimensions, other)

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
        done, part = self.call("subset", lambda: self.model.subset(rows), rows, read_only=True)
        if done:
            selected = np.arange(self.fitted_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
            self.check_fitted(len(selected), self.dimensions, part)

    def set_params(self) -> None:
        changes = draw_changes(self.draw, TABLES[type(self.model)], self.n)
        if self.draw.random() < 0.1:
            changes["no_such_parameter"] = self.draw.choice(WRONG)
        self.call("set_params", lambda: self.model.set_params(**changes), changes)

    def get_params(self) -> None:
        self.call("get_params", self.model.get_params, read_only=True)

    def clone(self) -> None:
        self.call("clone", lambda: clone(self.model), read_only=True)

    def pickle(self) -> None:
        done, copy = self.call(
            "pickle",
            lambda: pickle.loads(pickle.dumps(self.model)),
            thrown=(pickle.PicklingError, AttributeError),
            read_only=True,
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
        saved, _ = self.call("save", lambda: self.model.save(path, **options), options, read_only=True)
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
            self.call(name, lambda: getattr(self.model, name), read_only=True)
        else:
            self.call("get_feature_names_out", self.model.get_feature_names_out, read_only=True)

    def clusters(self) -> None:
        space = self.draw.choice(["map", "graph", "neighbors", "x"])
        done, found = self.call(
            "find_clusters",
            lambda: actup.find_clusters(
                self.model, space=space, min_cluster_size=self.draw.choice([None, 2, 5])
            ),
            read_only=True,
        )
        if done and len(found.labels) != self.fitted_rows:
            raise Wrong(f"{len(found.labels)} labels of {self.fitted_rows} points")


def describe(value: Any) -> str:
    """A short description of an input."""
    if hasattr(value, "shape"):
        return f"{type(value).__name__}{value.shape} {getattr(value, 'dtype', '')}"
    try:
        return repr(value)[: 400 if isinstance(value, dict) else 80]
    except Exception as error:  # of a matrix whose arrays make no sense
        return f"{type(value).__name__} without a text ({type(error).__name__})"
