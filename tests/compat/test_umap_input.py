"""What programs for umap-learn rely on: kinds of data, repeated rows, rows far from all others."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from actup.compat.umap import UMAP
from actup.compat.umap.umap_ import nearest_neighbors
from actup.compat.umap.utils import disconnected_vertices
from umap_models import NUMBERS, short

RNG = np.random.default_rng(1)


# data input


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS,
        NUMBERS.astype(np.float64),
        np.asfortranarray(NUMBERS),
        (NUMBERS * 100).astype(np.int64),
        (NUMBERS * 100).astype(np.uint8),
        NUMBERS > 0.5,
        NUMBERS.tolist(),
        sparse.csr_matrix(NUMBERS),
        sparse.csc_matrix(NUMBERS),
        sparse.coo_matrix(NUMBERS),
        sparse.csr_array(NUMBERS),
    ],
    ids=["float32", "float64", "fortran", "int64", "uint8", "bool", "list", "csr", "csc", "coo", "csr_array"],
)
def test_kinds_of_data(X):
    embedding = short().fit_transform(X)
    assert embedding.shape == (120, 2)
    assert embedding.dtype == np.float32
    assert embedding.flags.c_contiguous


def test_the_callers_arrays_stay_as_they_are():
    X, init = NUMBERS.copy(), RNG.random((120, 2)).astype(np.float32)
    knn = nearest_neighbors(X, 10, "euclidean", {}, False, 0)
    before = [array.copy() for array in (X, init, knn[0], knn[1])]
    short(n_neighbors=10, init=init, precomputed_knn=knn).fit(X)
    for array, same in zip((X, init, knn[0], knn[1]), before, strict=True):
        assert np.array_equal(array, same)


def test_parameters_stay_as_they_are():
    model = short(n_neighbors=500, metric="cosine", n_jobs=2, n_components=np.int64(2))
    before = model.get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(NUMBERS)
    assert model.get_params() == before


def test_missing_and_infinite_values_are_rejected_unless_asked_for():
    for value in (np.nan, np.inf):
        X = NUMBERS.copy()
        X[3, 2] = value
        with pytest.raises(ValueError):
            short().fit(X)
    X[3, 2] = np.nan

    def distance(a, b):
        return float(np.nansum(np.abs(a - b)))

    for finite in (False, "allow-nan"):
        embedding = short(metric=distance).fit_transform(X, ensure_all_finite=finite)
        assert np.isfinite(embedding).all()


def test_transform_needs_a_fit_and_the_columns_of_the_fit():
    with pytest.raises(NotFittedError):
        UMAP().transform(NUMBERS)
    model = short().fit(NUMBERS)
    with pytest.raises(ValueError, match="features"):
        model.transform(NUMBERS[:, :3])


def test_one_row_is_at_the_origin():
    assert np.array_equal(short().fit_transform(NUMBERS[:1]), np.zeros((1, 2)))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_very_few_rows(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = short(init="random").fit_transform(NUMBERS[:n])
    assert embedding.shape == (n, 2)
    assert np.isfinite(embedding).all()


def test_too_many_neighbors_are_cut_with_a_warning():
    with pytest.warns(UserWarning, match="n_neighbors"):
        model = short(n_neighbors=50).fit(NUMBERS[:20])
    assert model._n_neighbors <= 20
    assert model.n_neighbors == 50


def test_more_components_than_columns():
    assert short(n_components=7).fit_transform(NUMBERS[:, :3]).shape == (120, 7)


# rows that are far from all others


@pytest.mark.parametrize("metric", ["jaccard", "hellinger", "cosine"])
def test_rows_without_anything_in_common(metric):
    X = np.zeros((60, 50))
    X[:, :10] = RNG.random((60, 10)) > 0.3
    X[:, 0] = 1
    X[0], X[1] = 0, 0
    X[0, 30], X[1, 40] = 1, 1
    if metric == "cosine":
        X[0] = -X[2:].sum(axis=0)
    with pytest.warns(UserWarning, match="disconnect"):
        model = short(
            metric=metric, n_neighbors=5, disconnection_distance=0.9 if metric == "cosine" else None
        ).fit(X)
    lost = disconnected_vertices(model)
    assert lost[0]
    assert not lost[5:].any()
    assert np.isfinite(model.embedding_[~lost]).all()


def test_disconnection_distance():
    X = np.concatenate([NUMBERS, [[90.0] * 5]])
    with pytest.warns(UserWarning, match="disconnect"):
        model = short(disconnection_distance=10.0).fit(X)
    assert disconnected_vertices(model).tolist() == [False] * 120 + [True]
    assert model.graph_[120].nnz == 0
    assert not disconnected_vertices(short().fit(X)).any()
    assert model._disconnection_distance == 10.0
    assert UMAP(metric="cosine")._disconnection_distance == 2
    assert UMAP()._disconnection_distance == np.inf


# equal rows


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("unique", [False, True])
def test_repeated_rows(kind, unique):
    X = np.repeat(NUMBERS[:40], 5, axis=0)
    embedding = short(n_neighbors=4, unique=unique).fit_transform(kind(X))
    assert embedding.shape == (200, 2)
    assert np.isfinite(embedding).all()
    if unique:
        groups = embedding.reshape(40, 5, 2)
        assert (groups == groups[:, :1]).all()


@pytest.mark.parametrize("unique", [False, True])
def test_fewer_distinct_rows_than_neighbors(unique):
    X = np.repeat(NUMBERS[:4], 30, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = short(n_neighbors=10, unique=unique, init="random").fit_transform(X)
    assert embedding.shape == (120, 2)
    assert np.isfinite(embedding).all()


def test_unique_places_are_those_of_the_distinct_rows():
    model = short(unique=True, n_neighbors=6).fit(np.concatenate([NUMBERS[:60], NUMBERS[:60][::-1]]))
    assert np.array_equal(model.embedding_[:60], model.embedding_[60:][::-1])
    assert model._unique_inverse_.shape == (120,)
    assert not disconnected_vertices(model).any()
