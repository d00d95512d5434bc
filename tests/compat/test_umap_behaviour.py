"""What programs for umap-learn rely on, topic by topic, of ``actup.compat.umap``."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

import actup
from actup.compat import umap
from actup.compat.umap import UMAP
from actup.compat.umap.umap_ import nearest_neighbors
from actup.compat.umap.utils import disconnected_vertices

IRIS = load_iris()
DIGITS = load_digits()
RNG = np.random.default_rng(0)
NUMBERS = RNG.random((120, 5)).astype(np.float32)


def short(**parameters):
    return UMAP(**{"n_epochs": 40, "random_state": 0, **parameters})


def aligned(**parameters):
    return umap.AlignedUMAP(**{"n_epochs": 60, "random_state": 0, **parameters})


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


# metrics


def rows_for(metric):
    if metric in (
        "jaccard",
        "dice",
        "matching",
        "kulsinski",
        "rogerstanimoto",
        "russellrao",
        "sokalmichener",
    ):
        return RNG.random((80, 12)) > 0.5
    if metric in ("sokalsneath", "yule", "hamming"):
        return RNG.random((80, 12)) > 0.5
    if metric == "haversine":
        return RNG.uniform(-1, 1, (80, 2))
    if metric == "poincare":
        return RNG.uniform(-0.4, 0.4, (80, 3))
    if metric == "ll_dirichlet":
        return RNG.poisson(4, (80, 6)) + 1.0
    return RNG.random((80, 6))


VECTOR_METRICS = sorted(set(umap.distances.named_distances) - set(umap.distances.DISCRETE_METRICS))


@pytest.mark.parametrize("metric", VECTOR_METRICS)
def test_every_metric_of_umap_learn(metric):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that have nothing in common
        embedding = short(metric=metric, init="random").fit_transform(rows_for(metric))
    assert embedding.shape == (80, 2)


@pytest.mark.parametrize("metric", sorted(umap.sparse.sparse_named_distances))
def test_every_metric_of_umap_learn_for_sparse_data(metric):
    X = sparse.random(90, 30, 0.3, "csr", random_state=0)
    X.data = np.ceil(4 * X.data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedding = short(metric=metric, init="random").fit_transform(X)
    assert embedding.shape == (90, 2)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "wminkowski", "minkowski"])
def test_metrics_with_parameters(metric):
    parameters = {
        "seuclidean": {"V": NUMBERS.var(axis=0)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(NUMBERS.T))},
        "wminkowski": {"w": np.arange(1.0, 6.0), "p": 3},
        "minkowski": {"p": 1.5},
    }[metric]
    model = short(metric=metric, metric_kwds=parameters).fit(NUMBERS)
    assert model.transform(NUMBERS[:4]).shape == (4, 2)
    assert np.isfinite(model.embedding_).all()


def test_functions_as_metrics():
    def distance(a, b, factor=1.0):
        return factor * float(np.abs(a - b).sum())

    own = short(metric=distance, metric_kwds={"factor": 2.0}, n_neighbors=8).fit(NUMBERS)
    named = short(metric="manhattan", n_neighbors=8).fit(NUMBERS)
    assert abs(own.graph_ - named.graph_).max() < 1e-4


@pytest.mark.filterwarnings("ignore")
def test_functions_that_return_a_gradient_too():
    def distance(a, b):
        return float(np.abs(a - b).sum()), np.sign(a - b)

    own = short(metric=distance, n_neighbors=8).fit(NUMBERS)
    named = short(metric="manhattan", n_neighbors=8).fit(NUMBERS)
    assert abs(own.graph_ - named.graph_).max() < 1e-4


def test_precomputed_distances():
    D = pairwise_distances(NUMBERS).astype(np.float32)
    from_rows, from_distances = short().fit(NUMBERS), short(metric="precomputed").fit(D)
    assert abs(from_rows.graph_ - from_distances.graph_).max() < 1e-3
    assert short(metric="precomputed").fit(sparse.csr_matrix(D)).embedding_.shape == (120, 2)
    new = pairwise_distances(NUMBERS[:5] + 0.01, NUMBERS)
    assert from_distances.transform(new).shape == (5, 2)
    with pytest.raises(ValueError):
        short(metric="precomputed").fit(D[:, :50])
    with pytest.raises(ValueError):
        short(metric="precomputed", unique=True).fit(D)


def test_hellinger_needs_values_of_at_least_0():
    with pytest.raises(ValueError, match=r"hellinger|negative"):
        short(metric="hellinger").fit(NUMBERS - 0.5)


# validation of parameters


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_neighbors": 0.5},
        {"n_neighbors": 0},
        {"n_neighbors": 1},
        {"n_neighbors": -5},
        {"n_components": -1},
        {"n_components": 0},
        {"n_components": "2"},
        {"n_components": 1.5},
        {"n_components": [0]},
        {"metric": 45},
        {"metric": "no such metric"},
        {"output_metric": "no such metric"},
        {"output_metric": "precomputed"},
        {"output_metric": "ll_dirichlet"},
        {"n_epochs": -2},
        {"n_epochs": 1.5},
        {"n_epochs": "10"},
        {"n_epochs": [10, -1]},
        {"learning_rate": -1.5},
        {"init": "no such start"},
        {"init": 42},
        {"init": np.zeros((120, 3))},
        {"init": np.zeros((5, 2))},
        {"min_dist": -1.0},
        {"min_dist": 2.0, "spread": 1.0},
        {"spread": -1.0},
        {"n_jobs": 0},
        {"n_jobs": -2},
        {"set_op_mix_ratio": -1.0},
        {"set_op_mix_ratio": 1.5},
        {"local_connectivity": -1.0},
        {"repulsion_strength": -0.5},
        {"negative_sample_rate": -1},
        {"target_n_neighbors": 1},
        {"target_metric": "no such metric"},
        {"target_weight": 1.5},
        {"transform_mode": "no such mode"},
        {"tqdm_kwds": 3},
        {"densmap": True, "dens_lambda": -1.0},
        {"densmap": True, "dens_frac": 1.5},
        {"densmap": True, "dens_frac": -0.1},
        {"densmap": True, "dens_var_shift": -1.0},
        {"densmap": True, "output_metric": "haversine"},
        {"disconnection_distance": "far"},
        {"random_state": "seed"},
        {"precomputed_knn": (None,)},
        {"precomputed_knn": (np.zeros((120, 15), int),)},
        {"precomputed_knn": 3},
        {"precomputed_knn": ([[1]] * 120, np.ones((120, 1)))},
        {"precomputed_knn": (np.ones((120, 1), int), [[1.0]] * 120)},
        {"precomputed_knn": (np.ones((120, 1), int), np.ones((120, 1))), "unique": True},
        {"target_metric_kwds": 3},
        {"target_metric": "euclidean", "target_metric_kwds": 3},
    ],
    ids=lambda parameters: ",".join(
        f"{name}={type(value).__name__ if isinstance(value, tuple) else np.shape(value) or value}"
        for name, value in parameters.items()
    ),
)
def test_wrong_parameters_raise_value_error_in_fit(parameters):
    model = UMAP(**parameters)
    y = np.arange(120) % 4 if any("target" in name for name in parameters) else None
    with pytest.raises(ValueError):
        model.fit(NUMBERS, y)


def test_what_umap_learn_accepts():
    for parameters in (
        {"target_metric": "no such metric"},
        {"target_weight": 2.0},
        {"local_connectivity": 0.5},
    ):
        assert short(**parameters).fit(NUMBERS).embedding_.shape == (120, 2)


def test_unknown_parameters():
    with pytest.raises(TypeError, match="n_neighbours"):
        UMAP(n_neighbours=10)


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


# supervision


def accuracy(embedding, y):
    return KNeighborsClassifier(5).fit(embedding[::2], y[::2]).score(embedding[1::2], y[1::2])


def test_labels_separate_classes_that_overlap():
    X = np.concatenate([RNG.normal(0, 1, (150, 6)), RNG.normal(0.8, 1, (150, 6))])
    y = np.repeat([0, 1], 150)
    plain, supervised = UMAP(random_state=0).fit_transform(X), UMAP(random_state=0).fit_transform(X, y)
    assert accuracy(supervised, y) > accuracy(plain, y) + 0.05
    assert accuracy(supervised, y) > 0.95


@pytest.mark.parametrize(
    "labels", [["a", "b", "c"], [0.0, 1.0, 2.0], [True, False, True], [10, 20, 30]], ids=str
)
def test_kinds_of_labels(labels):
    y = np.array(labels)[np.arange(120) % 3]
    assert short().fit_transform(NUMBERS, y).shape == (120, 2)
    assert short().fit_transform(NUMBERS, y.tolist()).shape == (120, 2)


def test_unlabelled_rows():
    X, y = DIGITS.data[:500], DIGITS.target[:500].copy()
    known = y.copy()
    known[::3] = -1
    embedding = UMAP(random_state=0).fit_transform(X, known)
    model = KNeighborsClassifier(5).fit(embedding[known >= 0], y[known >= 0])
    assert model.score(embedding[known < 0], y[known < 0]) > 0.9


@pytest.mark.parametrize("target_metric", ["l2", "euclidean", "manhattan", "ordinal", "count"])
def test_target_metrics(target_metric):
    y = np.arange(120) // 12
    model = short(target_metric=target_metric, target_n_neighbors=8).fit(NUMBERS, y)
    assert np.isfinite(model.embedding_).all()
    assert abs(model.graph_ - short().fit(NUMBERS).graph_).max() > 0


def test_a_supervised_model_transforms():
    model = UMAP(random_state=0).fit(DIGITS.data[:1000], DIGITS.target[:1000])
    places = model.transform(DIGITS.data[1000:1400])
    classifier = KNeighborsClassifier(5).fit(model.embedding_, DIGITS.target[:1000])
    assert classifier.score(places, DIGITS.target[1000:1400]) > 0.93  # umap-learn: 0.95


def test_y_of_another_length_is_rejected():
    with pytest.raises(ValueError):
        short().fit(NUMBERS, np.zeros(7))


# composite models


@pytest.fixture(scope="module")
def two_models():
    X = DIGITS.data[:200]
    return [UMAP(random_state=0, n_epochs=40).fit(part) for part in (X[:, :32], X[:, 32:])]


@pytest.mark.parametrize("operator", ["__mul__", "__add__", "__sub__"])
def test_models_are_combined(two_models, operator):
    one, other = two_models
    before = one.graph_.copy(), one.embedding_.copy()
    combined = getattr(one, operator)(other)
    assert isinstance(combined, UMAP)
    assert combined.embedding_.shape == (200, 2)
    assert np.isfinite(combined.embedding_).all()
    assert abs(combined.graph_ - combined.graph_.T).max() < 1e-6
    assert abs(one.graph_ - before[0]).max() == 0
    assert np.array_equal(one.embedding_, before[1])


def test_combined_models_combine(two_models):
    one, other = two_models
    assert ((one * other) + one).embedding_.shape == (200, 2)


def test_a_union_has_the_edges_of_both(two_models):
    one, other = two_models
    both = (one + other).graph_
    assert both.nnz >= max(one.graph_.nnz, other.graph_.nnz)
    X = DIGITS.data[:200]
    assert trustworthiness(X, (one + other).embedding_, n_neighbors=10) > 0.85


def test_models_of_other_rows_cannot_be_combined(two_models):
    with pytest.raises(ValueError):
        two_models[0] * short().fit(NUMBERS)
    with pytest.raises((NotFittedError, ValueError)):
        two_models[0] + UMAP()


# densMAP


@pytest.fixture(scope="module")
def uneven():
    """Two groups of rows, one of them ten times as wide."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(0, 0.3, (150, 6)), rng.normal(10, 3.0, (150, 6))]).astype(np.float32)


def test_densmap_preserves_densities_better(uneven):
    correlations = {}
    for densmap in (False, True):
        model = UMAP(densmap=densmap, output_dens=True, random_state=0, n_neighbors=20)
        embedding, of_data, of_map = model.fit_transform(uneven)
        assert embedding.shape == (300, 2)
        assert of_data.shape == of_map.shape == (300,)
        assert np.array_equal(model.rad_orig_, of_data)
        assert np.array_equal(model.rad_emb_, of_map)
        correlations[densmap] = np.corrcoef(of_data, of_map)[0, 1]
    assert correlations[True] > max(0.6, correlations[False])


def test_densmap_with_labels_stays_trustworthy(uneven):
    y = np.repeat([0, 1], 150)
    embedding = UMAP(densmap=True, random_state=0).fit_transform(uneven, y)
    assert trustworthiness(uneven, embedding, n_neighbors=10) > 0.85


def test_densmap_has_no_transform_and_no_inverse(uneven):
    model = UMAP(densmap=True, n_epochs=30, random_state=0).fit(uneven)
    with pytest.raises(NotImplementedError):
        model.transform(uneven[:3])
    with pytest.raises(ValueError):
        model.inverse_transform(model.embedding_[:3])


def test_one_sample_places_no_rows():
    with pytest.raises(ValueError):
        UMAP().fit([[1, 1, 1, 1]]).transform([[0, 0, 0, 0]])


def test_dense_and_sparse_rows_on_one_map():
    X = NUMBERS[:50]
    dense, sparse_model = short().fit(X), short().fit(sparse.csr_matrix(X))
    new = X[:3] + 0.01
    np.testing.assert_array_equal(dense.transform(sparse.csr_matrix(new)), dense.transform(new))
    np.testing.assert_array_equal(sparse_model.transform(new), sparse_model.transform(sparse.csr_matrix(new)))


def test_neighborhoods_of_few_distinct_rows():
    X = [[5, 6, 7, 8]] * 6 + [[1, 1, 1, 1], [1, 2, 3, 4], [1, 1, 2, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert UMAP(n_neighbors=5, unique=True).fit(X)._n_neighbors == 3


def test_densities_without_densmap(uneven):
    model = UMAP(output_dens=True, n_epochs=30, random_state=0).fit(uneven)
    assert model.rad_orig_.shape == model.rad_emb_.shape == (300,)
    assert model.rad_orig_[150:].mean() > model.rad_orig_[:150].mean()


# series of data sets


@pytest.fixture(scope="module")
def slices():
    X = DIGITS.data[np.argsort(DIGITS.target, kind="stable")][::2]
    return [X[60 * i : 60 * i + 200] for i in range(4)], [{i + 60: i for i in range(140)} for _ in range(3)]


def test_aligned_maps(slices):
    data, relations = slices
    model = aligned().fit(data, relations=relations)
    assert len(model.embeddings_) == len(model.mappers_) == model.n_models_ == 4
    for X, embedding in zip(data, model.embeddings_, strict=True):
        assert embedding.shape == (200, 2)
        assert trustworthiness(X, embedding, n_neighbors=10) > 0.85
    for before, after in zip(model.embeddings_[:-1], model.embeddings_[1:], strict=True):
        moved = np.linalg.norm(before[60:] - after[:140], axis=1).mean()
        assert moved < 0.3 * np.linalg.norm(after - after.mean(axis=0), axis=1).mean() + 1


def test_more_regularisation_moves_less(slices):
    data, relations = slices
    moved = []
    for strength in (1e-4, 0.1):
        maps = aligned(alignment_regularisation=strength).fit(data, relations=relations).embeddings_
        moved.append(
            np.mean([np.linalg.norm(a[60:] - b[:140], axis=1).mean() for a, b in itertools.pairwise(maps)])
        )
    assert moved[1] < moved[0]


def test_aligned_maps_with_parameters_for_each(slices):
    data, relations = slices
    model = aligned(n_neighbors=[5, 10, 15, 20]).fit(data, relations=relations)
    assert [each.shape for each in model.embeddings_] == [(200, 2)] * 4


def test_aligned_maps_need_relations(slices):
    with pytest.raises((TypeError, ValueError)):
        aligned().fit(slices[0])
    with pytest.raises(ValueError):
        aligned().fit(slices[0], relations=slices[1][:1])


def test_aligned_update(slices):
    data, relations = slices
    model = aligned().fit(data[:3], relations=relations[:2])
    model.update(data[3], relations=relations[2])
    assert len(model.embeddings_) == 4
    assert trustworthiness(data[3], model.embeddings_[3], n_neighbors=10) > 0.8


# the estimator


def test_attributes_that_other_programs_read():
    model = short(n_neighbors=12).fit(NUMBERS)
    assert model._raw_data.shape == (120, 5)
    assert model._knn_indices.shape == model._knn_dists.shape == (120, 12)
    assert (model._knn_indices[:, 0] == np.arange(120)).all()
    assert (model._a, model._b) == pytest.approx((1.577, 0.895), abs=1e-3)
    assert model._n_neighbors == 12
    assert model._metric_kwds == {}
    assert model._small_data
    assert not model._sparse_data
    assert model._sigmas.shape == model._rhos.shape == (120,)
    assert model._rhos == pytest.approx(model._knn_dists[:, 1])
    indices, distances = model._knn_search_index.query(NUMBERS[:3], 4)
    assert indices.shape == distances.shape == (3, 4)
    assert model._input_distance_func is umap.distances.named_distances["euclidean"]
    assert model._output_distance_func is umap.distances.named_distances_with_gradients["euclidean"]
    with pytest.raises(AttributeError, match="_no_such"):
        model._no_such  # noqa: B018
    assert not hasattr(UMAP(), "_raw_data")
    assert model.knn_indices is model.knn_dists is model.knn_search_index is model.n_epochs_list is None
    assert not model._supervised


def test_private_attributes_follow_a_new_fit():
    model = short(n_neighbors=12).fit(NUMBERS)
    assert model._knn_indices.shape == (120, 12)
    model.set_params(n_neighbors=7).fit(NUMBERS[:90])
    assert model._knn_indices.shape == (90, 7)
    assert model._raw_data.shape == (90, 5)


def test_a_model_made_of_known_places():
    """The life of a model in scanpy's ``ingest``."""
    fitted = UMAP(n_neighbors=20, min_dist=0.5, random_state=0).fit(DIGITS.data[:300])
    model = UMAP(metric="euclidean", random_state=0)
    model._initial_alpha = model.learning_rate
    model._raw_data = DIGITS.data[:300]
    model.knn_dists = None
    model._validate_parameters()
    model.embedding_ = fitted.embedding_
    model._sparse_data = False
    model._small_data = True
    model._metric_kwds = {}
    model._n_neighbors = model.n_neighbors = 20
    model._knn_search_index = fitted._knn_search_index
    model._a, model._b = fitted._a, fitted._b
    model._input_hash = None
    new = DIGITS.data[300:350]
    assert np.array_equal(model.transform(new), fitted.transform(new))


def test_a_stripped_model_still_transforms():
    """FiftyOne removes large attributes, pickles the model and restores them."""
    model = short().fit(NUMBERS)
    expected = model.transform(NUMBERS[:5] + 0.01)
    for name in ("_raw_data", "_knn_search_index", "_input_distance_func", "_output_distance_func"):
        setattr(model, name, None)
    model = pickle.loads(pickle.dumps(model))
    model._raw_data = NUMBERS
    assert np.array_equal(model.transform(NUMBERS[:5] + 0.01), expected)


def test_estimators_are_cloned_copied_and_pickled():
    model = short(n_neighbors=9).fit(NUMBERS)
    assert clone(model).get_params() == model.get_params()
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(same.transform(NUMBERS[:4] + 0.1), model.transform(NUMBERS[:4] + 0.1))
    assert list(model.get_feature_names_out()) == ["umap0", "umap1"]


def test_seeds():
    first, same, other = (short(random_state=seed).fit_transform(NUMBERS) for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert np.array_equal(first, short(random_state=1, n_jobs=2).fit_transform(NUMBERS))
