"""Starts: by name, or places of one's own."""

import numpy as np
import umap
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

X = load_iris().data
own = PCA(2).fit_transform(X).astype(np.float32)
for init in ("spectral", "random", "pca", "tswspectral", own):
    places = umap.UMAP(init=init, n_epochs=40, random_state=0).fit_transform(X)
    assert np.isfinite(places).all()
