"""metric="precomputed": a matrix of distances."""

import umap
from sklearn.datasets import load_iris
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances

X = load_iris().data
D = pairwise_distances(X, metric="manhattan")
places = umap.UMAP(metric="precomputed", random_state=42).fit_transform(D)
assert trustworthiness(X, places, n_neighbors=10) > 0.9
