"""A model goes through pickle and still transforms."""

import pickle

import numpy as np
import umap
from sklearn.datasets import load_iris

X = load_iris().data
model = umap.UMAP(n_epochs=50, random_state=0).fit(X[:120])
copy = pickle.loads(pickle.dumps(model))
assert np.allclose(copy.transform(X[120:]), model.transform(X[120:]))
