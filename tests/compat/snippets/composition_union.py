"""The union of two models, with a layout of its own."""

import numpy as np
import umap

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 6))
one = umap.UMAP(random_state=0).fit(X[:, :3])
other = umap.UMAP(random_state=0).fit(X[:, 3:])
union = one + other
assert union.embedding_.shape == (200, 2)
assert union.graph_.nnz >= max(one.graph_.nnz, other.graph_.nnz)
