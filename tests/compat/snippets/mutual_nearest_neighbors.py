"""Only mutual neighbours, handed over as precomputed neighbours."""

import numpy as np
import umap
from sklearn.datasets import load_digits
from umap.umap_ import nearest_neighbors

X = load_digits().data[:300]
k = 10
indices, distances, _ = nearest_neighbors(X, 30, "euclidean", {}, False, np.random.RandomState(0))
known = [set(row) for row in indices]
new_indices, new_distances = indices[:, :k].copy(), distances[:, :k].copy()
for i in range(len(X)):
    candidates = list(zip(distances[i, 1:], indices[i, 1:], strict=True))
    mutual = [(d, j) for d, j in candidates if i in known[j]]
    others = [(d, j) for d, j in candidates if i not in known[j]]
    chosen = sorted((mutual + others)[: k - 1])
    new_indices[i, 1:] = [j for _, j in chosen]
    new_distances[i, 1:] = [d for d, _ in chosen]
places = umap.UMAP(
    n_neighbors=k, precomputed_knn=(new_indices, new_distances, None), random_state=0
).fit_transform(X)
assert places.shape == (300, 2)
assert np.isfinite(places).all()
