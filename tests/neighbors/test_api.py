"""nearest_neighbors() and the CPU backend's exact search against brute force in float64."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from actup.backends import backends, load_backend
from actup.estimators import UMAP
from actup.neighbors import KNeighborsTransformer, NeighborIndex, _pairwise_search, nearest_neighbors
from metric_oracle import exclude_self

cpu = load_backend("cpu")

METRICS = ["euclidean", "manhattan", "chebyshev", "cosine", "correlation"]
SCIPY_NAME = {"manhattan": "cityblock"}


def all_distances(queries, X, metric):
    return cdist(np.asarray(queries, np.float64), np.asarray(X, np.float64), SCIPY_NAME.get(metric, metric))


def assert_nearest(indices, distances, exact, rtol=1e-5, atol=1e-6):
    """Each list has distinct ids with their true distances, ascending, and misses no nearer point."""
    k = indices.shape[1]
    true = np.take_along_axis(exact, indices, axis=1)
    np.testing.assert_allclose(distances, true, rtol=rtol, atol=atol)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == k for row in indices.tolist())
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :k], rtol=rtol, atol=atol)


@pytest.fixture(scope="module")
def blobs():
    """More rows than one chunk of queries, more columns than one slab, neither a multiple of a tile."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(7, 83)) * 2
    return (centres[rng.integers(7, size=517)] + rng.normal(size=(517, 83))).astype(np.float32)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 15, 516])
def test_equals_brute_force(blobs, metric, k):
    found = nearest_neighbors(blobs, k, metric=metric)
    assert found.indices.dtype == np.int32 and found.distances.dtype == np.float32
    assert found.method == "exact" and found.recall == 1
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(blobs, blobs, metric)))


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("metric", METRICS)
def test_every_backend_equals_brute_force(blobs, metric, backend):
    found = load_backend(backend).nearest_neighbors(blobs, 15, metric, 2)
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(blobs, blobs, metric)))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("columns", [2, 3, 16, 64, 65, 200])
def test_any_number_of_columns(metric, columns):
    X = np.random.default_rng(columns).normal(size=(97, columns)).astype(np.float32)
    found = nearest_neighbors(X, 10, metric=metric)
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(X, X, metric)))


def test_one_column():
    X = np.random.default_rng(0).normal(size=(50, 1))
    found = nearest_neighbors(X, 5)
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(X, X, "euclidean")))


@pytest.mark.parametrize("metric", METRICS)
def test_queries_equal_brute_force(blobs, metric):
    points, queries = blobs[:400], np.concatenate([blobs[380:], 1000 * blobs[:3]])
    found = NeighborIndex(points, metric=metric, n_jobs=2).query(queries, 12)
    assert_nearest(found.indices, found.distances, all_distances(queries, points, metric))
    if metric != "correlation":  # queries that are points find themselves, at distance zero
        np.testing.assert_array_equal(found.indices[:20, 0], np.arange(380, 400))
        assert (found.distances[:20, 0] == 0).all()


def test_query_can_return_all_points(blobs):
    found = NeighborIndex(blobs[:5]).query(blobs[:2], 5)
    assert sorted(found.indices[0].tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("metric", METRICS)
def test_threads_change_no_bit(blobs, metric):
    one, two, three = (cpu.nearest_neighbors(blobs, 15, metric, threads) for threads in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(one.distances, other.distances)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("metric", METRICS)
def test_two_to_five_rows(n, metric):
    X = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
    found = nearest_neighbors(X, n - 1, metric=metric)
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(X, X, metric)))


def test_backend_accepts_one_point_and_no_neighbors():
    assert cpu.nearest_neighbors(np.zeros((1, 3), np.float32), 0, "euclidean", 2).indices.shape == (1, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_duplicates_are_neighbors_but_never_the_point_itself(metric):
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(3, 20)), [300, 200, 5], axis=0).astype(np.float32)
    found = nearest_neighbors(X, 10, metric=metric)
    itself = np.arange(len(X))[:, None]
    assert (found.indices != itself).all()
    assert (found.distances[:500] == 0).all()
    assert (found.distances[500:, :4] == 0).all() and (found.distances[500:, 4:] > 0).all()
    # ties go to the smallest ids
    np.testing.assert_array_equal(found.indices[299], np.arange(10))
    np.testing.assert_array_equal(found.indices[3], [0, 1, 2, *range(4, 11)])
    np.testing.assert_array_equal(found.indices[400], np.arange(300, 310))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("value", [0.0, 3.7])
def test_constant_data(metric, value):
    found = nearest_neighbors(np.full((40, 6), value), 5, metric=metric)
    assert (found.distances == 0).all()
    np.testing.assert_array_equal(found.indices[39], np.arange(5))


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_rows_without_direction_are_at_distance_one_from_others(metric):
    X = np.random.default_rng(2).normal(size=(30, 8)).astype(np.float32)
    X[[4, 9, 20]] = 0 if metric == "cosine" else [[5], [0], [-2]]
    found = nearest_neighbors(X, 29, metric=metric)
    for row in (4, 9, 20):
        without_direction = np.isin(found.indices[row], (4, 9, 20))
        np.testing.assert_allclose(found.distances[row], np.where(without_direction, 0, 1), rtol=1e-6)
        assert without_direction[:2].all()
    exact = exclude_self(np.nan_to_num(all_distances(X, X, metric), nan=1.0))
    exact[np.ix_((4, 9, 20), (4, 9, 20))] = 0
    assert_nearest(found.indices, found.distances, exclude_self(exact))


def test_cosine_of_nearly_parallel_rows_does_not_cancel():
    angle = np.array([0, 1e-4, 3e-4, 7e-4])
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    found = nearest_neighbors(X, 3, metric="cosine")
    np.testing.assert_allclose(found.distances[0], angle[1:] ** 2 / 2, rtol=2e-3)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("metric", METRICS)
def test_squares_neither_overflow_nor_underflow(blobs, scale, metric):
    X = blobs[:100] * np.float32(scale)
    found = nearest_neighbors(X, 15, metric=metric)
    unit = 1 if metric in ("cosine", "correlation") else scale
    assert_nearest(found.indices, found.distances / unit, exclude_self(all_distances(X, X, metric)) / unit)


def test_large_offset_does_not_cancel_differences():
    rng = np.random.default_rng(3)
    X = (4096 + rng.integers(0, 64, size=(200, 10)) / 64).astype(np.float32)  # differences are exact
    found = nearest_neighbors(X, 10)
    assert_nearest(found.indices, found.distances, exclude_self(all_distances(X, X, "euclidean")))


def test_every_input_form_gives_the_same_neighbors():
    X = load_digits().data[:150]  # small integers: exact in every dtype
    expected = nearest_neighbors(X, 8)
    read_only = X.astype(np.float32)
    read_only.setflags(write=False)
    forms = [X.astype(dtype) for dtype in (np.float16, np.float32, np.uint8, np.int64)]
    forms += [np.asfortranarray(X), pd.DataFrame(X), read_only, np.repeat(X, 2, axis=0)[::2], X.tolist()]
    for form in forms:
        before = np.array(form)
        found = nearest_neighbors(form, 8)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)
        np.testing.assert_array_equal(np.array(form), before)


@pytest.mark.parametrize("metric", ["sqeuclidean", "nan_euclidean", "minkowski"])
def test_metrics_that_scikit_learn_computes(metric):
    X = np.random.default_rng(4).normal(size=(80, 5))
    parameters = {"p": 7} if metric == "minkowski" else {}
    if metric == "nan_euclidean":
        X[::3, 2] = np.nan
    exact = exclude_self(pairwise_distances(X, metric=metric, **parameters))
    found = nearest_neighbors(X, 7, metric=metric, metric_kwds=parameters, n_jobs=2)
    assert_nearest(found.indices, found.distances, exact)
    index = NeighborIndex(X, metric=metric, metric_kwds=parameters, n_jobs=3)
    together, alone = index.query(X, 8), index.query(X[70:71], 8)
    np.testing.assert_array_equal(together.indices[:, 0], np.arange(80))
    np.testing.assert_array_equal(together.indices[70], alone.indices[0])
    np.testing.assert_allclose(together.distances[:, 1:], found.distances, rtol=1e-5)


@pytest.mark.parametrize(
    ("metric", "parameters", "error", "message"),
    [
        ("poincare", {"q": 1}, ValueError, "metric='poincare' has no parameters"),
        ("nan_euclidean", {"q": 1}, TypeError, "metric_kwds={'q': 1} do not suit metric='nan_euclidean'"),
        ("sqeuclidean", {"q": 1}, ValueError, "the parameters of metric='sqeuclidean' are: none"),
        ("mahalanobis", {"V": np.eye(3), "VI": np.eye(3)}, ValueError, "both V and VI"),
        ("mahalanobis", {"V": np.full((3, 3), np.nan)}, ValueError, "V must be 3 x 3 finite numbers"),
        ("mahalanobis", {"VI": np.eye(2)}, ValueError, r"VI must be .* got shape \(2, 2\)"),
    ],
)
def test_invalid_metric_parameters_are_rejected_by_search_and_index(metric, parameters, error, message):
    X = np.random.default_rng(0).random((40, 3)) / 4
    for make in (nearest_neighbors, NeighborIndex):
        with pytest.raises(error, match=message):
            make(X, metric=metric, metric_kwds=parameters)


def test_jaccard_ties_go_to_the_smallest_ids():
    X = np.random.default_rng(5).integers(0, 2, size=(60, 6))
    exact = exclude_self(cdist(X.astype(bool), X.astype(bool), "jaccard"))
    found = nearest_neighbors(X, 9, metric="jaccard")
    np.testing.assert_array_equal(found.indices, np.argsort(exact, axis=1, kind="stable")[:, :9])


def test_callable_metric_equals_manhattan(blobs):
    found = nearest_neighbors(blobs[:40], 5, metric=lambda x, y: np.abs(x - y).sum())
    np.testing.assert_array_equal(found.indices, nearest_neighbors(blobs[:40], 5, metric="l1").indices)


def test_a_symmetric_function_is_called_once_for_each_pair(blobs):
    calls = 0

    def manhattan(a, b):
        nonlocal calls
        calls += 1
        return float(np.abs(a - b).sum())

    X = np.round(blobs, 1)[:150]  # distances come several times, so that ids decide
    found = nearest_neighbors(X, 12, metric=manhattan, n_jobs=2)
    n_pairs = len(X) * (len(X) + 1) // 2
    assert calls < 1.05 * n_pairs
    distances = exclude_self(pairwise_distances(X, metric=manhattan))
    np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1, kind="stable")[:, :12])


@pytest.mark.parametrize("tile_pairs", [1, 7, 50, 5000])
def test_pairs_of_symmetric_functions_do_not_depend_on_the_tiles(blobs, tile_pairs, monkeypatch):
    X = np.round(blobs, 1)[:60]
    monkeypatch.setattr(_pairwise_search, "_function_tile", lambda *_: (1, tile_pairs))
    found = nearest_neighbors(X, 7, metric=lambda a, b: np.abs(a - b).sum())
    expected = nearest_neighbors(X.astype(np.float64), 7, metric="manhattan", algorithm="exact")
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-6)
    assert found.method == "exact" and found.recall == 1


@pytest.mark.parametrize(
    ("result", "got"),
    [
        (lambda a, b: a - b, r"an array of shape \(4,\)"),
        (lambda a, b: None, "a NoneType"),
        (lambda a, b: 1j, "a complex"),
    ],
)
def test_a_function_that_returns_no_number_is_named(blobs, result, got):
    def difference(a, b):
        return result(a, b)

    message = f"metric=difference returned {got} for row 0 and row 0 of the data: a metric returns one number"
    with pytest.raises(TypeError, match=message):
        nearest_neighbors(blobs[:20, :4], 3, metric=difference)


def test_a_function_may_return_an_array_of_one_number(blobs):
    found = nearest_neighbors(blobs[:30], 3, metric=lambda a, b: np.abs(a - b).sum(keepdims=True))
    np.testing.assert_array_equal(found.indices, nearest_neighbors(blobs[:30], 3, metric="l1").indices)


def overwriting_manhattan(a, b):
    a -= b
    np.abs(a, out=a)
    b[:] = np.nan
    return float(a.sum())


def overwriting_search(X):
    return nearest_neighbors(X, 5, metric=overwriting_manhattan)


def overwriting_index(X):
    return NeighborIndex(X, metric=overwriting_manhattan).query(X, 5)


def overwriting_transformer(X):
    return KNeighborsTransformer(n_neighbors=5, metric=overwriting_manhattan).fit(X).transform(X)


def overwriting_map(X):
    return UMAP(n_epochs=2, metric=overwriting_manhattan, random_state=0).fit(X).transform(X)


def overwriting_target(X):
    y = X[:, 0].astype(np.float64)
    UMAP(n_epochs=2, target_metric=overwriting_manhattan, random_state=0).fit(X, y)
    np.testing.assert_array_equal(y, X[:, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "use",
    [
        overwriting_search,
        overwriting_index,
        overwriting_transformer,
        overwriting_map,
        overwriting_target,
    ],
)
def test_a_function_that_writes_to_its_rows_changes_no_data(use, dtype):
    X = np.random.default_rng(3).normal(size=(30, 4)).astype(dtype)
    before = X.copy()
    use(X)
    np.testing.assert_array_equal(X, before)


def test_a_function_that_writes_to_its_rows_changes_no_distance(blobs):
    found = nearest_neighbors(blobs[:60], 5, metric=overwriting_manhattan)
    exact = exclude_self(all_distances(blobs[:60], blobs[:60], "manhattan"))
    assert_nearest(found.indices, found.distances, exact)


def test_callable_metric_decides_the_distance_of_equal_rows(blobs):
    def distance(x, y):
        return 5 + np.abs(x - y).sum()

    queried = NeighborIndex(blobs[:40], metric=distance).query(blobs[:3], 2)
    np.testing.assert_array_equal(queried.distances[:, 0], 5)


def test_infinite_precomputed_distances_are_never_neighbors(blobs):
    exact = all_distances(blobs, blobs, "euclidean")
    found = nearest_neighbors(exclude_self(exact), 15, metric="precomputed")
    np.testing.assert_array_equal(found.indices, nearest_neighbors(exact, 15, metric="precomputed").indices)
    exact[0, 10:] = np.inf
    with pytest.raises(ValueError, match="too large for float32"):
        nearest_neighbors(exact, 15, metric="precomputed")
    exact[0, 10:] = np.nan
    with pytest.raises(ValueError, match="distances must be numbers of at least 0, one is nan"):
        nearest_neighbors(exact, 15, metric="precomputed")


def test_precomputed_distances_equal_brute_force_and_stay_unchanged(blobs):
    exact = all_distances(blobs, blobs, "euclidean")
    before = exact.copy()
    found = nearest_neighbors(exact, 15, metric="precomputed")
    assert_nearest(found.indices, found.distances, exclude_self(exact))
    np.testing.assert_array_equal(exact, before)


@pytest.mark.parametrize(("synonym", "name"), [("l2", "euclidean"), ("cityblock", "manhattan")])
def test_metric_synonyms(blobs, synonym, name):
    first, second = (nearest_neighbors(blobs, 5, metric=metric) for metric in (synonym, name))
    np.testing.assert_array_equal(first.indices, second.indices)


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "precomputed"])
def test_too_many_neighbors_are_rejected(metric):
    X = np.ones((20, 20))
    with pytest.raises(ValueError, match="n_neighbors=20 needs at least 21 samples, got 20"):
        nearest_neighbors(X, 20, metric=metric)
    with pytest.raises(ValueError, match="n_neighbors=1 needs at least 2 samples, got 1"):
        nearest_neighbors(X[:1, :1], 1, metric=metric)


@pytest.mark.parametrize(("n_neighbors", "error"), [(0, ValueError), (2.5, TypeError), (True, TypeError)])
def test_invalid_n_neighbors_is_rejected(blobs, n_neighbors, error):
    with pytest.raises(error, match="n_neighbors="):
        nearest_neighbors(blobs, n_neighbors)


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "jaccard", "hamming", "sqeuclidean"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_rejected(metric, bad):
    X = np.ones((5, 5))
    X[3, 2] = bad
    with pytest.raises(ValueError, match="X contains"):
        nearest_neighbors(X, 2, metric=metric)


def test_errors_name_the_problem():
    with pytest.raises(ValueError, match="too large for dtype"):
        nearest_neighbors(np.array([[1e300], [0.0], [1.0]]), 1)
    with pytest.raises(ValueError, match="too large for float32"):
        nearest_neighbors(np.array([[3e38], [-3e38]]), 1)
    with pytest.raises(ValueError, match=r"square matrix of distances, got shape \(3, 2\)"):
        nearest_neighbors(np.ones((3, 2)), 1, metric="precomputed")
    with pytest.raises(ValueError, match="at least 0"):
        nearest_neighbors(-np.ones((3, 3)), 1, metric="precomputed")
    with pytest.raises(ValueError, match=r"metric='nonsense' is not one of.*'nan_euclidean', 'precomputed'"):
        nearest_neighbors(np.ones((3, 2)), 1, metric="nonsense")
    with pytest.raises(ValueError, match="n_jobs=0"):
        nearest_neighbors(np.ones((3, 2)), 1, n_jobs=0)
    with pytest.raises(ValueError, match="metric='nonsense' is not one of 'euclidean', 'manhattan'"):
        cpu.nearest_neighbors(np.ones((3, 2), np.float32), 1, "nonsense", 1)


@pytest.mark.parametrize(
    ("X", "options", "error", "message"),
    [
        (np.ones((9, 2)) * 1e-100, {}, ValueError, "X is too small for float32, its largest value is 1e-100"),
        (np.zeros((9, 2), "datetime64[s]"), {}, TypeError, "X holds dates or durations"),
        (np.ma.masked_array(np.ones((9, 2)), np.eye(9, 2)), {}, TypeError, "X is a masked array"),
        (np.ones((9, 2)), {"recall": True}, ValueError, "recall=True must be a share"),
        (-np.ones((9, 9)), {"metric": "precomputed"}, ValueError, "at least 0, one is -1"),
    ],
)
def test_unsearchable_data_and_options_are_rejected(X, options, error, message):
    with pytest.raises(error, match=message):
        nearest_neighbors(X, 3, **options)


def test_overflowing_inner_products_are_rejected_by_every_search():
    X = (np.random.default_rng(0).random((600, 24)) * 1e25).astype(np.float32)
    for algorithm in ("exact", "approximate"):
        with pytest.raises(ValueError, match="too large for float32: divide X"):
            nearest_neighbors(X, 5, metric="inner_product", algorithm=algorithm)


def test_diagonal_of_precomputed_distances_is_ignored():
    D = np.ones((5, 5))
    np.fill_diagonal(D, -1)
    np.testing.assert_array_equal(nearest_neighbors(D, 2, metric="precomputed").indices[0], [1, 2])


def test_query_for_more_neighbors_than_points_is_rejected():
    X = np.random.default_rng(0).random((30, 4))
    assert NeighborIndex(X).query(X[:2], 30).indices.shape == (2, 30)
    with pytest.raises(ValueError, match="n_neighbors=31 is too many: X has 30 rows"):
        NeighborIndex(X).query(X[:2], 31)
