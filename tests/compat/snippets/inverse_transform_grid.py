"""Images at the corners of a grid over the map."""

import numpy as np
import umap
from sklearn.datasets import load_digits

X = load_digits().data[:500]
mapper = umap.UMAP(random_state=1).fit(X)
low, high = np.percentile(mapper.embedding_, [20, 80], axis=0)
across, down = np.meshgrid(np.linspace(low[0], high[0], 4), np.linspace(low[1], high[1], 4))
points = np.stack([across.ravel(), down.ravel()], axis=1)
images = mapper.inverse_transform(points)
assert images.shape == (16, 64)
assert np.isfinite(images).all()
assert images.min() > -8 and images.max() < 24
