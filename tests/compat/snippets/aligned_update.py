"""A further slice for a series."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data
slices = [X[:200], X[100:300]]
relation = {i + 100: i for i in range(100)}
model = umap.AlignedUMAP(random_state=0, n_epochs=50).fit(slices, relations=[relation])
model.update(X[200:400], relations=relation)
assert len(model.embeddings_) == 3
assert all(np.isfinite(part).all() for part in model.embeddings_)
