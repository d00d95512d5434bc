"""What programs for umap-learn rely on: metrics of the data."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

from actup.compat import umap
from umap_models import NUMBERS, short

RNG = np.random.default_rng(1)


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


@pytest.mark.parametrize(
    "metric", ["hellinger", "mahalanobis", "seuclidean", "softmax_hellinger", "wminkowski"]
)
def test_output_metrics_that_are_not_compiled_name_their_functions(metric):
    parameters = {"mahalanobis": {"vinv": np.eye(2)}, "seuclidean": {"sigma": np.ones(2)}}
    with pytest.raises(
        ValueError, match=f"output_metric='{metric}' is not compiled: give the function"
    ) as error:
        short(output_metric=metric).fit(NUMBERS)
    name = re.search(r"actup\.compat\.umap\.distances\.(\w+)", str(error.value))[1]
    assert getattr(umap.distances, name) is umap.distances.named_distances_with_gradients[metric]
    if metric in parameters:
        function, given = getattr(umap.distances, name), parameters[metric]
        model = umap.UMAP(output_metric=function, output_metric_kwds=given, n_epochs=2, random_state=0)
        assert np.isfinite(model.fit_transform(NUMBERS[:30])).all()
