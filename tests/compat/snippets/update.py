"""More data for a finished map."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data
model = umap.UMAP(random_state=42, n_epochs=100).fit(X[:300])
model.update(X[300:400])
assert model.embedding_.shape == (400, 2)
assert np.isfinite(model.embedding_).all()
