"""What programs for umap-learn rely on: trustworthy maps, transform, update, inverse_transform, graphs."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, pairwise_distances

import actup
from actup.compat import umap
from actup.compat.umap import UMAP
from actup.compat.umap.umap_ import nearest_neighbors
from umap_models import DIGITS, IRIS, NUMBERS, short

RNG = np.random.default_rng(1)


# trustworthiness


@pytest.mark.parametrize("init", ["spectral", "random", "pca", "tswspectral"])
def test_starts_give_trustworthy_maps(init):
    embedding = UMAP(n_neighbors=10, min_dist=0.01, init=init, random_state=42).fit_transform(IRIS.data)
    assert trustworthiness(IRIS.data, embedding, n_neighbors=10) > 0.94


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_dimensions_give_trustworthy_maps(dimensions):
    X = DIGITS.data[:500]
    embedding = UMAP(n_components=dimensions, random_state=42).fit_transform(X)
    assert trustworthiness(X, embedding, n_neighbors=10) > (0.85 if dimensions == 1 else 0.95)


def test_sparse_and_dense_maps_are_equally_trustworthy():
    X = np.where(RNG.random((200, 25)) < 0.6, 0, RNG.random((200, 25))) + 3 * np.eye(4).repeat(
        50, 0
    ) @ RNG.random((4, 25))
    X[np.abs(X) < 0.2] = 0
    dense = UMAP(random_state=0).fit_transform(X)
    embedding = UMAP(random_state=0).fit_transform(sparse.csr_matrix(X))
    assert trustworthiness(X, embedding, n_neighbors=10) > trustworthiness(X, dense, n_neighbors=10) - 0.02


def test_transform_is_trustworthy():
    model = UMAP(n_neighbors=10, random_state=42).fit(IRIS.data[::2])
    places = model.transform(IRIS.data[1::2])
    assert trustworthiness(IRIS.data[1::2], places, n_neighbors=10) > 0.85


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_trustworthiness_vector_is_that_of_scikit_learn(metric):
    X, places = RNG.normal(size=(120, 9)), RNG.random((120, 2))
    vector = umap.validation.trustworthiness_vector(X, places, 8, metric=metric)
    assert vector.shape == (9,)
    for k in (1, 4, 8):
        assert vector[k] == pytest.approx(trustworthiness(X, places, n_neighbors=k, metric=metric))


# operations


def test_blobs_become_clusters():
    X, y = make_blobs(400, 8, centers=5, cluster_std=0.5, random_state=42)
    embedding = UMAP(random_state=42).fit_transform(X)
    assert adjusted_rand_score(y, KMeans(5, n_init=5, random_state=0).fit_predict(embedding)) == 1.0


@pytest.mark.parametrize("precomputed", [False, True])
def test_separate_components_are_laid_out_apart(precomputed):
    X, y = make_blobs(100, 2, centers=5, cluster_std=0.5, center_box=(-40, 40), random_state=42)
    X = pairwise_distances(X) if precomputed else X
    metric = "precomputed" if precomputed else "euclidean"
    embedding = UMAP(n_neighbors=4, metric=metric, random_state=42).fit_transform(X)
    assert adjusted_rand_score(y, KMeans(5, n_init=5, random_state=0).fit_predict(embedding)) > 0.7


def test_no_epochs_return_the_start():
    init = RNG.random((120, 2)).astype(np.float32)
    model = UMAP(n_epochs=0, init=init, random_state=0).fit(NUMBERS)
    correlation = np.corrcoef(model.embedding_[:, 0], init[:, 0])[0, 1]
    assert correlation == pytest.approx(1, abs=1e-4)


def test_list_of_epochs():
    model = UMAP(n_epochs=[5, 20, 30], random_state=0).fit(NUMBERS)
    assert [each.shape for each in model.embedding_list_] == [(120, 2)] * 3
    assert np.array_equal(model.embedding_list_[-1], model.embedding_)
    assert not hasattr(short().fit(NUMBERS), "embedding_list_")


def test_transform_of_the_training_data_is_the_map_and_changes_nothing():
    model = short().fit(NUMBERS)
    before = model.embedding_.copy()
    assert np.array_equal(model.transform(NUMBERS), model.embedding_)
    model.transform(NUMBERS + 0.01)
    assert np.array_equal(model.embedding_, before)


def test_transform_is_repeatable_and_independent_of_the_batch():
    model = short().fit(NUMBERS)
    new = RNG.random((30, 5)).astype(np.float32)
    assert np.array_equal(model.transform(new), model.transform(new))
    assert np.array_equal(model.transform(new)[7:8], model.transform(new[7:8]))


def test_graph_mode():
    graph = UMAP(transform_mode="graph", random_state=0).fit_transform(NUMBERS)
    assert sparse.issparse(graph)
    assert graph.shape == (120, 120)
    assert abs(graph - UMAP(n_epochs=0, random_state=0).fit(NUMBERS).graph_).max() == 0
    model = UMAP(transform_mode="graph", random_state=0).fit(NUMBERS)
    assert model.transform(NUMBERS[:7] + 0.01).shape == (7, 120)


def test_set_operations_mix():
    graphs = {
        ratio: UMAP(n_epochs=0, set_op_mix_ratio=ratio).fit(NUMBERS).graph_ for ratio in (0.0, 0.5, 1.0)
    }
    assert graphs[0.0].nnz < graphs[1.0].nnz
    assert graphs[0.0].sum() < graphs[0.5].sum() < graphs[1.0].sum()


def test_local_connectivity():
    for number in (1, 3):
        graph = UMAP(n_epochs=0, local_connectivity=number, random_state=0).fit(NUMBERS).graph_.toarray()
        assert (np.sort(graph, axis=1)[:, -number] > 1 - 1e-5).all()


def test_precomputed_neighbors():
    knn = nearest_neighbors(NUMBERS, 20, "euclidean", {}, False, 0)
    fresh, reused = (
        short(n_neighbors=20).fit(NUMBERS),
        short(n_neighbors=20, precomputed_knn=knn).fit(NUMBERS),
    )
    assert abs(fresh.graph_ - reused.graph_).max() < 1e-4
    fewer = short(n_neighbors=8, precomputed_knn=knn).fit(NUMBERS)
    assert abs(fewer.graph_ - short(n_neighbors=8).fit(NUMBERS).graph_).max() < 1e-4
    two_parts = short(n_neighbors=20, precomputed_knn=knn[:2]).fit(NUMBERS)
    assert two_parts.transform(NUMBERS[:3] + 0.01).shape == (3, 2)


def test_precomputed_neighbors_that_do_not_fit_are_ignored_with_a_warning():
    knn = nearest_neighbors(NUMBERS, 6, "euclidean", {}, False, 0)
    with pytest.warns(UserWarning, match="precomputed_knn"):
        model = short(n_neighbors=12, precomputed_knn=knn).fit(NUMBERS)
    assert abs(model.graph_ - short(n_neighbors=12).fit(NUMBERS).graph_).max() < 1e-4


def test_update_appends_rows():
    model = UMAP(n_epochs=80, random_state=0).fit(DIGITS.data[:200])
    model.update(DIGITS.data[200:300])
    assert model.embedding_.shape == (300, 2)
    assert model.graph_.shape == (300, 300)
    full = UMAP(n_epochs=0).fit(DIGITS.data[:300])
    assert abs(model.graph_ - full.graph_).mean() < 1e-4
    assert trustworthiness(DIGITS.data[:300], model.embedding_, n_neighbors=10) > 0.9
    assert np.array_equal(model.transform(DIGITS.data[250:255]), model.embedding_[250:255])


def test_inverse_transform():
    model = UMAP(random_state=0).fit(DIGITS.data[:400])
    rows = model.inverse_transform(model.embedding_[:30])
    assert rows.shape == (30, 64)
    error = np.sqrt(((rows - DIGITS.data[:30]) ** 2).mean())
    assert error < 0.8 * np.sqrt(((DIGITS.data[:400].mean(axis=0) - DIGITS.data[:30]) ** 2).mean())


def test_inverse_transform_needs_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = short(metric="precomputed").fit(pairwise_distances(NUMBERS))
    with pytest.raises(ValueError, match="precomputed"):
        model.inverse_transform(np.zeros((3, 2)))


def plain_function(a, b):
    return float(np.abs(a - b).sum())


def function_with_gradient(a, b):
    return float(np.abs(a - b).sum()), np.sign(a - b)


@pytest.mark.parametrize("kind", ["graph", "yule", "function", "sparse"])
def test_inverse_transform_where_umap_learn_has_none(kind):
    parameters = {
        "graph": {"transform_mode": "graph"},
        "yule": {"metric": "yule"},
        "function": {"metric": plain_function},
    }.get(kind, {})
    X = {"yule": NUMBERS > 0.5, "sparse": sparse.csr_matrix(NUMBERS)}.get(kind, NUMBERS)
    with pytest.raises(ValueError, match="not available"):
        short(**parameters).fit(X).inverse_transform(np.zeros((3, 2)))
    model = actup.UMAP(n_epochs=30, random_state=0, **parameters).fit(X)
    rows = model.inverse_transform(np.zeros((3, 2)))
    assert rows.shape == (3, NUMBERS.shape[1]) and np.isfinite(rows).all()


def test_inverse_transform_of_a_function_with_a_gradient():
    model = short(metric=function_with_gradient).fit(NUMBERS)
    assert model.inverse_transform(np.zeros((3, 2))).shape == (3, 5)


def test_inverse_transform_in_many_dimensions_warns():
    model = short(n_components=8).fit(NUMBERS)
    with pytest.warns(UserWarning, match="n_components=8"):
        model.inverse_transform(model.embedding_[:2])


@pytest.mark.parametrize("output_metric", ["haversine", "hyperboloid", "manhattan", "cosine", "canberra"])
def test_output_metrics(output_metric):
    embedding = short(output_metric=output_metric).fit_transform(NUMBERS)
    assert embedding.shape == (120, 2)
    assert np.isfinite(embedding).all()


def test_a_map_on_the_sphere_keeps_neighbors():
    X = DIGITS.data[:300]
    places = UMAP(output_metric="haversine", random_state=0).fit_transform(X).astype(float)
    polar, longitude = places.T
    on_sphere = np.stack(
        [np.sin(polar) * np.cos(longitude), np.sin(polar) * np.sin(longitude), np.cos(polar)], axis=1
    )
    assert trustworthiness(X, on_sphere, n_neighbors=10) > 0.85
