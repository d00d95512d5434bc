"""A handful of rows, as for a map of topics."""

import numpy as np
import umap

X = np.random.default_rng(0).random((6, 20))
for metric in ("cosine", "hellinger"):
    places = umap.UMAP(
        n_neighbors=2, n_components=2, metric=metric, init="random", random_state=42
    ).fit_transform(X)
    assert places.shape == (6, 2)
    assert np.isfinite(places).all()
