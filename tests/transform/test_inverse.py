"""Rows for places of a map: close to the truth, equal to a plain formula, independent, within their range."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from actup.estimators._gdr import GDR
from actup.estimators._tsne import TSNE
from actup.estimators._umap import UMAP
from actup.recipe._presets import preset
from actup.recipe._recipe import Recipe
from actup.transform._inverse import rows_of_places
from actup.transform._new_rows import TrainingRows

N = 600


@cache
def digits() -> np.ndarray:
    return load_digits().data.astype(np.float32)


@cache
def digits_map() -> tuple[np.ndarray, np.ndarray]:
    """A map of the first digits, and the places of the others on it."""
    model = UMAP(random_state=0, n_epochs=100).fit(digits()[:N])
    return model.embedding_, model.transform(digits()[N : N + 300])


def invert(rows, map_, places, threads: int = 1, **changes) -> np.ndarray:
    recipe = preset("umap").but(n_components=map_.shape[1], **changes)
    return rows_of_places(TrainingRows(rows, recipe), places, map_, recipe, threads)


def plain_rows(rows: np.ndarray, map_: np.ndarray, places: np.ndarray, k: int = 30) -> np.ndarray:
    """The specification, place by place, in NumPy."""
    result = np.empty((len(places), rows.shape[1]))
    k = min(k, len(rows))
    for i, place in enumerate(places.astype(np.float64)):
        distances = np.sqrt(((map_ - place) ** 2).sum(axis=1))
        near = np.argsort(distances, kind="stable")[:k]
        weights = np.exp(-0.5 * (2 * distances[near] / distances[near][-1]) ** 2)
        weights /= weights.sum()
        mean = weights @ map_[near]
        offsets = map_[near] - mean
        covariance = (offsets * weights[:, None]).T @ offsets
        covariance += 0.01 * np.trace(covariance) * np.eye(len(mean))
        slope = np.linalg.solve(covariance, place - mean)
        slope *= min(1, 2 / np.sqrt((place - mean) @ slope))
        found = (weights * (1 + offsets @ slope)) @ rows[near]
        result[i] = np.clip(found, rows[near].min(axis=0), rows[near].max(axis=0))
    return result


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 40])
def test_equals_the_plain_formula(dimensions):
    random = np.random.default_rng(dimensions)
    map_ = random.uniform(-5, 5, (200, dimensions)).astype(np.float32)
    rows = random.normal(size=(200, 21)).astype(np.float32)
    places = random.uniform(-6, 6, (50, dimensions)).astype(np.float32)
    np.testing.assert_allclose(invert(rows, map_, places), plain_rows(rows, map_, places), rtol=0, atol=2e-5)


def test_is_closer_to_the_truth_than_the_nearest_row_and_the_mean_of_all():
    map_, places = digits_map()
    rows, truth = digits()[:N], digits()[N : N + 300]
    nearest = rows[((places[:, None] - map_) ** 2).sum(axis=2).argmin(axis=1)]

    def error(found):
        return np.sqrt(((found - truth) ** 2).mean())

    found = error(invert(rows, map_, places))
    assert found < 0.95 * error(nearest)
    assert found < 0.7 * error(rows.mean(axis=0))


def test_reproduces_rows_that_are_a_linear_function_of_places():
    random = np.random.default_rng(0)
    map_ = random.uniform(-5, 5, (500, 2)).astype(np.float32)
    slopes = random.normal(size=(2, 7))
    places = random.uniform(-4, 4, (60, 2)).astype(np.float32)
    found = invert((map_ @ slopes + 3).astype(np.float32), map_, places)
    np.testing.assert_allclose(found, places @ slopes + 3, atol=0.02)


def test_a_row_depends_on_its_place_alone():
    map_, places = digits_map()
    rows = digits()[:N]
    together = invert(rows, map_, places)
    assert together.dtype == np.float32 and together.shape == (300, 64)
    np.testing.assert_array_equal(invert(rows, map_, places, threads=3), together)
    np.testing.assert_array_equal(invert(rows, map_, places[::-1]), together[::-1])
    for i in (0, 17):
        np.testing.assert_array_equal(invert(rows, map_, places[i : i + 1])[0], together[i])


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, np.int8, np.int64])
def test_any_type_of_rows_gives_the_same_rows(dtype):
    map_, places = digits_map()
    expected = invert(digits()[:N], map_, places)
    np.testing.assert_array_equal(
        invert(digits()[:N].astype(dtype), map_, places.astype(np.float64)), expected
    )


def test_sparse_rows_give_dense_rows():
    map_, places = digits_map()
    rows = digits()[:N]
    expected = invert(rows, map_, places)
    np.testing.assert_array_equal(invert(sparse.csr_matrix(rows), map_, places), expected)
    np.testing.assert_array_equal(
        invert(sparse.csr_matrix(rows - 16), map_, places), invert(rows - 16, map_, places)
    )


def test_values_stay_in_the_range_of_the_data():
    map_, places = digits_map()
    rows = digits()[:N]
    far = np.concatenate([places, 100 * places, 1e6 * places])
    found = invert(rows, map_, far)
    assert np.isfinite(found).all()
    assert (found >= rows.min(axis=0)).all() and (found <= rows.max(axis=0)).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows(n):
    map_ = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    rows = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
    found = invert(rows, map_, [[0, 0], [50, -3]])
    assert found.shape == (2, 3) and np.isfinite(found).all()


def test_points_that_share_one_place_give_their_mean():
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    found = invert(rows, np.zeros((10, 2), np.float32), [[0, 0], [1, 2]])
    np.testing.assert_allclose(found, np.tile(rows.mean(axis=0), (2, 1)), rtol=1e-6)


@pytest.mark.parametrize(
    "places, error, message",
    [
        ([[1.0, 2.0, 3.0]], ValueError, "X has 3 columns, but inverse_transform expects places"),
        ([[1.0, np.nan]], ValueError, "NaN"),
        ([[1.0, 1e300]], ValueError, "too large for float32 in row 0"),
        ([["a", "b"]], ValueError, "convert or drop the column"),
        (sparse.csr_matrix([[1.0, 2.0]]), TypeError, "places on a map are dense"),
        ([1.0, 2.0], ValueError, "one dimension"),
    ],
)
def test_rejects_what_are_no_places(places, error, message):
    map_, _ = digits_map()
    with pytest.raises(error, match=message):
        invert(digits()[:N], map_, places)


def test_rejects_what_has_no_rows_to_give():
    map_, places = digits_map()
    recipe: Recipe = preset("umap").but(metric="precomputed")
    training = TrainingRows(np.zeros((N, N), np.float32), recipe)
    with pytest.raises(ValueError, match="metric='precomputed'"):
        rows_of_places(training, places, map_, recipe, 1)
    with pytest.raises(ValueError, match="have larger values: divide them"):
        invert(digits()[:N].astype(np.float64) * 1e300, map_, places)
    with pytest.raises(ValueError, match="embedding_ has shape"):
        invert(digits()[:N], map_[:-1], places)


@pytest.mark.parametrize("estimator", [UMAP, TSNE, GDR])
def test_estimators_invert_their_map(estimator):
    X = digits()[:200]
    with pytest.raises(NotFittedError):
        estimator().inverse_transform([[0.0, 0.0]])
    model = estimator(random_state=0).fit(X)
    rows = model.inverse_transform(model.embedding_)
    assert rows.shape == X.shape and rows.dtype == np.float32
    assert np.sqrt(((rows - X) ** 2).mean()) < 0.8 * X.std(axis=0).max()
    alone = clone(model).set_params(n_jobs=1).fit(X)
    np.testing.assert_array_equal(alone.inverse_transform(model.embedding_), rows)


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    [
        ("gower", object, "have text in column 5"),
        ("gower", np.float64, "have missing values in column 5"),
        ("nan_euclidean", np.float32, "have missing values in column 5"),
    ],
)
def test_rows_with_text_or_gaps_have_no_inverse(metric, kind, message):
    X = load_digits().data[:60, 20:30].astype(kind)
    X[:, 5] = "a" if kind is object else np.where(np.arange(60) % 2, X[:, 5], np.nan)
    model = UMAP(metric=metric, n_epochs=5, random_state=0).fit(X)
    with pytest.raises(ValueError, match=rf"{message}.*NeighborIndex"):
        model.inverse_transform(model.embedding_[:2])
    complete = UMAP(metric=metric, n_epochs=5, random_state=0).fit(load_digits().data[:60])
    assert complete.inverse_transform([[0.0, 0.0]]).shape == (1, 64)
