"""Quality measures: each against a plain computation, at the edges, and bit for bit at any thread count."""

import itertools

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.metrics import v_measure_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from actup import metrics
from actup.graph import Graph
from actup.metrics.points import Points
from actup.native import engine

N = 240


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 12)) + 3 * rng.integers(0, 3, N)[:, None] + 100


@pytest.fixture
def Y(X, rng):
    return X[:, :2] + rng.normal(scale=0.5, size=(N, 2))


@pytest.fixture
def labels(X):
    return np.digitize(X.mean(axis=1), [101.5, 104.5])


@pytest.fixture
def graph(rng):
    return random_graph(rng, N)


def random_graph(rng, n, density=0.05):
    A = scipy.sparse.random(n, n, density, random_state=3, dtype=np.float32).tolil()
    A[0, n - 1] = 0.7
    return Graph.from_scipy((A + A.T) / 2)


def ranks(points, metric="euclidean"):
    """ranks[i, j]: 1 for the nearest other point, by distance and then by index; 0 for the point itself."""
    D = cdist(points, points, metric)
    np.fill_diagonal(D, -1)
    order = np.argsort(D, axis=1, kind="stable")
    return np.argsort(order, axis=1)


# ---- labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 7, 40])
def test_knn_accuracy_equals_sklearns_classifier(Y, labels, k):
    expected = cross_val_score(KNeighborsClassifier(k), Y, labels, cv=LeaveOneOut()).mean()
    assert metrics.knn_accuracy(Y, labels, k, shrink=False) == pytest.approx(expected, abs=1e-12)


def test_knn_accuracy_leaves_a_point_out_by_index(rng):
    Y = np.zeros((30, 2))
    labels = np.arange(30)
    assert metrics.knn_accuracy(Y, labels, 1) == 0
    Y = np.repeat(rng.normal(size=(10, 2)), 3, axis=0)
    assert metrics.knn_accuracy(Y, np.repeat(np.arange(10), 3), 2) == 1


def test_knn_accuracy_takes_the_smallest_label_of_a_tie():
    Y = [[0.0], [1.0], [2.0], [10.0]]
    # Votes: 1 and 0, 0 and 0, 1 and 0, 0 and 1: everyone is taken for 0.
    assert metrics.knn_accuracy(Y, [0, 1, 0, 1], 2, shrink=False) == 0.5
    assert metrics.knn_accuracy(Y, list("abab"), 2, shrink=False) == 0.5
    assert metrics.knn_accuracy(Y, [0, 1, 1, 1], 2, shrink=False) == 0.25


def test_knn_accuracy_of_noise_is_chance(rng):
    labels = rng.integers(0, 4, 4000)
    assert metrics.knn_accuracy(rng.normal(size=(4000, 2)), labels) == pytest.approx(0.25, abs=0.04)


def test_voters_shrink_with_the_classes():
    assert metrics.voters(np.repeat(np.arange(10), 500)) == 100
    assert metrics.voters(np.repeat(np.arange(100), 72)) == 71
    assert metrics.voters([1, 2, 3]) == 1
    assert metrics.voters(np.zeros(9), 4) == 4


def test_v_measure_equals_sklearns(Y, labels):
    expected = v_measure_score(labels, KMeans(3, n_init=20, random_state=1).fit_predict(Y))
    assert metrics.v_measure(Y, labels) == pytest.approx(expected, abs=0.02)
    assert metrics.v_measure(Y, np.full(N, "one")) == 1
    separate = np.repeat([[0.0, 0], [9, 0], [0, 9]], 5, axis=0)
    assert metrics.v_measure(separate, np.repeat(list("xyz"), 5)) == pytest.approx(1)


def test_v_measure_with_fewer_places_than_classes():
    assert metrics.v_measure(np.zeros((6, 2)), np.arange(6)) == 0


# ---- neighbourhoods ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighborhoods_equal_full_rankings(X, Y, metric):
    X = X - 100
    rank_X, rank_Y, k = ranks(X, metric), ranks(Y), 9
    near_X, near_Y = (rank_X >= 1) & (rank_X <= k), (rank_Y >= 1) & (rank_Y <= k)
    scale = 2 / (N * k * (2 * N - 3 * k - 1))
    given = {"k": k, "metric": metric, "sample": None}
    assert metrics.neighbor_recall(X, Y, **given) == pytest.approx((near_X & near_Y).sum() / (N * k))
    expected = 1 - scale * (rank_X - k)[near_Y & ~near_X].sum()
    assert metrics.trustworthiness(X, Y, **given) == pytest.approx(expected, abs=1e-12)
    expected = 1 - scale * (rank_Y - k)[near_X & ~near_Y].sum()
    assert metrics.continuity(X, Y, **given) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_trustworthiness_equals_sklearns(X, Y, metric):
    X = X - 100
    for k in (1, 15, N // 2 - 1):
        expected = sklearn_trustworthiness(X, Y, n_neighbors=k, metric=metric)
        assert metrics.trustworthiness(X, Y, k, metric=metric, sample=None) == pytest.approx(
            expected, abs=1e-12
        )
        expected = sklearn_trustworthiness(Y, X - 0.0, n_neighbors=k)
        assert metrics.continuity(X, Y, k, sample=None) == pytest.approx(expected, abs=1e-12)


def test_the_map_that_keeps_everything_scores_one(X):
    Y = 5 - 2 * X
    for measure in (metrics.neighbor_recall, metrics.trustworthiness, metrics.continuity):
        assert measure(X, Y) == 1
    assert metrics.triplet_accuracy(X, Y) == 1
    assert metrics.distance_correlation(X, Y) == pytest.approx(1)


def test_a_random_map_is_near_chance(rng):
    X, Y = rng.normal(size=(2000, 5)), rng.normal(size=(2000, 2))
    assert metrics.neighbor_recall(X, Y) == pytest.approx(10 / 1999, abs=0.005)
    assert metrics.trustworthiness(X, Y) == pytest.approx(0.5, abs=0.02)
    assert metrics.continuity(X, Y) == pytest.approx(0.5, abs=0.02)
    assert metrics.triplet_accuracy(X, Y) == pytest.approx(0.5, abs=0.02)
    assert metrics.distance_correlation(X, Y) == pytest.approx(0, abs=0.02)


def test_equal_distances_are_ranked_by_index():
    D = np.array([[np.inf, 2, 1, 2, 1, 0]], np.float32)
    near = engine.nearest_in_rows(D, 5, 1)
    assert near.tolist() == [[5, 2, 4, 1, 3]]
    assert engine.ranks_in_rows(D, near, 1).tolist() == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nearest_in_rows_equals_a_stable_sort(rng, dtype):
    D = rng.integers(0, 300, size=(20, 1000)).astype(dtype)
    near = engine.nearest_in_rows(D, 37, 2)
    order = np.argsort(D, axis=1, kind="stable")
    np.testing.assert_array_equal(near, order[:, :37])
    ids = rng.integers(0, 1000, size=(20, 8)).astype(np.int32)
    expected = np.take_along_axis(np.argsort(order, axis=1), ids, axis=1) + 1
    np.testing.assert_array_equal(engine.ranks_in_rows(D, ids, 2), expected)


# ---- distances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_exact_distance_correlation_equals_spearman_of_all_pairs(X, Y, metric):
    expected = spearmanr(pdist(X - 100, metric), pdist(Y)).statistic
    got = metrics.distance_correlation(X - 100, Y, metric=metric, sample=None)
    assert got == pytest.approx(expected, abs=1e-9)


def test_exact_triplet_accuracy_equals_a_loop(rng):
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    DX, DY = cdist(X, X), cdist(Y, Y)
    agree = [
        (DX[i, j] < DX[i, k]) == (DY[i, j] < DY[i, k]) for i, j, k in itertools.permutations(range(12), 3)
    ]
    assert metrics.triplet_accuracy(X, Y, sample=None) == pytest.approx(np.mean(agree))


def test_distances_all_equal_correlate_with_nothing():
    assert metrics.distance_correlation(np.eye(6), np.arange(6.0)[:, None], sample=None) == 0


@pytest.mark.parametrize(
    ("measure", "sample"),
    [
        (metrics.neighbor_recall, 250),
        (metrics.trustworthiness, 250),
        (metrics.continuity, 250),
        (metrics.triplet_accuracy, 20_000),
        (metrics.distance_correlation, 20_000),
    ],
)
def test_a_sample_is_close_to_everything_and_seeded(rng, measure, sample):
    X = rng.normal(size=(500, 4))
    Y = X[:, :2]
    exact = measure(X, Y, sample=None)
    drawn = [measure(X, Y, sample=sample, random_state=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    np.testing.assert_allclose(drawn, exact, atol=0.03)
    assert measure(X, Y, sample=sample, n_jobs=1) == measure(X, Y, sample=sample, n_jobs=3)


# ---- kinds of X --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    "kind", ["float16", "uint8", "fortran", "memmap", "csr", "coo", "pandas", "read-only"]
)
def test_every_kind_of_X_gives_the_distances_of_the_same_numbers(rng, tmp_path, kind, metric):
    plain = rng.integers(0, 40, size=(60, 9)).astype(np.float64)
    plain[3] = 0
    before = plain.copy()
    X = make_kind(kind, plain, tmp_path)
    rows = np.array([0, 3, 17])
    expected = cdist(plain[rows], plain, "cosine" if metric == "cosine" else "sqeuclidean")
    if metric == "cosine":
        expected[1] = expected[:, 3] = 1
    points = Points(X, metric)
    order = points.order_from(rows, 2)
    own = order == np.inf
    np.testing.assert_array_equal(np.argwhere(own), [[0, 0], [1, 3], [2, 17]])
    order[own], expected[own] = 0, 0
    if metric == "euclidean":  # known up to a constant per row
        order += (expected - order)[:, 30:31]
        order[own] = 0
    np.testing.assert_allclose(order, expected, rtol=1e-4, atol=1e-3 if metric == "euclidean" else 1e-6)
    others = np.array([5, 6, 8])
    np.testing.assert_allclose(
        points.between(rows, others, 2), expected[range(3), others], rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(plain, before)


def make_kind(kind, plain, tmp_path):
    if kind == "memmap":
        stored = np.memmap(tmp_path / "X", np.float32, "w+", shape=plain.shape)
        stored[:] = plain
        return stored
    if kind == "read-only":
        plain.setflags(write=False)
        return plain
    if kind == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(plain)
    makers = {"fortran": np.asfortranarray, "csr": scipy.sparse.csr_array, "coo": scipy.sparse.coo_matrix}
    return makers.get(kind, lambda X: X.astype(kind))(plain)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_over_several_tiles(rng, metric):
    X = rng.normal(size=(5000, 20)).astype(np.float32)
    rows = rng.choice(5000, 40, replace=False)
    one, three = (Points(X, metric).order_from(rows, threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    expected = cdist(X[rows], X, metric)
    expected[np.arange(40), rows] = np.inf
    order = engine.nearest_in_rows(one, 15, 2)
    np.testing.assert_array_equal(order, np.argsort(expected, axis=1)[:, :15])


def test_distances_far_from_the_origin_keep_their_digits(rng):
    near_origin = rng.normal(size=(200, 6)).astype(np.float32)
    shifted = near_origin.astype(np.float64) + 1e4
    Y = near_origin[:, :2]
    expected = metrics.trustworthiness(near_origin, Y, sample=None)
    assert metrics.trustworthiness(shifted.astype(np.float32), Y, sample=None) == pytest.approx(
        expected, abs=1e-3
    )
    assert metrics.trustworthiness(shifted, Y, sample=None) == pytest.approx(expected, abs=1e-12)


# ---- losses ------------------------------------------------------------------------------------------------


def dense_losses(graph, Y, a, b):
    """KL, cross entropy, Frobenius loss and normalised Frobenius loss from full matrices."""
    w = graph.to_scipy().toarray().astype(np.float64)
    others = ~np.eye(len(Y), dtype=bool)
    d2 = (cdist(Y, Y) ** 2 + 1e-12)[others]
    q, rest = 1 / (1 + a * d2**b), a * d2**b / (1 + a * d2**b)
    r, p, q_sum = w[others] / w.max(), w[others] / w.sum(), q / q.sum()
    edge = p > 0
    kl = (p[edge] * np.log(p[edge] / q_sum[edge])).sum()
    attraction = (r[edge] * np.log(r[edge] / q[edge])).sum()
    below = r < 1
    repulsion = ((1 - r[below]) * np.log((1 - r[below]) / rest[below])).sum()
    return kl, attraction + repulsion, ((r - q) ** 2).sum(), ((p - q_sum) ** 2).sum()


@pytest.mark.parametrize("scale", [0.1, 10, 100])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1.577, 0.895), (0.6, 1.2)])
def test_losses_equal_full_matrices(rng, graph, dimensions, a, b, scale):
    Y = rng.normal(scale=scale, size=(N, dimensions)) + 50
    got = (
        metrics.kl_divergence(graph, Y, a, b),
        metrics.cross_entropy(graph, Y, a, b),
        metrics.frobenius_loss(graph, Y, a, b),
        metrics.frobenius_loss(graph, Y, a, b, normalized=True),
    )
    np.testing.assert_allclose(got, dense_losses(graph, Y, a, b), rtol=2e-5)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 15, 16, 17, 33, 1023, 1025, 2100])
def test_pair_sums_at_the_edges_of_vectors_and_tiles(rng, n):
    Y = rng.normal(scale=3, size=(n, 2)).astype(np.float32)
    d2 = pdist(Y.astype(np.float64), "sqeuclidean") + 1e-12
    q = 1 / (1 + d2)
    expected = 2 * q.sum(), 2 * (q**2).sum(), 2 * np.log(d2 * q).sum()
    np.testing.assert_allclose(engine.pair_sums(Y, engine.Curve(1, 1), 2), expected, rtol=1e-5)


def test_a_perfect_map_has_no_divergence(rng):
    Y = rng.normal(size=(40, 2))
    q = 1 / (1 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(q, 0)
    graph = Graph.from_scipy(scipy.sparse.csr_matrix(q))
    assert metrics.kl_divergence(graph, Y) == pytest.approx(0, abs=1e-6)
    assert metrics.frobenius_loss(graph, Y, normalized=True) == pytest.approx(0, abs=1e-9)
    assert metrics.kl_divergence(graph, Y[::-1]) > 0.1


def test_losses_are_finite_where_points_coincide(graph):
    Y = np.zeros((N, 2))
    pairs = N * (N - 1)
    assert metrics.frobenius_loss(graph, Y) == pytest.approx(dense_losses(graph, Y, 1, 1)[2], rel=1e-5)
    assert metrics.cross_entropy(graph, Y) == pytest.approx(dense_losses(graph, Y, 1, 1)[1], rel=1e-5)
    expected = np.log(pairs) + (lambda p: (p * np.log(p)).sum())(graph.weights / graph.weights.sum())
    assert metrics.kl_divergence(graph, Y) == pytest.approx(expected, abs=1e-4)


def test_losses_do_not_depend_on_the_number_of_threads(rng):
    graph = random_graph(rng, 3000, 0.002)
    Y = rng.normal(size=(3000, 2))
    for loss in (metrics.kl_divergence, metrics.cross_entropy, metrics.frobenius_loss):
        assert loss(graph, Y, 1.577, 0.895, n_jobs=1) == loss(graph, Y, 1.577, 0.895, n_jobs=4)


# ---- stability ---------------------------------------------------------------------------------------------


def test_seed_stability_equals_plain_computations(rng, Y):
    maps = [Y, Y + rng.normal(scale=0.3, size=Y.shape), rng.normal(size=Y.shape)]
    near = [(ranks(M) >= 1) & (ranks(M) <= 6) for M in maps]
    pairs = list(itertools.combinations(range(3), 2))
    disparity = np.mean([procrustes(maps[i], maps[j])[2] for i, j in pairs])
    jaccard = np.mean([((near[i] & near[j]).sum(1) / (near[i] | near[j]).sum(1)).mean() for i, j in pairs])
    got = metrics.seed_stability(maps, 6, sample=None)
    assert got.disparity == pytest.approx(disparity)
    assert got.jaccard == pytest.approx(jaccard)
    assert metrics.seed_stability(maps, 6, sample=100, n_jobs=1) == metrics.seed_stability(
        maps, 6, sample=100
    )


def test_a_map_moved_rotated_and_scaled_is_the_same(Y):
    turn = np.array([[0.6, -0.8], [-0.8, -0.6]])
    assert metrics.seed_stability([Y, 3 * Y @ turn + 5]) == pytest.approx((0, 1), abs=1e-12)
    assert metrics.seed_stability([np.zeros((20, 2)), np.ones((20, 2))]).disparity == 0
    assert metrics.seed_stability([np.zeros((N, 2)), Y]).disparity == 1


# ---- the report --------------------------------------------------------------------------------------------


def test_report_has_the_value_of_every_function(X, Y, labels, graph, capsys):
    others = [Y[:, ::-1] ** 2]
    report = metrics.quality_report(X, Y, labels, graph=graph, others=others, a=1.5, b=0.9, sample=150)
    given = {"sample": 150}
    pairs = {"sample": 7500}
    assert dict(report) == {
        "knn_accuracy": metrics.knn_accuracy(Y, labels),
        "v_measure": metrics.v_measure(Y, labels),
        "neighbor_recall": metrics.neighbor_recall(X, Y, **given),
        "trustworthiness": metrics.trustworthiness(X, Y, **given),
        "continuity": metrics.continuity(X, Y, **given),
        "triplet_accuracy": metrics.triplet_accuracy(X, Y, **pairs),
        "distance_correlation": metrics.distance_correlation(X, Y, **pairs),
        "kl_divergence": metrics.kl_divergence(graph, Y, 1.5, 0.9),
        "cross_entropy": metrics.cross_entropy(graph, Y, 1.5, 0.9),
        "frobenius_loss": metrics.frobenius_loss(graph, Y, 1.5, 0.9),
        "seed_disparity": metrics.seed_stability([Y, *others], **given).disparity,
        "seed_jaccard": metrics.seed_stability([Y, *others], **given).jaccard,
    }
    assert not report.left_out
    assert capsys.readouterr().out == f"{report}\n"


def test_report_does_not_depend_on_the_number_of_threads(X, Y, labels, graph):
    given = {"graph": graph, "others": [Y + 1], "verbose": False}
    one, three = (metrics.quality_report(X, Y, labels, n_jobs=jobs, **given) for jobs in (1, 3))
    assert dict(one) == dict(three)


def test_report_says_what_it_left_out(X, Y, capsys):
    report = metrics.quality_report(X, Y, verbose=False)
    assert capsys.readouterr().out == ""
    assert set(report) == {
        "neighbor_recall",
        "trustworthiness",
        "continuity",
        "triplet_accuracy",
        "distance_correlation",
    }
    for text in (str(report), report._repr_html_()):
        assert "left out: knn_accuracy, v_measure (needs labels: give y)" in text
        assert "kl_divergence, cross_entropy, frobenius_loss (needs the neighbour graph: give graph)" in text
        assert "seed_disparity, seed_jaccard (needs maps of other seeds: give others)" in text
        assert f"{report['trustworthiness']:.4f} ↑" in text
    assert "trustworthiness=" in repr(report)
    with pytest.raises(KeyError, match="left out: needs labels"):
        report["knn_accuracy"]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_report_of_tiny_maps(rng, n):
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    graph = Graph.from_scipy(scipy.sparse.csr_matrix(1 - np.eye(n)))
    report = metrics.quality_report(
        X, Y, np.arange(n) % 2, graph=graph, others=[Y], sample=None, verbose=False
    )
    assert len(report) + len(report.left_out) == 12
    assert np.isfinite(list(report.values())).all()
    assert ("kl_divergence" in report) == (n > 1)
    assert ("triplet_accuracy" in report) == (n > 2)
    assert report.left_out["trustworthiness"] == f"k=15 is too large for {n} points"


def test_report_leaves_long_sums_out(X, Y, graph, monkeypatch):
    monkeypatch.setitem(metrics._MOST_POINTS, "pairs", N - 1)
    report = metrics.quality_report(X, Y, graph=graph, verbose=False)
    assert "call the function itself" in report.left_out["kl_divergence"]
    assert "distance_correlation" in report


# ---- errors ------------------------------------------------------------------------------------------------


def with_nan(A):
    A = A.copy()
    A[3, 1] = np.nan
    return A


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: metrics.neighbor_recall(with_nan(X), Y), "X holds NaN"),
        (lambda X, Y: metrics.triplet_accuracy(scipy.sparse.csr_array(with_nan(X)), Y), "X holds NaN"),
        (lambda X, Y: metrics.neighbor_recall(X, with_nan(Y)), "Y holds NaN"),
        (lambda X, Y: metrics.neighbor_recall(X[:-1], Y), f"X has {N - 1} rows and Y has {N}"),
        (lambda X, Y: metrics.neighbor_recall(X[:, 0], Y), "X must have two dimensions"),
        (lambda X, Y: metrics.neighbor_recall(X.astype(str), Y), "X must hold real numbers"),
        (lambda X, Y: metrics.neighbor_recall(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: metrics.triplet_accuracy(X.astype(np.float32) * 1e30, Y), "overflow float32"),
        (lambda X, Y: metrics.neighbor_recall(X, Y[:, 0]), "Y must have the shape"),
        (lambda X, Y: metrics.neighbor_recall(X, Y, N), f"k={N} is too large for {N} points"),
        (lambda X, Y: metrics.neighbor_recall(X, Y, 0), "k=0 must be at least 1"),
        (lambda X, Y: metrics.trustworthiness(X, Y, N // 2), "too large"),
        (lambda X, Y: metrics.continuity(X, Y, metric="hamming"), "metric='hamming' is not one of"),
        (lambda X, Y: metrics.continuity(X, Y, sample=0), "sample=0 must be at least 1"),
        (lambda X, Y: metrics.continuity(X, Y, n_jobs=0), "n_jobs=0"),
        (lambda X, Y: metrics.triplet_accuracy(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: metrics.distance_correlation(X[:2], Y[:2]), "at least 3 points, got 2"),
        (lambda X, Y: metrics.knn_accuracy(Y, np.zeros(3)), rf"shape \({N},\)"),
        (lambda X, Y: metrics.knn_accuracy(Y, X[:, 0]), "labels must be classes"),
        (lambda X, Y: metrics.knn_accuracy(Y, np.zeros(N), N, shrink=False), "too large"),
        (lambda X, Y: metrics.knn_accuracy(Y[:1], [0]), "at least 2"),
        (lambda X, Y: metrics.seed_stability([Y]), "two maps or more"),
        (lambda X, Y: metrics.seed_stability([Y, Y[:-1]]), "of one shape"),
    ],
)
def test_errors_name_what_is_wrong(X, Y, call, message):
    with pytest.raises(ValueError, match=message):
        call(X, Y)


def test_losses_refuse_what_does_not_fit(Y, graph):
    with pytest.raises(ValueError, match=r"a=0 must be a finite number greater than 0"):
        metrics.kl_divergence(graph, Y, a=0)
    with pytest.raises(ValueError, match=f"the graph has {N} points and Y has {N - 1} rows"):
        metrics.cross_entropy(graph, Y[1:])
    with pytest.raises(ValueError, match="no edges"):
        metrics.frobenius_loss(Graph(np.zeros(N + 1), [], []), Y)
    with pytest.raises(TypeError, match=r"k=1.5 must be an integer"):
        metrics.neighbor_recall(Y, Y, 1.5)
