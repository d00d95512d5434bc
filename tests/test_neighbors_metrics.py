"""Every compiled metric against brute force in float64: dense, sparse, of queries; and identities."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import gammaln, softmax
from sklearn.metrics.pairwise import nan_euclidean_distances

from actup.comparison import COMPILED, PRESENCE
from actup.neighbors import NeighborIndex, nearest_neighbors

K = 12
NOT_SPARSE = ("chebyshev", "mahalanobis", "haversine", "softmax_hellinger")
SPARSE = [name for name in COMPILED if name not in NOT_SPARSE]
PARAMETERS = {"minkowski": {"p": 3.0}}
# Metrics in which equal rows need not be nearest, or copies of a row change its distances.
NOT_METRIC = ("inner_product", "yule")


def counts(metric, A, B):
    a, b = (A != 0).astype(float), (B != 0).astype(float)
    both = a @ b.T
    x, y, n = a.sum(1)[:, None], b.sum(1)[None, :], float(A.shape[1])
    only_x, only_y = x - both, y - both
    unequal = only_x + only_y
    with np.errstate(invalid="ignore", divide="ignore"):
        value = {
            "jaccard": lambda: unequal / (x + y - both),
            "dice": lambda: unequal / (x + y),
            "matching": lambda: unequal / n,
            "kulsinski": lambda: (unequal - both + n) / (unequal + n),
            "rogerstanimoto": lambda: 2 * unequal / (n + unequal),
            "sokalmichener": lambda: 2 * unequal / (n + unequal),
            "russellrao": lambda: (n - both) / n,
            "sokalsneath": lambda: unequal / (0.5 * both + unequal),
            "yule": lambda: 2 * only_x * only_y / (both * (n - both - unequal) + only_x * only_y),
        }[metric]()
    zero = (only_x * only_y == 0) if metric == "yule" else (unequal == 0)
    return np.where(zero, 0, value)


def brute_force(metric, A, X, **parameters):
    """All distances from rows of A to rows of X, in float64."""
    A, X = np.asarray(A, np.float64), np.asarray(X, np.float64)
    if metric in PRESENCE:
        return counts(metric, A, X)
    match metric:
        case "manhattan":
            return cdist(A, X, "cityblock")
        case "hellinger":
            return np.sqrt(np.maximum(brute_force("cosine", np.sqrt(A), np.sqrt(X)), 0))
        case "softmax_hellinger":
            return brute_force("hellinger", softmax(A, axis=1), softmax(X, axis=1))
        case "inner_product":
            return (X**2).sum(1).max() - A @ X.T
        case "haversine":
            half = (A[:, None] - X[None]) / 2
            inner = np.cos(A[:, None, 0]) * np.cos(X[None, :, 0]) * np.sin(half[..., 1]) ** 2
            return 2 * np.arcsin(np.sqrt(np.sin(half[..., 0]) ** 2 + inner))
        case "seuclidean":
            return cdist(A, X, metric, V=X.var(axis=0, ddof=1))
        case "mahalanobis":
            return cdist(A, X, metric, VI=np.linalg.inv(np.cov(X.T)))
        case "cosine" | "correlation":
            rows = [M - M.mean(1, keepdims=True) if metric == "correlation" else M for M in (A, X)]
            lengths = [np.linalg.norm(M, axis=1) for M in rows]
            a, x = (M / np.where(norm > 0, norm, 1)[:, None] for M, norm in zip(rows, lengths, strict=True))
            distances = cdist(a, x, "sqeuclidean") / 2
            distances[(lengths[0] == 0)[:, None] != (lengths[1] == 0)[None]] = 1
            return distances
        case "canberra" | "braycurtis":
            return np.nan_to_num(cdist(A, X, metric))
    return cdist(A, X, metric, **parameters)


def points(metric, n=230, columns=37, seed=0):
    """Rows with many zeros, two of them all zero, some copies; of at least 0 where the metric needs it."""
    rng = np.random.default_rng(seed)
    if metric == "haversine":
        return rng.uniform([-1.5, -3], [1.5, 3], (n, 2))
    if metric == "mahalanobis":
        return rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6))
    X = rng.gamma(2, size=(n, columns)).round(1)
    X[rng.random(X.shape) < 0.6] = 0
    if metric not in ("hellinger", "braycurtis"):
        X *= rng.choice([-1, 1], X.shape)
    X[[5, 9]] = 0
    X[20:24] = X[3]
    return X.astype(np.float32)


def assert_nearest(found, exact, metric):
    k = found.indices.shape[1]
    tolerance = {"rtol": 2e-5, "atol": 3e-6 if metric in ("correlation", "inner_product") else 2e-6}
    if "hellinger" in metric:
        tolerance["atol"] = 1e-3  # the root of what rounding leaves
    np.testing.assert_allclose(found.distances, np.take_along_axis(exact, found.indices, 1), **tolerance)
    np.testing.assert_allclose(found.distances, np.sort(exact, axis=1)[:, :k], **tolerance)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == k for row in found.indices.tolist())


def others(exact):
    exact = exact.copy()
    np.fill_diagonal(exact, np.inf)
    return exact


@pytest.mark.parametrize("metric", COMPILED)
def test_dense_equals_brute_force(metric):
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    found = nearest_neighbors(X, K, metric=metric, metric_kwds=parameters)
    assert found.engine == "exact" and found.recall == 1
    assert_nearest(found, others(brute_force(metric, X, X, **parameters)), metric)


@pytest.mark.parametrize("metric", SPARSE)
def test_sparse_equals_brute_force_and_dense(metric):
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    found = nearest_neighbors(sparse.csr_matrix(X), K, metric=metric, metric_kwds=parameters)
    assert_nearest(found, others(brute_force(metric, X, X, **parameters)), metric)
    dense = nearest_neighbors(X, K, metric=metric, metric_kwds=parameters)
    np.testing.assert_allclose(found.distances, dense.distances, rtol=2e-5, atol=1e-3)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("metric", COMPILED)
def test_queries_equal_brute_force_alone_and_together(metric, form):
    if form == "sparse" and metric in NOT_SPARSE:
        pytest.skip("no sparse form")
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    new = np.concatenate([points(metric, 20, seed=1), X[:3]])
    if metric == "inner_product":
        new[:2] *= 3
    as_form = sparse.csr_matrix if form == "sparse" else np.asarray
    index = NeighborIndex(as_form(X), metric=metric, metric_kwds=parameters)
    found = index.query(as_form(new), K)
    exact = brute_force(metric, new, X, **parameters)
    if metric == "inner_product":  # longer than every row of X: M is then the mean of both squares
        beyond = np.maximum((new**2).sum(1) - (X**2).sum(1).max(), 0)
        assert beyond[:2].all()
        exact = exact + beyond[:, None] / 2
    if metric == "seuclidean":
        exact = cdist(new.astype(float), X.astype(float), metric, V=X.astype(float).var(axis=0, ddof=1))
    assert_nearest(found, exact, metric)
    for row in (0, 11, 22):
        alone = index.query(as_form(new[row : row + 1]), K)
        np.testing.assert_array_equal(alone.indices[0], found.indices[row])
        np.testing.assert_array_equal(alone.distances[0], found.distances[row])


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("metric", COMPILED)
def test_threads_change_no_bit(metric, form):
    if form == "sparse" and metric in NOT_SPARSE:
        pytest.skip("no sparse form")
    X = points(metric) if form == "dense" else sparse.csr_matrix(points(metric))
    one, three = (nearest_neighbors(X, K, metric=metric, n_jobs=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.distances, three.distances)


# ---- identities ----


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("metric", [name for name in COMPILED if name not in NOT_METRIC])
def test_equal_rows_are_at_distance_zero_and_distances_are_symmetric(metric, form):
    if form == "sparse" and metric in NOT_SPARSE:
        pytest.skip("no sparse form")
    X = points(metric, 60)
    X[20:24] = X[3]
    found = nearest_neighbors(X if form == "dense" else sparse.csr_matrix(X), 59, metric=metric)
    distances = np.zeros((60, 60))
    np.put_along_axis(distances, found.indices, found.distances, axis=1)
    np.testing.assert_allclose(distances, distances.T, rtol=2e-6, atol=1e-7)
    copies = [3, 20, 21, 22, 23]
    assert (distances[np.ix_(copies, copies)] == 0).all()
    np.testing.assert_array_equal(found.indices[21, :4], [3, 20, 22, 23])  # ties go to the smaller id


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "metric", ["cosine", "correlation", "hellinger", "canberra", "braycurtis", *PRESENCE]
)
def test_the_unit_does_not_matter(metric, form):
    X = np.abs(points(metric))
    factors = np.ones(len(X)) if metric in ("canberra", "braycurtis") else np.arange(1, len(X) + 1)
    first = nearest_neighbors(form(X), K, metric=metric)
    second = nearest_neighbors(form((4 * factors[:, None] * X).astype(np.float32)), K, metric=metric)
    np.testing.assert_allclose(first.distances, second.distances, rtol=1e-4, atol=1e-3)


def test_minkowski_joins_its_neighbours():
    X = points("minkowski")
    for p, name in ((1, "manhattan"), (2, "euclidean"), (np.inf, "chebyshev")):
        found = nearest_neighbors(X, K, metric="minkowski", metric_kwds={"p": p})
        np.testing.assert_array_equal(found.distances, nearest_neighbors(X, K, metric=name).distances)
    w = np.random.default_rng(0).gamma(1, size=X.shape[1])
    for form in (np.asarray, sparse.csr_matrix):
        found = nearest_neighbors(form(X), K, metric="wminkowski", metric_kwds={"p": 1.5, "w": w})
        assert_nearest(
            found, others(cdist(X.astype(float), X.astype(float), "minkowski", p=1.5, w=w)), "minkowski"
        )


def test_parameters_of_the_scaled_metrics():
    X = points("mahalanobis")
    V = np.linspace(1, 5, 6)
    found = nearest_neighbors(X, K, metric="seuclidean", metric_kwds={"V": V})
    assert_nearest(found, others(cdist(X, X, "seuclidean", V=V)), "seuclidean")
    VI = np.diag(V)
    for parameters in ({"VI": VI}, {"V": np.linalg.inv(VI)}):
        found = nearest_neighbors(X, K, metric="mahalanobis", metric_kwds=parameters)
        assert_nearest(found, others(cdist(X, X, "mahalanobis", VI=VI)), "mahalanobis")


def test_dot_is_inner_product_and_of_unit_rows_one_minus_cosine():
    X = points("cosine")[10:]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = nearest_neighbors(X, K, metric="dot")
    np.testing.assert_allclose(
        found.distances, nearest_neighbors(X, K, metric="cosine").distances, rtol=1e-4, atol=1e-6
    )


def test_short_arcs_keep_their_digits():
    X = np.array([[0.7, 1.0]]) + np.arange(20)[:, None] * [[1e-8, 0]]
    found = nearest_neighbors(X, 3, metric="haversine")
    exact = others(brute_force("haversine", X, X))
    np.testing.assert_allclose(found.distances, np.take_along_axis(exact, found.indices, 1), rtol=1e-5)


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
def test_places_of_one_town_are_told_apart(spread):
    X = np.radians([48.1, 11.5]) + spread * np.random.default_rng(0).normal(size=(6000, 2))
    exact = others(brute_force("haversine", X, X))
    nearest = np.sort(exact, axis=1)[:, :K]
    for algorithm, wanted in (("exact", 1.0), ("approximate", 0.97)):
        found = nearest_neighbors(X, K, metric="haversine", algorithm=algorithm)
        share = np.mean(np.take_along_axis(exact, found.indices, 1) <= nearest[:, -1:] * (1 + 1e-5))
        assert share >= wanted
    asked = NeighborIndex(X, metric="haversine").query(X[:100], K + 1)
    np.testing.assert_allclose(asked.distances[:, 1:], nearest[:100], rtol=1e-5)


def test_metrics_of_distributions_counts_and_the_disk():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (60, 20)) + np.eye(60, 20)
    p = (counts + 1e-11) / (counts + 1e-11).sum(1, keepdims=True)
    exact = ((p[:, None] - p) * (np.log(p)[:, None] - np.log(p))).sum(2) / 2
    assert_nearest(nearest_neighbors(counts, K, metric="symmetric_kl"), others(exact), "symmetric_kl")

    disk = rng.uniform(-0.6, 0.6, (60, 2))
    inside = 1 - (disk**2).sum(1)
    exact = np.arccosh(1 + 2 * cdist(disk, disk, "sqeuclidean") / np.outer(inside, inside))
    assert_nearest(nearest_neighbors(disk, K, metric="poincare"), others(exact), "poincare")
    with pytest.raises(ValueError, match="'poincare' needs rows of length below 1"):
        nearest_neighbors(disk + 1, K, metric="poincare")

    def log_beta(a, b):
        return gammaln(a) + gammaln(b) - gammaln(a + b)

    def ll_dirichlet(x, y):
        both, log_b = (x > 0) & (y > 0), 0.0
        log_b = log_beta(x[both], y[both]).sum() - log_beta(x.sum(), y.sum())
        own = [log_beta(z[z > 0], z[z > 0]).sum() - log_beta(z.sum(), z.sum()) for z in (x, y)]
        return np.sqrt(max(0, (log_b - own[1]) / y.sum() + (log_b - own[0]) / x.sum()))

    exact = np.array([[ll_dirichlet(x, y) for y in counts] for x in counts])
    assert_nearest(nearest_neighbors(counts, K, metric="ll_dirichlet"), others(exact), "ll_dirichlet")
    with pytest.raises(ValueError, match="'ll_dirichlet' needs rows of values of at least 0"):
        nearest_neighbors(-counts, K, metric="ll_dirichlet")


def test_a_callable_has_parameters():
    X = points("euclidean", 40)
    found = nearest_neighbors(
        X, 5, metric=lambda x, y, power: np.abs(x - y).max() ** power, metric_kwds={"power": 1}
    )
    chebyshev = nearest_neighbors(X, 5, metric="chebyshev")
    np.testing.assert_allclose(found.distances, chebyshev.distances, rtol=1e-6)


# ---- sparse input as it comes ----


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.lil_matrix])
def test_every_sparse_form(form):
    X = points("cosine")
    given = form(X)
    before = given.copy()
    found = nearest_neighbors(given, K, metric="cosine")
    np.testing.assert_array_equal(
        found.indices, nearest_neighbors(sparse.csr_matrix(X), K, metric="cosine").indices
    )
    assert (given != before).nnz == 0


def test_entries_in_any_order_repeated_or_zero():
    X = sparse.csr_matrix(points("manhattan"))
    messy = sparse.csr_matrix(X.shape, dtype=np.float32)
    messy.indptr = X.indptr * 2
    messy.indices = np.concatenate([np.r_[X[i].indices, X[i].indices[::-1]] for i in range(X.shape[0])])
    messy.data = np.concatenate([np.r_[X[i].data - 1, np.ones_like(X[i].data)] for i in range(X.shape[0])])
    assert not messy.has_canonical_format and (messy.toarray() == X.toarray()).mean() > 0.9
    kept = messy.data.copy()
    found = nearest_neighbors(messy, K, metric="manhattan")
    np.testing.assert_allclose(
        found.distances, nearest_neighbors(X, K, metric="manhattan").distances, rtol=1e-5
    )
    np.testing.assert_array_equal(messy.data, kept)


# ---- precomputed sparse distances ----


def test_sparse_distances():
    from sklearn.neighbors import kneighbors_graph

    X = points("euclidean")
    graph = kneighbors_graph(X, K + 3, mode="distance")
    found = nearest_neighbors(graph, K, metric="precomputed")
    np.testing.assert_allclose(found.distances, nearest_neighbors(X, K).distances, rtol=1e-5, atol=1e-5)
    whole = nearest_neighbors(sparse.csr_matrix(cdist(X, X) + 1), K, metric="precomputed")  # the diagonal too
    np.testing.assert_array_equal(
        whole.indices, nearest_neighbors(cdist(X, X) + 1, K, metric="precomputed").indices
    )
    with pytest.raises(
        ValueError, match=r"n_neighbors=16, but row .* has only 15 entries besides the diagonal"
    ):
        nearest_neighbors(graph, 16, metric="precomputed")


# ---- refusals ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "hellinger"}, "metric='hellinger' needs values of at least 0, X has -"),
        ({"metric": "haversine"}, "metric='haversine' needs 2 columns"),
        ({"metric": "minkowski", "metric_kwds": {"p": 0}}, "p=0 must be"),
        ({"metric": "minkowski", "metric_kwds": {"w": [1]}}, "w must be 37 finite"),
        (
            {"metric": "minkowski", "metric_kwds": {"q": 3}},
            "metric_kwds has 'q', but the parameters .*: p, w",
        ),
        (
            {"metric": "euclidean", "metric_kwds": {"p": 3}},
            "metric_kwds has 'p', but .*'euclidean' are: none",
        ),
        ({"metric": "seuclidean", "metric_kwds": {"V": np.zeros(37)}}, "V must hold variances above 0"),
        (
            {"metric": "mahalanobis", "metric_kwds": {"VI": np.eye(3)}},
            r"VI must be 37 x 37 finite numbers; got shape \(3, 3\)",
        ),
        ({"metric": "mahalanobis", "metric_kwds": {"VI": -np.eye(37)}}, "VI is not positive definite"),
        ({"metric": 3}, "metric=3 must be a name or a function"),
    ],
)
def test_refusals(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nearest_neighbors(points("euclidean"), K, **options)


@pytest.mark.parametrize("metric", [*NOT_SPARSE, "sqeuclidean"])
def test_metrics_without_a_sparse_form_name_the_remedy(metric):
    with pytest.raises(ValueError, match=f"metric='{metric}' has no form for sparse X: use X.toarray"):
        nearest_neighbors(sparse.csr_matrix(points("euclidean")), K, metric=metric)


def test_sparse_values_must_be_finite():
    X = sparse.csr_matrix(points("euclidean"))
    X.data[7] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        nearest_neighbors(X, K)


# ---- odd data ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("value", [0.0, 2.5])
@pytest.mark.parametrize("metric", [name for name in SPARSE if name != "seuclidean"])
def test_constant_rows(metric, value, form):
    found = nearest_neighbors(form(np.full((50, 6), value)), K, metric=metric)
    np.testing.assert_allclose(found.distances, 0, atol=1e-6)
    np.testing.assert_array_equal(found.indices[40], np.arange(K))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", COMPILED)
def test_as_many_neighbours_as_there_are_others_and_no_more(metric, form):
    X = points(metric, 20)
    if form is sparse.csr_matrix and metric in NOT_SPARSE:
        pytest.skip("no sparse form")
    found = nearest_neighbors(form(X), 19, metric=metric)
    assert all(sorted([i, *row]) == list(range(20)) for i, row in enumerate(found.indices.tolist()))
    with pytest.raises(ValueError, match="n_neighbors=20 needs at least 21 samples, got 20"):
        nearest_neighbors(form(X), 20, metric=metric)


def test_functions_see_floats_and_both_orders():
    X = np.array([[200, 10], [10, 200], [201, 11], [0, 0]], np.uint8)
    found = nearest_neighbors(X, 1, metric=lambda x, y: float(abs(x - y).sum()))
    np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 1, metric="manhattan").indices)

    def uphill(x, y):
        return max(0, x[0] - y[0]) + 0.01 * abs(x - y).sum()

    X = np.random.default_rng(0).random((30, 4))
    distances = np.array([[uphill(x, y) for y in X] for x in X])
    np.fill_diagonal(distances, np.inf)
    for n_jobs in (1, 2, 3):
        found = nearest_neighbors(X, 5, metric=uphill, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1)[:, :5])


def test_missing_values():
    X = np.random.default_rng(0).random((40, 5))
    X[3, 1] = np.nan
    distances = nan_euclidean_distances(X)
    np.fill_diagonal(distances, np.inf)
    found = nearest_neighbors(X, 4, metric="nan_euclidean")
    np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1)[:, :4])
    asked = NeighborIndex(X, metric="nan_euclidean").query(X[:6], 1)
    np.testing.assert_array_equal(asked.indices.ravel(), np.arange(6))
    with pytest.raises(ValueError, match="NaN"):
        nearest_neighbors(X, 4)


@pytest.mark.parametrize(
    ("metric", "rows", "message"),
    [
        ("hellinger", -np.ones((2, 4)), "X_new has -1"),
        ("braycurtis", sparse.csr_matrix(-np.ones((2, 4))), "X_new has -1"),
    ],
)
def test_queries_are_checked_like_rows(metric, rows, message):
    X = np.random.default_rng(0).random((30, 4))
    index = NeighborIndex(sparse.csr_matrix(X) if sparse.issparse(rows) else X, metric=metric)
    with pytest.raises(ValueError, match=message):
        index.query(rows, 3)


def test_queries_may_be_sparse_or_dense_whatever_the_points_are():
    X = np.random.default_rng(0).random((30, 4)).astype(np.float32)
    expected = NeighborIndex(X).query(X[:5], 3)
    for points in (X, sparse.csr_matrix(X)):
        for rows in (X[:5], sparse.csr_matrix(X[:5])):
            found = NeighborIndex(points).query(rows, 3)
            np.testing.assert_array_equal(found.indices, expected.indices)
            np.testing.assert_allclose(found.distances, expected.distances, atol=1e-6)
