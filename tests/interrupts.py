"""Interrupt fits and searches at random moments, and check what is left: ``python tests/interrupts.py``.

In every case a signal arrives at a random moment of a running call: SIGINT (Ctrl-C), or SIGTERM with a
handler that raises SystemExit. The call must end soon, the estimator must hold the old model or a whole new
one, and the memory of the call must be free again.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import actup
from process_state import resident_mib

MAX_GROWTH_MIB = 64.0  # what allocators and caches may keep


@dataclass(frozen=True)
class Case:
    """A call that is interrupted, and the estimator that it fits, if any."""

    name: str
    call: Callable[[], Any]
    model: Any = None


def make_rows(n: int, columns: int, seed: int = 0) -> np.ndarray:
    """Clustered rows, which searches of every kind find neighbours in."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(50, columns)) * 3
    return (centers[rng.integers(50, size=n)] + rng.normal(size=(n, columns))).astype(np.float32)


def fit_case(name: str, model: Any, X: Any) -> Case:
    return Case(name, lambda: model.fit(X), model)


def make_cases(scale: float) -> list[Case]:
    """One case per kind of search, start and layout; ``scale`` multiplies the numbers of rows."""

    def rows(n: int, columns: int) -> np.ndarray:
        return make_rows(int(n * scale), columns)

    def by_function(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.abs(a - b).sum())

    very_wide = rows(3_000, 20_000).astype(float)
    wide, narrow, many = rows(40_000, 400), rows(8_000, 40), rows(220_000, 20)
    counts = np.abs(narrow).round()
    words = sparse.random(int(12_000 * scale), 5_000, 0.01, "csr", np.float32, random_state=0)
    distances = np.abs(narrow[:3_000, :1].astype(float) - narrow[:3_000, 0].astype(float))
    wide_words = sparse.csr_matrix((words.data, words.indices * 1_000, words.indptr), (words.shape[0], 2**23))
    far = rows(6_000, 20).astype(float)
    far[::2] += 1e8
    fitted = actup.UMAP(n_epochs=20, random_state=0).fit(wide)
    graph = actup.UMAP(n_epochs=0, random_state=0)
    return [
        fit_case("umap, cluster search", actup.UMAP(random_state=0), wide),
        fit_case("tsne, cluster search, pca start", actup.TSNE(random_state=0), wide),
        fit_case("gdr", actup.GDR(random_state=0), wide),
        fit_case("umap, landmarks", actup.UMAP(random_state=0), many),
        fit_case("umap, sampled", actup.UMAP(learning_rate=1.0, random_state=0), narrow),
        fit_case("umap, 3-D", actup.UMAP(n_components=3, random_state=0), narrow),
        fit_case("manhattan", actup.UMAP(metric="manhattan", random_state=0), rows(20_000, 200)),
        fit_case(
            "minkowski",
            actup.UMAP(metric="minkowski", metric_kwds={"p": 2.5}, random_state=0),
            rows(8_000, 100),
        ),
        fit_case(
            "minkowski, SciPy",
            actup.UMAP(metric="minkowski", metric_kwds={"p": 5}, random_state=0),
            rows(4_000, 40),
        ),
        fit_case("jaccard", actup.UMAP(metric="jaccard", random_state=0), rows(20_000, 500) > 0),
        fit_case("symmetric_kl", actup.UMAP(metric="symmetric_kl", random_state=0), counts + 1),
        fit_case("ll_dirichlet", actup.UMAP(metric="ll_dirichlet", random_state=0), counts[:1_000] + 1),
        fit_case("function", actup.UMAP(metric=by_function, random_state=0), narrow[:1_000]),
        fit_case("sparse cosine", actup.UMAP(metric="cosine", random_state=0), words),
        fit_case("sparse euclidean", actup.TSNE(random_state=0), words),
        fit_case("wide sparse", actup.TSNE(random_state=0), wide_words),
        fit_case("20,000 columns of float64", actup.TSNE(random_state=0), very_wide),
        fit_case("mahalanobis", actup.UMAP(metric="mahalanobis", random_state=0), rows(10_000, 300)),
        fit_case("far groups", actup.UMAP(random_state=0), far),
        fit_case("far groups, canberra", actup.UMAP(metric="canberra", random_state=0), far[:1_500]),
        fit_case("precomputed", actup.UMAP(metric="precomputed", random_state=0), distances),
        Case("exact search", lambda: actup.nearest_neighbors(wide, 15, algorithm="exact")),
        Case("exact search, correlation", lambda: actup.nearest_neighbors(
            wide[:10_000], 15, metric="correlation", algorithm="exact")),
        Case("quality", lambda: actup.quality.trustworthiness(wide, fitted.embedding_)),
        Case("transform", lambda: fitted.transform(wide + 0.1)),
        fit_case("no layout", graph, wide),
    ]  # fmt: skip


def state_of(model: Any) -> dict[str, Any]:
    """What a fit leaves, by identity of arrays."""
    return {name: id(value) for name, value in vars(model).items() if name.endswith("_") or name[0] == "_"}


class Interrupter:
    """Sends a signal after some seconds and remembers when."""

    def __init__(self, number: int, delay: float):
        self._number = number
        self.sent = float("inf")
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._send, args=(delay,), daemon=True)

    def _send(self, delay: float) -> None:
        if not self._cancelled.wait(delay):
            self.sent = time.perf_counter()
            signal.pthread_kill(threading.main_thread().ident or 0, self._number)

    def __enter__(self) -> Interrupter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._cancelled.set()
        self._thread.join()


def interrupt(case: Case, number: int, delay: float) -> tuple[str, float]:
    """Run a case, interrupt it, and return what happened and the seconds between signal and end."""
    before = state_of(case.model) if case.model is not None else {}
    outcome = "finished"
    interrupter = Interrupter(number, delay)
    try:
        with interrupter:
            try:
                case.call()
            except KeyboardInterrupt:
                outcome = "KeyboardInterrupt"
            except SystemExit:
                outcome = "SystemExit"
            ended = time.perf_counter()
    except (KeyboardInterrupt, SystemExit):  # the signal came just after the call had ended
        ended = time.perf_counter()
    if outcome != "finished" and case.model is not None and state_of(case.model) != before:
        outcome = "model changed"
    return outcome, ended - interrupter.sent if interrupter.sent < ended else 0.0


def check_model(case: Case) -> None:
    """A fitted model is whole."""
    model = case.model
    if model is None or not hasattr(model, "embedding_"):
        return
    assert np.isfinite(model.embedding_).all(), case.name
    assert model.graph_.shape == (len(model.embedding_),) * 2, case.name


def stop(*_: object) -> None:
    raise SystemExit(143)


def run(moments: int, scale: float, seed: int, limit: float, only: str = "") -> list[str]:
    """Interrupt the cases in turn; returns the lines of failed moments, e.g. of more than ``limit`` s."""
    signal.signal(signal.SIGTERM, stop)
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    failures: list[str] = []
    latencies: list[float] = []
    cases = [case for case in make_cases(scale) if only in case.name]
    lengths: dict[str, float] = {}
    for moment in range(moments):
        case = cases[moment % len(cases)]
        if case.name not in lengths:
            begin = time.perf_counter()
            case.call()
            lengths[case.name] = time.perf_counter() - begin
            check_model(case)
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        delay = rng.uniform(0, lengths[case.name])
        memory = resident_mib()
        begin = time.perf_counter()
        outcome, seconds = interrupt(case, number, delay)
        if outcome == "finished":
            lengths[case.name] = min(lengths[case.name], time.perf_counter() - begin)
        check_model(case)
        growth = resident_mib() - memory
        latencies.append(seconds)
        line = (
            f"{case.name:32} {number.name} after {delay:5.2f} of {lengths[case.name]:5.2f} s: {outcome:17} "
            f"{seconds:5.3f} s later, {growth:+5.0f} MiB"
        )
        failed = seconds > limit or growth > MAX_GROWTH_MIB or outcome == "model changed"
        print(line + (" <<<" if failed else ""), flush=True)
        if failed:
            failures.append(line)
    latencies.sort()
    print(
        f"{moments} moments: median {latencies[len(latencies) // 2]:.3f} s, largest {latencies[-1]:.3f} s, "
        f"{len(failures)} failures"
    )
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=0.3, help="seconds within which a signal is answered")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    failures = run(options.moments, options.scale, options.seed, options.limit, options.only)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
