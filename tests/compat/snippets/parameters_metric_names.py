"""Metrics by name."""

import numpy as np
import umap

X = np.abs(np.random.default_rng(0).normal(size=(200, 6))).astype(np.float32)
for metric in ("euclidean", "manhattan", "chebyshev", "canberra", "braycurtis", "cosine", "correlation"):
    places = umap.UMAP(metric=metric, n_epochs=30, random_state=0).fit_transform(X)
    assert places.shape == (200, 2)
places = umap.UMAP(metric="minkowski", metric_kwds={"p": 3}, n_epochs=30, random_state=0).fit_transform(X)
assert np.isfinite(places).all()
