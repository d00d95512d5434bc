"""Peak memory of whole fits in memory, stage by stage, in bytes per row.

    python benchmarks/memory.py                  # a million rows: UMAP, t-SNE and, if installed, umap-learn
    python benchmarks/memory.py --rows 100000 --only "actup UMAP"

Every fit runs in a fresh process that loads X and samples its anonymous memory (RssAnon of /proc/self/status,
Linux only) every few milliseconds. Counted is what it has more than before X was loaded, less X itself. A
stage lasts until the next one reports: "start" includes the making of the layout. The rows are leading
components of MNIST drawn with replacement, with noise. Results are saved in benchmarks/results/memory.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

COLUMNS, NOISE = 50, 20.0
SAMPLE_SECONDS = 0.003
THREADS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="+", choices=list(FITS), default=list(FITS), metavar="FIT")
    parser.add_argument("--data", default="mnist", help="name of a data set of actup.datasets")
    parser.add_argument("--child", nargs=2, metavar=("FIT", "X.npy"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*options.child)))
        return
    import report

    results = report.saved("memory")
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "X.npy")
        np.save(source, drawn_rows(options.data, options.rows))
        for name in options.only:
            package = FITS[name][0]
            if find_spec(package) is None:
                print(f"{name}: {package} is not installed")
                continue
            child = [sys.executable, "-W", "ignore", __file__, "--child", name, source]
            done = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True)
            row = json.loads(done.stdout.splitlines()[-1])
            results.setdefault(f"{options.rows} x {COLUMNS}", {})[name] = row
            print(line_of(name, row), flush=True)
    print(f"saved in {report.save('memory', results, ['actup', 'umap-learn', 'numpy', 'numba'])}")


def drawn_rows(data: str, n: int) -> np.ndarray:
    """Leading components of rows drawn with replacement, with normal noise: (n, 50) float32."""
    from actup.datasets import load

    X = np.float32(load(data).X)
    X = X.reshape(len(X), -1)
    X -= X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X)
    scores = X @ vectors[:, ::-1][:, :COLUMNS]
    random = np.random.default_rng(0)
    rows = np.empty((n, scores.shape[1]), np.float32)
    for begin in range(0, n, 100_000):
        part = rows[begin : begin + 100_000]
        part[:] = scores[random.integers(len(scores), size=len(part))]
        part += NOISE * random.standard_normal(part.shape, dtype=np.float32)
    return rows


def measure(name: str, source: str) -> dict:
    """Run one fit in this process."""
    watch = Watch()
    fit = FITS[name][1](watch)
    baseline = anonymous_bytes()
    X = np.load(source)
    known = baseline + X.nbytes
    with watch:
        begin = time.perf_counter()
        fit(X)
        seconds = time.perf_counter() - begin
    peaks = {stage: round((peak - known) / len(X), 1) for stage, peak in watch.peaks.items()}
    return {
        "peak": max(peaks.values()),
        "stages": peaks,
        "left": round((anonymous_bytes() - known) / len(X), 1),
        "baseline_megabytes": round(baseline / 1e6),
        "seconds": round(seconds, 1),
    }


def anonymous_bytes() -> int:
    """The anonymous memory of this process."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) * 1024


class Watch:
    """Samples the memory in a thread, and keeps the peak of each stage."""

    def __init__(self) -> None:
        self.stage = "before"
        self.peaks: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            stage = self.stage
            self.peaks[stage] = max(self.peaks.get(stage, 0), anonymous_bytes())


def actup_fit(estimator: str, **parameters):
    """An estimator of ActUp, whose stages are told apart."""

    def prepare(watch: Watch):
        import actup
        from actup.progress import Progress

        class Stages(Progress):
            def report(self, stage, fraction, embedding=None):
                watch.stage = stage

        class Watched(getattr(actup, estimator)):
            def _progress(self):
                return Stages()

        model = Watched(random_state=0, n_jobs=THREADS, **parameters)
        return model.fit

    return prepare


def umap_learn(watch: Watch):
    import umap

    watch.stage = "all"
    # Neighbours of a drawn row are copies of the same row, so that the graph has 25,000 components. Its
    # spectral start compares all pairs of them, takes 7 GB and did not end within a quarter of an hour.
    return umap.UMAP(n_neighbors=15, n_jobs=THREADS, init="pca").fit


# Name: the package that it needs, and what makes the fit.
FITS = {
    "actup UMAP": ("actup", actup_fit("UMAP", n_neighbors=15)),
    "actup t-SNE": ("actup", actup_fit("TSNE", perplexity=10)),
    "umap-learn": ("umap", umap_learn),
}


def line_of(name: str, row: dict) -> str:
    stages = ", ".join(f"{stage} {peak:.0f}" for stage, peak in row["stages"].items())
    return f"{name}: peak {row['peak']:.0f} bytes per row over X ({stages}), {row['seconds']:.0f} s"


if __name__ == "__main__":
    main()
