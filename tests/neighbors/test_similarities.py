"""Similarities given as metric="precomputed" cause a warning; distances do not."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.neighbors import kneighbors_graph

from actup import TSNE, UMAP, KNeighborsTransformer, embed, nearest_neighbors

X = make_blobs(200, 5, centers=4, random_state=0)[0]
FEW = np.random.default_rng(0).random((200, 12)) < 0.3  # rows of few possible Jaccard distances


def connectivities():
    return UMAP(n_neighbors=15, n_epochs=0, random_state=0).fit(X).graph_


def tsne_affinities():
    return TSNE(perplexity=10, max_iter=0, random_state=0).fit(X).graph_


SIMILARITIES = {
    "connectivities": connectivities,
    "connectivities in float64, with a diagonal of 0": lambda: _with_diagonal(connectivities(), 0.0),
    "connectivities of some of the cells": lambda: connectivities()[:150, :150],
    "dense connectivities": lambda: connectivities().toarray(),
    "affinities of t-SNE": tsne_affinities,
    "dense affinities of t-SNE": lambda: tsne_affinities().toarray(),
    "affinities of t-SNE with the sum 1": lambda: tsne_affinities() / len(X),
    "cosine similarities": lambda: np.abs(cosine_similarity(X)),
    "a kernel": lambda: rbf_kernel(X),
    "a sparse kernel": lambda: sparse.csr_matrix(rbf_kernel(X)),
}


def _with_diagonal(graph, value):
    graph = graph.astype(np.float64).tolil()
    graph.setdiag(value)
    return graph.tocsr()


def _symmetric(graph):
    return graph.maximum(graph.T)


DISTANCES = {
    "neighbours": lambda: KNeighborsTransformer(n_neighbors=20).fit_transform(X),
    "neighbours, symmetric": lambda: _symmetric(kneighbors_graph(X, 20, mode="distance")),
    "at most 1": lambda: _symmetric(kneighbors_graph(X / 100, 20, mode="distance")),
    "the largest is 1": lambda: _scaled(pairwise_distances(X)),
    "the largest is 1, sparse": lambda: sparse.csr_matrix(_scaled(pairwise_distances(X))),
    "cosine": lambda: _symmetric(kneighbors_graph(X, 20, mode="distance", metric="cosine")),
    "many duplicates": lambda: pairwise_distances(FEW[:, :2], metric="jaccard"),
    "jaccard": lambda: pairwise_distances(FEW, metric="jaccard"),
    "jaccard, some": lambda: _symmetric(kneighbors_graph(FEW, 20, mode="distance", metric="jaccard")),
    "a diagonal that was left out by infinities": lambda: _excluded(pairwise_distances(X)),
    "steps between neighbours": lambda: _symmetric(kneighbors_graph(X, 20)),
}


def _scaled(distances):
    return distances / distances.max()


def _excluded(distances):
    np.fill_diagonal(distances, np.inf)
    return distances


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_cause_a_warning(name):
    with pytest.warns(UserWarning, match=r"looks like similarities.*graph=X") as caught:
        nearest_neighbors(SIMILARITIES[name](), 4, metric="precomputed")
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", [UMAP, TSNE])
def test_maps_warn(kind):
    size = {"n_neighbors": 5, "n_epochs": 5} if kind is UMAP else {"perplexity": 2, "max_iter": 5}
    with pytest.warns(UserWarning, match="looks like similarities"):
        kind(metric="precomputed", random_state=0, **size).fit(connectivities())


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_cause_none(name):
    nearest_neighbors(DISTANCES[name](), 4, metric="precomputed")


def test_the_remedy_works():
    assert embed(None, "umap", graph=connectivities()).embedding.shape == (200, 2)
