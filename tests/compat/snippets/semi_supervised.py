"""-1 marks rows whose label is unknown."""

import numpy as np
import umap
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

digits = load_digits()
X, y = digits.data[:600], digits.target[:600]
masked = y.copy().astype(np.int8)
masked[np.random.default_rng(0).choice(600, 150, replace=False)] = -1
places = umap.UMAP(random_state=42).fit_transform(X, y=masked)
assert places.shape == (600, 2)
plain = umap.UMAP(random_state=42).fit_transform(X)
assert silhouette_score(places, y) > silhouette_score(plain, y)
