"""metric="precomputed": distances to some neighbours, as a sparse matrix."""

import umap
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph

X = load_iris().data
graph = kneighbors_graph(X, 30, mode="distance")
graph = graph.maximum(graph.T)
places = umap.UMAP(metric="precomputed", n_neighbors=10, random_state=42).fit_transform(graph)
assert places.shape == (150, 2)
