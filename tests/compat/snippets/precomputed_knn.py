"""Neighbours are computed once and used for several maps."""

import numpy as np
import umap
from sklearn.datasets import load_digits
from umap.umap_ import nearest_neighbors

X = load_digits().data[:400]
knn = nearest_neighbors(
    X, n_neighbors=30, metric="euclidean", metric_kwds=None, angular=False, random_state=None
)
assert knn[0].shape == knn[1].shape == (400, 30)
assert (knn[0][:, 0] == np.arange(400)).all() and (knn[1][:, 0] == 0).all()
fresh = umap.UMAP(n_neighbors=30, random_state=42).fit(X)
reused = umap.UMAP(n_neighbors=30, random_state=42, precomputed_knn=knn).fit(X)
assert abs(fresh.graph_ - reused.graph_).mean() < 1e-4
assert umap.UMAP(n_neighbors=10, random_state=42, precomputed_knn=knn).fit_transform(X).shape == (400, 2)
