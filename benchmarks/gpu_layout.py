"""The layout alone on the GPU: time, and quality beside the CPU's from the same graph and start.

python benchmarks/gpu_layout.py [--million] [--save]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from report import save, summary

from actup.backends import load_backend
from actup.backends.cuda.arrays import to_host
from actup.backends.cuda.compile import cupy
from actup.cookbook import preset
from actup.datasets import load
from actup.graph import Graph

PRESETS = ("gdr_umap", "tsne", "umap", "sampled_gdr_umap")


def timed(work, repeats: int = 5):
    """The last result, and the seconds of each call after one that warms up."""
    seconds = []
    for _ in range(repeats + 1):
        cupy().cuda.Device().synchronize()
        begin = time.perf_counter()
        result = work()
        cupy().cuda.Device().synchronize()
        seconds.append(time.perf_counter() - begin)
    return result, seconds[1:], seconds[0]


def label_accuracy(Y: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    """How often most of a point's nearest neighbours have its label, on 10,000 points."""
    from sklearn.neighbors import NearestNeighbors

    rows = np.random.default_rng(0).choice(len(Y), min(len(Y), 10_000), replace=False)
    found = NearestNeighbors(n_neighbors=k + 1, n_jobs=-1).fit(Y).kneighbors(Y[rows])[1][:, 1:]
    votes = np.apply_along_axis(lambda row: np.bincount(row, minlength=10).argmax(), 1, y[found])
    return float((votes == y[rows]).mean())


def measure(name: str, X, y, with_cpu: bool) -> dict:
    recipe, gpu = preset(name), load_backend("cuda")
    n = len(X)
    neighbors = gpu.nearest_neighbors(X, recipe.neighbors_searched(n), "euclidean", 1)
    graph = gpu.affinity_graph(neighbors, recipe, 1)
    start, _ = gpu.make_start(X, graph, recipe, None, 0, 1)

    def set_up():
        return gpu.make_layout(graph, start, recipe, 0, -1)

    def run():
        layout = set_up()
        layout.run(layout.n_epochs)
        return layout.embedding(), layout

    _, setup_seconds, _ = timed(set_up)
    (Y, layout), seconds, first = timed(run)
    row = {
        "n": n,
        "epochs": layout.n_epochs,
        "edges": int(graph.offsets[-1]),
        "setup": summary(setup_seconds),
        "layout": summary(seconds),
        "first": first,
        "accuracy": label_accuracy(to_host(Y), y),
    }
    if with_cpu:
        row["loss"] = layout.loss()
        on_host = Graph(*(to_host(part) for part in (graph.offsets, graph.indices, graph.weights)))
        cpu = load_backend("cpu").make_layout(on_host, to_host(start), recipe, 0, 16)
        cpu.run(cpu.n_epochs)
        row |= {"cpu_accuracy": label_accuracy(cpu.embedding(), y), "cpu_loss": cpu.loss()}
    print(name, row, flush=True)
    return row


def million(X: np.ndarray, y: np.ndarray, n: int = 1_000_000) -> tuple[np.ndarray, np.ndarray]:
    """The first 50 principal components, rows repeated with a little noise."""
    from sklearn.decomposition import PCA

    Z = PCA(50, svd_solver="covariance_eigh").fit_transform(X.astype(np.float32))
    random = np.random.default_rng(0)
    rows = random.integers(len(Z), size=n)
    noise = random.standard_normal((n, 50)).astype(np.float32) * Z.std(axis=0) * 0.5
    return np.ascontiguousarray(Z[rows] + noise, np.float32), y[rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="also a million points")
    parser.add_argument("--save", action="store_true", help="write results/gpu_layout.json")
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    options = parser.parse_args()
    mnist = load("mnist")
    X, y = mnist.X, mnist.y
    data = {"mnist": (X.astype(np.float32), y)} | ({"million": million(X, y)} if options.million else {})
    results = {}
    for kind, (points, labels) in data.items():
        on_device = cupy().asarray(points)
        for name in options.presets:
            results[f"{kind}-{name}"] = measure(name, on_device, labels, with_cpu=kind == "mnist")
    if options.save:
        device = cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
        save("gpu_layout", {"gpu": device, "cupy": cupy().__version__, **results}, ["numpy"])


if __name__ == "__main__":
    main()
