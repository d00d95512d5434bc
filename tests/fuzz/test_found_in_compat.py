"""What fuzzing has found in the interfaces of umap-learn and openTSNE, each as a test."""

import numpy as np
import pytest
from scipy import sparse

from actup.compat import opentsne
from actup.compat.opentsne import affinity, initialization
from actup.compat.umap import umap_

X = np.random.default_rng(0).normal(size=(30, 4))


def malformed_csr():
    matrix = sparse.csr_matrix(np.abs(np.cov(X)))
    matrix.indices = matrix.indices.copy()
    matrix.indices[3] = 2**30
    return matrix


@pytest.mark.parametrize("metric", ["cosine", "correlation", "true_angular"])
def test_rows_without_a_direction_have_a_place_in_opentsne_maps(metric):
    rows = np.vstack([X, np.zeros((2, 4))])
    embedding = opentsne.TSNE(perplexity=5, metric=metric, n_iter=2, early_exaggeration_iter=2).fit(rows)
    assert np.isfinite(embedding).all()
    assert np.isfinite(embedding.transform(np.zeros((2, 4)), perplexity=2, n_iter=2)).all()


@pytest.mark.parametrize("make", [initialization.random, initialization.pca, initialization.spectral])
def test_a_start_has_at_least_one_dimension(make):
    with pytest.raises(ValueError, match="n_components=0 must be at least 1"):
        make(sparse.csr_matrix(np.abs(np.cov(X))), n_components=0)


def test_labels_of_a_wrong_shape_are_rejected_by_name():
    graph = sparse.csr_matrix(np.ones((5, 5)))
    with pytest.raises(ValueError, match=r"discrete_space has shape \(5, 1\)"):
        umap_.discrete_metric_simplicial_set_intersection(graph, np.arange(5)[:, None])


REJECTED = {
    "a wild id in openTSNE's start": (lambda: initialization.spectral(malformed_csr()), "A"),
    "a wild id in openTSNE's affinities": (
        lambda: affinity.PrecomputedAffinities(malformed_csr()),
        "affinities",
    ),
    "an infinite perplexity": (lambda: affinity.PerplexityBasedNN(X, np.inf), "perplexity=inf"),
    "a negative spread": (lambda: umap_.find_ab_params(-1.0, 0.1), "spread"),
    "a dense graph": (lambda: umap_.general_simplicial_set_union(np.eye(3), np.eye(3)), "give a sparse"),
    "no graph": (
        lambda: umap_.simplicial_set_embedding(
            X, None, 2, 1.0, 1.0, 1.0, 1.0, 5, 2, "random", 0, "euclidean", {}, False, {}, False
        ),
        "graph is a NoneType",
    ),
    "a huge a": (
        lambda: umap_.simplicial_set_embedding(
            X,
            malformed_csr(),
            2,
            1.0,
            10**400,
            1.0,
            1.0,
            5,
            2,
            "random",
            0,
            "euclidean",
            {},
            False,
            {},
            False,
        ),
        "a=an integer of 400 digits",
    ),
    "an empty graph": (
        lambda: umap_.spectral_layout(None, sparse.csr_matrix((0, 0)), 2, 0),
        "graph has no points",
    ),
    "a start of an empty graph": (
        lambda: initialization.spectral(sparse.csr_matrix((0, 0))),
        "A has no rows",
    ),
    "texts as distances": (
        lambda: umap_.nearest_neighbors(np.full((5, 5), "1"), 2, "precomputed", {}, False, 0),
        "a matrix of distances",
    ),
    "a number as rows": (
        lambda: umap_.nearest_neighbors(np.float64(3), 2, "euclidean", {}, False, 0),
        "no matrix of rows",
    ),
    "iterations as text": (lambda: opentsne.TSNE(n_iter="x", perplexity=3).fit(X), "n_iter='x' must be"),
    "half an iteration": (
        lambda: opentsne.TSNE(n_iter=1, perplexity=3).fit(X).optimize(1.5),
        "n_iter=1.5 must be",
    ),
    "a start of one axis": (lambda: opentsne.TSNE(initialization=np.zeros(30)), r"start has shape \(30,\)"),
    "a number to rescale": (lambda: initialization.rescale(np.float64(3)), r"x has shape \(\)"),
    "affinities of one row": (lambda: affinity.PerplexityBasedNN(X[:1], 2), "data has 1 rows"),
    "a huge sigma": (lambda: affinity.FixedSigmaNN(X, 10**400, 3), "sigma=an integer of .* is beyond"),
    "sparse new rows": (
        lambda: affinity.PerplexityBasedNN(X, 3, metric="cosine", method="exact").to_new(
            sparse.csr_matrix(X)
        ),
        "the new rows are sparse, but data were dense|sparse",
    ),
}


@pytest.mark.parametrize("case", REJECTED)
def test_is_rejected_by_name(case):
    function, match = REJECTED[case]
    with pytest.raises((TypeError, ValueError), match=match):
        function()


def test_whole_numbers_are_rescaled():
    scaled = initialization.rescale(np.arange(6).reshape(3, 2), target_std=1)
    assert scaled.dtype == np.float64 and scaled[:, 0].std() == pytest.approx(1)


def test_masked_labels_are_rejected():
    labels = np.ma.masked_array(np.arange(5), np.arange(5) == 2)
    with pytest.raises(ValueError, match="discrete_space"):
        umap_.discrete_metric_simplicial_set_intersection(sparse.csr_matrix(np.ones((5, 5))), labels)


def test_components_beyond_memory_are_named():
    with pytest.raises(MemoryError, match="n_components=1099511627776"):
        initialization.spectral(sparse.csr_matrix(np.ones((30, 30))), 2**40)


@pytest.mark.parametrize("dof", [np.nan, 0, -1, np.inf, "many", 10**400])
def test_degrees_of_freedom_are_checked_before_the_descent(dof):
    with pytest.raises((TypeError, ValueError), match="dof="):
        opentsne.TSNE(n_iter=0, early_exaggeration_iter=0, perplexity=3, dof=dof).fit(X)
