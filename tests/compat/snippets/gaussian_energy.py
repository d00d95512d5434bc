"""Points that become Gaussians: five numbers each."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:200]
mapper = umap.UMAP(
    output_metric="gaussian_energy", n_components=5, n_neighbors=50, random_state=42, n_epochs=50
)
places = mapper.fit_transform(X)
assert places.shape == (200, 5)
assert np.isfinite(places).all()
