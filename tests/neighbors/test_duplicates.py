"""Duplicate rows: a few of each are searched, and every row still gets its true neighbours."""

import numpy as np
import pytest
from scipy import sparse

from actup import UMAP, embed, preset
from actup.neighbors import NeighborIndex, nearest_neighbors
from actup.neighbors._calibration import shares_found
from actup.neighbors._duplicates import deduplicate

K = 7
FORMS = [np.ascontiguousarray, sparse.csr_matrix]


def mostly_duplicates(n=9000, others=300, columns=24, seed=0):
    """Two rows repeated thousands of times, one repeated four times, and ``others`` distinct rows.

    Returns the rows, and the ids of those that are not repeated thousands of times.
    """
    rng = np.random.default_rng(seed)
    X = np.tile(rng.random((1, columns)), (n, 1))
    X[rng.permutation(n)[: n // 3]] = rng.random(columns)
    places = rng.permutation(n)
    X[places[:others]] = rng.random((others, columns)) > 0.6
    X[places[others : others + 4]] = 0
    return X.astype(np.float32), places[: others + 4]


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float16])
def test_every_row_has_an_equal_representative(form, dtype):
    X, _ = mostly_duplicates()
    X = (X * 4).astype(dtype)
    if form is sparse.csr_matrix:
        X = X.astype(np.float32)
    deduplicated = deduplicate(form(X), K)
    np.testing.assert_array_equal(X[deduplicated.kept][deduplicated.representative], X)
    _, counts = np.unique(X, axis=0, return_counts=True)
    assert len(deduplicated.kept) == np.minimum(counts, K + 1).sum()
    for row in deduplicated.kept:  # only the first duplicates are kept
        assert np.count_nonzero((X[:row] == X[row]).all(axis=1)) <= K


def test_mostly_distinct_rows_are_not_deduplicated():
    X = np.random.default_rng(0).random((5000, 3)).astype(np.float32)
    assert deduplicate(X, K) is None
    X[:2500] = X[0]
    assert deduplicate(X, K) is None
    X[:4500] = X[0]
    assert len(deduplicate(X, K).kept) == 500 + K + 1


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "manhattan", "jaccard", "hamming", "inner_product", "seuclidean"]
)
def test_distinct_rows_among_thousands_of_duplicates_find_their_neighbors(metric, form):
    X, others = mostly_duplicates()
    options = {"metric": metric, "algorithm": "approximate"}
    found = nearest_neighbors(form(X), K, **options)
    exact = nearest_neighbors(form(X), K, metric=metric, algorithm="exact")
    shares = shares_found(found.distances, exact.distances)
    assert shares[others].mean() > 0.96
    if metric != "inner_product":  # under which duplicates need not be nearest to each other
        assert np.delete(shares, others).min() == 1
    assert (found.indices != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == K for row in found.indices)
    index = NeighborIndex(form(X), **options)
    exact = NeighborIndex(form(X), metric=metric, algorithm="exact").query(form(X[others]), K)
    queried = index.query(form(X[others]), K)
    assert shares_found(queried.distances, exact.distances).mean() > 0.96
    alone = index.query(form(X[others[5:6]]), K)
    np.testing.assert_array_equal(alone.indices, queried.indices[5:6])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_embed_finds_the_same_neighbors_as_nearest_neighbors(metric):
    X, others = mostly_duplicates(30_000, 900)
    found = embed(X, preset("umap").but(metric=metric, n_neighbors=K + 1)).neighbors
    expected = nearest_neighbors(X, K, metric=metric)
    np.testing.assert_array_equal(found.indices, expected.indices)
    exact = nearest_neighbors(X, K, metric=metric, algorithm="exact")
    assert shares_found(found.distances, exact.distances)[others].mean() > 0.96


def test_map_is_finite_beside_one_huge_row():
    X = np.random.default_rng(0).normal(size=(12_000, 50)).astype(np.float32)
    X[7] *= 1e19
    Y = UMAP(n_epochs=1, random_state=0).fit_transform(X)
    assert np.isfinite(Y).all()
