"""What a search adds to memory: at most 0.3 times X and three times the lists it returns."""

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
import actup.neighbors._api, actup.neighbors._proxy_search  # what is imported later would count as well
from sklearn.utils import check_array

path, mode, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
memory_map = None if mode == "none" else mode
X = sparse.load_npz(path) if path.endswith("npz") else np.load(path, mmap_mode=memory_map)
check_array(X[:2000], dtype=None, accept_sparse=True)
actup.nearest_neighbors(X[:6000], 15, metric=options["metric"])  # threads, the engine's own memory
if mode != "none":
    X[:: 4096 // X.strides[0] + 1].sum()  # pages of the file are not memory of the search

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
found = actup.nearest_neighbors(X, **{"n_neighbors": 15, "n_jobs": 2, **options})
nbytes = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
print(peak() - before, nbytes, found.indices.nbytes + found.distances.nbytes, found.method)
"""


def points(n, columns, dtype):
    """Like images: groups that vary in few directions."""
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


def few(n, columns, dtype):
    """The same with one column in ten that is not zero."""
    X = points(n, columns, dtype)
    X[np.quantile(X[:1000], 0.9) > X] = 0
    return X


def texts(n, columns=30_000, words=60):
    """Like texts: most of a row's words are of one of a hundred topics."""
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
    """Nothing to search by: the codes grow as wide as they may, and all pairs are compared in the end."""
    X = np.random.default_rng(0).integers(0, 256, (n, columns), np.uint8)
    return X.astype(dtype, copy=False)


def added(X, mode, options, tmp_path):
    """The bytes that a search adds, those it may, and the name of its engine."""
    path = tmp_path / ("X.npz" if sparse.issparse(X) else "X.npy")
    if sparse.issparse(X):
        sparse.save_npz(path, X, compressed=False)
    else:
        np.save(path, X)
    run = [sys.executable, "-c", SCRIPT, str(path), mode, json.dumps(options)]
    *sizes, engine = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    more, data, lists = map(int, sizes)
    return more, 0.3 * data + 3 * lists, engine


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts in another unit elsewhere")


@pytest.mark.parametrize("mode", ["none", "r"])
@pytest.mark.parametrize(
    ("make", "n", "columns", "dtype", "engine"),
    [
        (points, 200_000, 50, np.float32, "cluster"),
        (points, 60_000, 784, np.uint8, "cluster"),
        (noise, 20_001, 784, np.uint8, "exact"),
    ],
)
def test_peak_memory(make, n, columns, dtype, engine, mode, tmp_path):
    more, allowed, used = added(make(n, columns, dtype), mode, {"metric": "euclidean"}, tmp_path)
    assert used == engine
    assert more <= allowed, f"{more / 2**20:.0f} MiB, allowed are {allowed / 2**20:.0f}"


@pytest.mark.parametrize(
    ("metric", "make", "n", "columns", "dtype", "engine"),
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
        ("jaccard", few, 30_000, 300, np.uint8, "exact"),
        ("hamming", few, 20_000, 600, np.uint8, "proxy"),
    ],
)
def test_peak_memory_of_other_metrics(metric, make, n, columns, dtype, engine, tmp_path):
    more, allowed, used = added(make(n, columns, dtype), "none", {"metric": metric}, tmp_path)
    assert used == engine
    assert more <= allowed, f"{more / 2**20:.0f} MiB, allowed are {allowed / 2**20:.0f}"


@pytest.mark.parametrize(
    ("metric", "n", "engine"),
    [("cosine", 60_000, "proxy"), ("jaccard", 60_000, "proxy"), ("cosine", 20_000, "exact")],
)
def test_peak_memory_of_sparse_rows(metric, n, engine, tmp_path):
    more, allowed, used = added(texts(n), "none", {"metric": metric}, tmp_path)
    assert used == engine
    assert more <= allowed, f"{more / 2**20:.0f} MiB, allowed are {allowed / 2**20:.0f}"


def test_peak_memory_of_all_pairs(tmp_path):
    X = points(8_000, 2_500, np.uint8)
    more, allowed, used = added(X, "none", {"metric": "euclidean", "algorithm": "exact"}, tmp_path)
    assert used == "exact"
    assert more <= allowed, f"{more / 2**20:.0f} MiB, allowed are {allowed / 2**20:.0f}"


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
    more, allowed, used = added(points(n, columns, dtype), "none", options, tmp_path)
    assert used == "cluster"
    assert more <= allowed, f"{more / 2**20:.0f} MiB, allowed are {allowed / 2**20:.0f}"
