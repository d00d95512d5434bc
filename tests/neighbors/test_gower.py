"""Metric "gower": numbers, categories and missing values, in searches and in maps."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import actup
from actup import GDR, TSNE, UMAP, NeighborIndex, nearest_neighbors
from actup.neighbors import _mixed_columns, _proxy_search

K = 6
CATEGORICAL = (3, 4)


def gower(A, X, categorical=CATEGORICAL, weights=None):
    """Gower's distances by their definition, value by value, between rows of objects."""
    weights = np.ones(len(A[0])) if weights is None else np.asarray(weights, float)
    missing = [[value is None or value != value for value in row] for row in X]
    spans = {}
    for column in set(range(len(A[0]))) - set(categorical):
        known = [row[column] for row, gaps in zip(X, missing, strict=True) if not gaps[column]]
        spans[column] = max(known) - min(known)
    distances = np.ones((len(A), len(X)))
    for i, a in enumerate(A):
        for j, b in enumerate(X):
            total = share = 0.0
            for column, weight in enumerate(weights):
                x, y = a[column], b[column]
                if x is None or y is None or x != x or y != y:
                    continue
                share += weight
                if column in categorical:
                    total += weight * (x != y)
                elif spans[column]:
                    total += weight * abs(x - y) / spans[column]
            if share:
                distances[i, j] = total / share
    return distances


def mixed_rows(n=70, missing=0.0, seed=0):
    """Rows of three numbers, a word and a number that is a category."""
    random = np.random.default_rng(seed)
    numbers = random.normal([0, 100, 1e6], [1, 20, 1e5], (n, 3)).tolist()
    words, kinds = random.choice(["red", "green", "blue"], n).tolist(), random.choice([1, 5, 9], n).tolist()
    rows = [[*values, word, kind] for values, word, kind in zip(numbers, words, kinds, strict=True)]
    for row, column in zip(*np.nonzero(random.random((n, 5)) < missing), strict=True):
        rows[row][column] = None
    return rows


def assert_nearest(found, distances):
    np.testing.assert_allclose(found.distances, np.sort(distances, axis=1)[:, :K], atol=2e-7)
    np.testing.assert_allclose(
        found.distances, np.take_along_axis(distances, found.indices.astype(int), 1), atol=2e-7
    )


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("weights", [None, [1, 2, 0.5, 4, 3]])
@pytest.mark.parametrize("missing", [0.0, 0.1, 0.5])
def test_neighbours_follow_the_definition(missing, weights, wide, monkeypatch):
    if wide:  # as if there were hundreds of categories
        monkeypatch.setattr(_mixed_columns, "_MAX_DENSE_WIDTH", 4)
    X, new = mixed_rows(missing=missing), mixed_rows(20, missing, seed=1)
    new[0][3] = "unknown"
    new[1][4] = 77
    options = {"metric": "gower", "metric_kwds": {"categorical": [4], "weights": weights}}
    distances = gower(X, X, weights=weights)
    np.fill_diagonal(distances, np.inf)
    assert_nearest(nearest_neighbors(X, K, **options), distances)
    index = NeighborIndex(X, **options)
    together = index.query(new, K)
    assert_nearest(together, gower(new, X, weights=weights))
    for number in (0, 1, 7):
        alone = index.query(new[number : number + 1], K)
        np.testing.assert_array_equal(alone.indices[0], together.indices[number])
        np.testing.assert_array_equal(alone.distances[0], together.distances[number])
    known = [row for row in X if any(value is not None for value in row)][:9]
    np.testing.assert_array_equal(index.query(known, 1).distances, 0)


def test_new_rows_may_have_gaps_where_the_data_have_none():
    X, new = mixed_rows(), mixed_rows(20, 0.3, seed=1)
    index = NeighborIndex(X, metric="gower", metric_kwds={"categorical": [4]})
    assert_nearest(index.query(new, K), gower(new, X))


def test_rows_without_a_common_column_are_at_distance_1():
    X = [[1.0, None], [2.0, None], [None, 5.0], [None, 6.0]]
    found = nearest_neighbors(X, 3, metric="gower")
    np.testing.assert_allclose(found.distances, [[1, 1, 1]] * 4)
    with pytest.raises(ValueError, match="distances must be numbers"):
        nearest_neighbors(np.array(X, float), 3, metric="nan_euclidean")


def test_many_rows_with_gaps_are_searched_by_proxy(monkeypatch):
    random = np.random.default_rng(0)
    group = random.integers(0, 8, 3000)
    X = random.normal(size=(8, 6))[group] * 2 + random.normal(size=(3000, 6))
    X = np.column_stack([X, np.where(random.random(3000) < 0.9, group, random.integers(0, 8, 3000))])
    X[random.random(X.shape) < 0.03] = np.nan
    options = {"metric": "gower", "metric_kwds": {"categorical": [6]}}
    exact = nearest_neighbors(X, K, algorithm="exact", **options)
    monkeypatch.setattr(_proxy_search, "_EXACT_MAX_ROWS", 100)
    monkeypatch.setattr(_proxy_search, "_EXACT_MAX_COST", 1e6)
    found = nearest_neighbors(X, K, **options)
    assert (exact.method, found.method) == ("exact", "proxy")
    share = np.mean([len(set(a) & set(b)) / K for a, b in zip(exact.indices, found.indices, strict=True)])
    assert found.recall >= 0.97 and abs(share - found.recall) < 0.02
    assert (found.distances >= exact.distances).all()
    for n_jobs in (1, 3):
        again = nearest_neighbors(X, K, n_jobs=n_jobs, **options)
        np.testing.assert_array_equal(again.indices, found.indices)


@pytest.mark.parametrize(
    ("kwds", "message"),
    [
        ({"categorical": ["size"]}, r"categorical has 'size', which is no column of X: give names"),
        ({"categorical": [7]}, r"categorical has 7, which is no column"),
        ({"weights": [1, 2]}, r"weights must be 3 numbers of at least 0, one per column; got .1, 2."),
        ({"weights": [1, -2, 0]}, r"weights must be 3 numbers of at least 0"),
        ({"weights": [0, 0, 0]}, r"weights are all 0"),
        ({"weights": {"size": 2}}, r"weights has 'size', which is no column"),
        ({"ranges": [1]}, r"metric_kwds has 'ranges', but .*: categorical, weights"),
    ],
)
def test_wrong_parameters_are_rejected_by_name(kwds, message):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).random((20, 3)), columns=["a", "b", "c"])
    for search in (nearest_neighbors, lambda X, **options: UMAP(**options).fit(X)):
        with pytest.raises(ValueError, match=message):
            search(frame, metric="gower", metric_kwds=kwds)


def test_columns_by_name_number_and_mask():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(float)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    wanted = nearest_neighbors(X, K, metric="gower", metric_kwds={"categorical": [1], "weights": [1, 3, 1]})
    for given, kwds in (
        (frame, {"categorical": "b", "weights": {"b": 3}}),
        (frame, {"categorical": [-2], "weights": {1: 3}}),
        (X, {"categorical": [False, True, False], "weights": (1, 3, 1)}),
        (frame.astype({"b": "category"}), {"weights": np.array([1, 3, 1])}),
        (frame.astype({"b": str}), {"weights": np.array([1, 3, 1])}),
    ):
        found = nearest_neighbors(given, K, metric="gower", metric_kwds=kwds)
        np.testing.assert_array_equal(found.indices, wanted.indices)
        np.testing.assert_array_equal(found.distances, wanted.distances)


def test_text_among_new_rows_in_a_column_of_numbers_is_rejected():
    index = NeighborIndex(mixed_rows(), metric="gower")
    row = [["much", 1.0, 2.0, "red", 1]]
    with pytest.raises(TypeError, match=r"X_new holds text in column 0, where .* hold numbers"):
        index.query(row, 3)


@pytest.mark.parametrize(
    "kind",
    [UMAP(n_epochs=5), TSNE(perplexity=5, max_iter=5), GDR(epochs=5)],
    ids=lambda kind: type(kind).__name__,
)
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_maps_of_mixed_data_frames(kind, missing, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(mixed_rows(120, missing), columns=["x", "y", "z", "colour", "kind"])
    frame = frame.astype({"kind": "category"})
    model = kind.set_params(metric="gower", random_state=0).set_output(transform="pandas")
    places = model.fit_transform(frame[:100])
    assert list(places.index) == list(range(100)) and np.isfinite(places).all(axis=None)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert dict(model.recipe_.metric_kwds)["categorical"] == CATEGORICAL and not model.metric_kwds
    assert model.init_used_.startswith("spectral")
    placed = model.transform(frame[100:])
    assert np.isfinite(placed).all(axis=None) and list(placed.index) == list(range(100, 120))
    with pytest.raises(ValueError, match=r"^The feature names should match"):
        model.transform(frame[100:].rename(columns={"x": "X"}))
    model.save(tmp_path / "model.actup")
    for same in (actup.load(tmp_path / "model.actup"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(np.asarray(same.transform(frame[100:])), placed.to_numpy())
    with pytest.raises(ValueError, match="data='half'"):
        model.save(tmp_path / "half.actup", data="half")


def test_maps_grow_with_mixed_rows():
    X = mixed_rows(90, 0.03)
    model = UMAP(6, metric="gower", n_epochs=5, random_state=0).fit(X[:80])
    model.partial_fit(X[80:])
    assert model.embedding_.shape == (90, 2) and np.isfinite(model.embedding_).all()
    maps = actup.embed_many(
        X, [actup.preset(name).but(metric="gower", epochs=3) for name in ("umap", "gdr_umap")]
    )
    assert all(np.isfinite(made.embedding).all() for made in maps.results.values())


def test_sparse_rows_are_rejected():
    with pytest.raises(ValueError, match="metric='gower' has no form for sparse X"):
        nearest_neighbors(sparse.csr_matrix(np.eye(9)), 3, metric="gower")
