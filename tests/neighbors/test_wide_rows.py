"""Sparse rows with very many columns, most of them empty: memory, time, and the same results."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from actup import NeighborIndex, nearest_neighbors, quality
from actup._csr import nonempty_columns
from actup.start._coordinates import pca_start
from metric_oracle import SPARSE

WIDE, WIDEST = 2**20, 2**31 - 1
SCRIPT = """
import json, resource, sys, time, tracemalloc, warnings
import numpy as np
from scipy import sparse
from actup import UMAP, NeighborIndex, embed, nearest_neighbors, preset, quality
from actup.start._coordinates import pca_start

def rows(n, columns, seed):
    rng = np.random.default_rng(seed)
    ids = rng.integers(columns, size=(n, 40))
    ids[:, :20] = rng.integers(columns, size=200)[rng.integers(200, size=(n, 20))]
    X = sparse.csr_matrix((rng.random(ids.size), ids.ravel(), np.arange(0, ids.size + 1, 40)), (n, columns))
    X.sum_duplicates()
    return X

def use(X, new):
    nearest_neighbors(X, 5)
    nearest_neighbors(X, 5, algorithm="approximate")
    nearest_neighbors(X, 5, metric="correlation")
    nearest_neighbors(X, 5, metric="seuclidean")
    NeighborIndex(X, metric="jaccard").query(new, 5)
    UMAP(n_neighbors=3, n_epochs=2).fit(X).transform(new)  # in several components
    embed(X, preset("tsne").but(perplexity=5, epochs=2))
    quality.trustworthiness(X, np.zeros((X.shape[0], 2)))

warnings.simplefilter("ignore")
use(rows(300, 500, 0), rows(30, 500, 1))  # threads, imports
X, new = rows(300, int(sys.argv[1]), 0), rows(30, int(sys.argv[1]), 1)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
seconds = []
for _ in range(3):
    begin = time.process_time()
    pca_start(X, 2, 0, 1)
    seconds.append(time.process_time() - begin)
of_start = peak() - before
tracemalloc.start()
use(X, new)
print(json.dumps([min(seconds), of_start, peak() - before, tracemalloc.get_traced_memory()[1]]))
"""


def rows(n, columns, seed=0, shared=60, own=12):
    """Rows of ``own`` values in one of ``shared`` columns or anywhere."""
    rng = np.random.default_rng(seed)
    common = np.random.default_rng(99).integers(columns, size=shared)
    ids = np.where(rng.random((n, own)) < 0.8, common[rng.integers(shared, size=(n, own))], 0)
    ids = np.where(ids == 0, rng.integers(columns, size=ids.shape), ids)
    values = rng.random(ids.size) + 0.5
    X = sparse.csr_matrix((values, ids.ravel(), np.arange(0, ids.size + 1, own)), (n, columns))
    X.sum_duplicates()
    return X.astype(np.float32)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
@pytest.mark.parametrize("columns", [WIDE, WIDEST])
def test_memory_and_time_do_not_grow_with_empty_columns(columns):
    run = [sys.executable, "-c", SCRIPT, str(columns)]
    output = subprocess.run(run, check=True, capture_output=True, text=True, timeout=300).stdout
    seconds, of_start, added, traced = json.loads(output.splitlines()[-1])
    assert seconds < 0.1
    assert of_start < 20e6
    assert added < 50e6 and traced < 50e6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", SPARSE)
def test_distances_count_empty_columns_and_those_of_queries_alone(metric, dtype, monkeypatch):
    X, new = rows(150, 2**17).astype(dtype), rows(20, 2**17, seed=1).astype(dtype)
    assert nonempty_columns(X) is not None
    assert not np.isin(new.indices, X.indices).all()
    options = {"metric": metric, "metric_kwds": {"p": 3} if metric == "minkowski" else None}

    def search():
        return nearest_neighbors(X, 6, **options), NeighborIndex(X, **options).query(new, 6)

    found = search()
    monkeypatch.setattr("actup.neighbors._search.nonempty_columns", lambda rows: None)
    for narrow, wide in zip(found, search(), strict=True):
        np.testing.assert_array_equal(narrow.indices, wide.indices)
        np.testing.assert_allclose(narrow.distances, wide.distances, rtol=1e-6)


def test_approximate_search_of_wide_rows():
    X, new = rows(5000, WIDE), rows(50, WIDE, seed=1)
    exact, found = (NeighborIndex(X, algorithm=a).query(new, 10) for a in ("exact", "approximate"))
    assert np.mean(found.distances <= exact.distances[:, -1:] * (1 + 1e-5)) > 0.9
    assert nearest_neighbors(X, 10, algorithm="approximate").recall > 0.9


def test_precise_distances_of_queries_with_columns_of_their_own():
    X, new = rows(200, WIDE).astype(np.float64), rows(20, WIDE, seed=1).astype(np.float64)
    first = int(X.indices[0])

    def with_far_rows(M):
        offset = np.where(np.arange(M.shape[0]) % 2, 1e9, 0.0)
        return M + sparse.csr_matrix(
            (offset, np.full(len(offset), first), np.arange(len(offset) + 1)), M.shape
        )

    X, new = with_far_rows(X), with_far_rows(new)
    ids = np.unique(np.concatenate([X.indices, new.indices]))
    dense = [M[:, ids].toarray() for M in (X, new)]
    expected = np.sort(np.sqrt(((dense[1][:, None] - dense[0][None]) ** 2).sum(axis=2)), axis=1)[:, :5]
    found = NeighborIndex(X).query(new, 5)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-3)


def test_principal_components_of_wide_rows():
    X = rows(200, WIDE, own=30)
    dense = X[:, np.unique(X.indices)].toarray().astype(np.float64)
    left, singular, _ = np.linalg.svd(dense - dense.mean(axis=0), full_matrices=False)
    scores = pca_start(X, 3, 0, 2)
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), singular[:3], rtol=0.02)
    cosines = np.abs((left[:, :3] * scores).sum(axis=0)) / np.linalg.norm(scores, axis=0)
    assert cosines[0] > 0.98
    np.testing.assert_array_equal(scores, pca_start(X, 3, 0, 1))
    assert not pca_start(sparse.csr_matrix((5, WIDE)), 2, 0, 1)[:, 0].any()


def test_measures_of_wide_rows_leave_empty_columns_out():
    X = rows(80, WIDE)
    Y = np.random.default_rng(0).normal(size=(80, 2))
    narrow = X[:, np.unique(X.indices)]
    assert quality.trustworthiness(X, Y) == quality.trustworthiness(narrow, Y)
