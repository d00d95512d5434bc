"""KNeighborsTransformer: scikit-learn's conventions, and what comes after it in pipelines."""

import pickle

import numpy as np
import pytest
import sklearn.manifold
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from actup import TSNE, UMAP, KNeighborsTransformer, nearest_neighbors


@parametrize_with_checks(
    [KNeighborsTransformer(n_neighbors=2), KNeighborsTransformer(n_neighbors=2, mode="connectivity")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, 6, centers=4, cluster_std=1.0, random_state=3)


@pytest.fixture(scope="module")
def X(blobs):
    return blobs[0]


def both(**parameters):
    return sklearn.neighbors.KNeighborsTransformer(**parameters), KNeighborsTransformer(**parameters)


def assert_same_entries(ours, theirs):
    """The same matrix, entry by entry in the order they are stored in."""
    assert ours.shape == theirs.shape
    assert_array_equal(ours.indptr, theirs.indptr)
    assert_array_equal(ours.indices, theirs.indices)
    assert_allclose(ours.data, theirs.data, rtol=1e-5, atol=1e-6)


METRICS = [
    {},
    {"metric": "euclidean"},
    {"metric": "manhattan"},
    {"p": 1},
    {"p": 3},
    {"p": np.inf},
    {"metric": "cosine"},
    {"metric": "minkowski", "metric_params": {"w": np.arange(1.0, 7)}},
]


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("parameters", METRICS, ids=str)
def test_matrix_is_scikit_learns(X, mode, parameters):
    theirs, ours = both(mode=mode, n_neighbors=7, **parameters)
    assert_same_entries(ours.fit_transform(X), theirs.fit_transform(X))
    ours.fit(X[:200])
    theirs.fit(X[:200])
    assert_same_entries(ours.transform(X[200:]), theirs.transform(X[200:]))
    for graph_mode in ("distance", "connectivity"):
        graph = ours.kneighbors_graph(mode=graph_mode)
        assert_same_entries(graph, theirs.kneighbors_graph(mode=graph_mode))
    for query in (None, X[200:]):
        for mine, wanted in zip(ours.kneighbors(query, 4), theirs.kneighbors(query, 4), strict=True):
            assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
    assert_array_equal(ours.kneighbors(X[:3], 2, False), theirs.kneighbors(X[:3], 2, False))
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert ours.n_samples_fit_ == theirs.n_samples_fit_ == 200


def test_functions_of_two_rows(X):
    theirs, ours = both(metric=lambda x, y: np.abs(x - y).max())
    assert_same_entries(ours.fit_transform(X[:50]), theirs.fit_transform(X[:50]))


def test_sparse_and_dense_rows_may_be_mixed(X):
    rows = sparse.csr_matrix(np.maximum(X, 0))
    for fitted in (rows, rows.toarray()):
        transformer = KNeighborsTransformer().fit(fitted)
        of_sparse, of_dense = transformer.transform(rows[:9]), transformer.transform(rows[:9].toarray())
        assert_same_entries(of_sparse, of_dense)


def test_duplicates_keep_their_own_entry_first():
    X = np.repeat(np.eye(3), 20, axis=0)
    graph = KNeighborsTransformer(n_neighbors=4).fit_transform(X)
    assert_array_equal(graph.indices.reshape(60, 5)[:, 0], np.arange(60))
    assert_array_equal(graph.data, np.zeros(300))  # stored
    graph = KNeighborsTransformer(n_neighbors=1, mode="connectivity").fit_transform(X)
    assert_array_equal(graph.toarray(), np.eye(60))


def test_given_distances(X):
    distances = sklearn.metrics.pairwise_distances(X)
    wanted = KNeighborsTransformer().fit_transform(X)
    assert_same_entries(KNeighborsTransformer(metric="precomputed").fit_transform(distances), wanted)
    fitted = KNeighborsTransformer(metric="precomputed").fit(distances[:200, :200])
    rows = KNeighborsTransformer().fit(X[:200]).transform(X[200:])
    assert_same_entries(fitted.transform(distances[200:, :200]), rows)
    with pytest.raises(ValueError, match=r"square matrix of distances, got shape \(200, 240\)"):
        KNeighborsTransformer(metric="precomputed").fit(distances[:200])


def test_missing_values(X):
    rows = X.copy()
    rows[::5, 2] = np.nan
    theirs, ours = both(metric="nan_euclidean")
    assert_same_entries(ours.fit_transform(rows), theirs.fit_transform(rows))
    with pytest.raises(ValueError, match="NaN"):
        KNeighborsTransformer().fit(rows)


def test_pickle_and_clone_keep_everything(X):
    transformer = KNeighborsTransformer(n_neighbors=3, metric="cosine", recall=0.9).fit(X)
    before = transformer.transform(X[:20])
    loaded = pickle.loads(pickle.dumps(transformer))
    assert_same_entries(loaded.transform(X[:20]), before)
    assert clone(transformer).get_params() == transformer.get_params()


def test_sparse_arrays_if_scikit_learn_is_set_to_them(X):
    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("scikit-learn before 1.9")
    with sklearn.config_context(sparse_interface="sparray"):
        assert isinstance(KNeighborsTransformer().fit_transform(X), sparse.csr_array)
    assert isinstance(KNeighborsTransformer().fit_transform(X), sparse.csr_matrix)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "weights"}, "mode='weights' is not one of 'distance', 'connectivity'"),
        ({"n_neighbors": 240}, "n_neighbors=240 needs at least 241 samples, got 240"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"metric": "nearness"}, "metric='nearness' is not one of"),
        ({"algorithm": "quick"}, "algorithm='quick' is not one of"),
        ({"recall": 2}, "recall=2 must be a share"),
    ],
)
def test_wrong_parameters_are_rejected(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        KNeighborsTransformer(**parameters).fit_transform(X)


def test_approximate_search_meets_the_recall():
    X = make_blobs(6000, 20, centers=30, random_state=0)[0].astype(np.float32)
    exact = KNeighborsTransformer(n_neighbors=10, algorithm="kd_tree").fit_transform(X)
    found = KNeighborsTransformer(n_neighbors=10, algorithm="approximate", recall=0.9).fit_transform(X)
    common = exact.astype(bool).multiply(found.astype(bool)).nnz  # the samples themselves are at distance 0
    assert common >= 0.88 * 60_000


# what comes after it


def test_classifier(blobs):
    X, y = blobs
    after = make_pipeline(
        KNeighborsTransformer(n_neighbors=10), KNeighborsClassifier(10, metric="precomputed")
    ).fit(X[:200], y[:200])
    direct = KNeighborsClassifier(10).fit(X[:200], y[:200])
    assert_array_equal(after.predict(X[200:]), direct.predict(X[200:]))


def test_dbscan(X):
    after = make_pipeline(KNeighborsTransformer(n_neighbors=60), DBSCAN(3.0, metric="precomputed"))
    assert_array_equal(after.fit_predict(X), DBSCAN(3.0).fit_predict(X))


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_spectral_clustering(blobs):
    X, y = blobs
    clustering = SpectralClustering(
        4, affinity="precomputed_nearest_neighbors", n_neighbors=10, random_state=0
    )
    labels = make_pipeline(KNeighborsTransformer(n_neighbors=10), clustering).fit_predict(X)
    assert sklearn.metrics.adjusted_rand_score(y, labels) == 1


def test_isomap():
    X = np.random.default_rng(0).normal(size=(150, 3))
    after = make_pipeline(KNeighborsTransformer(n_neighbors=12), Isomap(n_neighbors=12, metric="precomputed"))
    direct = Isomap(n_neighbors=12).fit_transform(X)
    assert_allclose(np.abs(after.fit_transform(X)), np.abs(direct), atol=1e-3)


def test_scikit_learns_tsne(X):
    tsne = sklearn.manifold.TSNE(
        perplexity=10, metric="precomputed", init="random", random_state=0, max_iter=250
    )
    with threadpool_limits(1):  # its threads wait for each other where other processes run
        after = make_pipeline(KNeighborsTransformer(n_neighbors=31), tsne).fit_transform(X)
    assert after.shape == (240, 2)
    assert np.isfinite(after).all()


@pytest.mark.parametrize("kind", [UMAP, TSNE])
def test_actups_own_maps(X, kind):
    """They take the matrix as it is: unsorted ids, stored zeros, entries of the samples themselves."""
    given = {"n_neighbors": 11} if kind is UMAP else {"perplexity": 5}
    found = nearest_neighbors(X, 15)
    wanted = kind(random_state=0, precomputed_knn=(found.indices, found.distances), init="random", **given)
    wanted = wanted.fit_transform(X)
    transformer = KNeighborsTransformer(n_neighbors=15)
    graph = transformer.fit_transform(X)
    before = graph.copy()
    matrices = [graph, graph.maximum(graph.T), transformer.kneighbors_graph(mode="distance")]
    for distances in matrices:
        after = kind(metric="precomputed", random_state=0, init="random", **given).fit_transform(distances)
        assert_array_equal(after, wanted)
    assert_same_entries(graph, before)
