"""A map on the sphere: haversine as the output metric."""

import numpy as np
import umap
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

X = load_digits().data[:300]
sphere_mapper = umap.UMAP(output_metric="haversine", random_state=42).fit(X)
places = sphere_mapper.embedding_
x = np.sin(places[:, 0]) * np.cos(places[:, 1])
y = np.sin(places[:, 0]) * np.sin(places[:, 1])
z = np.cos(places[:, 0])
assert places.shape == (300, 2)
assert np.allclose(x**2 + y**2 + z**2, 1, atol=1e-5)
assert trustworthiness(X, np.stack([x, y, z], axis=1), n_neighbors=10) > 0.85
