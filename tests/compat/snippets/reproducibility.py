"""A seed gives the same map again."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:300]
first = umap.UMAP(random_state=42, n_epochs=50).fit_transform(X)
second = umap.UMAP(random_state=42, n_epochs=50).fit_transform(X)
other = umap.UMAP(random_state=43, n_epochs=50).fit_transform(X)
assert np.array_equal(first, second)
assert not np.array_equal(first, other)
