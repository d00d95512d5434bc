"""A model serves one row at a time."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data
model = umap.UMAP(random_state=0).fit(X[:400])
place = model.transform(X[400:401])
assert place.shape == (1, 2)
low, high = model.embedding_.min(axis=0) - 2, model.embedding_.max(axis=0) + 2
assert ((low < place) & (place < high)).all()
assert np.isfinite(place).all()
