"""Peak memory of a search: at most 0.3 times X plus three times the lists it returns."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

SCRIPT = """
import json, resource, sys
import numpy as np
from scipy import sparse
import actup.neighbors._api, actup.neighbors._proxy_search  # later imports would count as well
from sklearn.utils import check_array

path, mode, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
memory_map = None if mode == "none" else mode
X = sparse.load_npz(path) if path.endswith("npz") else np.load(path, mmap_mode=memory_map)
check_array(X[:2000], dtype=None, accept_sparse=True)
actup.nearest_neighbors(X[:6000], 15, metric=options["metric"])  # warm up: threads, the engine's own memory
if mode != "none":
    X[:: 4096 // X.strides[0] + 1].sum()  # touch the pages of the file, which are not memory of the search

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
found = actup.nearest_neighbors(X, **{"n_neighbors": 15, "n_jobs": 2, **options})
nbytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
print(peak() - before, nbytes, found.indices.nbytes + found.distances.nbytes, found.method)
"""


def points(n, columns, dtype):
    """Image-like rows: groups that vary in few directions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, columns)).astype(np.float32) * 40 + 128
    directions = rng.normal(size=(12, columns)).astype(np.float32) * 8
    X = np.empty((n, columns), dtype)
    for begin in range(0, n, 10_000):
        count = min(10_000, n - begin)
        part = (
            rng.standard_normal((count, 12), np.float32) @ directions + centres[rng.integers(50, size=count)]
        )
        X[begin : begin + count] = (part + rng.standard_normal(part.shape, np.float32)).clip(0, 255)
    return X


def mostly_zero(n, columns, dtype):
    """The same rows with only the largest tenth of the values kept and the rest set to zero."""
    X = points(n, columns, dtype)
    X[np.quantile(X[:1000], 0.9) > X] = 0
    return X


def texts(n, columns=30_000, words=60):
    """Text-like sparse rows: most words of a row belong to one of a hundred topics."""
    rng = np.random.default_rng(0)
    topics = rng.integers(columns, size=(100, 300))
    topic = rng.integers(100, size=n)
    ids = topics[topic[:, None], rng.geometric(0.02, size=(n, words)) % 300]
    ids = np.where(rng.random(ids.shape) < 0.8, ids, rng.integers(columns, size=ids.shape))
    values = (rng.random(ids.size) + 0.1).astype(np.float32)
    X = sparse.csr_matrix((values, ids.ravel(), np.arange(0, ids.size + 1, words)), (n, columns))
    X.sum_duplicates()
    return X


def noise(n, columns, dtype):
    """Rows without structure: codes reach their maximum width, and the search ends up comparing all pairs."""
    X = np.random.default_rng(0).integers(0, 256, (n, columns), np.uint8)
    return X.astype(dtype, copy=False)


def measure_memory(X, mode, options, tmp_path):
    """The bytes that a search adds, the bytes it may add, and its ``Neighbors.method``."""
    path = tmp_path / ("X.npz" if sparse.issparse(X) else "X.npy")
    if sparse.issparse(X):
        sparse.save_npz(path, X, compressed=False)
    else:
        np.save(path, X)
    run = [sys.executable, "-c", SCRIPT, str(path), mode, json.dumps(options)]
    *sizes, method = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    added, data, lists = map(int, sizes)
    return added, 0.3 * data + 3 * lists, method


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")


@pytest.mark.parametrize("mode", ["none", "r"])
@pytest.mark.parametrize(
    ("make", "n", "columns", "dtype", "method"),
    [
        (points, 200_000, 50, np.float32, "cluster"),
        (points, 60_000, 784, np.uint8, "cluster"),
        (noise, 20_001, 784, np.uint8, "exact"),
    ],
)
def test_peak_memory(make, n, columns, dtype, method, mode, tmp_path):
    added, allowed, used = measure_memory(make(n, columns, dtype), mode, {"metric": "euclidean"}, tmp_path)
    assert used == method
    assert added <= allowed, f"{added / 2**20:.0f} MiB added, allowed are {allowed / 2**20:.0f}"


@pytest.mark.parametrize(
    ("metric", "make", "n", "columns", "dtype", "method"),
    [
        ("cosine", points, 60_000, 300, np.float16, "cluster"),
        ("euclidean", points, 30_000, 1_000, np.float16, "cluster"),
        ("hellinger", points, 60_000, 300, np.float32, "cluster"),
        ("softmax_hellinger", points, 40_000, 300, np.float32, "cluster"),
        ("seuclidean", points, 60_000, 300, np.float32, "cluster"),
        ("mahalanobis", points, 60_000, 100, np.float32, "cluster"),
        ("inner_product", points, 60_000, 300, np.float32, "proxy"),
        ("manhattan", points, 60_000, 300, np.uint8, "proxy"),
        ("chebyshev", points, 60_000, 100, np.float32, "proxy"),
        ("jaccard", mostly_zero, 30_000, 300, np.uint8, "exact"),
        ("hamming", mostly_zero, 20_000, 600, np.uint8, "proxy"),
    ],
)
def test_peak_memory_of_other_metrics(metric, make, n, columns, dtype, method, tmp_path):
    added, allowed, used = measure_memory(make(n, columns, dtype), "none", {"metric": metric}, tmp_path)
    assert used == method
    assert added <= allowed, f"{added / 2**20:.0f} MiB added, allowed are {allowed / 2**20:.0f}"


@pytest.mark.parametrize(
    ("metric", "n", "method"),
    [("cosine", 60_000, "proxy"), ("jaccard", 60_000, "proxy"), ("cosine", 20_000, "exact")],
)
def test_peak_memory_of_sparse_rows(metric, n, method, tmp_path):
    added, allowed, used = measure_memory(texts(n), "none", {"metric": metric}, tmp_path)
    assert used == method
    assert added <= allowed, f"{added / 2**20:.0f} MiB added, allowed are {allowed / 2**20:.0f}"


def test_peak_memory_of_the_exact_search(tmp_path):
    X = points(8_000, 2_500, np.uint8)
    added, allowed, used = measure_memory(X, "none", {"metric": "euclidean", "algorithm": "exact"}, tmp_path)
    assert used == "exact"
    assert added <= allowed, f"{added / 2**20:.0f} MiB added, allowed are {allowed / 2**20:.0f}"


@pytest.mark.parametrize(
    ("n_neighbors", "n", "columns", "dtype"),
    [
        (1, 150_000, 200, np.float32),
        (5, 200_000, 50, np.float32),
        (5, 200_000, 200, np.float16),
        (10, 300_000, 128, np.uint8),
        (90, 50_000, 50, np.float32),
    ],
)
def test_peak_memory_of_few_and_many_neighbors(n_neighbors, n, columns, dtype, tmp_path):
    options = {"metric": "euclidean", "n_neighbors": n_neighbors}
    added, allowed, used = measure_memory(points(n, columns, dtype), "none", options, tmp_path)
    assert used == "cluster"
    assert added <= allowed, f"{added / 2**20:.0f} MiB added, allowed are {allowed / 2**20:.0f}"
