"""Sparse training data and sparse new rows."""

import scipy.sparse
import umap

X = scipy.sparse.random(300, 60, density=0.2, format="csr", random_state=0)
model = umap.UMAP(metric="cosine", n_epochs=50, random_state=0).fit(X[:250])
assert model.transform(X[250:]).shape == (50, 2)
