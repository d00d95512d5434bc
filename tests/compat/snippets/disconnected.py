"""Rows that are too far from all others."""

import warnings

import numpy as np
import umap
from umap.utils import disconnected_vertices

rng = np.random.default_rng(0)
X = np.concatenate([rng.random((150, 3)), [[50.0, 50.0, 50.0], [-90.0, 5.0, 5.0]]])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model = umap.UMAP(n_neighbors=10, disconnection_distance=5.0, random_state=0).fit(X)
lost = disconnected_vertices(model)
assert lost[-2:].all() and not lost[:-2].any()
assert np.isfinite(model.embedding_[~lost]).all()
