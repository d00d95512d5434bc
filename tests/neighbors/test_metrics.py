"""Every compiled metric against brute force in float64: dense rows, sparse rows, queries; and identities."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist, cosine
from scipy.special import gammaln, rel_entr
from scipy.stats import spearmanr, wasserstein_distance

from actup._engine import engine
from actup.neighbors import NeighborIndex, nearest_neighbors
from actup.neighbors._metrics import METRICS
from metric_oracle import (
    COMPILED,
    DENSE_ONLY,
    EQUAL_ROWS_NOT_NEAREST,
    PARAMETERS,
    PRESENCE,
    SPARSE,
    K,
    assert_nearest,
    brute_force,
    exclude_self,
    points,
)


@pytest.mark.parametrize("metric", COMPILED)
def test_dense_equals_brute_force(metric):
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    found = nearest_neighbors(X, K, metric=metric, metric_kwds=parameters)
    assert found.method == "exact" and found.recall == 1
    assert_nearest(found, exclude_self(brute_force(metric, X, X, **parameters)), metric)


@pytest.mark.parametrize("metric", SPARSE)
def test_sparse_equals_brute_force_and_dense(metric):
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    found = nearest_neighbors(sparse.csr_matrix(X), K, metric=metric, metric_kwds=parameters)
    assert_nearest(found, exclude_self(brute_force(metric, X, X, **parameters)), metric)
    dense = nearest_neighbors(X, K, metric=metric, metric_kwds=parameters)
    np.testing.assert_allclose(found.distances, dense.distances, rtol=2e-5, atol=1e-3)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("metric", COMPILED)
def test_queries_equal_brute_force_alone_and_together(metric, form):
    if form == "sparse" and metric in DENSE_ONLY:
        pytest.skip("no sparse form")
    X, parameters = points(metric), PARAMETERS.get(metric, {})
    new = np.concatenate([points(metric, 20, seed=1), X[:3]])
    if metric == "inner_product":
        new[:2] *= 3
    as_form = sparse.csr_matrix if form == "sparse" else np.asarray
    index = NeighborIndex(as_form(X), metric=metric, metric_kwds=parameters)
    found = index.query(as_form(new), K)
    exact = brute_force(metric, new, X, **parameters)
    if metric == "inner_product":  # for longer queries, M is the mean of both squared lengths
        excess = np.maximum((new**2).sum(1) - (X**2).sum(1).max(), 0)
        assert excess[:2].all()
        exact = exact + excess[:, None] / 2
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
    if form == "sparse" and metric in DENSE_ONLY:
        pytest.skip("no sparse form")
    X = points(metric) if form == "dense" else sparse.csr_matrix(points(metric))
    one, three = (nearest_neighbors(X, K, metric=metric, n_jobs=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.indices, three.indices)
    np.testing.assert_array_equal(one.distances, three.distances)


# Identities


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("metric", [name for name in COMPILED if name not in EQUAL_ROWS_NOT_NEAREST])
def test_equal_rows_are_at_distance_zero_and_distances_are_symmetric(metric, form):
    if form == "sparse" and metric in DENSE_ONLY:
        pytest.skip("no sparse form")
    X = points(metric, 60)
    X[20:24] = X[3]
    found = nearest_neighbors(X if form == "dense" else sparse.csr_matrix(X), 59, metric=metric)
    distances = np.zeros((60, 60))
    np.put_along_axis(distances, found.indices, found.distances, axis=1)
    np.testing.assert_allclose(distances, distances.T, rtol=2e-6, atol=1e-7)
    duplicates = [3, 20, 21, 22, 23]
    assert (distances[np.ix_(duplicates, duplicates)] == 0).all()
    np.testing.assert_array_equal(found.indices[21, :4], [3, 20, 22, 23])  # ties go to the smaller id


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    "metric", ["cosine", "correlation", "hellinger", "canberra", "braycurtis", *PRESENCE]
)
def test_scale_invariant_metrics_ignore_the_unit(metric, form):
    X = np.abs(points(metric))
    factors = np.ones(len(X)) if metric in ("canberra", "braycurtis") else np.arange(1, len(X) + 1)
    first = nearest_neighbors(form(X), K, metric=metric)
    second = nearest_neighbors(form((4 * factors[:, None] * X).astype(np.float32)), K, metric=metric)
    np.testing.assert_allclose(first.distances, second.distances, rtol=1e-4, atol=1e-3)


def test_minkowski_special_powers_and_weights():
    X = points("minkowski")
    for p, name in ((1, "manhattan"), (2, "euclidean"), (np.inf, "chebyshev")):
        found = nearest_neighbors(X, K, metric="minkowski", metric_kwds={"p": p})
        np.testing.assert_array_equal(found.distances, nearest_neighbors(X, K, metric=name).distances)
    w = np.random.default_rng(0).gamma(1, size=X.shape[1])
    for form in (np.asarray, sparse.csr_matrix):
        found = nearest_neighbors(form(X), K, metric="wminkowski", metric_kwds={"p": 1.5, "w": w})
        assert_nearest(
            found, exclude_self(cdist(X.astype(float), X.astype(float), "minkowski", p=1.5, w=w)), "minkowski"
        )


def test_parameters_of_seuclidean_and_mahalanobis():
    X = points("mahalanobis")
    V = np.linspace(1, 5, 6)
    found = nearest_neighbors(X, K, metric="seuclidean", metric_kwds={"V": V})
    assert_nearest(found, exclude_self(cdist(X, X, "seuclidean", V=V)), "seuclidean")
    VI = np.diag(V)
    for parameters in ({"VI": VI}, {"V": np.linalg.inv(VI)}):
        found = nearest_neighbors(X, K, metric="mahalanobis", metric_kwds=parameters)
        assert_nearest(found, exclude_self(cdist(X, X, "mahalanobis", VI=VI)), "mahalanobis")


def test_parameters_by_the_names_of_umap_learn():
    X = points("mahalanobis")
    V = np.linspace(1, 5, 6)
    for metric, other, name, value in (
        ("seuclidean", "sigma", "V", V), ("mahalanobis", "vinv", "VI", np.diag(V)),
    ):  # fmt: skip
        found = nearest_neighbors(X, K, metric=metric, metric_kwds={other: value})
        expected = nearest_neighbors(X, K, metric=metric, metric_kwds={name: value})
        np.testing.assert_array_equal(found.distances, expected.distances)
        with pytest.raises(
            ValueError, match=f"{other} and {name} are two names of one parameter: give {name}"
        ):
            nearest_neighbors(X, K, metric=metric, metric_kwds={other: value, name: value})


def test_mahalanobis_of_dependent_columns_takes_the_pseudo_inverse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 5))
    X = np.column_stack([X, np.full(200, 3.0), X[:, 0] - 2 * X[:, 1], 1e-3 * X.sum(axis=1)])
    VI = np.linalg.pinv(np.cov(X.T), rcond=1e-12)
    found = nearest_neighbors(X, K, metric="mahalanobis")
    assert_nearest(found, exclude_self(cdist(X, X, "mahalanobis", VI=VI)), "mahalanobis")


def test_mahalanobis_needs_more_rows_than_columns():
    with pytest.raises(ValueError, match="needs more rows than columns, X has 10 rows and 20 columns"):
        nearest_neighbors(np.random.default_rng(0).normal(size=(10, 20)), 3, metric="mahalanobis")


def test_dot_of_unit_rows_equals_cosine():
    X = points("cosine")[10:]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = nearest_neighbors(X, K, metric="dot")
    np.testing.assert_allclose(
        found.distances, nearest_neighbors(X, K, metric="cosine").distances, rtol=1e-4, atol=1e-6
    )


def test_haversine_keeps_its_precision_for_short_arcs():
    X = np.array([[0.7, 1.0]]) + np.arange(20)[:, None] * [[1e-8, 0]]
    found = nearest_neighbors(X, 3, metric="haversine")
    exact = exclude_self(brute_force("haversine", X, X))
    np.testing.assert_allclose(found.distances, np.take_along_axis(exact, found.indices, 1), rtol=1e-5)


def test_latitudes_beyond_the_poles_cause_a_warning():
    degrees = np.random.default_rng(0).uniform((-60, -180), (60, 180), size=(40, 2))
    degrees[7, 0] = 75
    message = r"X has latitude 75 in row 7, beyond pi / 2: convert degrees with np\.radians\(X\)"
    with pytest.warns(UserWarning, match=message) as caught:
        nearest_neighbors(degrees, 3, metric="haversine")
    assert len(caught) == 1
    index = NeighborIndex(np.radians(degrees), metric="haversine")
    with pytest.warns(UserWarning, match=r"np\.radians\(X_new\)"):
        index.query(degrees[:10], 3)
    poles = np.array([[np.pi / 2, 0], [-np.pi / 2, 0], [0.1, 0.2]], np.float32)
    nearest_neighbors(poles, 1, metric="haversine")  # no warning


@pytest.mark.parametrize("spread", [1.0, 1e-4, 1e-8])
def test_haversine_distinguishes_places_of_one_town(spread):
    X = np.radians([48.1, 11.5]) + spread * np.random.default_rng(0).normal(size=(6000, 2))
    X[:, 0] = X[:, 0].clip(-np.pi / 2, np.pi / 2)
    exact = exclude_self(brute_force("haversine", X, X))
    nearest = np.sort(exact, axis=1)[:, :K]
    for algorithm, min_recall in (("exact", 1.0), ("approximate", 0.97)):
        found = nearest_neighbors(X, K, metric="haversine", algorithm=algorithm)
        recall = np.mean(np.take_along_axis(exact, found.indices, 1) <= nearest[:, -1:] * (1 + 1e-5))
        assert recall >= min_recall
    queried = NeighborIndex(X, metric="haversine").query(X[:100], K + 1)
    np.testing.assert_allclose(queried.distances[:, 1:], nearest[:100], rtol=1e-5)


def test_symmetric_kl_poincare_and_ll_dirichlet_equal_their_formulas():
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (60, 20)) + np.eye(60, 20)
    p = (counts + 1e-11) / (counts + 1e-11).sum(1, keepdims=True)
    exact = ((p[:, None] - p) * (np.log(p)[:, None] - np.log(p))).sum(2) / 2
    assert_nearest(nearest_neighbors(counts, K, metric="symmetric_kl"), exclude_self(exact), "symmetric_kl")

    disk = rng.uniform(-0.6, 0.6, (60, 2))
    inside = 1 - (disk**2).sum(1)
    exact = np.arccosh(1 + 2 * cdist(disk, disk, "sqeuclidean") / np.outer(inside, inside))
    assert_nearest(nearest_neighbors(disk, K, metric="poincare"), exclude_self(exact), "poincare")
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
    assert_nearest(nearest_neighbors(counts, K, metric="ll_dirichlet"), exclude_self(exact), "ll_dirichlet")
    with pytest.raises(ValueError, match="'ll_dirichlet' needs rows of values of at least 0"):
        nearest_neighbors(-counts, K, metric="ll_dirichlet")


def tsss(x, y):
    lengths = np.linalg.norm(x), np.linalg.norm(y)
    theta = np.arccos(np.clip(x @ y / np.prod(lengths), -1, 1)) + np.radians(10)
    sector = (np.linalg.norm(x - y) + abs(lengths[0] - lengths[1])) ** 2 * theta / 2
    return abs(np.prod(lengths) * np.sin(theta) / 2) * sector


def jensen_shannon(x, y):
    p, q = ((z + np.finfo(np.float32).eps) / (z + np.finfo(np.float32).eps).sum() for z in (x, y))
    return (rel_entr(p, (p + q) / 2) + rel_entr(q, (p + q) / 2)).sum() / 2


def moved_in_a_circle(x, y):
    flow = np.cumsum(x / x.sum()) - np.cumsum(y / y.sum())
    return min(np.abs(flow - value).sum() for value in flow)  # the best shift is one of the values


def test_metrics_of_pynndescent_equal_their_definitions():
    formulas = {
        "tsss": tsss,
        "jensen_shannon": jensen_shannon,
        "circular_kantorovich": moved_in_a_circle,
        "wasserstein_1d": lambda x, y: wasserstein_distance(np.arange(20), np.arange(20), x, y),
        "spearmanr": lambda x, y: 1 - spearmanr(x, y).statistic,
        "true_angular": lambda x, y: np.arccos(1 - cosine(x, y)) / np.pi,
        "bit_hamming": lambda x, y: (bits_of(x) != bits_of(y)).sum(),
        "bit_jaccard": lambda x, y: 1 - (bits_of(x) & bits_of(y)).sum() / (bits_of(x) | bits_of(y)).sum(),
    }
    X = np.random.default_rng(0).poisson(3, (60, 20)) + 1.0
    for metric, formula in formulas.items():
        exact = np.array([[formula(x, y) if (x != y).any() else 0.0 for y in X] for x in X], float)
        assert_nearest(nearest_neighbors(X, K, metric=metric), exclude_self(exact), metric)


def bits_of(row):
    return np.unpackbits(row.astype(np.uint8)).astype(bool)


def test_direct_cosine_is_cosine():
    X = points("cosine")
    found, expected = (nearest_neighbors(X, K, metric=metric) for metric in ("direct_cosine", "cosine"))
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_bits_must_be_bytes():
    for X in (np.full((5, 2), 0.5), np.full((5, 2), 300), np.full((5, 2), -1)):
        with pytest.raises(
            ValueError, match=r"metric='bit_hamming' compares the bits of bytes, .* np\.packbits"
        ):
            nearest_neighbors(X, 2, metric="bit_hamming")


@pytest.mark.parametrize("metric", ["kantorovich", "wasserstein", "sinkhorn"])
def test_metrics_of_pynndescent_that_are_missing_name_others(metric):
    with pytest.raises(ValueError, match=f"metric='{metric}' is not available: 'wasserstein_1d' compares"):
        nearest_neighbors(np.eye(5), 2, metric=metric)


def test_callable_metric_receives_metric_kwds():
    X = points("euclidean", 40)
    found = nearest_neighbors(
        X, 5, metric=lambda x, y, power: np.abs(x - y).max() ** power, metric_kwds={"power": 1}
    )
    chebyshev = nearest_neighbors(X, 5, metric="chebyshev")
    np.testing.assert_allclose(found.distances, chebyshev.distances, rtol=1e-6)


def test_the_table_has_the_metrics_of_the_engine():
    engine_metrics = {metric.name for metric in engine.Metric}
    compared = {METRICS[name].reduced_to or name for name in COMPILED}
    assert compared == engine_metrics
