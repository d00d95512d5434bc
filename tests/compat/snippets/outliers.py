"""Outliers by their local density on the map."""

import numpy as np
import umap
from sklearn.datasets import load_digits
from sklearn.neighbors import LocalOutlierFactor

X = load_digits().data[:500]
noise = np.random.default_rng(0).uniform(0, 16, (10, 64))
data = np.concatenate([X, noise])
places = umap.UMAP(set_op_mix_ratio=0.25, n_neighbors=10, random_state=42).fit_transform(data)
scores = LocalOutlierFactor(contamination=0.05).fit_predict(places)
assert set(scores) == {-1, 1}
assert 20 <= (scores == -1).sum() <= 30
