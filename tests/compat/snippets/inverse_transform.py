"""From places on the map back to images."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:600]
mapper = umap.UMAP(random_state=42).fit(X)
centre = mapper.embedding_[:20]
images = mapper.inverse_transform(centre)
assert images.shape == (20, 64)
error = np.sqrt(((images - X[:20]) ** 2).mean())
assert error < np.sqrt(((X.mean(axis=0) - X[:20]) ** 2).mean())
