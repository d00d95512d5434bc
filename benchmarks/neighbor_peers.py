"""The peers of the neighbour benchmark, and what it runs in separate processes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

THREADS = 2


def installed(module: str) -> bool:
    """Whether a peer is installed; prints a message if it is not."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{module} is not installed (pip install actup[bench]): no comparison with it")
    return found


def warm_pynndescent():
    """pynndescent's search as a function, after a run that compiled it."""
    from pynndescent import NNDescent

    def search(X, k, metric):
        # pynndescent counts a row as its own neighbour.
        index = NNDescent(X, metric=metric, n_neighbors=k + 1, n_jobs=THREADS)
        indices, distances = index.neighbor_graph
        return SimpleNamespace(indices=indices[:, 1:], distances=distances[:, 1:])

    warm_up = np.random.default_rng(0).normal(size=(5_000, 40)).astype(np.float32)
    for metric in ("euclidean", "cosine"):
        search(warm_up, 15, metric)
    return search


def faiss_hnsw(X, k, metric):
    """Build and search an HNSW index: 32 links per row, the least effort for a recall of 0.98 on images."""
    import faiss

    faiss.omp_set_num_threads(THREADS)
    if metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    index = faiss.IndexHNSWFlat(X.shape[1], 32)
    index.hnsw.efConstruction = 24
    index.hnsw.efSearch = k + 5
    index.add(X)
    squares, indices = index.search(X, k + 1)
    distances = squares[:, 1:] / 2 if metric == "cosine" else np.sqrt(squares[:, 1:])
    return SimpleNamespace(indices=indices[:, 1:], distances=distances)


_SEARCH = """
import sys, time
import numpy as np
from actup.neighbors import nearest_neighbors
X, seconds = np.load(sys.argv[1]), []
nearest_neighbors(X[:5000], 15)
for _ in range(int(sys.argv[4])):
    begin = time.perf_counter()
    found = nearest_neighbors(X, int(sys.argv[3]), n_jobs=int(sys.argv[5]))
    seconds.append(time.perf_counter() - begin)
np.savez(sys.argv[2], distances=found.distances, seconds=seconds)
"""


def in_level(level: str, X: np.ndarray, k: int, repeats: int) -> tuple[np.ndarray, list[float]] | None:
    """Distances and seconds of the search with the engine of a processor level; None if it cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "X.npy", Path(folder) / "found.npz"
        np.save(data, X)
        command = [sys.executable, "-c", _SEARCH, str(data), str(out), str(k), str(repeats), str(THREADS)]
        run = subprocess.run(
            command, env={**os.environ, "ACTUP_CPU": level}, capture_output=True, text=True, check=False
        )
        if "ImportError" in run.stderr or "ModuleNotFoundError" in run.stderr:
            return None
        run.check_returncode()
        with np.load(out) as found:
            return found["distances"], found["seconds"].tolist()


_UMAP = """
import sys, time
import numpy as np
X = np.load(sys.argv[2])
begin = time.perf_counter()
from {package} import UMAP
model = UMAP(n_jobs={threads}).fit(X)
cold = time.perf_counter() - begin
begin = time.perf_counter()
UMAP(n_jobs={threads}).fit(X)
np.savez(sys.argv[1], embedding=model.embedding_, cold=cold, warm=time.perf_counter() - begin)
"""


def fresh_umap(package: str, X: np.ndarray) -> dict:
    """In a fresh process: seconds of the import with the first fit, of a second fit, and the first map."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "X.npy", Path(folder) / "map.npz"
        np.save(data, X)
        script = _UMAP.format(package=package, threads=THREADS)
        subprocess.run([sys.executable, "-W", "ignore", "-c", script, str(out), str(data)], check=True)
        with np.load(out) as found:
            return {name: found[name] if name == "embedding" else float(found[name]) for name in found.files}
