"""The kinds of work that ``soak.py`` does at random: each checks its results and leaves nothing behind."""

from __future__ import annotations

import io
import itertools
import os
import random
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import actup
from actup import distributed
from actup._cli import main as command_line
from actup.saving import SavedModelError
from file_runs import clustered_rows
from interrupts import Case, check_model, interrupt
from live_client import Client
from process_state import Held

_KEPT_MODELS = 4  # fitted models that later work uses
# max_memory relative to what a fit is estimated to take: too little, perhaps enough for a lean fit, ample.
_REFUSED_SHARE, _LEAN_SHARES, _AMPLE_SHARE = 0.05, (0.6, 0.75, 0.9), 1.5
_MAX_LOOKS = 60_000  # at something that must happen; not seconds, because the whole process may be paused


@dataclass
class Work:
    """The state of a sequence of random work.

    Attributes
    ----------
    random : random.Random
        Draws every choice.
    models : list of (estimator, ndarray)
        The last fitted models, with their rows.
    """

    random: random.Random
    models: list[tuple[Any, np.ndarray]] = field(default_factory=list)

    def rows(self, least: int = 40, most: int = 1500) -> np.ndarray:
        """Rows in clusters: of few or many rows and columns, float32 or float64."""
        n = round(least * (most / least) ** self.random.random())
        columns = self.random.choice([2, 3, 8, 20, 50])
        rows = clustered_rows(n, columns, seed=self.random.randrange(1000))
        return rows if self.random.random() < 0.7 else rows.astype(np.float64)

    def estimator(self, epochs: int | None = None) -> Any:
        """An estimator of any kind, with random switches."""
        draw = self.random
        common = {"random_state": draw.randrange(1000), "n_jobs": draw.choice([1, 1, 1, 2])}
        epochs = draw.choice([5, 30, 100]) if epochs is None else epochs
        metric = draw.choice(["euclidean"] * 4 + ["cosine", "manhattan", "correlation", "chebyshev"])
        kind = draw.choice(["umap", "umap", "densmap", "tsne", "gdr"])
        if kind == "tsne":
            return actup.TSNE(
                perplexity=draw.choice([3, 8]), max_iter=epochs,
                metric=metric, **common,
            )  # fmt: skip
        if kind == "gdr":
            return actup.GDR(epochs=epochs, n_neighbors=8, metric=metric, **common)
        return actup.UMAP(
            n_epochs=epochs, n_neighbors=draw.choice([5, 15]), metric=metric, densmap=kind == "densmap",
            n_components=draw.choice([2, 2, 3]), **common,
        )  # fmt: skip

    def model(self) -> tuple[Any, np.ndarray]:
        """A fitted model, with its rows."""
        while not self.models:  # a fit may be refused
            fit(self)
        return self.random.choice(self.models)


def fit(work: Work) -> None:
    """Fit an estimator, sometimes to many rows or in little memory, and keep it for later work."""
    most = 12_000 if work.random.random() < 0.1 else 1500
    X, model = work.rows(most=most), work.estimator()
    share = work.random.choice([None] * 4 + [_REFUSED_SHARE, *_LEAN_SHARES, _AMPLE_SHARE])
    if share is not None:
        model.set_params(max_memory=int(share * model.memory_estimate(X).bytes))
    if is_refused(model, X):
        assert share is not None and share < 1, f"{model} has {share} of the memory that it needs"
        return
    assert share != _REFUSED_SHARE, f"{model} was fitted in {share} of the memory that it needs"
    assert np.isfinite(model.embedding_).all() and len(model.embedding_) == len(X)
    work.models = [*work.models, (model, X)][-_KEPT_MODELS:]


def is_refused(model: Any, X: np.ndarray) -> bool:
    """Fit a model; whether ``max_memory`` was too little for it, which then leaves nothing behind."""
    before, attributes, given = Held.now(), dict(vars(model)), X.copy()
    rows = weakref.ref(given)
    try:
        model.fit(given)
        return False
    except MemoryError as error:
        assert "max_memory" in str(error), error
    del given
    found = Held.now().more_than([before])
    assert not found, f"a refused fit has left {found}"
    assert rows() is None, "a refused fit holds its rows"
    assert vars(model).keys() == attributes.keys(), "a refused fit has changed its model"
    assert all(vars(model)[name] is value for name, value in attributes.items())
    return True


def refused_refit(work: Work) -> None:
    """Fit a fitted model in too little memory: the error leaves it as it was."""
    model, X = work.model()
    places, limit = model.transform(X[:5]), model.max_memory
    model.set_params(max_memory=work.random.choice(["1kB", 1]))
    try:
        assert is_refused(model, X)
    finally:
        model.set_params(max_memory=limit)
    assert np.array_equal(model.transform(X[:5]), places)


def transform(work: Work) -> None:
    """Place new rows, one of them or many, and sometimes go back to rows."""
    model, X = work.model()
    new = X[: work.random.choice([1, 30, len(X)])] + X.dtype.type(0.01)
    places = model.transform(new)
    assert places.shape == (len(new), model.embedding_.shape[1]) and np.isfinite(places).all()
    if hasattr(model, "inverse_transform") and model.embedding_.shape[1] == 2 and model.metric == "euclidean":
        assert model.inverse_transform(places[:3]).shape == (min(3, len(new)), X.shape[1])


def save_and_load(work: Work) -> None:
    """Save a model, load it, and compare what the two do with new rows."""
    model, X = work.model()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.actup"
        model.save(path, compress=work.random.random() < 0.5)
        loaded = actup.load(path)
    assert np.array_equal(loaded.embedding_, model.embedding_)
    assert np.array_equal(loaded.transform(X[:5]), model.transform(X[:5]))


def interrupts(work: Work) -> None:
    """Send Ctrl-C at a random moment of a fit: the old model stays, or there is a whole new one."""
    X, model = work.rows(least=300), work.estimator(epochs=200)
    case = Case("fit", lambda: model.fit(X), model)
    outcome, _ = interrupt(case, signal.SIGINT, work.random.uniform(0, 0.3))
    assert outcome in ("finished", "KeyboardInterrupt"), outcome
    check_model(case)


def fork(work: Work) -> None:
    """Fit in a forked child while a thread of the parent fits too: both maps have the bits of one alone."""
    X, model = work.rows(most=400), work.estimator(epochs=30)
    expected = model.fit_transform(X)
    same: list[bool] = []
    beside = threading.Thread(target=lambda: same.append(_has_bits(model, X, expected)))
    beside.start()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if _has_bits(model, X, expected) else 2
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    beside.join()
    assert os.waitstatus_to_exitcode(status) == 0 and same == [True]


def threads(work: Work) -> None:
    """Fit in several threads at the same time: every map has the bits of one made alone."""
    fits = [(work.estimator(epochs=30), work.rows(most=400)) for _ in range(work.random.choice([2, 3]))]
    expected = [model.fit_transform(X) for model, X in fits]
    same: list[bool] = []
    running = [
        threading.Thread(target=lambda a: same.append(_has_bits(*a)), args=((model, X, Y),))
        for (model, X), Y in zip(fits, expected, strict=True)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert same == [True] * len(fits)


def live(work: Work) -> None:
    """Begin a live page, follow it as a browser does, steer the layout, and end it in one of three ways."""
    X, draw = work.rows(least=100, most=600), work.random
    model = actup.UMAP(n_epochs=draw.choice([50, 5000]), random_state=0, n_jobs=1)
    session = actup.live(X, model, browser=False, wait_for_page=draw.random() < 0.5)
    client, seen = Client(session, seconds=None), []
    listener = threading.Thread(target=lambda: seen.extend(itertools.islice(client.messages(), 10_000)))
    listener.start()
    _wait_until(lambda: bool(seen))
    assert client.request().read()
    for request in draw.sample(["pause", "resume", "steer"], 2):
        body = b'{"exaggeration": 2.0}' if request == "steer" else b""
        assert client.post(request, body) == 204
    if draw.random() < 0.3:
        client.post("resume")
        client.post("stop")
        session.wait_for_layout()
        session.zoom_in(np.arange(60))
    if draw.random() < 0.3:
        assert client.post("end") == 204
        session.wait()
    session.close()
    listener.join()
    _wait_until(lambda: not any(thread.name.startswith("actup-live") for thread in threading.enumerate()))


def embed_many(work: Work) -> None:
    """Make several maps that share stages."""
    recipes = [actup.preset(name).but(epochs=10) for name in ("umap", "gdr_umap", "sampled_umap")]
    made = actup.embed_many(work.rows(most=500), recipes[: work.random.choice([2, 3])], threads=1)
    assert all(np.isfinite(result.embedding).all() for result in made.results.values())


def find_clusters(work: Work) -> None:
    """Find the clusters of a map, with names from labels or texts."""
    model, X = work.model()
    labels = np.arange(len(X)) % 3
    texts = [f"word{label} other" for label in labels]
    named = {"labels": labels} if work.random.random() < 0.5 else {"texts": texts}
    clusters = actup.find_clusters(model, n_jobs=1, **named)
    assert clusters.labels.shape == (len(X),)


def files(work: Work) -> None:
    """Make a map of files, part by part, and sometimes stop halfway and go on."""
    with tempfile.TemporaryDirectory() as folder:
        shards = [Path(folder) / f"{number}.npy" for number in range(work.random.choice([1, 3]))]
        for number, path in enumerate(shards):
            np.save(path, clustered_rows(200, 6, seed=number))
        recipe = actup.preset("umap").but(epochs=work.random.choice([5, 50]))

        def run() -> Any:
            return distributed.embed(shards, recipe, work=f"{folder}/work", threads=1, backend="cpu")

        if work.random.random() < 0.5:
            interrupt(Case("run over files", run), signal.SIGINT, work.random.uniform(0, 0.1))
        assert np.load(run().embedding).shape == (200 * len(shards), 2)


def commands(work: Work) -> None:
    """Run a command of the command line in this process."""
    with tempfile.TemporaryDirectory() as folder:
        source, model = f"{folder}/rows.npy", f"{folder}/model.actup"
        np.save(source, work.rows(most=300).astype(np.float32))
        kinds = work.random.sample(["html", "png", "npy", "csv", "parquet", "svg", "npz"], 2)
        outputs = [argument for kind in kinds for argument in ("-o", f"{folder}/map.{kind}")]
        common = ["-j", "1", "--epochs", "10", "--quiet"]
        assert command_line(["embed", source, *outputs, "-o", model, *common]) == 0
        with redirect_stdout(io.StringIO()):
            assert command_line(["view", model, "--no-open", "-o", f"{folder}/page.html", "--quiet"]) == 0


def quality(work: Work) -> None:
    """Measure how good a map is."""
    model, X = work.model()
    report = actup.quality_report(X, model.embedding_, n_jobs=1, verbose=False)
    assert all(np.isfinite(found.value) for found in report.measurements.values())


def errors(work: Work) -> None:
    """Give something that cannot be used: the error is of the promised type, and nothing is left of it."""
    X = work.rows(most=200)
    broken = X.copy()
    broken[work.random.randrange(len(X))] = np.nan
    model, fitted = work.estimator(), work.model()[0]
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged.actup"
        fitted.save(damaged)
        content = bytearray(damaged.read_bytes())
        content[work.random.randrange(len(content))] ^= 0xFF
        damaged.write_bytes(content[: work.random.randrange(len(content))])
        wrong: list[tuple[Callable[[], Any], type[Exception]]] = [
            (lambda: model.fit(broken), ValueError),
            (lambda: model.fit(X[0]), ValueError),
            (lambda: model.fit(np.array([["a", "b"]] * 20)), ValueError),
            (lambda: actup.UMAP(n_neighbors=0).fit(X), ValueError),
            (lambda: actup.UMAP(metric="no such metric").fit(X), ValueError),
            (lambda: fitted.transform(X[:, :1]), ValueError),
            (lambda: actup.load(damaged), SavedModelError),
            (lambda: actup.live(broken, "no such model", browser=False), ValueError),
            (lambda: actup.embed(X, "umap", epochs=-1), (ValueError, TypeError)),
            (lambda: distributed.embed(broken, "umap", work=folder, threads=1), ValueError),
        ]  # fmt: skip
        call, kind = work.random.choice(wrong)
        try:
            call()
        except kind:
            return
    raise AssertionError(f"case {wrong.index((call, kind))} of the wrong inputs raised nothing")


# What is done, and how often relative to the others.
KINDS: dict[Callable[[Work], None], int] = {
    fit: 6, refused_refit: 1, transform: 4, save_and_load: 3, interrupts: 4, fork: 2, threads: 2, live: 3,
    embed_many: 1, find_clusters: 2, files: 2, commands: 1, quality: 1, errors: 4,
}  # fmt: skip


def probe() -> list[bytes]:
    """The bits of fixed fits, of a transform and of a run over files."""
    X = clustered_rows(300, 8)
    models = [
        actup.UMAP(n_epochs=50, random_state=0, n_jobs=2),
        actup.TSNE(max_iter=50, random_state=0, n_jobs=1),
        actup.GDR(epochs=50, random_state=0, n_jobs=1),
    ]
    maps = [model.fit_transform(X) for model in models]
    with tempfile.TemporaryDirectory() as folder:
        recipe = actup.preset("umap").but(epochs=10)
        maps.append(distributed.embed(X, recipe, work=folder, threads=1, backend="cpu").embedding)
    return [np.asarray(Y).tobytes() for Y in [*maps, models[0].transform(X[:20])]]


@contextmanager
def temporary_folder() -> Iterator[None]:
    """Have all temporary files of this process and of its children in a new folder."""
    former = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="actup-soak-") as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        try:
            yield
        finally:
            tempfile.tempdir = former
            del os.environ["TMPDIR"]


def _has_bits(model: Any, X: np.ndarray, expected: np.ndarray) -> bool:
    fresh = type(model)(**model.get_params())
    return np.array_equal(fresh.fit_transform(X), expected)


def _wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(_MAX_LOOKS):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("what was waited for did not happen")
