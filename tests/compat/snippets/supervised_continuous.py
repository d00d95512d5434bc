"""A continuous target with a metric of its own."""

import numpy as np
import umap
from sklearn.datasets import load_diabetes

data = load_diabetes()
y = data.target.astype(float)
places = umap.UMAP(target_metric="l2", target_weight=0.9, random_state=0).fit_transform(data.data, y=y)
near = np.linalg.norm(places[:, None] - places[None], axis=2)
np.fill_diagonal(near, np.inf)
difference = np.abs(y - y[near.argmin(axis=1)]).mean()
shuffled = np.abs(y - np.random.default_rng(0).permutation(y)).mean()
assert difference < 0.7 * shuffled
